/**
 * Tells what a file to upload is, by its content: what a phone hands out may differ from what it keeps.
 * @module
 */

/** @typedef {import("./upload-queue.js").UploadFile} UploadFile */
/**
 * `made`: whether the phone made this JPEG of a HEIC; "perhaps" where only its name speaks for it. `isLive`: a still
 * of a Live Photo, whose video is a file of its own.
 * @typedef {{format: string, made: "yes" | "perhaps" | "no", isLive: boolean}} FileKind
 */

/** @type {[string, number, string][]} format, where its mark is, the mark */
const marks = [
  ["JPEG", 0, "\xff\xd8\xff"], ["PNG", 0, "\x89PNG"], ["GIF", 0, "GIF8"], ["WebP", 8, "WEBP"],
  ["TIFF", 0, "II*\0"], ["TIFF", 0, "MM\0*"],
  ["WebM", 0, "\x1aE\xdf\xa3"], ["JPEG XL", 4, "JXL "], ["JPEG XL", 0, "\xff\x0a"],
];

/**
 * The brands of pictures in boxes: of a codec, or of any. `Sources/FileKinds/FileBrands.swift` says more.
 * @type {Record<string, string[]>}
 */
const brands = {
  AVIF: ["avif", "avis", "avio", "MA1A", "MA1B"],
  HEIC: ["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"],
  any: ["mif1", "mif2", "mif3", "msf1", "miaf", "MiHB", "MiHA", "MiHE", "MiPr", "1pic"],
};
const films = /^(iso.|mp4.|avc1|M4V.|MSNV|XAVC|dash|[fF]4v |F4V |3g..)$/;

/**
 * The main brand tells the format where it names a codec or a film, else the compatible ones.
 * @param {string} text  the begin of a file of boxes
 */
function formatOfBrands(text) {
  const main = text.slice(8, 12);
  if (main === "qt  ") return "MOV";
  if (main === "crx ") return "CR3";
  const length = [...text.slice(0, 4)].reduce((sum, sign) => sum * 256 + sign.charCodeAt(0), 0);
  const others = text.slice(16, length).match(/.{4}/gs) ?? [];
  for (const known of films.test(main) ? [] : [main, ...others]) {
    for (const format of ["AVIF", "HEIC"]) if (brands[format].includes(known)) return format;
  }
  const isPicture = !films.test(main) && [main, ...others].some((brand) => brands.any.includes(brand));
  return isPicture ? "HEIC" : "MP4";
}

/** EXIF data lie near the begin of a JPEG; in a HEIC they may lie anywhere. */
const searched = { JPEG: 128 << 10, HEIC: 8 << 20 };

/** So many bytes hold the marks and the brands. */
const headLength = 128;

/** @param {string} name */
function extensionOf(name) {
  return /\.([^.]{1,5})$/.exec(name)?.[1] ?? "";
}

/**
 * Tells the format by the first bytes, else by the name.
 * @param {string} name
 * @param {Uint8Array} bytes
 */
export function formatOf(name, bytes) {
  const text = String.fromCharCode(...bytes.subarray(0, headLength));
  if (text.startsWith("ftyp", 4)) return formatOfBrands(text);
  const mark = marks.find(([, at, bytesOfMark]) => text.startsWith(bytesOfMark, at));
  // Raw formats look like TIFF inside.
  return mark === undefined || mark[0] === "TIFF" ? extensionOf(name).toUpperCase() : mark[0];
}

/**
 * Finds the note that an iPhone puts into EXIF data: Apple's MakerNote. Returns its tags, or null.
 * @param {Uint8Array} bytes
 * @returns {Set<number> | null}
 */
export function appleTags(bytes) {
  const mark = "Apple iOS\0";
  for (let at = bytes.indexOf(65); at >= 0; at = bytes.indexOf(65, at + 1)) {
    if (![...mark].every((sign, place) => bytes[at + place] === sign.charCodeAt(0))) continue;
    // Behind the mark and a version: the order of bytes, and a directory of entries of 12 bytes.
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, Math.min(bytes.length - at, 4096));
    if (view.byteLength < 16 || view.getUint16(12) !== 0x4d4d) continue;
    const count = Math.min(view.getUint16(14), Math.floor((view.byteLength - 16) / 12));
    return new Set(Array.from({ length: count }, (_, number) => view.getUint16(16 + 12 * number)));
  }
  return null;
}

/** The tag of the identifier that a still and its video share. */
const contentIdentifier = 0x11;

/**
 * @param {string} name
 * @param {Uint8Array} bytes  the file, or its begin
 * @returns {FileKind}
 */
export function kindOfBytes(name, bytes) {
  const format = formatOf(name, bytes);
  const extension = extensionOf(name).toLowerCase();
  const tags = format === "JPEG" || format === "HEIC" ? appleTags(bytes) : null;
  let made = /** @type {FileKind["made"]} */ ("no");
  if (format === "JPEG" && (extension === "heic" || extension === "heif")) made = "yes";
  // An iPhone's own JPEG ends in JPG; those that it makes end in jpeg.
  else if (format === "JPEG" && tags !== null && /^IMG_\d+\.jpeg$/.test(name)) made = "perhaps";
  return { format, made, isLive: tags?.has(contentIdentifier) ?? false };
}

/**
 * @param {UploadFile} file
 * @returns {Promise<FileKind>}
 */
export async function kindOf(file) {
  try {
    const head = new Uint8Array(await file.source.slice(0, headLength).arrayBuffer());
    const format = formatOf(file.name, head);
    const most = format === "JPEG" || format === "HEIC" ? searched[format] : head.length;
    const bytes = most > headLength ? new Uint8Array(await file.source.slice(0, most).arrayBuffer()) : head;
    return kindOfBytes(file.name, bytes);
  } catch {
    return { format: extensionOf(file.name).toUpperCase(), made: "no", isLive: false };
  }
}

/**
 * The name by which a still and its video belong together: IMG_1.HEIC and IMG_1.MOV in one folder.
 * @param {UploadFile} file
 */
export function pairName(file) {
  return [...file.folders, file.name.replace(/\.[^.]*$/, "")].join("/");
}
