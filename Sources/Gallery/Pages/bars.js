/**
 * Builds what lies around a view: navigation, the bar above it, and the bar of a selection.
 * @module
 */

import { showMenu } from "./dialogs.js";
import { append, fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { shown } from "./names.js";
import { formatNumber, t } from "./texts.js";

/** @typedef {import("./icons.js").IconName} IconName */
/** @typedef {import("./dialogs.js").MenuItem} MenuItem */
/**
 * `shown`: as a button of its own where there is room. `short`: the label with places where it may be divided.
 * @typedef {MenuItem & {shown?: boolean, short?: string}} BarAction
 */

/** @typedef {"albums" | "all" | "recent" | "date" | "favourites" | "search"} Place */

/**
 * `wide`: only where there is room; on a phone the search offers it.
 * @type {{view: Place, icon: IconName, wide?: boolean,
 *   text: "albums" | "allPhotos" | "recent" | "byDateShort" | "favourites" | "search"}[]}
 */
const places = [
  { view: "albums", icon: "albums", text: "albums" },
  { view: "all", icon: "photos", text: "allPhotos" },
  { view: "recent", icon: "recent", text: "recent" },
  { view: "date", icon: "date", text: "byDateShort" },
  { view: "favourites", icon: "star", text: "favourites", wide: true },
  { view: "search", icon: "search", text: "search" },
];

export class Navigation {
  element;
  /** @type {Map<string, HTMLButtonElement>} */
  #buttons = new Map();

  /** @param {(view: Place) => void} go */
  constructor(go) {
    this.element = h("nav", { class: "navigation", "aria-label": t("views") },
      h("p", { class: "brand", "aria-hidden": "true" }, icon("photos"), t("appName")));
    for (const { view, icon: name, text, wide } of places) {
      const button = h("button", { type: "button", class: wide && "wide-only", on: { click: () => go(view) } },
        icon(name), h("span", null, t(text)));
      this.#buttons.set(view, button);
      this.element.append(button);
    }
  }

  /** @param {string} view */
  mark(view) {
    for (const [name, button] of this.#buttons) {
      if (name === view) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
  }
}

/**
 * Creates a button that shows an icon only.
 * @param {IconName} name
 * @param {string} label
 * @param {(event: MouseEvent) => void} run
 * @param {string} [extra]
 */
export function iconButton(name, label, run, extra = "") {
  return h("button", {
    type: "button", class: `quiet ${extra}`, title: label, "aria-label": label, on: { click: run },
  }, icon(name));
}

/**
 * Creates the buttons of a bar, and a menu that has all of them.
 * @param {BarAction[]} actions
 */
function actionButtons(actions) {
  const buttons = actions.filter((action) => action.shown && !action.hidden)
    .map(({ icon: name, label, run }) => iconButton(name, label, run, "wide-only"));
  const more = iconButton("more", t("more"), () => showMenu(more, actions));
  more.setAttribute("aria-haspopup", "menu");
  more.setAttribute("aria-expanded", "false");
  return [...buttons, more];
}

export class TopBar {
  element;
  #title = h("div", { class: "title" });
  #actions = h("div", { class: "bar-actions" });
  #start = h("div", { class: "bar-start" });
  #subtitle = h("p", { class: "subtitle", role: "status" });
  #heading = h("h1", { tabindex: -1 });

  /** @param {() => void} lock */
  constructor(lock) {
    append(this.#title, [this.#heading, this.#subtitle]);
    this.element = h("header", { class: "top-bar" }, this.#start, this.#title, this.#actions,
      h("button", { type: "button", class: "lock with-icon", title: t("lockTitle"), on: { click: lock } },
        icon("lock"), h("span", null, t("lock"))));
  }

  /**
   * @param {{path: {name: string, go: () => void}[], title: string, up: (() => void) | null,
   *   main: BarAction | null, actions: BarAction[]}} content  `main` is the one action that always shows
   */
  show({ path, title, up, main, actions }) {
    const parents = path.flatMap(({ name, go }) => [
      h("button", { type: "button", class: "crumb", dir: "auto", on: { click: go } }, shown(name)),
      h("span", { class: "crumb-sign", "aria-hidden": "true" }, "›"),
    ]);
    fill(this.#heading, ...parents, h("span", { class: "crumb-here", dir: "auto", title: shown(title) }, shown(title)));
    fill(this.#start, up && iconButton("back", t("up"), up));
    fill(this.#actions,
      main && h("button", { type: "button", class: "main with-icon upload-button", title: main.label,
        on: { click: main.run } }, icon(main.icon), h("span", null, main.label)),
      ...actionButtons(actions));
  }

  /** @param {string} text */
  count(text) {
    if (this.#subtitle.textContent !== text) this.#subtitle.textContent = text;
  }

  focusTitle() {
    this.#heading.focus({ preventScroll: true });
  }
}

export class SelectionBar {
  element;
  #count = h("strong", { role: "status", "aria-live": "polite" });
  #actions = h("div", { class: "bar-actions", role: "toolbar", "aria-label": t("selection") });

  /**
   * @param {{clear: () => void, selectAll: () => void}} actions
   */
  constructor({ clear, selectAll }) {
    this.element = h("header", { class: "selection-bar", hidden: true },
    iconButton("close", t("clearSelection"), clear),
    h("div", { class: "selection-title", role: "heading", "aria-level": 1 }, this.#count),
    h("button", { type: "button", class: "plain", "aria-label": t("selectAll"), on: { click: selectAll } },
      h("span", { class: "where-room" }, t("selectAll")), h("span", { class: "where-none" }, t("selectAllShort"))),
    this.#actions);
  }

  /** @param {BarAction[]} actions */
  offer(actions) {
    fill(this.#actions, ...actions.filter(({ hidden }) => !hidden).map(({ icon: name, label, short, run, danger }) =>
      h("button", {
        type: "button", class: `quiet labelled ${danger ? "danger-text" : ""}`, title: label, "aria-label": label,
        on: { click: run },
      }, icon(name), h("span", null, short ?? label))));
  }

  /**
   * @param {boolean} active
   * @param {number} size
   */
  show(active, size) {
    this.element.hidden = !active;
    this.#count.textContent = size === 0 ? t("selectPhotos") : t("selected", { n: formatNumber(size) });
    for (const button of this.#actions.querySelectorAll("button")) button.disabled = size === 0;
  }
}
