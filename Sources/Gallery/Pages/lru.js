/**
 * Keeps the most recently used values below a total weight.
 * @module
 */

/**
 * A cache that gives up what was not used for longest.
 * @template V
 */
export class LRU {
  /**
   * The first entry is the one that was not used for longest.
   * @type {Map<string, {value: V, weight: number}>}
   */
  #entries = new Map();
  #weight = 0;
  #limit;
  #dispose;

  /**
   * @param {number} limit  the total weight that is kept
   * @param {(value: V) => void} dispose  called once for each value that leaves
   */
  constructor(limit, dispose) {
    this.#limit = limit;
    this.#dispose = dispose;
  }

  /** The total weight of what is kept. */
  get weight() {
    return this.#weight;
  }

  get size() {
    return this.#entries.size;
  }

  /**
   * Returns a value and marks it as used.
   * @param {string} key
   * @returns {V | undefined}
   */
  get(key) {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** @param {string} key */
  has(key) {
    return this.#entries.has(key);
  }

  /**
   * Adds a value; the newest is kept even where it alone exceeds the limit.
   * @param {string} key
   * @param {V} value
   * @param {number} weight
   */
  set(key, value, weight) {
    this.delete(key);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#limit || oldest === key) break;
      this.delete(oldest);
    }
  }

  /** @param {string} key */
  delete(key) {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
    this.#dispose(entry.value);
  }

  clear() {
    for (const key of [...this.#entries.keys()]) this.delete(key);
  }
}

/**
 * Creates a cache of pictures: object URLs of blobs in memory, revoked when they leave.
 * @param {number} bytes
 * @returns {LRU<string>}
 */
export function pictureCache(bytes) {
  return new LRU(bytes, (url) => URL.revokeObjectURL(url));
}
