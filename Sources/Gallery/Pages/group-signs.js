/**
 * Says what belongs to a photo: on its tile, and for a screen reader.
 * @module
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { signs } from "./listing.js";
import { t } from "./texts.js";

/**
 * Returns what a screen reader says of the files that belong to a photo.
 * @param {number} group
 * @returns {string[]}
 */
export function signNames(group) {
  /** @type {string[]} */
  const names = [];
  if (group & signs.live) names.push(t("livePhoto"));
  if (group & signs.raw) names.push(t("rawAndPicture"));
  if (group & signs.edited) names.push(t("withEdit"));
  if (names.length === 0 && group & signs.several) names.push(t("withFiles"));
  return names;
}

/**
 * Returns the sign of a tile: what plays, what the camera made twice, or that there is more. A sidecar alone is
 * no sign: a person sees nothing of it.
 * @param {number} group
 */
export function groupSigns(group) {
  const title = signNames(group).join(", ");
  return h("span", { class: "tile-signs", title, "aria-hidden": "true" },
    (group & signs.live) > 0 && h("span", { class: "tile-sign" }, icon("live"), t("live")),
    (group & signs.raw) > 0 && h("span", { class: "tile-sign" }, t("rawSign")),
    (group & signs.edited) > 0 && h("span", { class: "tile-sign" }, icon("stack")));
}
