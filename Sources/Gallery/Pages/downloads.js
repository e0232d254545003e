/**
 * Downloads photos without leaving the page: a form that the server answers with an attachment.
 * @module
 */

import { h } from "./dom.js";
import { t } from "./texts.js";
import { say } from "./toasts.js";

const frameName = "download";

/**
 * Downloads one photo as it is, several as a zip file, or an album.
 * @param {{ids: string[]} | {album: string}} what
 */
export function download(what) {
  const frame = h("iframe", { name: frameName, hidden: true, title: t("download") });
  document.querySelector(`iframe[name=${frameName}]`)?.remove();
  document.body.append(frame);
  const [name, value] = "album" in what ? ["album", what.album] : ["ids", what.ids.join(",")];
  const form = h("form", { method: "post", action: "/api/download", target: frameName, hidden: true },
    h("input", { type: "hidden", name, value }));
  document.body.append(form);
  // An attachment never loads in the frame; only an error does.
  frame.addEventListener("load", () => {
    if (submitted) say(t("downloadFailed"));
  });
  let submitted = false;
  form.submit();
  form.remove();
  setTimeout(() => (submitted = true), 0);
}
