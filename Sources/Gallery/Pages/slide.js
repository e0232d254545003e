/**
 * Shows one photo or video in the viewer: the thumbnail at once, then a preview, then the original.
 * @module
 */

import { codeOf, get, isAbort } from "./api.js";
import { h, style } from "./dom.js";
import { icon } from "./icons.js";
import { shown } from "./names.js";
import { sayInUse } from "./session.js";
import { explain, t } from "./texts.js";
import { clampZoom, fit, largestScale, noZoom, previewEdge, zoomAt } from "./zoom.js";

/** @typedef {import("./listing.js").Photo} Photo */
/** @typedef {import("./pictures.js").Pictures} Pictures */
/** @typedef {import("./thumbnails.js").Thumbnails} Thumbnails */

const smallAnimation = 20 << 20;
/** The failures after which a preview is asked for again, and the time until then in milliseconds. */
const passing = new Set(["offline", "busy"]);
const retryTime = 2000;
/** How long a photo is looked at before its original is loaded without being asked for, in milliseconds. */
const glance = 300;

export class Slide {
  element;
  photo;
  zoom = noZoom;
  #pictures;
  #box;
  #stage;
  #stop = new AbortController();
  #active = false;
  /** @type {"none" | "loading" | "shown"} */
  #original = "none";
  #size;

  /**
   * @param {Photo} photo
   * @param {string | undefined} thumbnail
   * @param {Pictures} pictures
   * @param {{width: number, height: number}} stage
   */
  constructor(photo, thumbnail, pictures, stage) {
    this.photo = photo;
    this.#pictures = pictures;
    this.#stage = stage;
    this.#size = { width: photo.width, height: photo.height };
    this.#box = h("div", { class: "picture" });
    this.element = h("div", { class: "slide", "aria-hidden": "true" }, this.#box);
    if (thumbnail) this.#add(h("img", { src: thumbnail, alt: "", class: "thumb", draggable: "false" }));
    this.resize(stage);
    if (photo.kind === "other") this.#showFile();
  }

  /** True while the picture is larger than the stage. */
  get isZoomed() {
    return this.zoom.scale > 1.01;
  }

  get #fitted() {
    return fit(this.#size, this.#stage);
  }

  /** @param {{width: number, height: number}} stage */
  resize(stage) {
    this.#stage = stage;
    const { width, height } = this.#fitted;
    style(this.#box, { width: `${width}px`, height: `${height}px` });
    this.setZoom(this.zoom);
  }

  /** @param {HTMLImageElement} image */
  #add(image) {
    const adopt = () => {
      if (this.#size.width > 0 || image.naturalWidth === 0) return;
      // The listing did not know the size. A thumbnail tells the shape only.
      const factor = image.classList.contains("thumb") ? 16 : 1;
      this.#size = { width: image.naturalWidth * factor, height: image.naturalHeight * factor };
      this.resize(this.#stage);
    };
    if (image.complete) adopt();
    else image.addEventListener("load", adopt, { once: true });
    this.#box.append(image);
  }

  /** Loads the preview, if it is not there. */
  async load() {
    const { photo } = this;
    if (photo.kind !== "photo") return;
    try {
      const edge = previewEdge(this.#stage, devicePixelRatio);
      await this.#show(await this.#pictures.preview(photo, edge), "preview");
      this.#sharpen();
    } catch (error) {
      if (isAbort(error)) return;
      // Nothing can make a picture of this file; it may still be downloaded.
      this.#say(codeOf(error) === "unknown" ? t("noPreview") : explain(error));
      if (!passing.has(codeOf(error))) return;
      setTimeout(() => {
        if (!this.#stop.signal.aborted) void this.load();
      }, retryTime);
    }
  }

  /**
   * Loads the original where the screen has many more pixels than the preview, whose size the server limits,
   * and where the person stays with the photo.
   */
  #sharpen() {
    const preview = this.#box.querySelector(".preview");
    if (!this.#active || !(preview instanceof HTMLImageElement)) return;
    const has = Math.max(preview.naturalWidth, preview.naturalHeight);
    const shown = Math.max(this.#fitted.width, this.#fitted.height) * devicePixelRatio;
    const most = Math.max(this.#size.width, this.#size.height);
    if (has > shown * 0.8 || has > most * 0.9) return;
    setTimeout(() => {
      if (this.#active && !this.#stop.signal.aborted) void this.showOriginal();
    }, glance);
  }

  /**
   * Adds a picture above those of less detail, once it can be drawn.
   * @param {string} url
   * @param {string} kind
   */
  async #show(url, kind) {
    if (this.#box.querySelector(`.${kind}`)) return;
    const image = h("img", { src: url, alt: shown(this.photo.name), class: kind, draggable: "false" });
    await image.decode().catch(() => {});
    if (this.#stop.signal.aborted || this.#box.querySelector(`.${kind}`)) return;
    this.element.querySelector(".slide-message")?.remove();
    this.#add(image);
    // The thumbnail would shine through a picture with transparency.
    this.#box.querySelector(".thumb")?.remove();
  }

  /** @param {string} text */
  #say(text) {
    if (this.#stop.signal.aborted || this.element.querySelector(".slide-message")) return;
    this.element.append(h("p", { class: "slide-message", role: "alert" }, icon("warning"), text));
  }

  #showFile() {
    const { name } = this.photo;
    this.element.append(h("p", { class: "slide-file" }, icon("file"), h("span", { dir: "auto" }, shown(name))));
  }

  /** Begins what only the photo in the middle does: play, and answer to a screen reader. */
  activate() {
    if (this.#active) return;
    this.#active = true;
    this.element.removeAttribute("aria-hidden");
    const { kind, name, size } = this.photo;
    if (kind === "video") this.#addVideo();
    this.#sharpen();
    if (kind === "photo" && /\.(gif|apng)$/i.test(name) && size < smallAnimation) void this.showOriginal();
  }

  deactivate() {
    if (!this.#active) return;
    this.#active = false;
    this.element.setAttribute("aria-hidden", "true");
    this.#removeVideo();
    this.setZoom(noZoom);
  }

  #addVideo() {
    const video = h("video", {
      src: `/api/video/${this.photo.id}`, controls: true, playsinline: true, preload: "metadata",
      "aria-label": shown(this.photo.name), controlslist: "nodownload noremoteplayback",
      disableremoteplayback: true,
    });
    video.addEventListener("loadedmetadata", () => {
      if (video.videoWidth === 0) return;
      this.#size = { width: video.videoWidth, height: video.videoHeight };
      this.resize(this.#stage);
    });
    // The thumbnail below is small, and has a mark: it stands in only until there is a frame. As a poster it would
    // show the mark twice.
    video.addEventListener("loadeddata", () => video.classList.add("ready"), { once: true });
    video.addEventListener("timeupdate", sayInUse);
    video.addEventListener("error", () => {
      video.remove();
      this.#say(t("videoUnplayable"));
    });
    this.#box.append(video);
  }

  #removeVideo() {
    const video = this.#box.querySelector("video");
    if (!video) return;
    video.pause();
    // Without this the browser goes on loading.
    video.removeAttribute("src");
    video.load();
    video.remove();
  }

  /** True while a video is shown, whether it plays or not. */
  get hasVideo() {
    return this.#box.querySelector("video") !== null;
  }

  /** Plays or pauses a video; false where there is none. */
  togglePlaying() {
    const video = this.#box.querySelector("video");
    if (!video) return false;
    if (video.paused) void video.play().catch(() => {});
    else video.pause();
    return true;
  }

  /** Plays the film of a Live Photo over it once, or ends that. Returns true. */
  toggleLive() {
    const before = this.#box.querySelector(".live-film");
    if (before) {
      this.#removeVideo();
      return true;
    }
    const video = h("video", {
      src: `/api/live/${this.photo.id}`, class: "live-film", playsinline: true, "aria-label": t("livePhoto"),
    });
    video.addEventListener("loadeddata", () => video.classList.add("ready"), { once: true });
    video.addEventListener("ended", () => this.#removeVideo());
    video.addEventListener("error", () => {
      video.remove();
      this.#say(t("videoUnplayable"));
    });
    this.#box.append(video);
    void video.play().catch(() => {});
    return true;
  }

  /** Shows the original, once. */
  async showOriginal() {
    if (this.photo.kind !== "photo" || this.#original !== "none") return;
    this.#original = "loading";
    const { signal } = this.#stop;
    try {
      const { url, isOriginal } = await this.#pictures.original(this.photo, signal);
      const rotation = isOriginal ? (await get(`/api/photo/${this.photo.id}`, signal)).rotation : 0;
      await this.#show(url, "original");
      const image = this.#box.querySelector(".original");
      if (image instanceof HTMLImageElement) this.#turn(image, rotation);
      this.#original = "shown";
    } catch (error) {
      this.#original = "none";
      if (!isAbort(error) && !this.#box.querySelector("img")) this.#say(explain(error));
    }
  }

  /**
   * Goes on as another slide of the same photo was seen.
   * @param {Slide} other
   */
  resume(other) {
    if (other.#original !== "none") void this.showOriginal();
    this.setZoom(other.zoom);
  }

  /**
   * Turns the original as its attribute says; previews come turned.
   * @param {HTMLImageElement} image
   * @param {number} rotation
   */
  #turn(image, rotation) {
    if (!rotation) return;
    const sideways = rotation % 180 !== 0;
    const { width, height } = this.#fitted;
    style(image, {
      width: sideways ? `${(height / width) * 100}%` : "100%",
      height: sideways ? `${(width / height) * 100}%` : "100%",
      transform: `translate(-50%, -50%) rotate(${rotation}deg)`, top: "50%", left: "50%",
    });
  }

  /** @param {import("./zoom.js").Zoom} zoom */
  setZoom(zoom) {
    this.zoom = zoom.scale > 1.01 ? clampZoom(zoom, this.#fitted, this.#stage) : noZoom;
    const { scale, x, y } = this.zoom;
    style(this.#box, { transform: `translate(${x}px, ${y}px) scale(${scale})` });
    this.element.classList.toggle("zoomed", this.isZoomed);
    if (this.isZoomed && this.#needsOriginal(scale)) void this.showOriginal();
  }

  /** @param {number} scale */
  #needsOriginal(scale) {
    const shown = Math.max(this.#fitted.width, this.#fitted.height) * scale * devicePixelRatio;
    return shown > previewEdge(this.#stage, devicePixelRatio) * 1.1;
  }

  /**
   * @param {number} factor
   * @param {{x: number, y: number}} point
   */
  zoomBy(factor, point) {
    if (this.photo.kind !== "photo") return;
    this.setZoom(zoomAt(this.zoom, factor, point, largestScale(this.#size, this.#fitted)));
  }

  /**
   * Zooms in around a point, or out again: to two and a half times, or as far as a long picture needs to fill
   * the stage.
   * @param {{x: number, y: number}} point
   */
  toggleZoom(point) {
    const { width, height } = this.#fitted;
    const filling = Math.max(this.#stage.width / width, this.#stage.height / height);
    this.zoomBy(this.isZoomed ? 0 : Math.max(2.5, filling), point);
  }

  remove() {
    this.#stop.abort();
    this.#removeVideo();
    this.element.remove();
  }
}
