/**
 * Shows photos that the space has more than once, and deletes those that a person chooses. One of each stays.
 * @module
 */

import { emptyNote, labelledButton } from "./albums-view.js";
import { get, isAbort, post } from "./api.js";
import { fill, h, picture } from "./dom.js";
import { icon } from "./icons.js";
import { shown } from "./names.js";
import { explain, formatBytes, formatNumber, t } from "./texts.js";
import { say } from "./toasts.js";

/**
 * `ids` are those of all files that belong to the photo.
 * @typedef {{id: string, name: string, path: string[], kind: string, size: number, width: number, height: number,
 *   thumb: number, same: "kept" | "bytes" | "picture", surplus: boolean, ids: string[]}} Copy
 */
/** @typedef {{photos: Copy[]}} CopySet */
/** @typedef {{state: "none" | "running" | "done", done: number, total: number, unhashed: number, sets: CopySet[]}} Found */

/** So many sets are drawn at first, and with each wish for more. */
const step = 100;
const pollTime = 500;

export class DuplicatesView {
  element = h("section", { class: "deleted", "aria-label": t("duplicates") });
  #readOnly;
  #thumbnails;
  #actions;
  /** @type {CopySet[]} */
  #sets = [];
  #unhashed = 0;
  /** @type {Map<string, Copy>} what is to go, by the photo's id */
  #chosen = new Map();
  /** @type {Set<string>} photos that were offered before: what a person took out stays out */
  #offered = new Set();
  #drawn = step;
  #request = new AbortController();
  #bar = h("div", { class: "deleted-bar" });
  /** @type {Map<string, HTMLElement>} places of pictures, by photo */
  #places = new Map();
  /** @type {Map<Element, import("./thumbnails.js").Wanted>} */
  #wanted = new Map();
  /** @type {Set<Element>} */
  #visible = new Set();
  #observer;
  #forget;

  /**
   * @param {boolean} readOnly
   * @param {import("./thumbnails.js").Thumbnails} thumbnails
   * @param {{counted: () => void, remove: (ids: string[]) => Promise<void>}} actions
   */
  constructor(readOnly, thumbnails, actions) {
    this.#readOnly = readOnly;
    this.#thumbnails = thumbnails;
    this.#actions = actions;
    this.#observer = new IntersectionObserver((entries) => this.#see(entries), { rootMargin: "300px" });
    this.#forget = thumbnails.onLoad((id, url) => this.#arrived(id, url));
  }

  get subtitle() {
    return t("setCount", { n: this.#sets.length });
  }

  remove() {
    this.#request.abort();
    this.#observer.disconnect();
    this.#forget();
    this.#thumbnails.want("duplicates", []);
    this.element.remove();
  }

  /** Has the server compare all photos, and shows how far it is. */
  async search() {
    const status = h("p", { class: "hint", role: "status" }, t("duplicatesSearched"));
    const bar = h("progress", { "aria-label": t("duplicatesSearched") });
    fill(this.element, status, bar);
    try {
      /** @type {Found} */
      let found = await post("/api/duplicates", {});
      while (found.state === "running") {
        if (found.total > 0) [bar.max, bar.value] = [found.total, found.done];
        await new Promise((resolve) => setTimeout(resolve, pollTime));
        found = await get("/api/duplicates", this.#request.signal);
      }
      this.#take(found);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Shows what is left after a change. */
  async load() {
    try {
      /** @type {Found} */
      const found = await get("/api/duplicates", this.#request.signal);
      if (found.state === "done") this.#take(found);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    if (!isAbort(error)) fill(this.element, emptyNote(t("notLoaded"), explain(error), false));
  }

  /** @param {Found} found */
  #take({ sets, unhashed }) {
    if (this.#request.signal.aborted) return;
    this.#sets = sets;
    this.#unhashed = unhashed;
    const before = this.#chosen;
    this.#chosen = new Map();
    for (const copy of sets.flatMap(({ photos }) => photos)) {
      const isNew = !this.#offered.has(copy.id);
      this.#offered.add(copy.id);
      if (!this.#readOnly && (before.has(copy.id) || (isNew && copy.surplus))) this.#chosen.set(copy.id, copy);
    }
    this.#draw();
  }

  #draw() {
    this.#actions.counted();
    this.#observer.disconnect();
    this.#places.clear();
    this.#wanted.clear();
    this.#visible.clear();
    const note = this.#unhashed > 0 && h("p", { class: "hint" }, t("unhashed", { n: this.#unhashed }));
    if (this.#sets.length === 0) {
      fill(this.element, emptyNote(t("noDuplicates"), t("noDuplicatesText"), false), note);
      return;
    }
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const list = h("div", { class: "copy-sets" }, ...this.#sets.slice(0, this.#drawn).map((set) => this.#set(set)));
    const more = labelledButton("down", t("showMore"), () => this.#drawMore(list, more), "plain");
    fill(this.element, h("p", { class: "hint" }, t("duplicatesText")), note, this.#bar, list,
      this.#sets.length > this.#drawn && more);
    this.#drawBar();
    if (focused instanceof HTMLElement) this.#focusAgain(focused.dataset.photo);
  }

  /**
   * Gives the focus to the card of a photo, or to the first button: the element that had it is gone.
   * @param {string | undefined} photo
   */
  #focusAgain(photo) {
    const buttons = [...this.element.querySelectorAll("button")];
    const button = buttons.find(({ dataset }) => photo && dataset.photo === photo) ?? buttons[0];
    button?.focus({ preventScroll: true });
  }

  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} more
   */
  #drawMore(list, more) {
    const sets = this.#sets.slice(this.#drawn, this.#drawn + step).map((set) => this.#set(set));
    this.#drawn += step;
    list.append(...sets);
    sets[0]?.querySelector("button")?.focus({ preventScroll: true });
    if (this.#sets.length <= this.#drawn) more.remove();
  }

  #drawBar() {
    if (this.#readOnly) return;
    const copies = [...this.#chosen.values()];
    const size = copies.reduce((sum, copy) => sum + copy.size, 0);
    const label = copies.length > 0 ? `${t("delete")}: ${formatNumber(copies.length)} · ${formatBytes(size)}`
      : t("delete");
    const button = labelledButton("remove", label, () => void this.#remove(copies), "danger");
    button.disabled = copies.length === 0;
    fill(this.#bar, button);
  }

  /** @param {Copy[]} copies */
  async #remove(copies) {
    await this.#actions.remove(copies.flatMap(({ ids }) => ids));
    await this.load();
  }

  /** @param {CopySet} set */
  #set({ photos }) {
    const name = photos[0]?.name ?? "";
    return h("ul", { class: "cards copy-set", role: "list", "aria-label": shown(name) },
      ...photos.map((copy) => h("li", null, this.#card(copy, photos))));
  }

  /**
   * @param {Copy} copy
   * @param {Copy[]} all  those of its set
   */
  #card(copy, all) {
    const content = [
      h("span", { class: "cover" }, icon("photos"), this.#place(copy)),
      h("span", { class: "card-name", dir: "auto" }, shown(copy.name)),
      h("span", { class: "card-count", dir: "auto" }, copy.path.map(shown).join(" / ")),
      h("span", { class: "card-count" }, this.#describe(copy)),
    ];
    if (this.#readOnly) return h("div", { class: "card" }, ...content);
    const button = h("button", {
      type: "button", class: "card", "data-photo": copy.id, "aria-pressed": String(this.#chosen.has(copy.id)),
      on: {
        click: () => {
          this.#toggle(copy, all);
          button.setAttribute("aria-pressed", String(this.#chosen.has(copy.id)));
        },
      },
    }, ...content);
    return button;
  }

  /**
   * Chooses a copy or leaves it; the last one of a set cannot be chosen.
   * @param {Copy} copy
   * @param {Copy[]} all
   */
  #toggle(copy, all) {
    if (this.#chosen.delete(copy.id)) return this.#drawBar();
    if (all.every(({ id }) => id === copy.id || this.#chosen.has(id))) return say(t("oneStays"));
    this.#chosen.set(copy.id, copy);
    this.#drawBar();
  }

  /** @param {Copy} copy */
  #describe(copy) {
    const relation = t(/** @type {const} */ ({ kept: "keptCopy", bytes: "sameContent", picture: "samePicture" })[copy.same]);
    const size = copy.width > 0 ? `${formatNumber(copy.width)} × ${formatNumber(copy.height)}` : null;
    return [relation, size, formatBytes(copy.size)].filter(Boolean).join(" · ");
  }

  /** @param {Copy} copy */
  #place(copy) {
    const item = { id: copy.id, version: copy.thumb };
    const url = this.#thumbnails.url(item);
    const place = h("span", { class: "cover-image" }, url && picture(url));
    this.#places.set(copy.id, place);
    this.#wanted.set(place, item);
    this.#observer.observe(place);
    return place;
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #see(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#visible.add(target);
      else this.#visible.delete(target);
    }
    this.#thumbnails.want("duplicates", [...this.#visible].flatMap((place) => this.#wanted.get(place) ?? []));
  }

  /**
   * @param {string} id
   * @param {string} url
   */
  #arrived(id, url) {
    const place = this.#places.get(id);
    if (place) fill(place, picture(url, true));
  }
}
