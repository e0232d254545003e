/**
 * Shows a long list of rows of one height; only those in sight exist as elements.
 * @module
 */

import { h, oncePerFrame, style } from "./dom.js";

/** @template T */
export class VirtualList {
  element = h("div", { class: "virtual-list", role: "list", tabindex: 0 });
  #space = h("div", { class: "virtual-space", role: "presentation" });
  #height;
  #create;
  #update;
  /** @type {readonly T[]} */
  #items = [];
  /** @type {Map<T, HTMLElement>} */
  #rows = new Map();

  /**
   * @param {number} height  of a row
   * @param {(item: T) => HTMLElement} create
   * @param {(item: T, row: HTMLElement) => void} update
   */
  constructor(height, create, update) {
    this.#height = height;
    this.#create = create;
    this.#update = update;
    this.element.append(this.#space);
    this.element.addEventListener("scroll", this.draw, { passive: true });
  }

  /** @param {readonly T[]} items */
  show(items) {
    this.#items = items;
    style(this.#space, { height: `${items.length * this.#height}px` });
    this.draw();
  }

  draw = oncePerFrame(() => {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / this.#height) - 4);
    const last = Math.min(this.#items.length, Math.ceil((scrollTop + clientHeight) / this.#height) + 4);
    const needed = this.#items.slice(first, last);
    for (const [item, row] of this.#rows) {
      if (needed.includes(item)) continue;
      row.remove();
      this.#rows.delete(item);
    }
    needed.forEach((item, position) => this.#place(item, first + position));
  });

  /**
   * @param {T} item
   * @param {number} position
   */
  #place(item, position) {
    let row = this.#rows.get(item);
    if (!row) {
      row = this.#create(item);
      row.setAttribute("role", "listitem");
      this.#rows.set(item, row);
      this.#space.append(row);
    }
    row.setAttribute("aria-setsize", String(this.#items.length));
    row.setAttribute("aria-posinset", String(position + 1));
    style(row, { transform: `translateY(${position * this.#height}px)` });
    this.#update(item, row);
  }
}
