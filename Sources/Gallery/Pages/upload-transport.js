/**
 * Carries uploads over HTTP. Slices go by XMLHttpRequest, because `fetch` does not tell how much was sent.
 * @module
 */

import { ApiError, failure, get, ownHeaders, post } from "./api.js";

/** @typedef {import("./upload-queue.js").Transport} Transport */

/**
 * Creates the transport.
 * @param {number} sliceSize
 * @returns {Transport}
 */
export function httpTransport(sliceSize) {
  return {
    begin: (album, { folders, name, size, modified }) =>
      post("/api/uploads", { album, folders, name, size, modified }),
    offset: async (upload) => (await get(`/api/uploads/${upload}`)).offset,
    prove: async (upload, file, offset, found) => {
      const slice = file.source.slice(offset, Math.min(found, offset + sliceSize));
      const proof = { size: slice.size, sha256: await digest(slice) };
      return (await post(`/api/uploads/${upload}/proof`, proof)).offset;
    },
    same: async (upload, file) => post(`/api/uploads/${upload}/same`, { sha256: await digest(file.source) }),
    send: (upload, file, offset, progress, signal) => {
      const slice = file.source.slice(offset, Math.min(file.size, offset + sliceSize));
      return put(`/api/uploads/${upload}?offset=${offset}`, slice, progress, signal);
    },
    finish: (upload) => post(`/api/uploads/${upload}/finish`),
    cancel: (upload) => post(`/api/uploads/${upload}/cancel`),
  };
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
function put(path, slice, progress, signal) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const abort = () => sending.abort();
    sending.open("PUT", path);
    sending.responseType = "json";
    for (const [name, value] of Object.entries(ownHeaders)) sending.setRequestHeader(name, value);
    sending.upload.onprogress = (event) => progress(event.loaded);
    sending.onload = () => {
      const body = sending.response ?? {};
      if (sending.status === 200 && typeof body.offset === "number") resolve(body.offset);
      else reject(failure(sending.status, body));
    };
    sending.onerror = () => void whyUnsent(slice).then(reject);
    sending.onabort = () => reject(new DOMException("", "AbortError"));
    sending.onloadend = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort);
    sending.send(slice);
  });
}

/**
 * Tells a file that can no longer be read from a lost connection: the browser reports both alike.
 * @param {Blob} slice
 */
async function whyUnsent(slice) {
  try {
    await slice.slice(0, 1).arrayBuffer();
    return new ApiError("offline", 0);
  } catch {
    return new ApiError("gone", 0);
  }
}
