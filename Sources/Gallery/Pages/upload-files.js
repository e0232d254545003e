/**
 * Finds files to upload: picked, dropped, or in dropped folders; and tells what they are.
 * @module
 */

import { breathe } from "./dom.js";

/** @typedef {import("./upload-queue.js").UploadFile} UploadFile */

/** What file managers leave in folders, which nobody wants in an album. */
const leftovers = new Set([".DS_Store", "Thumbs.db", "desktop.ini", ".nomedia"]);
const batch = 500;

/**
 * @param {File} file
 * @param {string[]} folders
 * @returns {UploadFile}
 */
function uploadFile(file, folders) {
  return { name: file.name, size: file.size, modified: file.lastModified / 1000, folders, source: file };
}

/**
 * Returns picked files; those of a picked folder keep their folders.
 * @param {Iterable<File>} files
 */
export function pickedFiles(files) {
  const found = [];
  for (const file of files) {
    const folders = file.webkitRelativePath.split("/").slice(0, -1);
    if (!leftovers.has(file.name)) found.push(uploadFile(file, folders));
  }
  return found;
}

/**
 * Walks through what was dropped, in batches, so that the page stays responsive. Must be called in the event,
 * because the entries are gone afterwards.
 * @param {DataTransfer} transfer
 * @param {(files: UploadFile[]) => void} found
 */
export async function droppedFiles(transfer, found) {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  if (entries.length === 0) found(pickedFiles(transfer.files));
  /** @type {UploadFile[]} */
  let files = [];
  for await (const file of walk(entries, [])) {
    if (leftovers.has(file.name)) continue;
    files.push(file);
    if (files.length < batch) continue;
    found(files);
    files = [];
    await breathe();
  }
  if (files.length > 0) found(files);
}

/**
 * @param {FileSystemEntry[]} entries
 * @param {string[]} folders
 * @returns {AsyncGenerator<UploadFile>}
 */
async function* walk(entries, folders) {
  for (const entry of entries) {
    if (entry.isDirectory) {
      const inner = await readDirectory(/** @type {FileSystemDirectoryEntry} */ (entry));
      yield* walk(inner, [...folders, entry.name]);
    } else {
      yield uploadFile(await readEntry(/** @type {FileSystemFileEntry} */ (entry)), folders);
    }
  }
}

/**
 * @param {FileSystemFileEntry} entry
 * @returns {Promise<File>}
 */
function readEntry(entry) {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/**
 * Reads a whole folder; the browser gives at most 100 entries at a time.
 * @param {FileSystemDirectoryEntry} directory
 */
async function readDirectory(directory) {
  const reader = directory.createReader();
  /** @type {FileSystemEntry[]} */
  const entries = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return entries;
    entries.push(...some);
  }
}

/** @type {[string, number, string][]} format, where its mark is, the mark */
const marks = [
  ["JPEG", 0, "\xff\xd8\xff"], ["PNG", 0, "\x89PNG"], ["GIF", 0, "GIF8"], ["WebP", 8, "WEBP"],
  ["HEIC", 4, "ftyphei"], ["HEIC", 4, "ftypmif1"], ["HEIC", 4, "ftyphev"], ["AVIF", 4, "ftypavi"],
  ["MOV", 4, "ftypqt"], ["CR3", 4, "ftypcrx"], ["MP4", 4, "ftyp"], ["TIFF", 0, "II*\0"], ["TIFF", 0, "MM\0*"],
  ["WebM", 0, "\x1aE\xdf\xa3"], ["JPEG XL", 4, "JXL "], ["JPEG XL", 0, "\xff\x0a"],
];

/**
 * Tells the format of a file by its first bytes, else by its name. What a phone hands out may differ from
 * what it keeps, so the name alone is not to be trusted.
 * @param {UploadFile} file
 */
export async function formatOf(file) {
  const extension = (/\.([^.]{1,5})$/.exec(file.name)?.[1] ?? "").toUpperCase();
  try {
    const bytes = new Uint8Array(await file.source.slice(0, 16).arrayBuffer());
    const text = String.fromCharCode(...bytes);
    const mark = marks.find(([, at, bytesOfMark]) => text.startsWith(bytesOfMark, at));
    // Raw formats look like TIFF inside.
    return mark === undefined || mark[0] === "TIFF" ? extension : mark[0];
  } catch {
    return extension;
  }
}
