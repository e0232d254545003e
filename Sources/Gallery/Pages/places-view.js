/**
 * Shows the towns near which photos were taken, as cards.
 * @module
 */

import { AlbumCards, emptyNote } from "./albums-view.js";
import { get, isAbort } from "./api.js";
import { fill, h } from "./dom.js";
import { explain, t } from "./texts.js";

/** @typedef {{place: number, name: string, photos: number, videos: number, cover: string, coverThumb: number}} Place */

export class PlacesView {
  element = h("section", { "aria-label": t("places") });
  /** @type {Place[]} */
  #places = [];
  #cards;
  #note = h("div");
  #request = new AbortController();
  #counted;

  /**
   * @param {import("./library.js").Library} library
   * @param {import("./thumbnails.js").Thumbnails} thumbnails
   * @param {{open: (place: string, name: string) => void, counted: () => void}} actions
   */
  constructor(library, thumbnails, { open, counted }) {
    this.#counted = counted;
    const name = (/** @type {string} */ id) => this.#places.find(({ place }) => String(place) === id)?.name ?? "";
    this.#cards = new AlbumCards(library, thumbnails, "places", (id) => open(id, name(id)),
      () => this.#places.map(({ place, ...rest }) => ({
        ...rest, id: String(place), parent: null, others: 0, modified: 0,
      })));
    fill(this.element, this.#note, this.#cards.element);
  }

  get subtitle() {
    return t("placeCount", { n: this.#places.length });
  }

  async load() {
    try {
      this.#places = (await get("/api/places", this.#request.signal)).places;
      this.#cards.draw();
      fill(this.#note, this.#places.length === 0 && emptyNote(t("noPlaces"), t("noPlacesText"), false));
      this.#counted();
    } catch (error) {
      if (!isAbort(error)) fill(this.#note, emptyNote(t("notLoaded"), explain(error), false));
    }
  }

  remove() {
    this.#request.abort();
    this.#cards.remove();
    this.element.remove();
  }
}
