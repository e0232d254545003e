/**
 * Finds files to upload: picked, dropped, or in dropped folders; in the order of their names.
 * @module
 */

import { breathe } from "./dom.js";

/** @typedef {import("./upload-queue.js").UploadFile} UploadFile */

/** What systems and programs make among photos for themselves, in small letters. Leftover.swift has the same. */
const leftoverFiles = new Set(["thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", ".ds_store",
  ".localized", "icon\r", ".volumeicon.icns", ".nomedia", ".directory", "synoindex_media_info",
  "archive_browser.html", "print-subscriptions.json", "shared_album_comments.json", "user-generated-memory-titles.json"]);
const leftoverFolders = new Set(["@eadir", "#recycle", "#snapshot", "@recycle", "@recently-snapshot",
  "$recycle.bin", "system volume information", "__macosx", "lost+found"]);
const batch = 500;

/**
 * Returns which albums the folders of a file become, or null where the file belongs into none. It is what
 * `albumfs import` does: an album's own Photo is no album, its Thumb, hidden folders and those that systems make
 * for themselves stay behind, another Thumb gets a number, and a camera's DCIM with its numbered folders is no
 * album either.
 * @param {string[]} folders
 * @param {(path: string[]) => boolean} hasPhoto  whether a folder has one named Photo
 */
export function albumsOf(folders, hasPhoto) {
  const albums = [];
  for (const [depth, name] of folders.entries()) {
    if (name.startsWith(".") || leftoverFolders.has(name.toLowerCase())) return null;
    if (name === "Thumb" && hasPhoto(folders.slice(0, depth))) return null;
    const isOfCamera = name === "DCIM" || (folders[depth - 1] === "DCIM" && /^[1-9]\d\d\w{5}$/.test(name));
    if (name !== "Photo" && !isOfCamera) albums.push(name === "Thumb" ? "Thumb (2)" : name);
  }
  return albums;
}

/**
 * Returns a file to upload, or null for what belongs into no album. A hidden file in a folder is none that
 * somebody chose.
 * @param {File} file
 * @param {string[]} folders
 * @param {(path: string[]) => boolean} hasPhoto
 * @returns {UploadFile | null}
 */
function uploadFile(file, folders, hasPhoto) {
  const albums = albumsOf(folders, hasPhoto);
  const isHidden = folders.length > 0 && file.name.startsWith(".");
  if (albums === null || isHidden || leftoverFiles.has(file.name.toLowerCase())) return null;
  return { name: file.name, size: file.size, modified: file.lastModified / 1000, folders: albums, source: file };
}

/** As people count: 2 before 10. */
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/**
 * Sorts the files of each folder by name, and leaves the folders as they came. A browser gives files in no order of use.
 * @template {{file: File, folders: string[]}} T
 * @param {T[]} picked
 */
function inOrder(picked) {
  /** @type {Map<string, T[]>} */
  const byFolder = new Map();
  for (const each of picked) {
    const folder = each.folders.join("/");
    const siblings = byFolder.get(folder);
    if (siblings) siblings.push(each);
    else byFolder.set(folder, [each]);
  }
  for (const siblings of byFolder.values()) {
    siblings.sort((one, other) => collator.compare(one.file.name, other.file.name));
  }
  return [...byFolder.values()].flat();
}

/**
 * Returns picked files; those of a picked folder keep their folders.
 * @param {Iterable<File>} files
 */
export function pickedFiles(files) {
  const picked = inOrder([...files].map((file) => ({ file, folders: file.webkitRelativePath.split("/").slice(0, -1) })));
  const withPhoto = new Set(picked.flatMap(({ folders }) => folders.flatMap((name, depth) =>
    (name === "Photo" ? [folders.slice(0, depth).join("/")] : []))));
  const hasPhoto = (/** @type {string[]} */ path) => withPhoto.has(path.join("/"));
  return picked.flatMap(({ file, folders }) => uploadFile(file, folders, hasPhoto) ?? []);
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
  for await (const file of walk(entries, [], new Set())) {
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
 * @param {Set<string>} withPhoto  the folders on the way here that have one named Photo
 * @returns {AsyncGenerator<UploadFile>}
 */
async function* walk(entries, folders, withPhoto) {
  if (entries.some((entry) => entry.isDirectory && entry.name === "Photo")) withPhoto.add(folders.join("/"));
  const hasPhoto = (/** @type {string[]} */ path) => withPhoto.has(path.join("/"));
  for (const entry of entries) {
    if (entry.isDirectory) {
      const inner = [...folders, entry.name];
      if (albumsOf(inner, hasPhoto) === null) continue;
      yield* walk(await readDirectory(/** @type {FileSystemDirectoryEntry} */ (entry)), inner, withPhoto);
    } else {
      const file = await readEntry(/** @type {FileSystemFileEntry} */ (entry));
      const upload = uploadFile(file, folders, hasPhoto);
      if (upload) yield upload;
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
    if (some.length === 0) return entries.sort((one, other) => collator.compare(one.name, other.name));
    entries.push(...some);
  }
}
