/**
 * Shows what is known about a photo, beside or below it.
 * @module
 */

import { get, isAbort } from "./api.js";
import { earlierVersions } from "./deleted.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { signs } from "./listing.js";
import { isolated, shown } from "./names.js";
import { ViewerNotes } from "./viewer-notes.js";
import { explain, formatBytes, formatDateLong, formatExposure, formatNumber, t } from "./texts.js";

/** @typedef {import("./listing.js").Photo} Photo */
/** @typedef {import("./viewer.js").GroupFile} GroupFile */
/**
 * @typedef {Photo & import("./texts.js").Exposure & {camera: string | null, lens?: string | null, rotation: number,
 *   path: string[], rating?: number | null, caption?: string | null, tags?: string[], people?: string[],
 *   live?: boolean, files?: GroupFile[], latitude?: number | null, longitude?: number | null, near?: string | null}} Details
 */

const partNames = /** @type {const} */ ({
  raw: "partRaw", photo: "partPhoto", film: "partFilm", edited: "partEdited", sidecar: "partSidecar", other: "other",
});

export class ViewerInfo {
  element = h("aside", { class: "viewer-info", hidden: true, "aria-label": t("information") });
  #actions;
  #readOnly;
  #request = new AbortController();
  /** @type {Photo | null} */
  #photo = null;
  #notes;
  /** The photo that the panel describes. */
  #shownId = "";
  /** The file of its group that is shown. */
  #fileId = "";

  /**
   * @param {import("./viewer.js").InfoActions} actions
   * @param {boolean} readOnly
   */
  constructor(actions, readOnly) {
    this.#actions = actions;
    this.#readOnly = readOnly;
    this.#notes = new ViewerNotes(readOnly, (details) => {
      if (details.id === this.#photo?.id) this.#fill(details);
      actions.dated();
    });
  }

  /** Opens or closes the panel; returns whether it is open. */
  toggle() {
    this.element.hidden = !this.element.hidden;
    if (this.#photo) this.show(this.#photo, this.#fileId);
    return !this.element.hidden;
  }

  close() {
    this.#request.abort();
  }

  /**
   * Shows a photo, if the panel is open.
   * @param {Photo} photo
   * @param {string} file  the id of the file that is shown: its own, or that of one that belongs to it
   */
  show(photo, file) {
    this.#fileId = file;
    const isSame = this.#photo?.id === photo.id;
    this.#photo = photo;
    if (isSame && this.#isEdited) return;
    this.#request.abort();
    if (this.element.hidden) return;
    this.#request = new AbortController();
    void this.#load(photo, this.#request.signal);
  }

  /** True while a person types: it stays while the same photo is described anew. */
  get #isEdited() {
    return this.element.matches(":has(.note-field:focus, .date-edit)");
  }

  /**
   * @param {Photo} photo
   * @param {AbortSignal} signal
   */
  async #load(photo, signal) {
    try {
      const details = await get(`/api/photo/${photo.id}`, signal);
      if (details.id !== this.#shownId || !this.#isEdited) this.#fill(details);
      if (details.live && !(photo.group & signs.live)) this.#actions.foundLive();
      const earlier = await earlierVersions(photo.id, this.#readOnly, signal);
      if (earlier && details.id === this.#shownId && !this.#isEdited) {
        this.element.querySelector("dl")?.append(...this.#row(t("earlierVersion"), earlier));
      }
    } catch (error) {
      if (!isAbort(error)) fill(this.element, h("p", { class: "hint" }, explain(error)));
    }
  }

  /** @param {Details} details */
  #fill(details) {
    this.#shownId = details.id;
    const { width, height, camera, lens, size, modified, path, album, name, latitude, longitude, near } = details;
    const rename = !this.#readOnly && h("button", {
      type: "button", class: "quiet small", title: t("rename"), "aria-label": t("rename"),
      on: { click: () => void this.#actions.rename(details) },
    }, icon("edit"));
    const pixels = width > 0 && `${formatNumber(width)} × ${formatNumber(height)}`;
    const place = h("button", {
      type: "button", class: "link", on: { click: () => this.#actions.goToAlbum(album) },
    }, path.map(isolated).join(" / "));
    fill(this.element,
      h("h2", null, t("information")),
      h("dl", null,
        ...this.#row(t("name"), h("span", { class: "name-line" }, h("span", { dir: "auto" }, shown(name)), rename)),
        ...this.#row(t("belongs"), this.#files(details.files ?? [])),
        ...this.#notes.rows(details).flatMap(([label, value]) => this.#row(label, value)),
        ...this.#row(t("taken"), this.#notes.date(details)),
        ...this.#row(t("modified"), formatDateLong(modified, false)),
        ...this.#row(t("camera"), camera),
        ...this.#row(t("lens"), lens),
        ...this.#row(t("exposure"), formatExposure(details)),
        ...this.#row(t("pixels"), pixels),
        ...this.#row(t("place"), latitude !== null && latitude !== undefined && longitude !== null
          && longitude !== undefined && [near, `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`].filter(Boolean).join(" · ")),
        ...this.#row(t("size"), formatBytes(size)),
        ...this.#row(t("album"), path.length > 0 && place)));
  }

  /**
   * Lists the files that belong together, each to be seen, downloaded and deleted by itself.
   * @param {GroupFile[]} files
   */
  #files(files) {
    return files.length > 1 && h("ul", { class: "group-files", role: "list" }, ...files.map((file) => {
      const name = isolated(file.name);
      return h("li", null,
        h("button", {
          type: "button", class: "link", "aria-current": file.id === this.#fileId && "true",
          on: { click: () => this.#actions.showFile(file) },
        }, h("span", { dir: "auto" }, shown(file.name)),
        h("span", { class: "hint" }, `${t(partNames[file.part])} · ${formatBytes(file.size)}`)),
        this.#button("download", t("downloadFile", { name }), () => this.#actions.downloadFile(file)),
        !this.#readOnly && this.#button("remove", t("deleteFile", { name }), () => this.#actions.removeFile(file)));
    }));
  }

  /**
   * @param {import("./icons.js").IconName} name
   * @param {string} label
   * @param {() => void} run
   */
  #button(name, label, run) {
    return h("button", {
      type: "button", class: "quiet small", title: label, "aria-label": label, on: { click: run },
    }, icon(name));
  }

  /**
   * @param {string} label
   * @param {import("./dom.js").Child} value
   */
  #row(label, value) {
    return value ? [h("dt", null, label), h("dd", null, value)] : [];
  }
}
