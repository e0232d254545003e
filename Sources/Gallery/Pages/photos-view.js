/**
 * Shows the photos of an album, with the albums in it, or one of the views of all photos.
 * @module
 */

import { isAbort } from "./api.js";
import { AlbumCards, emptyNote, labelledButton } from "./albums-view.js";
import { fill, h } from "./dom.js";
import { Grid } from "./grid.js";
import { loadListing } from "./listing.js";
import { Retry } from "./retry.js";
import { Scrubber } from "./scrubber.js";
import { albumsNamed } from "./search-view.js";
import { describeCounts, explain, t } from "./texts.js";

/** @typedef {import("./gallery.js").Gallery} Gallery */
/** @typedef {import("./listing.js").Listing} Listing */
/** @typedef {import("./library.js").Changes} Changes */

/** What finds the favourites, in any language. */
export const favourites = "type:favourite";

/** Photos above which a view is loaded again less often while it changes. */
const many = 20_000;
/** How long the rest of a listing waits for the pictures in the window, in milliseconds. */
const patience = 300;

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
  /** @type {Listing | null} the listing of the query that is asked for now */
  #found = null;
  #retry = new Retry(() => void this.load());

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
      star: gallery.library.readOnly ? null : (id) => void gallery.star([id]),
      moved: () => this.#scrubber?.update(),
    });
    this.#scrubber = byDate ? new Scrubber(this.grid) : null;
    this.#cards = this.#makeCards(openAlbum);
    this.#cards?.draw();
    fill(this.element, this.#cards?.element, this.#note, this.grid.element, this.#scrubber?.element);
  }

  /** @param {(id: string) => void} open */
  #makeCards(open) {
    const { library, thumbnails } = this.#gallery;
    if (this.#album !== null) return new AlbumCards(library, thumbnails, this.#album, open);
    if (!("search" in this.#query)) return null;
    const found = () => ("search" in this.#query ? albumsNamed(library.albums, this.#query.search) : []);
    return new AlbumCards(library, thumbnails, "search", open, found);
  }

  /**
   * Shows what another search finds. What was found before stays until then.
   * @param {string} search
   */
  find(search) {
    this.#query = { search };
    this.#request.abort();
    this.#request = new AbortController();
    this.#loading = this.#stale = false;
    this.#found = null;
    this.#cards?.draw();
    scrollTo({ top: 0 });
    void this.load();
  }

  /**
   * Shows an album in another order.
   * @param {import("./listing.js").Sort} sort
   */
  sort(sort) {
    if (this.#album === null) return;
    this.#query = { album: this.#album, sort };
    this.#request.abort();
    this.#request = new AbortController();
    this.#loading = this.#stale = false;
    scrollTo({ top: 0 });
    void this.load();
  }

  remove() {
    this.#retry.end();
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
    if ("search" in this.#query && this.#query.search === "") return "";
    if (!this.listing) return "";
    const { count, videos, others } = this.listing;
    return describeCounts({ photos: count - others, videos, others, albums: 0 });
  }

  /** Loads the photos, or loads them again. */
  async load() {
    if (this.#loading) {
      this.#stale = true;
      return;
    }
    this.#loading = true;
    const { signal } = this.#request;
    do {
      this.#stale = false;
      await this.#loadOnce(signal);
      if (signal.aborted) return;
      // A large view that changes all the time is not loaded all the time.
      const isLarge = (this.listing?.count ?? 0) > many;
      if (this.#stale && isLarge) await new Promise((resolve) => setTimeout(resolve, 5000));
    } while (this.#stale && !signal.aborted);
    if (!signal.aborted) this.#loading = false;
  }

  /** @param {AbortSignal} signal */
  async #loadOnce(signal) {
    const first = this.#found === null;
    try {
      const listing = await loadListing(this.#query, signal, async (part) => {
        if (!first) return;
        const isNew = part !== this.listing;
        this.#show(part);
        if (isNew && part.loaded < part.count) await this.#picturesFirst();
      });
      if (first && listing === this.listing) this.grid.show(listing);
      else this.#show(listing);
      this.#gallery.selection.keep((id) => listing.indexOf(id) >= 0);
      if (!first) this.#replaced(listing);
      this.#describe(listing);
      this.#retry.end();
    } catch (error) {
      if (!isAbort(error)) this.#fail(error);
    }
  }

  /** Lets the server send the pictures in the window before it sends the rest of a listing. */
  async #picturesFirst() {
    const { thumbnails } = this.#gallery;
    const drawn = new Promise(requestAnimationFrame).then(() => thumbnails.settled());
    await Promise.race([drawn, new Promise((resolve) => setTimeout(resolve, patience))]);
  }

  /** @param {Listing} listing */
  #show(listing) {
    const before = this.listing;
    this.listing = this.#found = listing;
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
    if (listing.count > 0 || this.#cards?.element.hidden === false) {
      fill(this.#note);
      return;
    }
    if ("search" in this.#query) {
      fill(this.#note, this.#emptySearch(this.#query.search));
      return;
    }
    const action = !this.#gallery.library.readOnly
      && labelledButton("upload", t("upload"), () => this.#gallery.pickFiles());
    const here = matchMedia("(pointer: coarse)").matches ? "noPhotosToTouch" : "noPhotosHere";
    const text = t(this.#album === null ? "noPhotosAnywhere" : here);
    fill(this.#note, emptyNote(t("noPhotos"), text, action));
  }

  /** @param {string} search */
  #emptySearch(search) {
    if (search === "") return emptyNote(t("searchHint"), t("searchHintText"), false);
    if (search === favourites) return emptyNote(t("noPhotos"), t("noFavouritesText"), false);
    return emptyNote(t("nothingFound"), t("nothingFoundText"), false);
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#retry.after(error);
    if (this.#found !== null) return;
    const retry = labelledButton("retry", t("tryAgain"), () => void this.load());
    fill(this.#note, emptyNote(t("notLoaded"), `${explain(error)} ${t("triesAgain")}`, retry));
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
