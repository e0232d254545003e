import assert from "node:assert/strict";
import test from "node:test";
import { albumAt, unsavedFiles } from "../../Sources/Gallery/Pages/kept-uploads.js";
import { namesIn } from "../../Sources/Gallery/Pages/names.js";
import { albumsNamed } from "../../Sources/Gallery/Pages/search-view.js";

const albums = ["Müritz 2020", "Garden", "Garden 10", "Winter in Oslo"].map((name, number) => ({
  id: `a${number}`, parent: null, name, cover: null, photos: 0, others: 0, modified: 0,
}));

test("albums are found by the beginnings of their words, however they are written", () => {
  const names = (/** @type {string} */ text) => albumsNamed(albums, text).map(({ name }) => name);
  assert.deepEqual(names("muritz"), ["Müritz 2020"]);
  assert.deepEqual(names("gard"), ["Garden", "Garden 10"]);
  assert.deepEqual(names("oslo win"), ["Winter in Oslo"]);
  assert.deepEqual(names("arden"), []);
  assert.deepEqual(names(""), []);
  assert.deepEqual(names("type:video"), []);
});

test("tags are names between commas, each once", () => {
  assert.deepEqual(namesIn(" pond, frogs ;pond,, \n Blue hour"), ["pond", "frogs", "Blue hour"]);
  assert.deepEqual(namesIn(" , "), []);
});

test("what was on the way is kept with the names of its album, and finds that album again", () => {
  /** @type {any} */
  const library = {
    path: (/** @type {string} */ id) => (id === "a2" ? [{ name: "Trips" }, { name: "Oslo" }] : []),
    children: (/** @type {string | null} */ parent) =>
      (parent === null ? [{ id: "b1", name: "Trips" }] : parent === "b1" ? [{ id: "b2", name: "Oslo" }] : []),
  };
  const item = (/** @type {string} */ state, /** @type {string} */ album, error = null) =>
    ({ state, album, error, file: { name: state } });
  /** @type {any} */
  const queue = { items: [
    item("saved", "a2"), item("sending", "a2"), item("waiting", "a2"), item("failed", "a2"),
    { ...item("failed", "a2"), error: "session" }, item("waiting", "gone"),
  ] };
  const kept = unsavedFiles(queue, library);
  assert.deepEqual(kept.map(({ file }) => file.name), ["sending", "waiting", "failed"]);
  assert.equal(albumAt(library, kept[0].path), "b2");
  assert.equal(albumAt(library, ["Trips", "Bergen"]), null);
  assert.equal(albumAt(library, []), null);
});
