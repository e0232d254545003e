/**
 * Asks what to look for: one field, and buttons for what people look for often. The photos below follow while
 * the person types.
 * @module
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";

/**
 * How long the page waits for the next letter, in milliseconds: results come within 100 ms, and the server looks through
 * 100,000 photos in a third of that.
 */
const pause = 50;

/** Words that any language of the page finds, and their texts. */
const suggestions = /** @type {const} */ ([
  ["type:favourite", "favourites"], ["type:video", "videos"], ["type:screenshot", "screenshots"],
  ["type:panorama", "panoramas"], ["type:live", "livePhotos"], ["type:raw", "rawPhotos"],
]);

export class SearchField {
  element;
  #input;
  #buttons;
  #search;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #last;

  /**
   * @param {string} text
   * @param {(text: string) => void} search  called with what is typed, when typing pauses
   */
  constructor(text, search) {
    this.#search = search;
    this.#last = text.trim();
    this.#input = h("input", {
      type: "search", placeholder: t("searchPhotos"), "aria-label": t("searchPhotos"), autocomplete: "off",
      autocapitalize: "none", spellcheck: "false", enterkeyhint: "search", maxlength: 200,
    });
    this.#input.value = text;
    this.#input.addEventListener("input", () => this.#typed());
    this.#buttons = suggestions.map(([words, name]) => h("button", {
      type: "button", class: "chip", "data-words": words, "aria-pressed": "false",
      on: { click: () => this.#toggle(words) },
    }, t(name)));
    this.element = h("form", { class: "search", role: "search", autocomplete: "off" },
      h("div", { class: "search-line" }, icon("search"), this.#input),
      h("div", { class: "chips" }, ...this.#buttons));
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
      this.#input.blur();
    });
    this.#mark();
  }

  focus() {
    this.#input.focus({ preventScroll: true });
  }

  remove() {
    clearTimeout(this.#timer);
  }

  #typed() {
    this.#mark();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), pause);
  }

  #ask() {
    clearTimeout(this.#timer);
    const text = this.#input.value.trim();
    if (text === this.#last) return;
    this.#last = text;
    this.#search(text);
  }

  get #words() {
    return this.#input.value.trim().split(/\s+/).filter(Boolean);
  }

  /**
   * Adds a word, or takes it away.
   * @param {string} word
   */
  #toggle(word) {
    const words = this.#words;
    const next = words.includes(word) ? words.filter((each) => each !== word) : [...words, word];
    this.#input.value = next.join(" ");
    this.#mark();
    this.#ask();
  }

  #mark() {
    const words = new Set(this.#words);
    for (const button of this.#buttons) {
      button.setAttribute("aria-pressed", String(words.has(button.dataset.words ?? "")));
    }
  }
}

/**
 * Returns letters without marks and capitals, as the server compares them.
 * @param {string} text
 */
function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/**
 * Finds albums in whose names all words begin a word.
 * @param {Iterable<import("./library.js").Album>} albums
 * @param {string} text
 */
export function albumsNamed(albums, text) {
  const words = plain(text).split(/[^\p{L}\p{N}:"-]+/u).filter(Boolean);
  if (words.length === 0 || words.some((word) => /[:"]|^-/.test(word))) return [];
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  return [...albums].filter(({ name }) => {
    const parts = plain(name).split(/[^\p{L}\p{N}]+/u);
    return words.every((word) => parts.some((part) => part.startsWith(word)));
  }).sort((one, other) => collator.compare(one.name, other.name));
}
