/**
 * Shows the list of keys.
 * @module
 */

import { showDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { t } from "./texts.js";

/** @typedef {import("./texts.js").TextKey} TextKey */

/** @type {[string[], TextKey][]} */
const everywhere = [
  [["/"], "search"], [["?"], "keys"], [["Esc"], "keyBack"],
];
/** @type {[string[], TextKey][]} */
const inGrid = [
  [["←", "→", "↑", "↓"], "keyMove"], [["Enter"], "keyOpen"], [["Space"], "select"], [["Shift", "←", "→"], "keyRange"],
  [["Ctrl", "A"], "selectAll"], [["F"], "favourite"], [["Del"], "delete"], [["+"], "larger"], [["-"], "smaller"],
];
/** @type {[string[], TextKey][]} */
const inViewer = [
  [["←", "→"], "keyNeighbours"], [["Home", "End"], "keyEnds"], [["Space"], "keyPlay"], [["I"], "information"],
  [["F"], "favourite"], [["R"], "rotate"], [["D"], "download"], [["Del"], "delete"], [["+", "-", "0"], "keyZoom"],
  [["L"], "playLive"], [["O"], "showOriginal"], [["S"], "slideshow"], [["Shift", "F"], "fullScreen"],
];

/**
 * @param {TextKey} title
 * @param {[string[], TextKey][]} keys
 */
function part(title, keys) {
  return h("section", null, h("h3", null, t(title)), h("dl", { class: "keys" }, ...keys.flatMap(([names, text]) => [
    h("dt", null, ...names.map((name) => h("kbd", null, name))), h("dd", null, t(text)),
  ])));
}

export async function showKeys() {
  await showDialog(t("keys"), [h("div", { class: "key-parts" },
    part("keysEverywhere", everywhere), part("photosLabel", inGrid), part("viewer", inViewer))], [
    { label: t("close"), value: "ok", kind: "main" },
  ], (dialog) => dialog.classList.add("wide"));
}
