/**
 * Loads thumbnails: many in one request, what is visible first, and what has been scrolled past not at all.
 * @module
 */

import { pictureCache } from "./lru.js";
import { isAbort, request } from "./api.js";

/**
 * A thumbnail to show. `version` changes with it; 0 and -1 mean that there is none.
 * @typedef {{id: string, version: number}} Wanted
 */

const batchSize = 40;
const parallel = 3;

/**
 * Names a thumbnail in the cache.
 * @param {Wanted} item
 */
const keyOf = (item) => `${item.id}:${item.version}`;

/**
 * Splits a body of `GET /api/thumbs` into pictures, as it arrives: a length of 4 bytes before each.
 * @param {AsyncIterable<Uint8Array>} chunks
 * @returns {AsyncGenerator<Uint8Array>} empty arrays where there is no thumbnail
 */
export async function* splitBatch(chunks) {
  let rest = new Uint8Array(0);
  for await (const chunk of chunks) {
    const joined = new Uint8Array(rest.length + chunk.length);
    joined.set(rest);
    joined.set(chunk, rest.length);
    const view = new DataView(joined.buffer);
    let at = 0;
    while (at + 4 <= joined.length) {
      const length = view.getUint32(at);
      if (at + 4 + length > joined.length) break;
      yield joined.slice(at + 4, at + 4 + length);
      at += 4 + length;
    }
    rest = joined.slice(at);
  }
}

/**
 * Reads a stream chunk by chunk; not every browser can iterate over one.
 * @param {ReadableStream<Uint8Array>} stream
 */
async function* chunksOf(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/**
 * Tells the type of a picture by its first bytes.
 * @param {Uint8Array} bytes
 */
function typeOf(bytes) {
  if (bytes[0] === 0x89) return "image/png";
  if (bytes[0] === 0x52) return "image/webp";
  return "image/jpeg";
}

export class Thumbnails {
  #cache;
  /** @type {Map<string, Wanted[]>} what each part of the page shows, most urgent first */
  #wanted = new Map();
  /** @type {Map<string, AbortController>} the request that a thumbnail is part of, by key */
  #loading = new Map();
  /** @type {Map<string, number>} when a thumbnail that was not there may be asked for again, by key */
  #absent = new Map();
  /** @type {Set<(id: string, url: string) => void>} */
  #listeners = new Set();
  #running = 0;
  #stopped = false;
  /** @type {(() => void)[]} those who wait until nothing is on the way */
  #waiting = [];

  /** @param {number} bytes  the most that thumbnails may take in memory */
  constructor(bytes) {
    this.#cache = pictureCache(bytes);
  }

  /** @param {(id: string, url: string) => void} listener */
  onLoad(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Returns the address of a thumbnail that is in memory.
   * @param {Wanted} item
   */
  url(item) {
    return this.#cache.get(keyOf(item));
  }

  /**
   * Sets what a part of the page shows; what is not in the list any more is cancelled.
   * @param {string} owner
   * @param {Wanted[]} items
   */
  want(owner, items) {
    this.#wanted.set(owner, items);
    this.#cancelUnwanted();
    this.#load();
  }

  /** Returns when nothing is on the way. */
  async settled() {
    if (this.#running > 0) await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)));
  }

  /** Asks again for thumbnails that the server did not have. */
  askAgain() {
    this.#absent.clear();
    this.#load();
  }

  /** Forgets everything, for good. */
  clear() {
    this.#stopped = true;
    this.#wanted.clear();
    for (const controller of this.#loading.values()) controller.abort();
    this.#cache.clear();
    this.#listeners.clear();
  }

  #cancelUnwanted() {
    if (this.#loading.size === 0) return;
    const keys = new Set([...this.#wanted.values()].flat().map(keyOf));
    /** @type {Set<AbortController>} */
    const useful = new Set();
    for (const [key, controller] of this.#loading) if (keys.has(key)) useful.add(controller);
    for (const controller of this.#loading.values()) if (!useful.has(controller)) controller.abort();
  }

  #load() {
    while (!this.#stopped && this.#running < parallel) {
      const batch = this.#nextBatch();
      if (batch.length === 0) return;
      this.#running += 1;
      void this.#fetch(batch).finally(() => {
        this.#running -= 1;
        this.#load();
        if (this.#running === 0) for (const resolve of this.#waiting.splice(0)) resolve();
      });
    }
  }

  /** Takes the most urgent thumbnails that are neither in memory nor on the way. */
  #nextBatch() {
    /** @type {Map<string, Wanted>} */
    const batch = new Map();
    const now = Date.now();
    for (const items of this.#wanted.values()) {
      for (const item of items) {
        const key = keyOf(item);
        if (item.version <= 0 || this.#loading.has(key) || this.#cache.has(key)) continue;
        if ((this.#absent.get(key) ?? 0) > now) continue;
        batch.set(key, item);
        if (batch.size === batchSize) return [...batch.values()];
      }
    }
    return [...batch.values()];
  }

  /** @param {Wanted[]} batch */
  async #fetch(batch) {
    const controller = new AbortController();
    for (const item of batch) this.#loading.set(keyOf(item), controller);
    try {
      const path = `/api/thumbs?ids=${batch.map((item) => item.id).join(",")}`;
      const response = await request(path, { signal: controller.signal });
      if (response.body) await this.#receive(batch, response.body);
    } catch (error) {
      if (!isAbort(error)) this.#postpone(batch, 2000);
    } finally {
      for (const item of batch) this.#loading.delete(keyOf(item));
    }
  }

  /**
   * @param {Wanted[]} batch
   * @param {ReadableStream<Uint8Array>} stream
   */
  async #receive(batch, stream) {
    let position = 0;
    for await (const bytes of splitBatch(chunksOf(stream))) {
      const item = batch[position];
      position += 1;
      if (item === undefined || this.#stopped) return;
      this.#loading.delete(keyOf(item));
      if (bytes.length > 0) this.#keep(item, bytes);
      else this.#postpone([item], 10_000);
    }
    this.#postpone(batch.slice(position), 2000);
  }

  /**
   * @param {Wanted} item
   * @param {Uint8Array} bytes
   */
  #keep(item, bytes) {
    const url = URL.createObjectURL(new Blob([bytes], { type: typeOf(bytes) }));
    // Browsers need about this much for a blob besides its bytes.
    this.#cache.set(keyOf(item), url, bytes.length + 1024);
    for (const listener of this.#listeners) listener(item.id, url);
  }

  /**
   * Leaves thumbnails alone for a while, and then loads them if they are still wanted.
   * @param {Wanted[]} items
   * @param {number} milliseconds
   */
  #postpone(items, milliseconds) {
    if (items.length === 0) return;
    for (const item of items) this.#absent.set(keyOf(item), Date.now() + milliseconds);
    setTimeout(() => this.#load(), milliseconds + 50);
  }
}
