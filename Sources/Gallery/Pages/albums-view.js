/**
 * Shows albums as cards with covers: all of the root, or those in an album.
 * @module
 */

import { fill, h, picture, settle } from "./dom.js";
import { icon } from "./icons.js";
import { shown } from "./names.js";
import { describeCounts, t } from "./texts.js";

/** @typedef {import("./library.js").Library} Library */
/** @typedef {import("./library.js").Album} Album */
/** @typedef {import("./thumbnails.js").Thumbnails} Thumbnails */

export class AlbumCards {
  element = h("ul", { class: "cards", role: "list" });
  #library;
  #thumbnails;
  #open;
  #owner;
  #list;
  /** @type {Map<string, HTMLElement[]>} pictures of covers, by photo */
  #covers = new Map();
  /** @type {Map<HTMLElement, import("./thumbnails.js").Wanted>} */
  #wanted = new Map();
  /** @type {Map<string, HTMLElement>} the places of covers as they were drawn before, by album */
  #before = new Map();
  /** @type {Set<HTMLElement>} */
  #visible = new Set();
  #observer;
  #forget;

  /**
   * @param {Library} library
   * @param {Thumbnails} thumbnails
   * @param {string | null} parent
   * @param {(album: string) => void} open
   * @param {() => readonly Album[]} [list]  the albums, where they are not those in the parent
   */
  constructor(library, thumbnails, parent, open, list = () => library.children(parent)) {
    this.#library = library;
    this.#thumbnails = thumbnails;
    this.#open = open;
    this.#list = list;
    this.#owner = `albums ${parent ?? ""}`;
    this.#observer = new IntersectionObserver((entries) => this.#see(entries), { rootMargin: "300px" });
    this.#forget = thumbnails.onLoad((id, url) => this.#arrived(id, url));
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  remove() {
    this.#observer.disconnect();
    this.#forget();
    this.#thumbnails.want(this.#owner, []);
    this.element.remove();
  }

  /** Draws the cards as the library now has the albums; the focus stays on its album. */
  draw() {
    const active = document.activeElement;
    const focused = active instanceof HTMLElement ? active.dataset.album : undefined;
    this.#observer.disconnect();
    this.#before = this.#places();
    this.#covers.clear();
    this.#wanted.clear();
    this.#visible.clear();
    const albums = this.#list();
    fill(this.element, ...albums.map((album) => this.#card(album)));
    this.element.hidden = albums.length === 0;
    if (focused === undefined) return;
    const again = this.element.querySelector(`[data-album="${CSS.escape(focused)}"]`);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }

  #places() {
    /** @type {[string, HTMLElement][]} */
    const places = [];
    for (const card of this.element.querySelectorAll(".card")) {
      const place = card.querySelector(".cover-image");
      if (card instanceof HTMLElement && place instanceof HTMLElement) {
        places.push([card.dataset.album ?? "", place]);
      }
    }
    return new Map(places);
  }

  /** @param {Album} album */
  #card(album) {
    const cover = h("span", { class: "cover" }, icon("photos"), this.#cover(album));
    const inner = this.#library.children(album.id).length;
    if (inner > 0) cover.classList.add("stack");
    const button = h("button", {
      type: "button", class: "card", "data-album": album.id, on: { click: () => this.#open(album.id) },
    },
    cover,
    h("span", { class: "card-name", dir: "auto", title: shown(album.name) }, shown(album.name)),
    h("span", { class: "card-count" }, describeCounts({ ...album, albums: inner })));
    return h("li", null, button);
  }

  /** @param {Album} album */
  #cover(album) {
    if (album.cover === null) return null;
    const item = { id: album.cover, version: album.coverThumb ?? album.modified };
    const place = this.#place(album.id, item);
    this.#covers.set(album.cover, [...(this.#covers.get(album.cover) ?? []), place]);
    this.#wanted.set(place, item);
    this.#observer.observe(place);
    return place;
  }

  /**
   * Returns where an album's cover is drawn: the element of before while the cover is the same, or a new one.
   * @param {string} album
   * @param {import("./thumbnails.js").Wanted} item
   */
  #place(album, item) {
    const name = `${item.id}:${item.version}`;
    const before = this.#before.get(album);
    if (before?.dataset.cover === name) {
      settle(before);
      return before;
    }
    const url = this.#thumbnails.url(item);
    return h("span", { class: "cover-image", "data-cover": name }, url && picture(url));
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #see(entries) {
    for (const { target, isIntersecting } of entries) {
      const place = /** @type {HTMLElement} */ (target);
      if (isIntersecting) this.#visible.add(place);
      else this.#visible.delete(place);
    }
    const wanted = [...this.#visible].flatMap((place) => this.#wanted.get(place) ?? []);
    this.#thumbnails.want(this.#owner, wanted);
  }

  /**
   * @param {string} id
   * @param {string} url
   */
  #arrived(id, url) {
    for (const place of this.#covers.get(id) ?? []) {
      fill(place, picture(url, true));
    }
  }

  /**
   * Moves between cards with the arrow keys, besides Tab.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    const cards = [...this.element.querySelectorAll(".card")];
    const position = document.activeElement ? cards.indexOf(document.activeElement) : -1;
    if (position < 0) return;
    const columns = getComputedStyle(this.element).gridTemplateColumns.split(" ").length;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    const next = step === undefined ? undefined : cards[position + step];
    if (!(next instanceof HTMLElement)) return;
    event.preventDefault();
    next.focus();
  }
}

/**
 * Creates what a view without content shows.
 * @param {string} title
 * @param {string} text
 * @param {HTMLElement | false} action
 */
export function emptyNote(title, text, action) {
  return h("div", { class: "empty" }, icon("photos"), h("h2", null, title), h("p", null, text), action);
}

/**
 * Creates a button with an icon and a text.
 * @param {import("./icons.js").IconName} name
 * @param {string} label
 * @param {() => void} run
 * @param {string} [kind]
 */
export function labelledButton(name, label, run, kind = "main") {
  return h("button", { type: "button", class: `${kind} with-icon`, on: { click: run } }, icon(name), label);
}

/**
 * Says how many albums are in the root.
 * @param {Library} library
 */
export function describeLibrary(library) {
  return t("albumCount", { n: library.children(null).length });
}
