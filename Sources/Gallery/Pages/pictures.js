/**
 * Loads pictures for the viewer: previews of screen size, and one original at a time.
 * @module
 */

import { codeOf, getBlob, request } from "./api.js";
import { pictureCache } from "./lru.js";

/** @typedef {import("./listing.js").Photo} Photo */

/** The largest original that is loaded into memory; larger ones come as a large preview. */
const largestOriginal = 60 << 20;
const largestEdge = 4096;
const mostAttempts = 8;

export class Pictures {
  #previews = pictureCache(24 << 20);
  /** @type {Map<string, {controller: AbortController, url: Promise<string>}>} */
  #loading = new Map();
  /** @type {{key: string, url: string} | null} */
  #original = null;

  /**
   * Names a preview; it changes when the photo is rotated.
   * @param {Photo} photo
   * @param {number} edge
   */
  #key(photo, edge) {
    return `${photo.id}:${photo.thumb}:${photo.width}x${photo.height}:${edge}`;
  }

  /**
   * Returns the address of a preview.
   * @param {Photo} photo
   * @param {number} edge
   * @returns {Promise<string>}
   */
  preview(photo, edge) {
    const key = this.#key(photo, edge);
    const cached = this.#previews.get(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const loading = this.#loading.get(key);
    if (loading) return loading.url;
    const controller = new AbortController();
    const url = this.#load(key, `/api/preview/${photo.id}?edge=${edge}`, controller.signal);
    this.#loading.set(key, { controller, url });
    return url;
  }

  /**
   * @param {string} key
   * @param {string} path
   * @param {AbortSignal} signal
   */
  async #load(key, path, signal) {
    try {
      const blob = await this.#fetch(path, signal);
      const url = URL.createObjectURL(blob);
      this.#previews.set(key, url, blob.size + 4096);
      return url;
    } finally {
      if (!signal.aborted) this.#loading.delete(key);
    }
  }

  /**
   * Gets a preview; while the server makes many others, it asks again.
   * @param {string} path
   * @param {AbortSignal} signal
   */
  async #fetch(path, signal) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await getBlob(path, signal);
      } catch (error) {
        if (codeOf(error) !== "busy" || attempt === mostAttempts) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 300 * attempt));
      signal.throwIfAborted();
    }
  }

  /**
   * Cancels previews on the way that are not of these photos.
   * @param {string[]} ids
   */
  keepLoading(ids) {
    for (const [key, { controller }] of this.#loading) {
      if (ids.some((id) => key.startsWith(`${id}:`))) continue;
      controller.abort();
      this.#loading.delete(key);
    }
  }

  /**
   * Returns the address of the original, or of the largest preview where the browser cannot show it.
   * @param {Photo} photo
   * @param {AbortSignal} signal
   * @returns {Promise<{url: string, isOriginal: boolean}>}
   */
  async original(photo, signal) {
    if (this.#original?.key === photo.id) return { url: this.#original.url, isOriginal: true };
    if (photo.size <= largestOriginal) {
      const response = await request(`/api/original/${photo.id}`, { signal });
      const type = response.headers.get("Content-Type") ?? "";
      if (type.startsWith("image/")) {
        const url = URL.createObjectURL(await response.blob());
        this.forgetOriginal();
        this.#original = { key: photo.id, url };
        return { url, isOriginal: true };
      }
      await response.body?.cancel();
    }
    return { url: await this.preview(photo, largestEdge), isOriginal: false };
  }

  forgetOriginal() {
    if (this.#original) URL.revokeObjectURL(this.#original.url);
    this.#original = null;
  }

  /** Forgets everything. */
  clear() {
    for (const { controller, url } of this.#loading.values()) {
      url.catch(() => {});
      controller.abort();
    }
    this.#loading.clear();
    this.#previews.clear();
    this.forgetOriginal();
  }
}

