/**
 * Shows the photos of an album, with the albums in it, or one of the views of all photos.
 * @module
 */

import { isAbort } from "./api.js";
import { AlbumCards, emptyNote, labelledButton } from "./albums-view.js";
import { fill, h } from "./dom.js";
import { Grid } from "./grid.js";
import { loadListing } from "./listing.js";
import { Scrubber } from "./scrubber.js";
import { describeCounts, explain, t } from "./texts.js";

/** @typedef {import("./gallery.js").Gallery} Gallery */
/** @typedef {import("./listing.js").Listing} Listing */
/** @typedef {import("./library.js").Changes} Changes */

/** Photos above which a view is loaded again less often while it changes. */
const many = 20_000;

export class PhotosView {
  element = h("div", { class: "photos-view" });
  /** @type {Grid} */
  grid;
  /** @type {Listing | null} */
  listing = null;
  #gallery;
  /** @type {string | null} */
  #album;
  #query;
  #cards;
  /** @type {Scrubber | null} */
  #scrubber;
  #note = h("div");
  #request = new AbortController();
  #loading = false;
  #stale = false;
  /** @type {(listing: Listing) => void} called when the listing was replaced by a newer one */
  #replaced;
  #scrollGoal = 0;
  #counted;

  /**
   * @param {Gallery} gallery
   * @param {import("./listing.js").Query} query
   * @param {{open: (index: number) => void, replaced: (listing: Listing) => void,
   *   openAlbum: (id: string) => void, counted: () => void, scroll: number}} options
   */
  constructor(gallery, query, { open, replaced, openAlbum, counted, scroll }) {
    this.#gallery = gallery;
    this.#query = query;
    this.#replaced = replaced;
    this.#album = "album" in query ? query.album : null;
    this.#scrollGoal = scroll;
    this.#counted = counted;
    const byDate = "view" in query && query.view === "date";
    this.grid = new Grid({
      thumbnails: gallery.thumbnails, selection: gallery.selection, byDate, open,
      moved: () => this.#scrubber?.update(),
    });
    this.#scrubber = byDate ? new Scrubber(this.grid) : null;
    this.#cards = this.#album === null ? null
      : new AlbumCards(gallery.library, gallery.thumbnails, this.#album, openAlbum);
    this.#cards?.draw();
    fill(this.element, this.#cards?.element, this.#note, this.grid.element, this.#scrubber?.element);
  }

  remove() {
    this.#request.abort();
    this.#cards?.remove();
    this.grid.remove();
    this.element.remove();
  }

  /** What to say below the title. */
  get subtitle() {
    const { library } = this.#gallery;
    if (this.#album !== null) {
      const album = library.album(this.#album);
      return album ? describeCounts({ ...album, albums: library.children(album.id).length }) : "";
    }
    return this.listing ? t("photoCount", { n: this.listing.count }) : "";
  }

  /** Loads the photos, or loads them again. */
  async load() {
    if (this.#loading) {
      this.#stale = true;
      return;
    }
    this.#loading = true;
    do {
      this.#stale = false;
      await this.#loadOnce();
      if (this.#request.signal.aborted) return;
      // A large view that changes all the time is not loaded all the time.
      const isLarge = (this.listing?.count ?? 0) > many;
      if (this.#stale && isLarge) await new Promise((resolve) => setTimeout(resolve, 5000));
    } while (this.#stale && !this.#request.signal.aborted);
    this.#loading = false;
  }

  async #loadOnce() {
    const first = this.listing === null;
    try {
      const listing = await loadListing(this.#query, this.#request.signal, (part) => {
        if (first) this.#show(part);
      });
      if (first && listing === this.listing) this.grid.show(listing);
      else this.#show(listing);
      this.#gallery.selection.keep((id) => listing.indexOf(id) >= 0);
      if (!first) this.#replaced(listing);
      this.#describe(listing);
    } catch (error) {
      if (!isAbort(error)) this.#fail(error);
    }
  }

  /** @param {Listing} listing */
  #show(listing) {
    const before = this.listing;
    this.listing = listing;
    this.grid.show(listing);
    if (this.#scrollGoal > 0) this.#restoreScroll(listing);
    if (before !== listing) this.#counted();
    if (listing.count > 0) fill(this.#note);
  }

  /**
   * Scrolls to where the person was when the view was left, as soon as it is high enough.
   * @param {Listing} listing
   */
  #restoreScroll(listing) {
    scrollTo({ top: this.#scrollGoal });
    if (Math.abs(scrollY - this.#scrollGoal) < 2 || listing.loaded === listing.count) this.#scrollGoal = 0;
  }

  /** @param {Listing} listing */
  #describe(listing) {
    this.#counted();
    const hasAlbums = this.#album !== null && this.#gallery.library.children(this.#album).length > 0;
    if (listing.count > 0 || hasAlbums) {
      fill(this.#note);
      return;
    }
    const action = !this.#gallery.library.readOnly
      && labelledButton("upload", t("upload"), () => this.#gallery.pickFiles());
    const here = matchMedia("(pointer: coarse)").matches ? "noPhotosToTouch" : "noPhotosHere";
    const text = t(this.#album === null ? "noPhotosAnywhere" : here);
    fill(this.#note, emptyNote(t("noPhotos"), text, action));
  }

  /** @param {unknown} error */
  #fail(error) {
    if (this.listing !== null) return;
    const retry = labelledButton("retry", t("tryAgain"), () => void this.load());
    fill(this.#note, emptyNote(t("notLoaded"), explain(error), retry));
  }

  /** @param {Changes} changes */
  changed(changes) {
    if (changes.albums) {
      this.#cards?.draw();
      this.#counted();
    }
    if (this.#album === null ? changes.in.size > 0 : changes.in.has(this.#album)) void this.load();
  }
}
