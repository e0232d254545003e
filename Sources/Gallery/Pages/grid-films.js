/**
 * Plays a film, and that of a Live Photo, without sound in its tile: under a mouse that rests there, or under a finger that is held.
 * @module
 */

import { h, wantsLittleMotion } from "./dom.js";

/** A mouse on its way over the grid starts nothing. */
const rest = 400;

export class GridFilms {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #wait;
  /** @type {HTMLElement | null} the tile that the pointer is on */
  #tile = null;
  /** @type {HTMLVideoElement | null} */
  #video = null;

  /** @param {HTMLElement} grid */
  constructor(grid) {
    grid.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse") this.#goTo(filmAt(event));
    });
    grid.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse") this.stop();
      else this.#goTo(filmAt(event));
    });
    for (const type of ["pointerleave", "pointercancel"]) grid.addEventListener(type, () => this.stop());
    grid.addEventListener("pointerup", (event) => {
      if (event.pointerType !== "mouse") this.stop();
    });
  }

  /** Ends a film, and whatever was to begin. */
  stop() {
    clearTimeout(this.#wait);
    this.#tile = null;
    const video = this.#video;
    this.#video = null;
    if (!video) return;
    video.pause();
    // Without this the browser goes on loading.
    video.removeAttribute("src");
    video.load();
    video.remove();
  }

  /** @param {HTMLElement | null} tile */
  #goTo(tile) {
    if (tile === this.#tile) return;
    this.stop();
    this.#tile = tile;
    if (tile && !wantsLittleMotion()) this.#wait = setTimeout(() => this.#play(tile), rest);
  }

  /** @param {HTMLElement} tile */
  #play(tile) {
    if (!tile.isConnected) return;
    const video = h("video", {
      src: `/api/${tile.classList.contains("live") ? "live" : "video"}/${tile.dataset.id}`, class: "tile-film", loop: true, playsinline: true, "aria-hidden": "true",
    });
    video.muted = true;
    video.addEventListener("playing", () => video.classList.add("ready"), { once: true });
    video.addEventListener("error", () => video.remove());
    this.#video = video;
    tile.querySelector("img")?.after(video);
    video.play().catch(() => {});
  }
}

/**
 * Returns the tile of a film or of a Live Photo that an event is about.
 * @param {Event} event
 */
function filmAt({ target }) {
  const tile = target instanceof Element ? target.closest(".tile.video, .tile.live") : null;
  return tile instanceof HTMLElement ? tile : null;
}
