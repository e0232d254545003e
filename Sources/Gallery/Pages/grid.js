/**
 * Shows a listing as rows of photos. Only rows near the window exist as elements, so a view of 100,000 photos
 * has a few hundred.
 * @module
 */

import { breathe, h, oncePerFrame, picture, settle, style } from "./dom.js";
import { icon } from "./icons.js";
import { Layout } from "./layout.js";
import { groupSigns, signNames } from "./group-signs.js";
import { formatDay, formatDate, formatDuration, formatMonth, t, yearOf } from "./texts.js";
import { GridFilms } from "./grid-films.js";
import { GridPointer } from "./grid-pointer.js";
import { signs } from "./listing.js";
import { isolated, shown } from "./names.js";

/** @typedef {import("./listing.js").Listing} Listing */
/** @typedef {import("./selection.js").Selection} Selection */
/** @typedef {import("./thumbnails.js").Thumbnails} Thumbnails */

/**
 * @typedef {object} GridOptions
 * @property {Thumbnails} thumbnails
 * @property {Selection} selection
 * @property {boolean} byDate
 * @property {(index: number) => void} open
 * @property {((id: string) => void) | null} star  makes a photo a favourite, or none any more
 * @property {() => void} [moved]  called when the layout or the scroll position changed
 */

const layoutSlice = 20_000;
const dayHeader = 44;
const monthHeader = 46;
const yearHeader = 60;
const betweenDays = 12;
/** How large pictures are shown, as parts of the usual size; the person's choice lasts as long as the page. */
const sizes = [0.5, 0.72, 1, 1.45, 2.1];
let chosenSize = 2;

export class Grid {
  element;
  /** @type {Listing | null} */
  listing = null;
  /** @type {Layout | null} */
  layout = null;
  options;
  /** @type {Map<number, HTMLElement>} rows that exist as elements */
  #rows = new Map();
  /** @type {Map<string, HTMLElement>} */
  #tiles = new Map();
  /** The photo that Tab reaches; arrow keys move it. */
  #current = 0;
  /** A photo whose row stays an element, because a finger that went down on it still moves; -1 for none. */
  held = -1;
  #ticket = 0;
  #width = 0;
  /**
   * What was kept at the top when the width changed last, and how far the page was scrolled then.
   * @type {{anchor: {id: string, offset: number}, scroll: number} | null}
   */
  #kept = null;
  #lastTop = 0;
  /** Which height was at the top of the window when rows were drawn last. */
  #drawnTop = Number.NaN;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #surround;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #settle;
  #lastLoad = 0;
  #resize;
  #forget;
  #forgetSelection;
  #films;

  /** @param {GridOptions} options */
  constructor(options) {
    this.options = options;
    this.element = h("div", {
      class: "grid", role: "grid", "aria-multiselectable": "true", "aria-label": t("photosLabel"),
    });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("focusin", (event) => this.#focused(event));
    new GridPointer(this);
    this.#films = new GridFilms(this.element);
    this.#resize = new ResizeObserver(() => this.#measure());
    this.#resize.observe(this.element);
    addEventListener("scroll", this.render, { passive: true });
    addEventListener("resize", this.render);
    this.#forgetSelection = options.selection.onChange(this.#select);
    this.element.classList.toggle("selecting", options.selection.active);
    this.#forget = options.thumbnails.onLoad((id, url) => this.#arrived(id, url));
  }

  remove() {
    this.#ticket += 1;
    this.#resize.disconnect();
    removeEventListener("scroll", this.render);
    removeEventListener("resize", this.render);
    clearTimeout(this.#surround);
    this.#forget();
    this.#forgetSelection();
    this.options.thumbnails.want("grid", []);
    this.#films.stop();
    this.element.remove();
  }

  /**
   * Shows a listing, or more of the same one. A new listing keeps the scroll position at the same photo.
   * @param {Listing} listing
   */
  show(listing) {
    const more = listing === this.listing;
    const anchor = more ? null : this.#anchor();
    this.listing = listing;
    if (more && this.layout) void this.#extend(this.layout, this.#ticket);
    else void this.#arrange(anchor);
  }

  #measure() {
    const width = this.element.clientWidth;
    if (width === this.#width || width === 0) return;
    // A phone that is turned to and fro shows the same photos again, for nobody scrolled meanwhile.
    const stayed = this.#kept !== null && Math.abs(this.#kept.scroll - scrollY) < 1;
    const anchor = stayed && this.#kept ? this.#kept.anchor : this.#anchor();
    this.#width = width;
    if (this.listing) void this.#arrange(anchor);
  }

  /**
   * Computes the layout anew, and shows it when it reaches the photo that was at the top.
   * @param {{id: string, offset: number} | null} anchor
   */
  async #arrange(anchor) {
    const listing = this.listing;
    this.#width = this.element.clientWidth;
    if (!listing || this.#width === 0) return;
    const ticket = (this.#ticket += 1);
    const gap = this.#width < 600 ? 3 : 5;
    const target = (30 + 4.4 * Math.sqrt(this.#width)) * sizes[chosenSize];
    const layout = new Layout(listing.ratios, this.options.byDate ? this.#sections(listing) : null, {
      width: this.#width,
      target: Math.min(target, this.#width),
      gap,
      header: (index) => dayHeader + (this.#beginsMonth(listing, index) ? monthHeader : 0)
        + (this.#beginsYear(listing, index) ? yearHeader : 0),
      between: betweenDays,
    });
    const goal = anchor ? listing.indexOf(anchor.id) : -1;
    while (!layout.advance(listing.loaded, layoutSlice) && layout.laid <= goal) {
      await breathe();
      if (ticket !== this.#ticket) return;
    }
    this.layout = layout;
    this.#current = Math.min(this.#current, Math.max(0, listing.count - 1));
    this.#rebuild();
    if (anchor && goal >= 0) {
      this.scrollTo(goal, anchor.offset);
      this.#kept = { anchor, scroll: scrollY };
    }
    await this.#extend(layout, ticket);
  }

  /** True where sections are months: with small pictures, most of a day's row would be empty. */
  #byMonth = false;

  /**
   * Returns the section of each photo: its day, or its month where days have few photos.
   * @param {Listing} listing
   */
  #sections(listing) {
    let days = 0;
    for (let index = 0; index < listing.loaded; index += 1) {
      if (index === 0 || listing.days[index] !== listing.days[index - 1]) days += 1;
    }
    const row = this.#width / ((30 + 4.4 * Math.sqrt(this.#width)) * sizes[chosenSize] * 1.4);
    this.#byMonth = days > 0 && listing.loaded / days < row / 2;
    if (!this.#byMonth) return listing.days;
    const months = new Int32Array(listing.count);
    const first = Array.from({ length: listing.loaded }, (_, index) => listing.month(index));
    months.set(first);
    this.#months = { listing, months };
    return months;
  }

  /** @type {{listing: Listing, months: Int32Array} | null} the months of a listing, as far as they are known */
  #months = null;

  /**
   * True for the first photo of a month, above whose day the month's name is.
   * @param {Listing} listing
   * @param {number} index
   */
  #beginsMonth(listing, index) {
    if (this.#byMonth) return false;
    return index === 0 || listing.month(index) !== listing.month(index - 1);
  }

  /**
   * True for the first photo of a year below another one. The year at the top stands in its month's name.
   * @param {Listing} listing
   * @param {number} index
   */
  #beginsYear(listing, index) {
    return index > 0 && yearOf(listing.days[index]) !== yearOf(listing.days[index - 1]);
  }

  /**
   * Shows larger or smaller pictures; the photo at the top stays there.
   * @param {1 | -1} step
   */
  resize(step) {
    const next = Math.max(0, Math.min(sizes.length - 1, chosenSize + step));
    if (next === chosenSize) return;
    chosenSize = next;
    void this.#arrange(this.#anchor());
  }

  /**
   * Lays out what has been loaded meanwhile.
   * @param {Layout} layout
   * @param {number} ticket
   */
  async #extend(layout, ticket) {
    const known = this.#months;
    if (known !== null && known.listing === this.listing) {
      for (let index = layout.laid; index < known.listing.loaded; index += 1) {
        known.months[index] = known.listing.month(index);
      }
    }
    for (;;) {
      const done = this.listing === null || layout.advance(this.listing.loaded, layoutSlice);
      this.#resized();
      if (done) return;
      await breathe();
      if (ticket !== this.#ticket) return;
    }
  }

  #resized() {
    if (!this.layout) return;
    style(this.element, { height: `${Math.ceil(this.layout.height)}px` });
    this.element.setAttribute("aria-rowcount", String(this.layout.rows));
    // A grid without rows is none for a screen reader.
    this.element.ariaHidden = this.layout.rows > 0 ? null : "true";
    this.render();
  }

  /** Returns the photo at the top of the window and how far it is from there, once the grid is scrolled. */
  #anchor() {
    if (!this.layout || !this.listing) return null;
    const top = this.#viewTop();
    if (top <= 0) return null;
    const row = this.layout.rowAt(top);
    if (row < 0) return null;
    return { id: this.listing.ids[this.layout.start(row)], offset: this.layout.top(row) - top };
  }

  /** Returns which height of the grid is at the top of the window. */
  #viewTop() {
    return -this.element.getBoundingClientRect().top;
  }

  /**
   * Scrolls so that a photo's row is some way below the top of the window.
   * @param {number} index
   * @param {number} offset
   */
  scrollTo(index, offset) {
    const row = this.layout?.rowOf(index) ?? -1;
    if (!this.layout || row < 0) return;
    scrollTo({ top: scrollY - this.#viewTop() + this.layout.top(row) - offset });
    this.#draw();
  }

  /**
   * Scrolls to a height of the grid.
   * @param {number} top
   */
  scrollToHeight(top) {
    scrollTo({ top: scrollY - this.#viewTop() + top });
  }

  /** The height of the grid at the top of the window. */
  get position() {
    return this.#viewTop();
  }

  /**
   * Scrolls as little as needed to show a photo.
   * @param {number} index
   */
  reveal(index) {
    const row = this.layout?.rowOf(index) ?? -1;
    if (!this.layout || row < 0) return;
    const top = this.layout.top(row) - this.#viewTop();
    const bottom = top + this.layout.rowHeight(row);
    const margin = 120;
    if (top < margin) scrollBy({ top: top - margin });
    else if (bottom > innerHeight - margin) {
      scrollBy({ top: bottom - innerHeight + margin });
    }
    this.#draw();
  }

  /** Removes all rows and draws them again, with the tiles of photos that stay. */
  #rebuild() {
    const hadFocus = this.element.contains(document.activeElement) ? this.#focusedId() : undefined;
    const spare = this.#tiles;
    this.#tiles = new Map();
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
    this.#spare = spare;
    this.#resized();
    this.#draw();
    this.#spare = null;
    if (hadFocus === undefined) return;
    // The photo may be gone; then the one in its place has the focus.
    const tile = this.#tiles.get(hadFocus) ?? this.#tiles.get(this.listing?.ids[this.#current] ?? "");
    tile?.focus({ preventScroll: true });
  }

  /** @type {Map<string, HTMLElement> | null} */
  #spare = null;

  #focusedId() {
    const focused = document.activeElement;
    return focused instanceof HTMLElement ? focused.dataset.id : undefined;
  }

  render = oncePerFrame(() => this.#draw());

  #draw() {
    const { layout, listing } = this;
    if (!layout || !listing || !this.element.isConnected) return;
    const top = this.#viewTop();
    const margin = this.#hasJumped(top) ? 0 : innerHeight * 0.75;
    const needed = new Set(this.#rowsBetween(layout, top - margin, top + innerHeight + margin));
    for (const row of [layout.rowOf(this.#current), layout.rowOf(this.held), this.#dayRow(layout)]) {
      if (row >= 0) needed.add(row);
    }
    for (const [row, element] of this.#rows) if (!needed.has(row)) this.#drop(row, element);
    for (const row of needed) if (!this.#rows.has(row)) this.#make(layout, listing, row);
    this.#markDay();
    this.#planLoading(top);
    this.options.moved?.();
  }

  /**
   * True where everything in the window is new: then only that is drawn, and what is around it a moment later.
   * @param {number} top
   */
  #hasJumped(top) {
    const jumped = !(Math.abs(top - this.#drawnTop) < innerHeight);
    this.#drawnTop = top;
    clearTimeout(this.#surround);
    if (jumped) this.#surround = setTimeout(this.render, 50);
    return jumped;
  }

  /**
   * Returns the row with the header of the day of the photo that Tab reaches; -1 in a view without days.
   * @param {Layout} layout
   */
  #dayRow(layout) {
    let row = this.options.byDate ? layout.rowOf(this.#current) : -1;
    while (row > 0 && !layout.isHead(row)) row -= 1;
    return row;
  }

  /** Lets Tab reach the button that selects the day of the photo that Tab reaches, and no other day's. */
  #markDay() {
    if (!this.layout || !this.options.byDate) return;
    const day = this.#rows.get(this.#dayRow(this.layout));
    for (const tick of this.element.querySelectorAll(".day-tick")) {
      if (tick instanceof HTMLElement) tick.tabIndex = day?.contains(tick) ? 0 : -1;
    }
  }

  /**
   * @param {Layout} layout
   * @param {number} top
   * @param {number} bottom
   */
  #rowsBetween(layout, top, bottom) {
    const rows = [];
    const first = layout.rowAt(top);
    for (let row = first; row >= 0 && row < layout.rows; row += 1) {
      if (layout.top(row) - layout.headHeight(row) > bottom) break;
      rows.push(row);
    }
    return rows;
  }

  /**
   * @param {number} row
   * @param {HTMLElement} element
   */
  #drop(row, element) {
    for (const tile of element.querySelectorAll(".tile")) {
      if (tile instanceof HTMLElement) this.#tiles.delete(tile.dataset.id ?? "");
    }
    element.remove();
    this.#rows.delete(row);
  }

  /**
   * Creates a row, and the header of its day where it begins one.
   * @param {Layout} layout
   * @param {Listing} listing
   * @param {number} row
   */
  #make(layout, listing, row) {
    const element = h("div", { class: "row", role: "row", "aria-rowindex": row + 1 });
    style(element, { transform: `translateY(${layout.top(row)}px)` });
    if (layout.isHead(row)) element.append(this.#header(listing, layout.start(row)));
    const start = layout.start(row);
    layout.boxes(row).forEach((box, position) => {
      const tile = this.#tile(listing, start + position);
      style(tile, { left: `${box.x}px`, width: `${box.width}px`, height: `${box.height}px` });
      element.append(tile);
    });
    this.#rows.set(row, element);
    this.#insert(row, element);
  }

  /**
   * Keeps rows in their order in the document, which is the order for screen readers.
   * @param {number} row
   * @param {HTMLElement} element
   */
  #insert(row, element) {
    const last = this.element.lastElementChild;
    if (!last || Number(last.getAttribute("aria-rowindex")) <= row) {
      this.element.append(element);
      return;
    }
    const rows = [...this.element.children];
    const next = rows.find((each) => Number(each.getAttribute("aria-rowindex")) > row + 1);
    this.element.insertBefore(element, next ?? null);
  }

  /**
   * @param {Listing} listing
   * @param {number} index
   */
  #header(listing, index) {
    const month = formatMonth(listing.days[index]);
    const title = this.#byMonth ? month : formatDay(listing.days[index]);
    const label = this.#byMonth ? t("selectMonth", { month }) : t("selectDay", { day: title });
    const day = h("div", { class: "day" },
      h("h2", null, title),
      h("button", {
        class: "day-tick quiet", type: "button", title: label, "aria-label": label, tabindex: -1,
        on: { click: () => this.toggleDay(index) },
      }, icon("select")));
    return h("div", { class: "section-head", role: "rowheader" },
      this.#beginsYear(listing, index) && h("p", { class: "year-head" }, String(yearOf(listing.days[index]))),
      this.#beginsMonth(listing, index) && h("p", { class: "month" }, month), day);
  }

  /**
   * Selects all photos of a day, or none of them if all are.
   * @param {number} index  the first of the day
   */
  toggleDay(index) {
    if (!this.listing) return;
    const ids = this.listing.ids.slice(index, this.#endOfSection(this.listing, index));
    this.options.selection.set(ids, !ids.every((id) => this.options.selection.has(id)));
  }

  /**
   * @param {Listing} listing
   * @param {number} index
   */
  #endOfSection(listing, index) {
    if (!this.#byMonth) return listing.endOfDay(index);
    let end = index + 1;
    while (end < listing.loaded && listing.month(end) === listing.month(index)) end += 1;
    return end;
  }

  /**
   * Returns the tile of a photo: the one it had before, or a new one.
   * @param {Listing} listing
   * @param {number} index
   */
  #tile(listing, index) {
    const id = listing.ids[index];
    const version = listing.thumbs[index];
    let tile = this.#spare?.get(id);
    const label = this.#label(listing, index);
    // Without a picture the tile shows the name, which may be another one now.
    const hasLength = listing.durations[index] === 0 || tile?.querySelector(".tile-length") !== null;
    const isSame = tile?.dataset.version === String(version) && hasLength
      && tile.dataset.group === String(listing.groups[index])
      && (tile.getAttribute("aria-label") === label || tile.querySelector(".tile-name") === null);
    if (tile && isSame) settle(tile);
    else tile = this.#newTile(listing, index);
    tile.setAttribute("aria-label", label);
    tile.dataset.index = String(index);
    tile.tabIndex = index === this.#current ? 0 : -1;
    tile.setAttribute("aria-selected", String(this.options.selection.has(id)));
    tile.classList.toggle("favourite", listing.favourites[index] === 1);
    this.#tiles.set(id, tile);
    return tile;
  }

  /** Draws the stars and names of tiles again, after favourites have changed. */
  drawStars() {
    const { listing } = this;
    if (!listing) return;
    for (const tile of this.#tiles.values()) {
      const index = Number(tile.dataset.index);
      tile.classList.toggle("favourite", listing.favourites[index] === 1);
      tile.setAttribute("aria-label", this.#label(listing, index));
    }
  }

  /** The id of the photo that Tab reaches. */
  get currentId() {
    return this.listing?.ids[this.#current];
  }

  /**
   * @param {Listing} listing
   * @param {number} index
   */
  #newTile(listing, index) {
    const { id, name, kind, thumb, duration, group } = listing.photo(index);
    const live = group & signs.live ? " live" : "";
    const tile = h("div", {
      class: `tile ${kind}${live}`, role: "gridcell", "data-id": id, "data-version": thumb, "data-group": group,
    });
    const url = this.options.thumbnails.url({ id, version: thumb });
    if (url) tile.append(picture(url));
    else if (kind === "other" || thumb <= 0) {
      const sign = icon(kind === "photo" ? "photos" : "file");
      tile.append(h("span", { class: "tile-name" }, sign, h("span", { dir: "auto" }, shown(name)),
        kind === "photo" && thumb === 0 && h("span", { class: "tile-hint" }, t("beingMade"))));
    }
    if (kind === "video") {
      tile.append(h("span", { class: "badge" }, icon("play")),
        duration > 0 && h("span", { class: "tile-length" }, formatDuration(duration)) || "");
    }
    if (group > signs.several) tile.append(groupSigns(group));
    if (kind !== "other") tile.append(h("span", { class: "tile-star", title: t("favourite") }, icon("star")));
    tile.append(h("span", { class: "tick" }, icon("check")));
    return tile;
  }

  /**
   * Returns what a screen reader says for a photo.
   * @param {Listing} listing
   * @param {number} index
   */
  #label(listing, index) {
    const kind = listing.kind(index);
    const parts = [
      isolated(listing.names[index]), kind === "photo" ? null : t(kind), formatDate(listing.date(index)),
      listing.favourites[index] === 1 ? t("favourite") : null, ...signNames(listing.groups[index]),
    ];
    return parts.filter(Boolean).join(", ");
  }

  /**
   * Shows a thumbnail that has been loaded.
   * @param {string} id
   * @param {string} url
   */
  #arrived(id, url) {
    const tile = this.#tiles.get(id);
    if (!tile) return;
    tile.querySelector("img")?.remove();
    tile.prepend(picture(url, true));
  }

  /**
   * Asks for thumbnails when scrolling pauses, and now and then while it goes on.
   * @param {number} top
   */
  #planLoading(top) {
    const speed = Math.abs(top - this.#lastTop);
    const forward = top >= this.#lastTop;
    this.#lastTop = top;
    clearTimeout(this.#settle);
    const load = () => {
      this.#lastLoad = performance.now();
      this.#load(forward);
    };
    if (speed < innerHeight / 6 && performance.now() - this.#lastLoad > 60) load();
    else this.#settle = setTimeout(load, 70);
  }

  /** @param {boolean} forward */
  #load(forward) {
    const { layout, listing } = this;
    if (!layout || !listing) return;
    const top = this.#viewTop();
    const middle = top + innerHeight / 2;
    const rows = [...this.#rows.keys()].filter((row) => {
      const at = layout.top(row);
      return at < top + innerHeight * 1.75 && at + layout.rowHeight(row) > top - innerHeight * 0.75;
    });
    const visible = (/** @type {number} */ row) =>
      layout.top(row) < top + innerHeight && layout.top(row) + layout.rowHeight(row) > top;
    /** Visible rows from the top, then what comes next in the direction of scrolling, then the rest. */
    const urgency = (/** @type {number} */ row) => {
      if (visible(row)) return row;
      return layout.top(row) > middle === forward ? 1e6 + Math.abs(row) : 2e6 + Math.abs(row);
    };
    rows.sort((one, other) => urgency(one) - urgency(other));
    this.options.thumbnails.want("grid", rows.flatMap((row) => this.#wanted(layout, listing, row)));
  }

  /**
   * @param {Layout} layout
   * @param {Listing} listing
   * @param {number} row
   */
  #wanted(layout, listing, row) {
    const items = [];
    for (let index = layout.start(row); index < layout.end(row); index += 1) {
      items.push({ id: listing.ids[index], version: listing.thumbs[index] });
    }
    return items;
  }

  #select = () => {
    const { selection } = this.options;
    this.element.classList.toggle("selecting", selection.active);
    for (const [id, tile] of this.#tiles) tile.setAttribute("aria-selected", String(selection.has(id)));
  };

  /** @param {FocusEvent} event */
  #focused(event) {
    const tile = /** @type {HTMLElement} */ (event.target).closest(".tile");
    if (tile instanceof HTMLElement) this.#setCurrent(Number(tile.dataset.index));
  }

  /** @param {number} index */
  #setCurrent(index) {
    const { listing } = this;
    if (!listing) return;
    const before = this.#tiles.get(listing.ids[this.#current]);
    if (before) before.tabIndex = -1;
    this.#current = index;
    const tile = this.#tiles.get(listing.ids[index]);
    if (tile) tile.tabIndex = 0;
    this.#markDay();
  }

  /**
   * Moves the focus to a photo, and shows it.
   * @param {number} index
   */
  focus(index) {
    if (!this.listing || index < 0 || index >= this.listing.loaded) return;
    this.#setCurrent(index);
    this.reveal(index);
    this.#tiles.get(this.listing.ids[index])?.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { layout, listing } = this;
    if (!layout || !listing || event.altKey || !(event.target instanceof HTMLElement)) return;
    if (!event.target.classList.contains("tile")) return;
    const to = this.#destination(layout, listing, event.key);
    if (to !== null) {
      if (event.shiftKey) this.#extendTo(listing, to);
      this.focus(to);
    } else if (event.key === "Enter") this.options.open(this.#current);
    else if (event.key === " ") this.#toggleCurrent(listing, event.shiftKey);
    else return;
    event.preventDefault();
  }

  /**
   * @param {Layout} layout
   * @param {Listing} listing
   * @param {string} key
   */
  #destination(layout, listing, key) {
    const clamp = (/** @type {number} */ index) => Math.max(0, Math.min(listing.loaded - 1, index));
    const page = () => layout.itemAt(
      layout.boxes(layout.rowOf(this.#current))[0].x,
      layout.top(layout.rowOf(this.#current)) + (key === "PageDown" ? 1 : -1) * innerHeight * 0.8);
    switch (key) {
      case "ArrowRight": return clamp(this.#current + 1);
      case "ArrowLeft": return clamp(this.#current - 1);
      case "ArrowDown": return layout.vertical(this.#current, 1);
      case "ArrowUp": return layout.vertical(this.#current, -1);
      case "Home": return 0;
      case "End": return clamp(layout.laid - 1);
      case "PageDown": case "PageUp": return clamp(page());
      default: return null;
    }
  }

  /**
   * @param {Listing} listing
   * @param {number} to
   */
  #extendTo(listing, to) {
    const { selection } = this.options;
    if (selection.anchor === null) {
      selection.hold();
      selection.anchor = listing.ids[this.#current];
    }
    selection.extend(listing.ids, listing.ids[to]);
  }

  /**
   * @param {Listing} listing
   * @param {boolean} range
   */
  #toggleCurrent(listing, range) {
    const id = listing.ids[this.#current];
    if (range) this.options.selection.extend(listing.ids, id);
    else this.options.selection.toggle(id);
  }
}
