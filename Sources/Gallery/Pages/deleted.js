/**
 * Shows the files that were deleted and can come back, and what a photo was before it was overwritten.
 * @module
 */

import { emptyNote, labelledButton } from "./albums-view.js";
import { get, getBlob, isAbort, post } from "./api.js";
import { confirmPassword } from "./dialogs.js";
import { fill, h, picture } from "./dom.js";
import { icon } from "./icons.js";
import { shown } from "./names.js";
import { explain, formatDateLong, formatNumber, t } from "./texts.js";
import { say } from "./toasts.js";

/**
 * A deleted photo; `ids` are those of all files that went with it.
 * @typedef {{id: string, ids: string[], path: string[], size: number, deleted: number, secondsLeft: number,
 *   cause: "removed" | "replaced" | "overwritten"}} DeletedFile
 */

/** So many are drawn at first, and with each wish for more. */
const step = 300;

/** @param {DeletedFile} file */
const daysLeft = (file) => t("daysLeft", { n: Math.ceil(file.secondsLeft / 86_400) });

export class DeletedView {
  element = h("section", { class: "deleted", "aria-label": t("recentlyDeleted") });
  #readOnly;
  #counted;
  /** @type {DeletedFile[]} */
  #files = [];
  /** @type {Set<string>} */
  #chosen = new Set();
  #drawn = step;
  #request = new AbortController();
  /** @type {Map<string, string>} addresses of pictures, by file */
  #pictures = new Map();
  /** @type {Map<Element, DeletedFile>} places whose picture is not there yet */
  #waiting = new Map();
  #observer;

  /**
   * @param {boolean} readOnly
   * @param {() => void} counted  called when `subtitle` has changed
   */
  constructor(readOnly, counted) {
    this.#readOnly = readOnly;
    this.#counted = counted;
    this.#observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) void this.#loadPicture(target);
    }, { rootMargin: "300px" });
  }

  get subtitle() {
    return t("fileCount", { n: this.#idsOf(() => true).length });
  }

  /**
   * Returns the ids of all files of some photos.
   * @param {(file: DeletedFile) => boolean} isMeant
   */
  #idsOf(isMeant) {
    return this.#files.filter(isMeant).flatMap(({ ids }) => ids);
  }

  remove() {
    this.#request.abort();
    this.#observer.disconnect();
    for (const url of this.#pictures.values()) URL.revokeObjectURL(url);
    this.element.remove();
  }

  async load() {
    try {
      const { files } = await get("/api/deleted", this.#request.signal);
      this.#files = files;
      const there = new Set(this.#files.map(({ id }) => id));
      this.#chosen = new Set([...this.#chosen].filter((id) => there.has(id)));
      this.#draw();
    } catch (error) {
      if (!isAbort(error)) fill(this.element, emptyNote(t("notLoaded"), explain(error), false));
    }
  }

  #draw() {
    this.#counted();
    if (this.#files.length === 0) {
      fill(this.element, emptyNote(t("nothingDeleted"), t("recentlyDeletedText"), false));
      return;
    }
    this.#observer.disconnect();
    this.#waiting.clear();
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const bar = h("div", { class: "deleted-bar" });
    const list = h("ul", { class: "cards", role: "list" },
      ...this.#files.slice(0, this.#drawn).map((file) => this.#card(file, bar)));
    const more = labelledButton("down", t("showMore"), () => this.#drawMore(list, bar, more), "plain");
    fill(this.element, h("p", { class: "hint" }, t("recentlyDeletedText")), bar, list,
      this.#files.length > this.#drawn && more);
    this.#drawBar(bar);
    if (focused instanceof HTMLElement) this.#focusAgain(focused.dataset.file);
  }

  /**
   * Gives the focus to the card of a file, or to the first button: the element that had it is gone.
   * @param {string | undefined} file
   */
  #focusAgain(file) {
    const buttons = [...this.element.querySelectorAll("button")];
    const button = buttons.find(({ dataset }) => file && dataset.file === file) ?? buttons[0];
    button?.focus({ preventScroll: true });
  }

  /**
   * Adds cards, and gives the first of them the focus that the button had.
   * @param {HTMLElement} list
   * @param {HTMLElement} bar
   * @param {HTMLElement} more
   */
  #drawMore(list, bar, more) {
    const cards = this.#files.slice(this.#drawn, this.#drawn + step).map((file) => this.#card(file, bar));
    this.#drawn += step;
    list.append(...cards);
    cards[0]?.querySelector("button")?.focus({ preventScroll: true });
    if (this.#files.length <= this.#drawn) more.remove();
  }

  /** @param {HTMLElement} bar */
  #drawBar(bar) {
    if (this.#readOnly) return;
    const some = this.#chosen.size > 0;
    const ids = this.#idsOf(({ id }) => !some || this.#chosen.has(id));
    const n = ids.length;
    fill(bar,
      labelledButton("retry", some ? t("restoreSome", { n }) : t("restoreAll"), () => void this.#restore(ids)),
      labelledButton("remove", some ? t("deleteForGoodSome", { n }) : t("deleteAllForGood"),
        () => void this.#purge(ids), "danger"));
  }

  /**
   * @param {DeletedFile} file
   * @param {HTMLElement} bar
   */
  #card(file, bar) {
    const place = h("span", { class: "cover-image" });
    const known = this.#pictures.get(file.id);
    if (known) {
      fill(place, picture(known));
    } else {
      this.#waiting.set(place, file);
      this.#observer.observe(place);
    }
    const name = file.path.at(-1) ?? "";
    const about = file.cause === "overwritten" ? t("earlierVersion")
      : file.ids.length > 1 && t("fileCount", { n: file.ids.length });
    const note = [about, daysLeft(file)].filter(Boolean).join(" · ");
    const button = h("button", {
      type: "button", class: "card", "data-file": file.id, "aria-pressed": String(this.#chosen.has(file.id)),
      disabled: this.#readOnly,
      on: {
        click: () => {
          if (!this.#chosen.delete(file.id)) this.#chosen.add(file.id);
          button.setAttribute("aria-pressed", String(this.#chosen.has(file.id)));
          this.#drawBar(bar);
        },
      },
    },
    h("span", { class: "cover" }, icon("photos"), place),
    h("span", { class: "card-name", dir: "auto", title: file.path.map(shown).join(" / ") }, shown(name)),
    h("span", { class: "card-count" }, note));
    return h("li", null, button);
  }

  /** @param {Element} place */
  async #loadPicture(place) {
    const file = this.#waiting.get(place);
    if (!file || !this.#waiting.delete(place)) return;
    this.#observer.unobserve(place);
    try {
      const blob = await getBlob(`/api/deleted/${file.id}/thumb`, this.#request.signal);
      const url = URL.createObjectURL(blob);
      this.#pictures.set(file.id, url);
      fill(place, picture(url, true));
    } catch {
      // It has none, or the page has left the view: the icon stays.
    }
  }

  /** @param {string[]} ids */
  async #restore(ids) {
    await restore(ids);
    await this.load();
  }

  /** @param {string[]} ids */
  async #purge(ids) {
    const isDone = await confirmPassword({
      title: t("deleteForGoodTitle", { n: ids.length }), text: t("deleteForGoodText"), action: t("deleteForGood"),
    }, async (password) => {
      await post("/api/deleted/purge", { ids, password });
    }, explain);
    if (!isDone) return;
    say(t("goneForGood", { n: ids.length }));
    await this.load();
  }
}

/**
 * Brings files back, and says how it went.
 * @param {string[]} ids
 */
async function restore(ids) {
  try {
    const { count } = await post("/api/deleted/restore", { ids });
    say(t("restoredFiles", { n: count }));
  } catch (error) {
    say(explain(error));
  }
}

/**
 * What a photo was before it was overwritten, as lines for the panel of its details; the newest first.
 * @param {string} photo
 * @param {boolean} readOnly
 * @param {AbortSignal} signal
 * @returns {Promise<HTMLElement | null>}
 */
export async function earlierVersions(photo, readOnly, signal) {
  /** @type {{files: DeletedFile[]}} */
  const { files } = await get(`/api/photo/${photo}/earlier`, signal);
  if (files.length === 0) return null;
  return h("ul", { class: "earlier", role: "list" }, ...files.slice(0, 20).map((file) => {
    const line = h("li", null, h("span", null, formatDateLong(file.deleted, false)),
      h("span", { class: "hint" }, daysLeft(file)));
    if (!readOnly) {
      line.append(h("button", {
        type: "button", class: "quiet small with-icon",
        on: { click: () => void restore([file.id]).then(() => line.remove()) },
      }, icon("retry"), t("restore")));
    }
    return line;
  }), files.length > 20 && h("li", { class: "hint" }, formatNumber(files.length)));
}
