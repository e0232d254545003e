/**
 * Shows the uploads: which files, to which album, how far each is, and what came of it.
 * @module
 */

import { confirmDialog } from "./dialogs.js";
import { append, fill, h, nowAndThen, oncePerFrame, publishHeight, style } from "./dom.js";
import { icon } from "./icons.js";
import { isolated, shown } from "./names.js";
import { explain, formatBytes, formatTimeLeft, t } from "./texts.js";
import { pairName } from "./upload-kind.js";
import { UploadPreviews } from "./upload-preview.js";
import { VirtualList } from "./virtual-list.js";

/** @typedef {import("./upload-queue.js").UploadQueue} UploadQueue */
/** @typedef {import("./upload-queue.js").UploadItem} UploadItem */
/** @typedef {import("./upload-kind.js").FileKind} FileKind */

const rowHeight = 60;
/** So many milliseconds apart the panel shows how far the files are. */
const progressTime = 250;

/**
 * Returns the files in the order of their names; those that failed are the first when all is over.
 * @param {UploadQueue} queue
 */
function inOrder({ items, isOver, counts }) {
  if (!isOver || counts.failed === 0) return items;
  return [...items.filter(({ state }) => state === "failed"), ...items.filter(({ state }) => state !== "failed")];
}

export class UploadPanel {
  /** @type {HTMLElement} */
  element;
  #queue;
  #chooseAlbum;
  #albumName;
  #previews = new UploadPreviews();
  /** @type {WeakMap<HTMLElement, FileKind>} */
  #kinds = new WeakMap();
  #list;
  #title = h("h2");
  #detail = h("p", { class: "upload-detail" });
  #live = h("p", { class: "hidden", role: "status", "aria-live": "polite" });
  #bar = h("span", { class: "progress-bar" });
  #progress;
  #target = h("p", { class: "upload-target" });
  #hint = h("p", { class: "hint" });
  #buttons = h("div", { class: "upload-buttons" });
  /** @type {HTMLButtonElement} */
  #foldButton;
  #forget;
  #height;
  /** True while files were on the way when the panel was drawn last. */
  #ran = false;
  #spoken = 0;
  #shape = "";
  /** @type {WakeLockSentinel | null} */
  #awake = null;

  /**
   * @param {UploadQueue} queue
   * @param {{chooseAlbum: () => Promise<void>, albumName: () => string | null}} options
   */
  constructor(queue, { chooseAlbum, albumName }) {
    this.#queue = queue;
    this.#chooseAlbum = chooseAlbum;
    this.#albumName = albumName;
    this.#list = new VirtualList(
      rowHeight, (item) => this.#row(item), (item, row) => this.#updateRow(item, row));
    this.#progress = h("div", {
      class: "progress", role: "progressbar", "aria-label": t("uploads"),
    }, this.#bar);
    this.#foldButton = h("button", {
      type: "button", class: "quiet", "aria-label": t("fold"), title: t("fold"), "aria-expanded": "true",
      on: { click: () => this.fold(!this.element.classList.contains("folded")) },
    }, icon("down"));
    this.element = h("section", { class: "upload-panel", "aria-label": t("uploads"), hidden: true },
      h("header", null, h("div", { class: "upload-summary" }, this.#title, this.#detail), this.#foldButton),
      this.#progress, this.#target, this.#hint, this.#list.element, this.#buttons, this.#live);
    const progress = nowAndThen(progressTime, this.update);
    this.#forget = queue.onChange((item) => (item === null ? this.update() : progress()));
    // On a narrow page messages lie above the panel.
    this.#height = publishHeight(this.element, "--uploads");
  }

  remove() {
    this.#forget();
    this.#previews.clear();
    void this.#awake?.release().catch(() => {});
    this.element.remove();
    this.#height.disconnect();
    style(document.documentElement, { "--uploads": "0px" });
  }

  /**
   * Shows the files, or what came of them alone.
   * @param {boolean} folded
   */
  fold(folded) {
    this.element.classList.toggle("folded", folded);
    this.#foldButton.setAttribute("aria-expanded", String(!folded));
  }

  /** Folds when all files are saved, unless somebody looks through them. */
  #foldAtEnd() {
    const { isRunning, isOver, counts } = this.#queue;
    const list = this.#list.element;
    const isRead = list.scrollTop > 0 || list.contains(document.activeElement);
    if (this.#ran && isOver && counts.failed === 0 && !isRead) this.fold(true);
    this.#ran = isRunning;
  }

  update = oncePerFrame(() => {
    const queue = this.#queue;
    this.element.hidden = queue.items.length === 0;
    if (this.element.hidden) return;
    this.#foldAtEnd();
    this.#describe();
    this.#list.show(inOrder(queue));
    this.#showButtons();
    this.#keepAwake();
  });

  #describe() {
    const queue = this.#queue;
    const { counts } = queue;
    const part = queue.totalBytes > 0 ? queue.sentBytes / queue.totalBytes : 1;
    const isReview = counts.ready > 0 && !queue.isRunning;
    this.#title.textContent = this.#heading();
    this.#detail.textContent = this.#details(isReview);
    this.#progress.hidden = isReview || queue.isOver;
    this.#progress.setAttribute("aria-valuenow", String(Math.round(part * 100)));
    style(this.#bar, { transform: `scaleX(${part})` });
    this.element.classList.toggle("trouble", queue.trouble !== null);
    this.element.classList.toggle("over", queue.isOver);
    this.#hint.textContent = isReview && /iPhone|iPad/.test(navigator.userAgent) ? t("iphoneHint") : "";
    this.#hint.hidden = this.#hint.textContent === "";
    this.#describeTarget(isReview);
    this.#speak();
  }

  #heading() {
    const { counts, items, trouble, paused } = this.#queue;
    if (counts.ready > 0) return t("toUpload", { n: items.length });
    if (trouble === "room") return t("diskFull");
    if (trouble !== null) return t("waitingForConnection");
    if (paused && this.#queue.isRunning) return t("paused");
    if (this.#queue.isRunning) {
      return t("uploadingOf", { done: counts.saved + counts.there + counts.failed, n: items.length });
    }
    if (counts.failed > 0) return t("failedOf", { failed: counts.failed, n: items.length });
    return t("allSaved", { n: items.length });
  }

  /** @param {boolean} isReview */
  #details(isReview) {
    const queue = this.#queue;
    const { counts } = queue;
    if (isReview) return formatBytes(queue.totalBytes);
    if (queue.isOver) {
      return [
        counts.saved > 0 && t("savedCount", { n: counts.saved }),
        counts.there > 0 && t("thereCount", { n: counts.there }),
        counts.failed > 0 && t("failedCount", { n: counts.failed }),
      ].filter(Boolean).join(" · ");
    }
    const seconds = queue.secondsLeft;
    const amount = t("ofBytes", { done: formatBytes(queue.sentBytes), total: formatBytes(queue.totalBytes) });
    return seconds === null ? amount : `${amount} · ${formatTimeLeft(seconds)}`;
  }

  /** @param {boolean} isReview */
  #describeTarget(isReview) {
    this.#target.hidden = this.#queue.isOver;
    const name = this.#albumName();
    const text = name === null ? null : shown(name);
    const attributes = { dir: "auto", title: text };
    const ask = () => void this.#chooseAlbum();
    const choose = { type: "button", class: "plain with-icon", on: { click: ask } };
    fill(this.#target, t("into"), " ", isReview
      ? h("button", choose, icon("albums"), h("span", attributes, text ?? t("chooseAlbum")))
      : h("strong", attributes, text));
  }

  /** Tells a screen reader how far it is, every few seconds. */
  #speak() {
    const now = performance.now();
    if (now - this.#spoken < 5000 && !this.#queue.isOver) return;
    this.#spoken = now;
    const text = `${this.#title.textContent}. ${this.#detail.textContent}`;
    if (this.#live.textContent !== text) this.#live.textContent = text;
  }

  /** Draws the buttons, when others are needed than before: a button that is replaced loses the focus. */
  #showButtons() {
    const queue = this.#queue;
    const { counts, paused, trouble } = queue;
    const shape = [counts.ready > 0, queue.isRunning, paused, trouble, counts.failed > 0].join();
    if (shape === this.#shape) return;
    this.#shape = shape;
    const had = this.#buttons.contains(document.activeElement);
    fill(this.#buttons);
    append(this.#buttons, this.#currentButtons());
    if (had) this.#buttons.querySelector("button")?.focus();
  }

  #currentButtons() {
    const queue = this.#queue;
    const button = (/** @type {string} */ label, /** @type {() => void} */ run, kind = "plain") =>
      h("button", { type: "button", class: kind, on: { click: run } }, label);
    if (queue.counts.ready > 0) {
      const start = button(t("startUpload"), () => void this.#start(), "main");
      return [button(t("cancel"), () => queue.cancelAll()), start];
    }
    if (queue.isRunning) {
      const halted = queue.paused || queue.trouble !== null;
      return [
        button(t("cancelUpload"), () => void this.#cancel()),
        halted ? button(queue.paused ? t("resume") : t("tryNow"), () => queue.resume(), "main")
          : button(t("pause"), () => queue.pause()),
      ];
    }
    return [
      queue.counts.failed > 0 && button(t("retryAll"), () => queue.retryAll(), "main"),
      button(t("done"), () => {
        queue.clear();
        this.#previews.clear();
      }, queue.counts.failed > 0 ? "plain" : "main"),
    ];
  }

  async #start() {
    if (this.#queue.album === null) await this.#chooseAlbum();
    if (this.#queue.album !== null) this.#queue.start();
  }

  async #cancel() {
    const { waiting, sending, finishing } = this.#queue.counts;
    const sure = await confirmDialog({
      title: t("cancelUpload"), text: t("cancelUploadText", { n: waiting + sending + finishing }),
      action: t("cancelUpload"), danger: true,
    });
    if (sure) this.#queue.cancelAll();
  }

  /** @param {UploadItem} item */
  #row(item) {
    const isVideo = item.file.source.type.startsWith("video/");
    const preview = h("span", { class: "upload-preview" }, icon(isVideo ? "play" : "photos"));
    const name = [...item.file.folders, item.file.name].map(isolated).join(" / ");
    const row = h("div", { class: "upload-row" }, preview,
      h("span", { class: "upload-text" }, h("span", { class: "upload-name", title: name }, name),
        h("span", { class: "upload-line" },
          h("span", { class: "upload-state" }), h("span", { class: "upload-about" }))),
      h("button", {
        type: "button", class: "quiet small upload-remove", "aria-label": t("removeFromUpload", { name }),
        title: t("remove"), on: { click: () => this.#queue.remove(item) },
      }, icon("close")),
      h("span", { class: "progress-bar" }));
    this.#previews.ask(item, () => row.isConnected, ({ bitmap, kind }) => {
      this.#kinds.set(row, kind);
      if (bitmap) fill(preview, this.#draw(bitmap));
      this.#updateRow(item, row);
    });
    return row;
  }

  /** @param {ImageBitmap} bitmap */
  #draw(bitmap) {
    const canvas = h("canvas", { width: bitmap.width, height: bitmap.height });
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
    return canvas;
  }

  /**
   * @param {UploadItem} item
   * @param {HTMLElement} row
   */
  #updateRow(item, row) {
    const format = this.#format(item, this.#kinds.get(row));
    const key = `${item.state} ${item.error} ${format}`;
    const bar = row.querySelector(".progress-bar");
    if (bar instanceof HTMLElement) {
      bar.hidden = item.state !== "sending";
      style(bar, { transform: `scaleX(${item.file.size > 0 ? item.sent / item.file.size : 1})` });
    }
    if (row.dataset.key === key) return;
    row.dataset.key = key;
    row.dataset.state = item.state;
    const about = row.querySelector(".upload-about");
    const state = row.querySelector(".upload-state");
    const remove = row.querySelector(".upload-remove");
    const over = item.state === "saved" || item.state === "there";
    if (remove instanceof HTMLElement) remove.hidden = over || item.state === "finishing";
    if (about instanceof HTMLElement) about.title = about.textContent = this.#about(item, format);
    if (state) fill(state, over && icon("check"), item.state === "failed" && icon("warning"), t(item.state));
  }

  /**
   * Says what a file is, and whether a phone handed out less than it has.
   * @param {UploadItem} item
   * @param {FileKind | undefined} kind
   */
  #format(item, kind) {
    if (!kind) return undefined;
    const format = { yes: t("jpegOfHeic"), perhaps: t("jpegPerhapsOfHeic"), no: kind.format }[kind.made];
    if (!kind.isLive) return format;
    return `${format} · ${t(this.#hasVideo(item) ? "liveWithVideo" : "liveWithoutVideo")}`;
  }

  /** @param {UploadItem} item */
  #hasVideo(item) {
    const name = pairName(item.file);
    return this.#queue.items.some(({ file }) => /\.(mov|mp4)$/i.test(file.name) && pairName(file) === name);
  }

  /**
   * @param {UploadItem} item
   * @param {string | undefined} format
   */
  #about(item, format) {
    if (item.error !== null) return explain({ code: item.error });
    return [
      format, formatBytes(item.file.size), item.savedAs !== null && t("savedAs", { name: item.savedAs }),
    ].filter(Boolean).join(" · ");
  }

  /** Keeps the screen of a phone on while files are sent, because phones stop the page with the screen. */
  #keepAwake() {
    const needed = this.#queue.isRunning && !this.#queue.paused;
    if (needed && this.#awake === null && "wakeLock" in navigator && document.visibilityState === "visible") {
      navigator.wakeLock.request("screen").then((lock) => {
        this.#awake = lock;
        lock.addEventListener("release", () => (this.#awake = null));
      }, () => {});
    } else if (!needed) void this.#awake?.release().catch(() => {});
  }
}
