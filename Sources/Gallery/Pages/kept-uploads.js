/**
 * Keeps uploads that a lost session interrupted. The ids of albums are other ones in the next session, so each
 * file knows its album by name.
 * @module
 */

/** @typedef {import("./library.js").Library} Library */
/** @typedef {import("./upload-queue.js").UploadFile} UploadFile */
/** @typedef {import("./upload-queue.js").UploadQueue} UploadQueue */

/**
 * @typedef {{path: string[], file: UploadFile}} KeptFile
 * @typedef {{space: string, idleSeconds: number, files: KeptFile[]}} KeptUploads
 */

/**
 * Returns the files that were on the way.
 * @param {UploadQueue} queue
 * @param {Library} library
 * @returns {KeptFile[]}
 */
export function unsavedFiles(queue, library) {
  const onTheWay = new Set(["waiting", "sending", "finishing"]);
  // The session that ended may have failed some of them already.
  return queue.items.filter((item) => onTheWay.has(item.state) || item.error === "session")
    .map(({ album, file }) => ({ path: library.path(album).map(({ name }) => name), file }))
    .filter(({ path }) => path.length > 0);
}

/**
 * Finds an album by its names, from the root; null where there is none any more.
 * @param {Library} library
 * @param {string[]} path
 */
export function albumAt(library, path) {
  /** @type {string | null} */
  let parent = null;
  for (const name of path) {
    /** @type {import("./library.js").Album | undefined} */
    const found = library.children(parent).find((album) => album.name === name);
    if (!found) return null;
    parent = found.id;
  }
  return parent;
}
