/**
 * Asks for an album: a tree to choose from, with a field to search and one for a new album.
 * @module
 */

import { post } from "./api.js";
import { nameDialog, showDialog } from "./dialogs.js";
import { fill, h, picture } from "./dom.js";
import { icon } from "./icons.js";
import { shown } from "./names.js";
import { explain, t } from "./texts.js";

/** @typedef {import("./library.js").Library} Library */
/** @typedef {import("./library.js").Album} Album */

/** Stands for the root, where albums may be put but no photos. */
export const root = "";

/**
 * Asks for an album.
 * @param {Library} library
 * @param {import("./thumbnails.js").Thumbnails} thumbnails
 * @param {{title: string, action: string, withRoot?: boolean, without?: string}} question  `without` is an
 *   album that cannot be chosen, nor those in it
 * @returns {Promise<string | null>} an id, `root`, or null where nothing was chosen
 */
export async function pickAlbum(library, thumbnails, { title, action, withRoot = false, without }) {
  /** @type {string | null} */
  let chosen = null;
  const list = h("div", { class: "album-list", role: "radiogroup", "aria-label": title });
  const search = h("input", {
    type: "search", placeholder: t("searchAlbums"), "aria-label": t("searchAlbums"), autocomplete: "off",
    spellcheck: "false",
  });
  /** @type {HTMLDialogElement | null} */
  let open = null;
  const choose = (/** @type {string} */ id) => {
    chosen = id;
    const main = open?.querySelector("button.main");
    if (main instanceof HTMLButtonElement) main.disabled = false;
  };
  const covers = new PickerCovers(thumbnails);
  const draw = () => {
    const words = search.value.trim().toLocaleLowerCase();
    const rows = [...treeOf(library, null, 0, without)]
      .filter(({ album }) => album.name.toLocaleLowerCase().includes(words))
      .slice(0, 300)
      .map(({ album, depth }) =>
        option(album.id, album.name, words === "" ? depth : 0, chosen, choose, covers.place(album)));
    if (withRoot && words === "") rows.unshift(option(root, t("albums"), 0, chosen, choose, icon("albums")));
    covers.ask();
    fill(list, ...rows, rows.length === 0 && h("p", { class: "hint" }, t("noAlbums")));
  };
  search.addEventListener("input", draw);
  draw();
  const answer = await showDialog(title, [
    search, list, !withRoot && newAlbumButton(library, draw, choose, () => chosen),
  ], [
    { label: t("cancel"), value: "" },
    { label: action, value: "yes", kind: "main" },
  ], (dialog) => {
    open = dialog;
    dialog.classList.add("picker");
    const main = dialog.querySelector("button.main");
    if (main instanceof HTMLButtonElement) main.disabled = true;
  });
  covers.remove();
  return answer === "yes" ? chosen : null;
}

/** The covers of the albums in a list. */
class PickerCovers {
  #thumbnails;
  /** @type {Map<string, HTMLElement[]>} by photo */
  #places = new Map();
  /** @type {import("./thumbnails.js").Wanted[]} */
  #wanted = [];
  #forget;

  /** @param {import("./thumbnails.js").Thumbnails} thumbnails */
  constructor(thumbnails) {
    this.#thumbnails = thumbnails;
    this.#forget = thumbnails.onLoad((id, url) => {
      for (const place of this.#places.get(id) ?? []) fill(place, picture(url, true));
    });
  }

  /** @param {Album} album */
  place(album) {
    const place = h("span", { class: "option-cover", "aria-hidden": "true" });
    if (album.cover === null) {
      fill(place, icon("albums"));
      return place;
    }
    const item = { id: album.cover, version: album.coverThumb ?? album.modified };
    const url = this.#thumbnails.url(item);
    fill(place, url ? picture(url) : icon("albums"));
    this.#places.set(item.id, [...(this.#places.get(item.id) ?? []), place]);
    this.#wanted.push(item);
    return place;
  }

  /** Loads the covers that were placed. */
  ask() {
    this.#thumbnails.want("picker", this.#wanted);
    this.#wanted = [];
  }

  remove() {
    this.#forget();
    this.#thumbnails.want("picker", []);
  }
}

/**
 * Walks through the albums, each before those in it.
 * @param {Library} library
 * @param {string | null} parent
 * @param {number} depth
 * @param {string} [without]
 * @returns {Generator<{album: Album, depth: number}>}
 */
function* treeOf(library, parent, depth, without) {
  for (const album of library.children(parent)) {
    if (album.id === without) continue;
    yield { album, depth };
    yield* treeOf(library, album.id, depth + 1, without);
  }
}

/**
 * @param {string} id
 * @param {string} name
 * @param {number} depth
 * @param {string | null} chosen
 * @param {(id: string) => void} choose
 * @param {Node} sign
 */
function option(id, name, depth, chosen, choose, sign) {
  const input = h("input", {
    type: "radio", name: "album", value: id, checked: id === chosen, on: { change: () => choose(id) },
  });
  const label = h("label", { class: "album-option" }, input, sign, h("span", { dir: "auto" }, shown(name)));
  label.style.setProperty("--depth", String(Math.min(depth, 6)));
  return label;
}

/**
 * @param {Library} library
 * @param {() => void} draw
 * @param {(id: string) => void} choose
 * @param {() => string | null} chosen
 */
function newAlbumButton(library, draw, choose, chosen) {
  const create = async () => {
    const id = await createAlbum(library, chosen() || null);
    if (id === null) return;
    choose(id);
    draw();
  };
  const attributes = { type: "button", class: "plain with-icon", on: { click: create } };
  return h("button", attributes, icon("add"), t("newAlbum"));
}

/**
 * Asks for the name of a new album, and creates it.
 * @param {Library} library
 * @param {string | null} parent
 * @returns {Promise<string | null>} its id
 */
export async function createAlbum(library, parent) {
  /** @type {string | null} */
  let id = null;
  const question = { title: t("newAlbum"), label: t("albumName"), value: "", action: t("create") };
  await nameDialog(question, async (name) => {
    const { album } = await post("/api/albums", { parent, name });
    id = album.id;
    await library.refresh();
  }, explain);
  return id;
}
