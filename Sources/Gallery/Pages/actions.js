/**
 * Does what a person asks for photos and albums: asks back where it must, calls the server, says how it went.
 * @module
 */

import { createAlbum, pickAlbum, root } from "./album-picker.js";
import { ApiError, codeOf, get, post } from "./api.js";
import { confirmDialog, linesDialog, nameDialog } from "./dialogs.js";
import { download } from "./downloads.js";
import { receiveFromPhones } from "./reception.js";
import { describeCounts, explain, t } from "./texts.js";
import { say, Toast } from "./toasts.js";

/** @typedef {import("./listing.js").Photo} Photo */
/** @typedef {import("./library.js").Library} Library */
/** @typedef {import("./jobs.js").Jobs} Jobs */

/**
 * Runs an action, and says why where it fails.
 * @param {() => Promise<void>} action
 */
export async function attempt(action) {
  try {
    await action();
  } catch (error) {
    say(explain(error));
  }
}

export class Actions {
  #library;
  #jobs;
  #thumbnails;

  /**
   * @param {Library} library
   * @param {Jobs} jobs
   * @param {import("./thumbnails.js").Thumbnails} thumbnails
   */
  constructor(library, jobs, thumbnails) {
    this.#library = library;
    this.#jobs = jobs;
    this.#thumbnails = thumbnails;
  }

  /** @param {string[]} ids */
  async downloadPhotos(ids) {
    await this.#download({ ids });
  }

  /**
   * Downloads one file, without what belongs to it.
   * @param {string} id
   */
  async downloadFile(id) {
    await this.#download({ ids: [id], alone: true });
  }

  /** @param {string} album */
  async downloadAlbum(album) {
    await this.#download({ album });
  }

  /** @param {import("./downloads.js").Choice} what */
  async #download(what) {
    await attempt(async () => {
      await download(what);
      say(t("downloadBegins"));
    });
  }

  /**
   * Deletes photos; the ten seconds to undo stand in for a question.
   * @param {string[]} ids
   */
  async deletePhotos(ids) {
    await attempt(() => this.#jobs.start("delete", ids));
  }

  /**
   * Deletes one file; what belongs to it stays.
   * @param {string} id
   */
  async deleteFile(id) {
    await attempt(() => this.#jobs.start("delete", [id], { alone: true }));
  }

  /**
   * Moves or copies photos to an album that it asks for; false where none was chosen.
   * @param {"move" | "copy"} kind
   * @param {string[]} ids
   */
  async transferPhotos(kind, ids) {
    const album = await pickAlbum(this.#library, this.#thumbnails, {
      title: t(kind === "move" ? "movePhotos" : "copyPhotos", { n: ids.length }), action: t(kind),
    });
    if (album === null) return false;
    await attempt(() => this.#jobs.start(kind, ids, { album }));
    return true;
  }

  /** @param {Photo} photo */
  async makeCover(photo) {
    await attempt(async () => {
      await post(`/api/albums/${photo.album}`, { cover: photo.id });
      say(t("coverMade"));
    });
  }

  /**
   * Lets the file system choose the cover again.
   * @param {string} album
   */
  async resetCover(album) {
    await attempt(async () => {
      await post(`/api/albums/${album}`, { cover: null });
      await this.#library.refresh();
    });
  }

  /**
   * Turns a photo a quarter to the right; the file stays as it is.
   * @param {Photo} photo
   * @returns {Promise<any>} the photo as the server now describes it
   */
  async rotate(photo) {
    const { rotation } = await get(`/api/photo/${photo.id}`);
    try {
      return await post(`/api/photo/${photo.id}`, { rotation: (rotation + 90) % 360 });
    } catch (error) {
      throw codeOf(error) === "invalid" ? new ApiError("unrotatable", 400) : error;
    }
  }

  /**
   * Turns photos a quarter to the right, one after another.
   * @param {string[]} ids
   */
  async rotateAll(ids) {
    let failed = 0;
    const toast = new Toast(t("rotating", { done: 0, n: ids.length }));
    for (const [place, id] of ids.entries()) {
      try {
        const { rotation } = await get(`/api/photo/${id}`);
        await post(`/api/photo/${id}`, { rotation: (rotation + 90) % 360 });
      } catch {
        failed += 1;
      }
      toast.say(t("rotating", { done: place + 1, n: ids.length }));
      toast.progress((place + 1) / ids.length);
    }
    toast.progress(null);
    toast.say(failed > 0 ? t("failedOf", { failed, n: ids.length }) : t("rotated", { n: ids.length }));
    toast.close(4000);
  }

  /** @param {Photo} photo */
  renamePhoto(photo) {
    return nameDialog({
      title: t("renamePhoto"), label: t("name"), value: photo.name, action: t("rename"),
    }, async (name) => {
      await post(`/api/photo/${photo.id}`, { name });
    }, explain);
  }

  /** @param {string | null} parent */
  createAlbum(parent) {
    return createAlbum(this.#library, parent);
  }

  /** @param {string} album */
  async receive(album) {
    await attempt(() => receiveFromPhones(album));
  }

  /** @param {string} id */
  async renameAlbum(id) {
    await nameDialog({
      title: t("renameAlbum"),
      label: t("albumName"),
      value: this.#library.album(id)?.name ?? "",
      action: t("rename"),
    }, async (name) => {
      await post(`/api/albums/${id}`, { name });
      await this.#library.refresh();
    }, explain);
  }

  /** @param {string} id */
  async moveAlbum(id) {
    const parent = await pickAlbum(this.#library, this.#thumbnails, {
      title: t("moveAlbum"), action: t("move"), withRoot: true, without: id,
    });
    if (parent === null) return;
    await attempt(async () => {
      await post(`/api/albums/${id}`, { parent: parent === root ? null : parent });
      await this.#library.refresh();
    });
  }

  /**
   * Has the server load pictures into an album, from addresses that it asks for.
   * @param {string} album
   */
  importAddresses(album) {
    /** The line that the server will not take. */
    let bad = "";
    return linesDialog({
      title: t("importTitle"), label: t("importLabel"), hint: t("importHint"), action: t("importAction"),
    }, async (urls) => {
      bad = urls.find((url) => !/^https?:\/\/./i.test(url)) ?? "";
      const { job } = await post("/api/imports", { album, urls });
      this.#jobs.follow(job, null);
    }, (error) => (bad === "" ? explain(error) : `${bad}: ${explain(error)}`));
  }

  /**
   * Deletes an album after a question that says how much is in it.
   * @param {string} id
   */
  async deleteAlbum(id) {
    // Another program may have added photos a moment ago. The question must not call that album empty.
    await attempt(() => this.#library.refresh());
    const name = this.#library.album(id)?.name ?? "";
    const total = this.#library.total(id);
    const isEmpty = total.photos + total.others + total.albums === 0;
    const sure = await confirmDialog({
      title: t("deleteAlbumTitle", { name }),
      text: isEmpty ? t("deleteEmptyAlbum") : t("deleteAlbumText", { content: describeCounts(total) }),
      action: t("delete"),
      danger: true,
    });
    if (!sure) return;
    await attempt(async () => {
      const { job } = await post(`/api/albums/${id}/delete`);
      this.#jobs.follow(job, t("deletedAlbum", { name }));
      await this.#library.refresh();
    });
  }
}
