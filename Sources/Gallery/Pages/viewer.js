/**
 * Shows photos full screen, one after another.
 * @module
 */

import { append, fill, h, style, wantsLittleMotion } from "./dom.js";
import { Gestures } from "./gestures.js";
import { icon } from "./icons.js";
import { signNames } from "./group-signs.js";
import { signs } from "./listing.js";
import { shown } from "./names.js";
import { Pictures } from "./pictures.js";
import { showKeys } from "./keys-dialog.js";
import { Slide } from "./slide.js";
import { hasFullScreen, Slideshow, toggleFullScreen } from "./slideshow.js";
import { showMenu } from "./dialogs.js";
import { t, formatDateLong } from "./texts.js";
import { ViewerInfo } from "./viewer-info.js";

/** @typedef {import("./listing.js").Listing} Listing */
/** @typedef {import("./listing.js").Photo} Photo */
/** @typedef {import("./thumbnails.js").Thumbnails} Thumbnails */
/** @typedef {import("./library.js").Library} Library */

/**
 * @typedef {object} ViewerActions
 * @property {() => void} close  asks to leave; the owner then calls `remove`
 * @property {(photo: Photo) => void} download
 * @property {(photo: Photo) => void} remove
 * @property {(photo: Photo) => Promise<void>} makeCover
 * @property {(photo: Photo) => Promise<void>} rotate
 * @property {(photo: Photo) => Promise<void>} rename
 * @property {(photo: Photo) => void} star  makes it a favourite, or none any more
 * @property {() => void} dated  called when a date was corrected
 * @property {(album: string) => void} goToAlbum
 * @property {(file: GroupFile) => void} downloadFile  downloads one file without what belongs to it
 * @property {(file: GroupFile) => void} removeFile  deletes one file alone
 */
/**
 * One of the files that belong together.
 * @typedef {{id: string, name: string, kind: import("./listing.js").Kind, size: number,
 *   part: "raw" | "photo" | "film" | "edited" | "sidecar" | "other"}} GroupFile
 */
/**
 * What the panel of details asks the viewer for.
 * @typedef {ViewerActions & {showFile: (file: GroupFile) => void, foundLive: () => void}} InfoActions
 */

const between = 24;

export class Viewer {
  element;
  index;
  #listing;
  #thumbnails;
  #actions;
  #pictures = new Pictures();
  /** @type {Map<number, Slide>} */
  #slides = new Map();
  #stage;
  #track;
  #caption;
  #controls;
  #star;
  #live;
  #slideshow = new Slideshow(() => this.step(1), () => this.element.querySelector(".slide:not([aria-hidden]) video"));
  #info;
  #forget;
  #readOnly;
  /** @type {Photo | null} a file that belongs to the photo, and is shown in its place */
  #file = null;
  /** The id of a photo that turned out to have a film inside it. */
  #foundLive = "";

  /**
   * @param {Listing} listing
   * @param {number} index
   * @param {{thumbnails: Thumbnails, library: Library, actions: ViewerActions}} context
   */
  constructor(listing, index, { thumbnails, library, actions }) {
    this.#listing = listing;
    this.index = index;
    this.#thumbnails = thumbnails;
    this.#actions = actions;
    this.#readOnly = library.readOnly;
    this.#info = new ViewerInfo({
      ...actions,
      showFile: (file) => this.showFile(file),
      removeFile: (file) => this.#removeFile(file),
      foundLive: () => {
        this.#foundLive = this.photo.id;
        this.#describe();
      },
    }, library.readOnly);
    this.#track = h("div", { class: "track" });
    this.#stage = h("div", { class: "stage" }, this.#track);
    this.#caption = h("div", { class: "viewer-caption", "aria-live": "polite", "aria-atomic": "true" });
    this.#controls = h("div", { class: "viewer-actions" });
    this.element = h("div", {
      class: "viewer", role: "dialog", "aria-modal": "true", "aria-label": t("viewer"), tabindex: -1,
    },
    this.#stage,
    h("div", { class: "viewer-bar" },
      this.#button("back", t("close"), actions.close), this.#caption, this.#controls),
    this.#arrow("back", t("previous"), -1),
    this.#arrow("forward", t("next"), 1),
    this.#info.element);
    this.#star = this.#button("star", t("favourite"), () => actions.star(this.photo));
    this.#live = this.#button("live", t("playLive"), () => this.#playLive());
    this.#addControls();
    this.#listenToGestures();
    // Keys belong to the viewer wherever the focus is, because a closed dialog may leave it nowhere.
    addEventListener("keydown", this.#key);
    addEventListener("resize", this.#resized);
    this.#forget = thumbnails.onLoad((id) => this.#thumbnailArrived(id));
  }

  /** Shows the viewer, which must be in the document. */
  begin() {
    this.element.focus({ preventScroll: true });
    this.#arrange();
  }

  remove() {
    removeEventListener("keydown", this.#key);
    removeEventListener("resize", this.#resized);
    this.#forget();
    for (const slide of this.#slides.values()) slide.remove();
    this.#slides.clear();
    this.#slideshow.stop();
    if (document.fullscreenElement) toggleFullScreen();
    this.#pictures.clear();
    this.#info.close();
    this.#thumbnails.want("viewer", []);
    this.element.remove();
  }

  get photo() {
    return this.#listing.photo(this.index);
  }

  /**
   * Goes on with a newer listing of the same view; asks to close where no photo is left.
   * @param {Listing} listing
   */
  update(listing) {
    const { id } = this.photo;
    this.#listing = listing;
    const found = listing.indexOf(id);
    if (found < 0) this.#file = null;
    if (listing.loaded === 0) {
      this.#actions.close();
      return;
    }
    this.index = found >= 0 ? found : Math.min(this.index, listing.loaded - 1);
    const old = new Map([...this.#slides.values()].map((slide) => [slide.photo.id, slide]));
    this.#slides.clear();
    const before = old.get(id);
    for (const at of this.#near()) this.#adopt(at, old);
    const other = this.#file && old.get(this.#file.id);
    if (other) {
      this.#slides.get(this.index)?.remove();
      this.#slides.set(this.index, other);
      old.delete(other.photo.id);
    }
    for (const slide of old.values()) slide.remove();
    this.#arrange();
    this.#resume(before);
  }

  /**
   * Shows a photo again as a person had it before its slide was replaced: zoomed, and its original.
   * @param {Slide | undefined} before
   */
  #resume(before) {
    const slide = this.#slides.get(this.index);
    if (before && slide && slide !== before && slide.photo.id === before.photo.id) slide.resume(before);
  }

  /**
   * Takes over a slide whose photo looks the same in the new listing, and a video that is being shown: another
   * thumbnail or date of it is no reason to begin it anew.
   * @param {number} at
   * @param {Map<string, Slide>} old
   */
  #adopt(at, old) {
    const photo = this.#listing.photo(at);
    const slide = old.get(photo.id);
    if (!slide) return;
    const looksSame = slide.photo.thumb === photo.thumb && slide.photo.width === photo.width;
    if (!looksSame && !(slide.hasVideo && slide.photo.size === photo.size)) return;
    slide.photo = photo;
    this.#slides.set(at, slide);
    old.delete(photo.id);
  }

  /**
   * Shows one of the files that belong to the photo in its place, until the person goes on.
   * @param {GroupFile | Photo} file
   */
  showFile(file) {
    const { photo } = this;
    const isPhoto = file.id === photo.id;
    this.#leaveFile();
    if (!isPhoto) {
      const { id, name, kind, size } = file;
      this.#file = { ...photo, id, name, kind, size, width: 0, height: 0, duration: 0, thumb: -1, group: 0 };
    }
    this.#slides.get(this.index)?.remove();
    this.#slides.delete(this.index);
    this.#arrange();
  }

  /** @param {GroupFile} file */
  #removeFile(file) {
    if (file.id === this.#file?.id) this.showFile(this.photo);
    this.#actions.removeFile(file);
  }

  /** Goes back from a file to the photo that it belongs to. */
  #leaveFile() {
    if (!this.#file) return;
    this.#file = null;
    this.#slides.get(this.index)?.remove();
    this.#slides.delete(this.index);
  }

  /** Plays the film of a Live Photo over it, or ends that; false where there is none. */
  #playLive() {
    return this.#isLive && this.#slides.get(this.index)?.toggleLive() === true;
  }

  get #isLive() {
    const { photo } = this;
    return !this.#file && photo.kind === "photo" && ((photo.group & signs.live) > 0 || photo.id === this.#foundLive);
  }

  /** Draws the photo in the middle again, after it was rotated. */
  redraw() {
    this.#pictures.forgetOriginal();
    this.#slides.get(this.index)?.remove();
    this.#slides.delete(this.index);
    this.#arrange();
  }

  #near() {
    return [this.index, this.index + 1, this.index - 1].filter((at) => at >= 0 && at < this.#listing.loaded);
  }

  get #stageSize() {
    return { width: this.#stage.clientWidth, height: this.#stage.clientHeight };
  }

  #resized = () => {
    for (const slide of this.#slides.values()) slide.resize(this.#stageSize);
    this.#moveTrack(0, false);
  };

  /** Puts the photo and its neighbours in place, and loads what is missing: the one in the middle first. */
  #arrange() {
    const near = this.#near();
    for (const [at, slide] of this.#slides) {
      if (near.includes(at)) continue;
      slide.remove();
      this.#slides.delete(at);
    }
    this.#pictures.keepLoading([...near.map((at) => this.#listing.ids[at]), this.#file?.id ?? ""]);
    for (const at of near) if (!this.#slides.has(at)) this.#addSlide(at);
    for (const [at, slide] of this.#slides) {
      style(slide.element, { transform: `translateX(calc(${at - this.index} * (100% + ${between}px)))` });
      if (at === this.index) slide.activate();
      else slide.deactivate();
    }
    this.#moveTrack(0, false);
    const { ids, thumbs } = this.#listing;
    this.#thumbnails.want("viewer", near.map((at) => ({ id: ids[at], version: thumbs[at] })));
    void this.#loadNear(near);
    this.#describe();
  }

  /** @param {number[]} near */
  async #loadNear(near) {
    const { index } = this;
    for (const at of near) {
      await this.#slides.get(at)?.load();
      if (this.index !== index) return;
    }
  }

  /** @param {number} at */
  #addSlide(at) {
    const photo = at === this.index && this.#file ? this.#file : this.#listing.photo(at);
    const thumbnail = this.#thumbnails.url({ id: photo.id, version: photo.thumb });
    const slide = new Slide(photo, thumbnail, this.#pictures, this.#stageSize);
    this.#slides.set(at, slide);
    this.#track.append(slide.element);
  }

  /** @param {string} id */
  #thumbnailArrived(id) {
    for (const [at, slide] of this.#slides) {
      if (slide.photo.id !== id || slide.element.querySelector("img, video")) continue;
      slide.remove();
      this.#slides.delete(at);
      this.#arrange();
      if (at === this.index) this.#resume(slide);
      return;
    }
  }

  #describe() {
    const { name, taken, modified, kind } = this.#file ?? this.photo;
    const also = this.#file ? [] : signNames(this.photo.group);
    fill(this.#caption,
      h("strong", { dir: "auto" }, shown(name)),
      // A screen reader reads name and date as one text.
      h("i", { class: "hidden" }, ", "),
      h("span", null, formatDateLong(taken ?? modified, taken !== null), " · ",
        [t("photoOf", { n: this.index + 1, total: this.#listing.count }), ...also].join(" · ")));
    this.#live.hidden = !this.#isLive;
    for (const button of this.#controls.querySelectorAll("button")) {
      if (button.dataset.only) button.hidden = button.dataset.only !== kind;
    }
    const [before, after] = this.element.querySelectorAll(".viewer-arrow");
    if (before instanceof HTMLElement) before.hidden = this.index === 0;
    if (after instanceof HTMLElement) after.hidden = this.index >= this.#listing.loaded - 1;
    this.drawStar();
    this.#info.show(this.photo, this.#file?.id ?? this.photo.id);
  }

  /**
   * @param {import("./icons.js").IconName} name
   * @param {string} label
   * @param {() => void} run
   * @param {string} [only]  the kind of file that it is for
   */
  #button(name, label, run, only) {
    return h("button", {
      type: "button", class: "quiet", title: label, "aria-label": label, "data-only": only,
      on: { click: run },
    }, icon(name));
  }

  /**
   * @param {"back" | "forward"} name
   * @param {string} label
   * @param {1 | -1} step
   */
  #arrow(name, label, step) {
    const button = this.#button(name, label, () => this.step(step));
    button.className = `viewer-arrow ${name}`;
    return button;
  }

  /** Shows whether the photo is a favourite. */
  drawStar() {
    const on = this.#listing.favourites[this.index] === 1;
    this.#star.classList.toggle("lit", on);
    this.#star.setAttribute("aria-pressed", String(on));
  }

  #addControls() {
    const actions = this.#actions;
    const info = this.#button("info", t("information"), () => this.#toggleInfo());
    const change = this.#readOnly ? [] : [
      this.#star,
      this.#button("rotate", t("rotate"), () => void actions.rotate(this.photo), "photo"),
      this.#button("cover", t("makeCover"), () => void actions.makeCover(this.photo)),
      this.#button("remove", t("delete"), () => actions.remove(this.photo)),
    ];
    const more = this.#button("more", t("more"), () => showMenu(more, this.#more()));
    more.setAttribute("aria-haspopup", "menu");
    more.setAttribute("aria-expanded", "false");
    append(this.#controls, [
      this.#live,
      this.#button("full", t("showOriginal"), () => this.#zoomToPixels(), "photo"),
      this.#button("download", t("download"), () => actions.download(this.photo)),
      ...change, info, more,
    ]);
    for (const button of this.#controls.querySelectorAll("button:has(.icon-full, .icon-cover)")) {
      button.classList.add("wide-only");
    }
  }

  /** @returns {import("./dialogs.js").MenuItem[]} */
  #more() {
    const isPhoto = this.photo.kind === "photo";
    return [
      { icon: "slides", label: t("slideshow"), run: () => this.#play() },
      { icon: "screen", label: t("fullScreen"), hidden: !hasFullScreen(), run: toggleFullScreen },
      { icon: "full", label: t("showOriginal"), hidden: !isPhoto, run: () => this.#zoomToPixels() },
      { icon: "cover", label: t("makeCover"), hidden: this.#readOnly,
        run: () => void this.#actions.makeCover(this.photo) },
      { icon: "keys", label: t("keys"), hidden: matchMedia("(pointer: coarse)").matches, run: () => void showKeys() },
    ];
  }

  /** Starts a slideshow on the whole screen. Any key and any tap ends it. */
  #play() {
    if (hasFullScreen() && !document.fullscreenElement) toggleFullScreen();
    this.element.classList.add("bare");
    this.#slideshow.start();
  }

  #endSlideshow() {
    if (!this.#slideshow.isRunning) return false;
    this.#slideshow.stop();
    this.element.classList.remove("bare");
    if (document.fullscreenElement) toggleFullScreen();
    return true;
  }

  #toggleInfo() {
    this.element.classList.toggle("with-info", this.#info.toggle());
    this.#resized();
  }

  /** Shows the original, one pixel for a pixel of the screen at least. */
  #zoomToPixels() {
    const slide = this.#slides.get(this.index);
    if (!slide) return;
    void slide.showOriginal();
    slide.zoomBy(slide.isZoomed ? 0 : 2.5, { x: 0, y: 0 });
  }

  /**
   * Goes to a neighbour; false where there is none.
   * @param {1 | -1} direction
   */
  step(direction) {
    const to = this.index + direction;
    if (to < 0 || to >= this.#listing.loaded) return false;
    this.#leaveFile();
    this.index = to;
    this.#arrange();
    this.#slideshow.restart();
    return true;
  }

  /**
   * Goes to a neighbour so that it slides in from where the finger left it.
   * @param {1 | -1} direction
   * @param {number} from
   */
  #slideTo(direction, from) {
    const width = this.#stage.clientWidth + between;
    this.step(direction);
    this.#moveTrack(from + direction * width, false);
    // The browser must see the start of the movement.
    this.#track.getBoundingClientRect();
    this.#moveTrack(0, true);
  }

  /**
   * @param {number} x
   * @param {boolean} animated
   * @param {number} [y]
   */
  #moveTrack(x, animated, y = 0) {
    const moving = animated && !wantsLittleMotion();
    const far = Math.min(1, Math.abs(y) / 400);
    style(this.#track, {
      transition: moving ? "transform 220ms cubic-bezier(.2,.7,.2,1)" : "none",
      transform: `translate(${x}px, ${y}px) scale(${1 - far * 0.25})`,
    });
    style(this.element, { "--fade": String(1 - far * 0.8) });
  }

  #listenToGestures() {
    const slide = () => /** @type {Slide} */ (this.#slides.get(this.index));
    /** @type {{x: number, y: number} | null} where the picture was when a drag began */
    let grip = null;
    /** @type {"x" | "y" | null} */
    let axis = null;
    new Gestures(this.#stage, {
      ignores: (event) => this.#isVideoControl(event),
      tap: () => this.#endSlideshow() || this.element.classList.toggle("bare"),
      doubleTap: (point) => {
        slide().element.classList.add("eased");
        slide().toggleZoom(point);
      },
      wheel: (factor, point) => {
        slide().element.classList.remove("eased");
        slide().zoomBy(factor, point);
      },
      pinch: (factor, point, dx, dy) => {
        const { zoom } = slide();
        slide().element.classList.remove("eased");
        slide().setZoom({ ...zoom, x: zoom.x + dx, y: zoom.y + dy });
        slide().zoomBy(factor, point);
      },
      pinchEnd: () => {},
      drag: (dx, dy) => {
        if (slide().isZoomed) {
          slide().element.classList.remove("eased");
          grip ??= slide().zoom;
          slide().setZoom({ ...slide().zoom, x: grip.x + dx, y: grip.y + dy });
          return;
        }
        axis ??= Math.abs(dx) > Math.abs(dy) ? "x" : "y";
        if (axis === "x") this.#moveTrack(this.#resisted(dx), false);
        else this.#moveTrack(dx, false, Math.max(0, dy));
      },
      dragEnd: (dx, dy, vx, vy) => {
        const ended = axis;
        grip = axis = null;
        if (ended === "x") this.#endSwipe(dx, vx);
        else if (ended === "y" && (dy > 120 || (dy > 30 && vy > 0.5))) this.#actions.close();
        else this.#moveTrack(0, true);
      },
    });
  }

  /**
   * Returns how far the track follows a finger: little where there is no neighbour.
   * @param {number} dx
   */
  #resisted(dx) {
    const to = this.index + (dx < 0 ? 1 : -1);
    return to < 0 || to >= this.#listing.loaded ? dx / 4 : dx;
  }

  /**
   * @param {number} dx
   * @param {number} vx
   */
  #endSwipe(dx, vx) {
    const direction = dx < 0 ? 1 : -1;
    const to = this.index + direction;
    const far = Math.abs(dx) > this.#stage.clientWidth / 3 || (Math.abs(vx) > 0.35 && vx * dx > 0);
    if (far && to >= 0 && to < this.#listing.loaded) this.#slideTo(direction, dx);
    else this.#moveTrack(0, true);
  }

  /**
   * True on the lower edge of a video, where its own controls are.
   * @param {PointerEvent} event
   */
  #isVideoControl(event) {
    if (!(event.target instanceof HTMLVideoElement)) return false;
    const box = event.target.getBoundingClientRect();
    return event.pointerType === "mouse" || event.clientY > box.bottom - 90;
  }

  #key = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.target instanceof HTMLVideoElement && event.key.startsWith("Arrow")) return;
    if (!event.key.startsWith("Arrow") && this.#endSlideshow()) {
      event.preventDefault();
      return;
    }
    const onButton = event.target instanceof HTMLButtonElement;
    const slide = this.#slides.get(this.index);
    const middle = { x: 0, y: 0 };
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      Home: () => this.#jump(0),
      End: () => this.#jump(this.#listing.loaded - 1),
      Escape: () => this.#actions.close(),
      "+": () => slide?.zoomBy(1.5, middle),
      "-": () => slide?.zoomBy(1 / 1.5, middle),
      0: () => slide?.zoomBy(0, middle),
      o: () => this.#zoomToPixels(),
      i: () => this.#toggleInfo(),
      s: () => this.#play(),
      F: toggleFullScreen,
      "?": () => void showKeys(),
      d: () => this.#actions.download(this.photo),
      l: () => this.#playLive(),
    };
    if (!this.#readOnly) {
      keys.f = () => this.#actions.star(this.photo);
      keys.r = () => void this.#actions.rotate(this.photo);
      keys.Delete = () => this.#actions.remove(this.photo);
    }
    if (!onButton) keys[" "] = () => slide?.togglePlaying() || this.#playLive() || this.element.classList.toggle("bare");
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  /** @param {number} index */
  #jump(index) {
    this.#leaveFile();
    this.index = index;
    this.#arrange();
  }
}
