/**
 * Carries uploads over HTTP. Slices go by XMLHttpRequest, because `fetch` does not tell how much was sent.
 * @module
 */

import { ApiError, codeOf, failure, get, ownHeaders, post } from "./api.js";

/** @typedef {import("./upload-queue.js").Transport} Transport */

/**
 * Creates the transport.
 * @param {{sliceSize: number, batch: {files: number, bytes: number}}} session
 * @returns {Transport}
 */
export function httpTransport({ sliceSize, batch }) {
  return {
    sliceSize,
    batch,
    begin: (album, file) => post("/api/uploads", orderOf(album, file)),
    beginAll: async (files) =>
      (await post("/api/batches", { files: files.map(({ album, file }) => orderOf(album, file)) })).uploads,
    offset: async (upload) => (await get(`/api/uploads/${upload}`)).offset,
    prove: async (upload, file, offset, found) => {
      const slice = file.source.slice(offset, Math.min(found, offset + sliceSize));
      const proof = { size: slice.size, sha256: await digest(slice) };
      return (await post(`/api/uploads/${upload}/proof`, proof)).offset;
    },
    same: async (upload, file) => post(`/api/uploads/${upload}/same`, { sha256: await digest(file.source) }),
    send: (upload, file, offset, progress, signal) => {
      const slice = file.source.slice(offset, Math.min(file.size, offset + sliceSize));
      return putSlice(`/api/uploads/${upload}?offset=${offset}`, slice, progress, signal);
    },
    sendAll: (files, progress, signal) => putAll(files, progress, signal),
    finish: (upload) => post(`/api/uploads/${upload}/finish`),
    cancel: (upload) => post(`/api/uploads/${upload}/cancel`),
  };
}

/**
 * @param {string} album
 * @param {import("./upload-queue.js").UploadFile} file
 */
function orderOf(album, { folders, name, size, modified }) {
  return { album, folders, name, size, modified };
}

/**
 * Returns the SHA-256 of a file, or of a part of one, in hexadecimal digits.
 * @param {Blob} blob
 */
async function digest(blob) {
  const hash = await crypto.subtle.digest("SHA-256", await readFile(blob));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Reads a file whole. Fails with `gone` where it was moved or changed since it was picked.
 * @param {Blob} file
 */
async function readFile(file) {
  try {
    return await file.arrayBuffer();
  } catch {
    throw new ApiError("gone", 0);
  }
}

/**
 * @param {string} path
 * @param {Blob} slice
 * @param {(bytes: number) => void} progress
 * @param {AbortSignal} signal
 * @returns {Promise<number>}
 */
async function putSlice(path, slice, progress, signal) {
  try {
    return (await put(path, slice, progress, signal, "offset")).offset;
  } catch (error) {
    throw codeOf(error) === "offline" && await isGone(slice) ? new ApiError("gone", 0) : error;
  }
}

/**
 * Sends files one behind the other in one request. A file that can no longer be read breaks off the others, too.
 * @param {{upload: string, file: import("./upload-queue.js").UploadFile}[]} files
 * @param {(bytes: number) => void} progress
 * @param {AbortSignal} signal
 * @returns {Promise<import("./upload-queue.js").Outcome[]>}
 */
async function putAll(files, progress, signal) {
  /** @type {Blob[]} */
  const sources = files.map(({ file }) => file.source);
  const path = `/api/batches?uploads=${files.map(({ upload }) => upload).join()}`;
  try {
    return (await put(path, new Blob(sources), progress, signal, "files")).files;
  } catch (error) {
    if (codeOf(error) !== "offline") throw error;
    const gone = await Promise.all(sources.map(isGone));
    if (!gone.includes(true)) throw error;
    return gone.map((each) => (each ? { error: "gone" } : null));
  }
}

/**
 * Sends a body; returns the reply, which has a field of this name.
 * @param {string} path
 * @param {Blob} body
 * @param {(bytes: number) => void} progress
 * @param {AbortSignal} signal
 * @param {string} field
 * @returns {Promise<any>}
 */
function put(path, body, progress, signal, field) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const abort = () => sending.abort();
    sending.open("PUT", path);
    sending.responseType = "json";
    for (const [name, value] of Object.entries(ownHeaders)) sending.setRequestHeader(name, value);
    sending.upload.onprogress = (event) => progress(event.loaded);
    // What has been sent is saved, whoever pauses then.
    sending.upload.onload = () => signal.removeEventListener("abort", abort);
    sending.onload = () => {
      const reply = sending.response ?? {};
      if (sending.status === 200 && reply[field] !== undefined) resolve(reply);
      else reject(failure(sending.status, reply));
    };
    sending.onerror = () => reject(new ApiError("offline", 0));
    sending.onabort = () => reject(new DOMException("", "AbortError"));
    sending.onloadend = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort);
    sending.send(body);
  });
}

/**
 * Tells a file that can no longer be read from a lost connection: the browser reports both alike.
 * @param {Blob} part
 */
async function isGone(part) {
  try {
    await part.slice(0, 1).arrayBuffer();
    return false;
  } catch {
    return true;
  }
}
