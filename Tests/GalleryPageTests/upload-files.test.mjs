// A folder that is uploaded becomes the same albums as with `albumfs import`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { albumsOf, pickedFiles } from "../../Sources/Gallery/Pages/upload-files.js";

const files = (...paths) => paths.map((path) => (
  { name: path.split("/").at(-1), size: 1, lastModified: 0, webkitRelativePath: path.includes("/") ? path : "" }));
const found = (...paths) => pickedFiles(files(...paths)).map(({ folders, name }) => [...folders, name].join("/"));

test("folders become albums, and files that were picked by themselves stay in the one that is open", () => {
  assert.deepEqual(found("a.jpg", "Trip/b.jpg", "Trip/Day 2/c.jpg"), ["a.jpg", "Trip/b.jpg", "Trip/Day 2/c.jpg"]);
});

test("an album that was copied with another tool becomes that album again", () => {
  assert.deepEqual(found("Trip/Photo/a.jpg", "Trip/Thumb/a.jpg", "Trip/Day/Photo/b.jpg"), ["Trip/a.jpg", "Trip/Day/b.jpg"]);
  assert.deepEqual(found("Photo/a.jpg"), ["a.jpg"]);
});

test("a folder that is called Thumb by somebody else is not left behind", () => {
  assert.deepEqual(found("Nails/Thumb/a.jpg", "Trip/Photo/b.jpg"), ["Nails/Thumb (2)/a.jpg", "Trip/b.jpg"]);
});

test("what is hidden in a folder stays behind", () => {
  assert.deepEqual(found("Trip/.cache/a.jpg", "Trip/._b.jpg", "Trip/.DS_Store", "Trip/Thumbs.db", "Trip/c.jpg"), ["Trip/c.jpg"]);
  assert.deepEqual(found(".chosen.jpg"), [".chosen.jpg"]);
});

test("a camera's folders are no albums", () => {
  assert.deepEqual(found("DCIM/100CANON/a.jpg", "DCIM/Trip/b.jpg", "Card/DCIM/101_FUJI/c.jpg"), ["a.jpg", "Trip/b.jpg", "Card/c.jpg"]);
  assert.deepEqual(albumsOf(["100CANON"], () => false), ["100CANON"]);
});

test("what systems and programs keep among photos for themselves stays behind", () => {
  assert.deepEqual(found("@eaDir/a.jpg/x.jpg", "Trip/@eaDir/b.jpg", "Trip/$RECYCLE.BIN/c.jpg", "Trip/THUMBS.DB", "Trip/d.jpg"), ["Trip/d.jpg"]);
});
