/**
 * Finds files to upload: picked, dropped, or in dropped folders.
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
