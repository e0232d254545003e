/**
 * Takes files and folders that are dropped anywhere on the page.
 * @module
 */

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";
import { droppedFiles } from "./upload-files.js";

export class DropZone {
  element = h("div", { class: "drop-zone", hidden: true });
  #take;
  #stop = new AbortController();
  #depth = 0;

  /** @param {(files: import("./upload-queue.js").UploadFile[]) => void} take */
  constructor(take) {
    this.#take = take;
    fill(this.element, icon("upload"), h("p", null, t("dropHere")));
    const { signal } = this.#stop;
    addEventListener("dragenter", (event) => this.#enter(event, 1), { signal });
    addEventListener("dragleave", (event) => this.#enter(event, -1), { signal });
    addEventListener("dragover", (event) => event.preventDefault(), { signal });
    addEventListener("drop", (event) => this.#drop(event), { signal });
  }

  remove() {
    this.#stop.abort();
    this.element.remove();
  }

  /**
   * @param {DragEvent} event
   * @param {1 | -1} change
   */
  #enter(event, change) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    this.#depth = Math.max(0, this.#depth + change);
    this.element.hidden = this.#depth === 0;
  }

  /** @param {DragEvent} event */
  #drop(event) {
    event.preventDefault();
    this.#depth = 0;
    this.element.hidden = true;
    if (event.dataTransfer) void droppedFiles(event.dataTransfer, this.#take);
  }
}
