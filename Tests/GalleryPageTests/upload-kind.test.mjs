// What a file to upload is: its content tells, and a name only where nothing else can.
import assert from "node:assert/strict";
import { test } from "node:test";
import { appleTags, formatOf, kindOf, kindOfBytes, pairName } from "../../Sources/Gallery/Pages/upload-kind.js";

/** An iPhone's note with some tags, behind other bytes. */
function note(...tags) {
  const bytes = [..."AAxApple iO Apple iOS\0".split("").map((sign) => sign.charCodeAt(0)), 0, 1, 0x4d, 0x4d, 0, tags.length];
  for (const tag of tags) bytes.push(tag >> 8, tag & 255, 0, 2, 0, 0, 0, 4, 65, 65, 65, 0);
  return bytes;
}

const jpeg = (...tags) => new Uint8Array([0xff, 0xd8, 0xff, 0xe1, ...note(...tags)]);
const heic = (...tags) => new Uint8Array([0, 0, 0, 24, ..."ftypheic".split("").map((s) => s.charCodeAt(0)), ...note(...tags)]);

test("the content decides the format", () => {
  assert.equal(formatOf("a.png", jpeg()), "JPEG");
  assert.equal(formatOf("a.heic", heic()), "HEIC");
  assert.equal(formatOf("a.nef", new Uint8Array([0x49, 0x49, 0x2a, 0])), "NEF");
  assert.equal(formatOf("notes", new Uint8Array([1, 2, 3])), "");
});

test("a HEIC or AVIF is told by its brands, whatever its main one is", () => {
  const boxes = (...brands) => new Uint8Array(
    [0, 0, 0, 12 + 4 * brands.length, ...["ftyp", brands[0], "\0\0\0\0", ...brands.slice(1)].join("").split("")
      .map((sign) => sign.charCodeAt(0)), 1, 2, 3, 4]);
  for (const main of ["heic", "hevx", "MiHE", "MiHB", "mif2", "msf1", "ABCD"]) {
    assert.equal(formatOf("a.bin", boxes(main, "mif1", "heic")), "HEIC", main);
  }
  assert.equal(formatOf("a.bin", boxes("mif1", "miaf", "avif")), "AVIF");
  assert.equal(formatOf("a.bin", boxes("ABCD", "miaf")), "HEIC");
  assert.equal(formatOf("a.bin", boxes("qt  ")), "MOV");
  assert.equal(formatOf("a.bin", boxes("crx ", "isom")), "CR3");
  assert.equal(formatOf("a.bin", boxes("mp42", "mif1", "heic")), "MP4");
  assert.equal(formatOf("a.bin", boxes("ABCD", "mp42")), "MP4");
});

test("a JPEG that a phone made is told by its name", () => {
  assert.equal(kindOfBytes("IMG_1.HEIC", jpeg()).made, "yes");
  assert.equal(kindOfBytes("IMG_1.jpeg", jpeg(1)).made, "perhaps");
  assert.equal(kindOfBytes("IMG_1.JPG", jpeg(1)).made, "no");
  assert.equal(kindOfBytes("holiday.jpeg", jpeg(1)).made, "no");
  assert.equal(kindOfBytes("IMG_1.jpeg", new Uint8Array([0xff, 0xd8, 0xff, 0xe0])).made, "no");
  assert.equal(kindOfBytes("IMG_1.HEIC", heic(1)).made, "no");
});

test("a Live Photo is told by the identifier that it shares with its video", () => {
  assert.equal(kindOfBytes("IMG_1.HEIC", heic(1, 0x11)).isLive, true);
  assert.equal(kindOfBytes("IMG_1.HEIC", heic(1, 2)).isLive, false);
  assert.deepEqual(appleTags(heic(1, 0x11)), new Set([1, 0x11]));
  assert.equal(appleTags(new Uint8Array([65, 65])), null);
  for (let length = 0; length < heic(1, 0x11).length; length += 1) appleTags(heic(1, 0x11).slice(0, length));
  // A count that the bytes do not have.
  const broken = heic(1);
  broken[broken.length - 13] = 255;
  assert.ok((appleTags(broken)?.size ?? 0) <= 1);
});

test("a video belongs to the still of the same name in the same folder", () => {
  const file = (name, folders = []) => ({ name, folders, size: 0, modified: 0, source: null });
  assert.equal(pairName(file("IMG_1.HEIC")), pairName(file("IMG_1.MOV")));
  assert.notEqual(pairName(file("IMG_1.HEIC", ["a"])), pairName(file("IMG_1.MOV")));
});

test("a file that cannot be read is what its name says", async () => {
  const source = { slice: () => ({ arrayBuffer: () => Promise.reject(new Error("gone")) }) };
  const kind = await kindOf({ name: "IMG_1.heic", folders: [], size: 1, modified: 0, source });
  assert.deepEqual(kind, { format: "HEIC", made: "no", isLive: false });
});
