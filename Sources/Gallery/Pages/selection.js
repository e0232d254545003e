/**
 * Holds which photos are selected, by id, so that a listing that changes keeps the selection.
 * @module
 */

export class Selection {
  /** @type {Set<string>} */
  #ids = new Set();
  /** @type {Set<string>} what was selected before the range that is being drawn */
  #base = new Set();
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {string | null} where a range begins */
  anchor = null;
  /** True while a tap selects instead of opening, also with nothing selected yet. */
  active = false;

  /** @param {() => void} listener */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get size() {
    return this.#ids.size;
  }

  /** @param {string} id */
  has(id) {
    return this.#ids.has(id);
  }

  /** @returns {string[]} */
  get ids() {
    return [...this.#ids];
  }

  begin() {
    this.active = true;
    this.#changed();
  }

  /** @param {string} id */
  toggle(id) {
    if (!this.#ids.delete(id)) this.#ids.add(id);
    this.anchor = id;
    this.#settle();
  }

  /**
   * Selects or deselects many.
   * @param {Iterable<string>} ids
   * @param {boolean} on
   */
  set(ids, on) {
    for (const id of ids) {
      if (on) this.#ids.add(id);
      else this.#ids.delete(id);
    }
    this.#settle();
  }

  /**
   * Selects from the anchor to a photo, in place of the range drawn from the same anchor before.
   * @param {readonly string[]} order  the ids of the listing
   * @param {string} id
   */
  extend(order, id) {
    const from = this.anchor === null ? -1 : order.indexOf(this.anchor);
    const to = order.indexOf(id);
    if (to < 0) return;
    if (from < 0) {
      this.anchor = id;
      this.draw([id]);
      return;
    }
    this.draw(order.slice(Math.min(from, to), Math.max(from, to) + 1));
  }

  /** Remembers what is selected; `draw` adds to it. */
  hold() {
    this.#base = new Set(this.#ids);
  }

  /**
   * Selects some besides what was selected at `hold`.
   * @param {Iterable<string>} ids
   */
  draw(ids) {
    this.#ids = new Set(this.#base);
    for (const id of ids) this.#ids.add(id);
    this.active = this.active || this.#ids.size > 0;
    this.#changed();
  }

  /**
   * Forgets photos that no longer exist.
   * @param {(id: string) => boolean} exists
   */
  keep(exists) {
    const before = this.#ids.size;
    for (const id of this.#ids) if (!exists(id)) this.#ids.delete(id);
    if (this.#ids.size !== before) this.#settle();
  }

  clear() {
    this.#ids.clear();
    this.#base.clear();
    this.anchor = null;
    this.active = false;
    this.#changed();
  }

  #settle() {
    this.active = this.#ids.size > 0 || this.active;
    this.hold();
    this.#changed();
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
