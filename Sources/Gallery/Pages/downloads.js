/**
 * Downloads photos by the browser's own means, so that a page never holds them.
 * @module
 */

import { post } from "./api.js";
import { h } from "./dom.js";

/**
 * Photos with all that belongs to them, or the files alone; or an album.
 * @typedef {{ids: string[], alone?: boolean} | {album: string}} Choice
 */

/**
 * Begins to download photos, or an album with all that is in it. What fails later is told by the browser.
 * @param {Choice} what
 */
export async function download(what) {
  const { download: id } = await post("/api/downloads", what);
  // A link, because not every browser saves what comes into a frame, and a form would leave the page.
  const link = h("a", { href: `/api/downloads/${id}`, download: "", hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}
