/**
 * Turns clicks, drags and long presses on the grid into opening and selecting.
 * @module
 */

import { h, style } from "./dom.js";

/** @typedef {import("./grid.js").Grid} Grid */

const longPress = 450;
const dragDistance = 6;
const edge = 70;
/** How far fingers move apart, or together, until pictures have another size. */
const pinchStep = 1.35;

export class GridPointer {
  #grid;
  /**
   * Where the pointer went down: in the window, and in the grid.
   * @type {{x: number, y: number, left: number, top: number} | null}
   */
  #origin = null;
  /** @type {HTMLElement | null} the rectangle that the mouse draws */
  #frame = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #press;
  /** True while a finger that was held long draws a range. */
  #sweeping = false;
  #swallowClick = false;
  #pointer = { x: 0, y: 0 };
  #scrolling = false;
  /** @type {number | null} how far two fingers were apart when they began to pinch */
  #pinch = null;

  /** @param {Grid} grid */
  constructor(grid) {
    this.#grid = grid;
    const { element } = grid;
    element.addEventListener("click", (event) => this.#click(event));
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerup", () => this.#end());
    element.addEventListener("pointercancel", () => this.#end());
    element.addEventListener("contextmenu", (event) => this.#menu(event));
    element.addEventListener("touchstart", (event) => this.#beginPinch(event), { passive: true });
    element.addEventListener("touchmove", (event) => this.#followPinch(event), { passive: false });
    element.addEventListener("touchend", () => (this.#pinch = null));
    // Only a listener that is not passive can keep the page from scrolling under a finger that selects.
    element.addEventListener("touchmove", (event) => {
      if (this.#sweeping && event.cancelable) event.preventDefault();
    }, { passive: false });
  }

  /** @param {TouchEvent} event */
  #distance({ touches }) {
    return Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY);
  }

  /** @param {TouchEvent} event */
  #beginPinch(event) {
    if (event.touches.length !== 2 || this.#sweeping) return;
    clearTimeout(this.#press);
    this.#pinch = this.#distance(event);
  }

  /**
   * Shows larger pictures when fingers move apart, and smaller ones when they come together.
   * @param {TouchEvent} event
   */
  #followPinch(event) {
    if (this.#pinch === null || event.touches.length !== 2) return;
    if (event.cancelable) event.preventDefault();
    this.#swallowClick = true;
    const factor = this.#distance(event) / this.#pinch;
    if (factor < pinchStep && factor > 1 / pinchStep) return;
    this.#grid.resize(factor > 1 ? 1 : -1);
    this.#pinch = this.#distance(event);
  }

  /** @param {Event} event */
  #tileOf(event) {
    const tile = event.target instanceof Element ? event.target.closest(".tile") : null;
    return tile instanceof HTMLElement ? tile : null;
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const tile = this.#tileOf(event);
    const { listing, options } = this.#grid;
    if (this.#swallowClick || !tile || !listing) {
      this.#swallowClick = false;
      return;
    }
    const { selection } = options;
    const index = Number(tile.dataset.index);
    const id = listing.ids[index];
    const onStar = event.target instanceof Element && event.target.closest(".tile-star") !== null;
    // A finger that hits the corner of a tile wants the photo; a star that shows is for mice.
    if (onStar && options.star && !selection.active && matchMedia("(hover: hover)").matches) {
      options.star(id);
      return;
    }
    const onTick = event.target instanceof Element && event.target.closest(".tick") !== null;
    const adds = onTick || event.ctrlKey || event.metaKey || event.shiftKey;
    if (event.shiftKey && selection.anchor !== null) selection.extend(listing.ids, id);
    else if (selection.active || adds) selection.toggle(id);
    else options.open(index);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    this.#swallowClick = false;
    if (event.button !== 0 || !event.isPrimary) return;
    if (event.target instanceof Element && event.target.closest("button")) return;
    this.#pointer = { x: event.clientX, y: event.clientY };
    const box = this.#grid.element.getBoundingClientRect();
    this.#origin = { ...this.#pointer, left: event.clientX - box.left, top: event.clientY - box.top };
    if (event.pointerType === "mouse") return;
    const tile = this.#tileOf(event);
    if (tile) this.#press = setTimeout(() => this.#held(tile), longPress);
  }

  /**
   * Begins a selection with the photo that was held.
   * @param {HTMLElement} tile
   */
  #held(tile) {
    const id = tile.dataset.id ?? "";
    this.#sweeping = true;
    this.#swallowClick = true;
    this.#grid.held = Number(tile.dataset.index);
    this.#grid.options.selection.toggle(id);
    navigator.vibrate?.(10);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (!this.#origin || !event.isPrimary) return;
    this.#pointer = { x: event.clientX, y: event.clientY };
    const distance = Math.hypot(event.clientX - this.#origin.x, event.clientY - this.#origin.y);
    if (event.pointerType !== "mouse") {
      if (distance > dragDistance * 1.5) clearTimeout(this.#press);
      if (this.#sweeping) this.#draw();
    } else if (this.#frame || distance > dragDistance) {
      if (!this.#frame) this.#beginFrame(event.pointerId);
      this.#draw();
    }
  }

  /** @param {number} pointer */
  #beginFrame(pointer) {
    this.#frame = h("div", { class: "frame" });
    this.#grid.element.append(this.#frame);
    this.#grid.element.setPointerCapture(pointer);
    this.#grid.options.selection.hold();
    this.#swallowClick = true;
  }

  /** Selects what is in the rectangle of the mouse, or what lies between the first photo and the finger. */
  #draw() {
    const { element, layout, listing, options } = this.#grid;
    if (!layout || !listing || !this.#origin) return;
    const box = element.getBoundingClientRect();
    const x = this.#pointer.x - box.left;
    const y = this.#pointer.y - box.top;
    if (this.#frame) {
      const { left, top } = this.#origin;
      const [x0, x1] = [Math.min(left, x), Math.max(left, x)];
      const [y0, y1] = [Math.min(top, y), Math.max(top, y)];
      style(this.#frame, {
        transform: `translate(${x0}px, ${y0}px)`, width: `${x1 - x0}px`, height: `${y1 - y0}px`,
      });
      options.selection.draw(layout.within(x0, y0, x1, y1).map((index) => listing.ids[index]));
    } else {
      const index = layout.itemAt(x, y);
      if (index >= 0) options.selection.extend(listing.ids, listing.ids[index]);
    }
    this.#scrollAtEdge();
  }

  /** Scrolls while the pointer is held near the upper or lower edge of the window. */
  #scrollAtEdge() {
    if (this.#scrolling) return;
    const step = () => {
      const active = this.#frame !== null || this.#sweeping;
      const { y } = this.#pointer;
      const speed = y < edge ? y - edge : y > innerHeight - edge ? y - (innerHeight - edge) : 0;
      if (!active || speed === 0) {
        this.#scrolling = false;
        return;
      }
      scrollBy({ top: speed / 3 });
      this.#scrolling = true;
      this.#draw();
      requestAnimationFrame(step);
    };
    step();
  }

  #end() {
    clearTimeout(this.#press);
    this.#frame?.remove();
    if (this.#frame || this.#sweeping) this.#grid.options.selection.hold();
    this.#frame = null;
    this.#origin = null;
    this.#sweeping = false;
    this.#grid.held = -1;
  }

  /**
   * Keeps long presses from bringing up a menu, because they select.
   * @param {Event} event
   */
  #menu(event) {
    if (this.#tileOf(event) && (this.#press !== undefined || this.#sweeping)) event.preventDefault();
  }
}
