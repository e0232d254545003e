/**
 * Draws small previews of files that are to be uploaded, and tells what they are; two at a time.
 * @module
 */

import { LRU } from "./lru.js";
import { kindOf } from "./upload-kind.js";

/** @typedef {import("./upload-queue.js").UploadItem} UploadItem */
/** @typedef {{bitmap: ImageBitmap | null, kind: import("./upload-kind.js").FileKind}} Preview */

const edge = 96;
const most = 200;
const parallel = 2;
/** Larger files take too much memory to decode on a phone. */
const largest = 80 << 20;

export class UploadPreviews {
  /** @type {LRU<Preview>} */
  #cache = new LRU(most, ({ bitmap }) => bitmap?.close());
  /** @type {{item: UploadItem, done: (preview: Preview) => void, wanted: () => boolean}[]} */
  #waiting = [];
  #running = 0;

  /**
   * Makes a preview, unless it is no longer wanted when its turn comes.
   * @param {UploadItem} item
   * @param {() => boolean} wanted
   * @param {(preview: Preview) => void} done
   */
  ask(item, wanted, done) {
    const cached = this.#cache.get(String(item.number));
    if (cached) done(cached);
    else this.#waiting.push({ item, done, wanted });
    // The row that asks is not in the document yet.
    queueMicrotask(() => this.#next());
  }

  #next() {
    while (this.#running < parallel) {
      const request = this.#waiting.shift();
      if (!request) return;
      if (!request.wanted()) continue;
      this.#running += 1;
      void this.#make(request.item).then(request.done).finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
  }

  /**
   * @param {UploadItem} item
   * @returns {Promise<Preview>}
   */
  async #make(item) {
    const preview = { bitmap: await this.#decode(item), kind: await kindOf(item.file) };
    this.#cache.set(String(item.number), preview, 1);
    return preview;
  }

  /** @param {UploadItem} item */
  async #decode({ file }) {
    if (file.size > largest || file.source.type.startsWith("video/")) return null;
    try {
      return await createImageBitmap(file.source, { resizeWidth: edge, resizeQuality: "medium" });
    } catch {
      return null;
    }
  }

  clear() {
    this.#waiting = [];
    this.#cache.clear();
  }
}
