/**
 * Shows a strip of years beside a view by date, to go to a month at once.
 * @module
 */

import { fill, h, oncePerFrame, style } from "./dom.js";
import { formatMonth, t, yearOf } from "./texts.js";

/** @typedef {import("./grid.js").Grid} Grid */

const yearDistance = 17;
/** Where the first row that is read lies, below the bar, and how far from the edge a month is put. */
const readAt = 120;
const putAt = 112;

export class Scrubber {
  element;
  #grid;
  #years = h("div", { class: "scrubber-years", "aria-hidden": "true" });
  #handle = h("div", { class: "scrubber-handle" });
  #label = h("div", { class: "scrubber-label", "aria-hidden": "true" });
  /** The layout as the years show it. */
  #drawn = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #rest;

  /** @param {Grid} grid */
  constructor(grid) {
    this.#grid = grid;
    this.element = h("div", {
      class: "scrubber", role: "slider", tabindex: 0, "aria-orientation": "vertical",
      "aria-label": t("goToDate"), "aria-valuemin": 0, "aria-valuemax": 100,
    }, this.#years, this.#handle, this.#label);
    this.element.addEventListener("pointerdown", (event) => this.#down(event));
    this.element.addEventListener("pointermove", (event) => this.#move(event));
    this.element.addEventListener("pointerup", () => this.element.classList.remove("dragging"));
    this.element.addEventListener("pointercancel", () => this.element.classList.remove("dragging"));
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Follows the grid. */
  update = oncePerFrame(() => {
    const { layout } = this.#grid;
    this.element.hidden = !layout || layout.height < innerHeight * 3;
    if (!layout || this.element.hidden) return;
    const shape = `${layout.laid} ${Math.round(layout.height)} ${this.element.clientHeight}`;
    if (shape !== this.#drawn) {
      this.#drawn = shape;
      this.#drawYears();
    }
    const part = Math.min(1, Math.max(0, this.#grid.position / this.#range));
    style(this.#handle, { top: `${part * 100}%` });
    style(this.#label, { top: `${part * 100}%` });
    this.element.setAttribute("aria-valuenow", String(Math.round(part * 100)));
    const text = this.#textAt(this.#grid.position);
    this.element.setAttribute("aria-valuetext", text);
    this.#label.textContent = text;
    this.element.classList.add("moving");
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => this.element.classList.remove("moving"), 900);
  });

  /** How far the grid can be scrolled. */
  get #range() {
    return Math.max(1, (this.#grid.layout?.height ?? 0) - innerHeight * 0.8);
  }

  /** @param {number} top */
  #textAt(top) {
    const { layout, listing } = this.#grid;
    const row = layout?.rowAt(Math.max(0, top) + readAt) ?? -1;
    return layout && listing && row >= 0 ? formatMonth(listing.days[layout.start(row)]) : "";
  }

  /** Draws all years at the heights where they begin, moved apart where they would cover one another. */
  #drawYears() {
    const { layout, listing } = this.#grid;
    if (!layout || !listing) return;
    const height = this.element.clientHeight;
    /** @type {{year: number, at: number}[]} */
    const years = [];
    for (let row = 0; row < layout.rows; row += 1) {
      if (!layout.isHead(row)) continue;
      const year = yearOf(listing.days[layout.start(row)]);
      if (year !== years.at(-1)?.year) years.push({ year, at: (layout.top(row) / this.#range) * height });
    }
    fill(this.#years, ...spread(years, height).map(({ year, at }) => {
      const mark = h("span", null, String(year));
      style(mark, { top: `${at}px` });
      return mark;
    }));
  }

  /** @param {PointerEvent} event */
  #down(event) {
    this.element.setPointerCapture(event.pointerId);
    this.element.classList.add("dragging");
    this.#move(event);
    event.preventDefault();
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (!this.element.classList.contains("dragging")) return;
    const box = this.element.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientY - box.top) / box.height));
    this.#grid.scrollToHeight(part * this.#range);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { layout, listing } = this.#grid;
    if (!layout || !listing) return;
    const row = layout.rowAt(this.#grid.position + readAt);
    const here = row < 0 ? 0 : layout.start(row);
    /** @type {Record<string, () => number>} */
    const keys = {
      ArrowDown: () => this.#monthFrom(here, 1),
      ArrowUp: () => this.#monthFrom(here, -1),
      Home: () => 0,
      End: () => listing.loaded - 1,
    };
    const goal = keys[event.key];
    if (!goal) return;
    event.preventDefault();
    this.#grid.scrollTo(goal(), putAt);
  }

  /**
   * Finds the first photo of the next or previous month.
   * @param {number} index
   * @param {1 | -1} direction
   */
  #monthFrom(index, direction) {
    const { listing } = this.#grid;
    if (!listing) return index;
    const month = (/** @type {number} */ at) => formatMonth(listing.days[at]);
    const current = month(index);
    let at = index;
    while (listing.ids[at + direction] !== undefined && month(at) === current) at += direction;
    return at;
  }
}

/**
 * Moves marks so far apart that each can be read; leaves out every second one, and so on, where there is no room.
 * @param {{year: number, at: number}[]} years  from above to below
 * @param {number} height
 */
export function spread(years, height) {
  const room = Math.max(1, Math.floor(height / yearDistance));
  const every = Math.ceil(years.length / room);
  const shown = years.filter((_, place) => place % every === 0).map((each) => ({ ...each }));
  let least = yearDistance / 2;
  for (const mark of shown) {
    mark.at = Math.max(mark.at, least);
    least = mark.at + yearDistance;
  }
  let most = height - yearDistance / 2;
  for (const mark of [...shown].reverse()) {
    mark.at = Math.min(mark.at, most);
    most = mark.at - yearDistance;
  }
  return shown;
}
