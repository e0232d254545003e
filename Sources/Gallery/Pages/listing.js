/**
 * Holds the photos of one view, as columns. Columns of numbers are typed arrays, and everything is filled in
 * slices, so that 100,000 photos take a few megabytes and no long task.
 * @module
 */

import { get } from "./api.js";
import { breathe } from "./dom.js";
import { ratioOf } from "./layout.js";

/** @typedef {"photo" | "video" | "other"} Kind */
/** @typedef {"name" | "oldest" | "newest" | "added"} Sort */
/**
 * Which photos a view shows.
 * @typedef {{view: "all" | "recent" | "date"} | {album: string, sort?: Sort} | {search: string} |
 *   {place: string}} Query
 */
/**
 * One photo of a listing.
 * @typedef {{id: string, name: string, kind: Kind, width: number, height: number, taken: number | null,
 *   modified: number, size: number, album: string, thumb: number, duration: number, favourite: boolean,
 *   group: number}} Photo
 */

/** What `group` says of a photo, as bits: files belong to it, and what they are. */
export const signs = /** @type {const} */ ({ several: 1, live: 2, raw: 4, edited: 8 });

/** @type {Kind[]} */
const kinds = ["photo", "video", "other"];
const secondsOfDay = 86_400;
/** More than a large screen shows: the first row waits for all of it. */
const firstSlice = 600;
const nextSlice = 5000;
const noDate = Number.NaN;

export class Listing {
  /** Number of photos; those from `loaded` on are still on the way. */
  count;
  revision;
  loaded = 0;
  /** How many are films, and how many neither photos nor films. */
  videos = 0;
  others = 0;
  /** @type {string[]} */
  ids = [];
  /** @type {string[]} */
  names = [];
  /** @type {string[]} */
  albums = [];
  kinds;
  widths;
  heights;
  taken;
  modified;
  sizes;
  thumbs;
  /** Of films, in seconds; 0 where unknown. */
  durations;
  /** 1 for favourites. */
  favourites;
  /** What belongs to each photo, as `signs`. */
  groups;
  /** Width divided by height, as the layout wants it. */
  ratios;
  /** Day of capture since 1970, for views by date. */
  days;
  /** @type {Map<string, number> | null} made when first needed */
  #places = null;
  /** @type {Map<string, string>} one string for each album, however many photos name it */
  #albumIds = new Map();

  /**
   * @param {number} count
   * @param {unknown} revision
   */
  constructor(count, revision) {
    this.count = count;
    this.revision = revision;
    this.kinds = new Uint8Array(count);
    this.widths = new Int32Array(count);
    this.heights = new Int32Array(count);
    this.taken = new Float64Array(count);
    this.modified = new Float64Array(count);
    this.sizes = new Float64Array(count);
    this.thumbs = new Float64Array(count);
    this.durations = new Float32Array(count);
    this.favourites = new Uint8Array(count);
    this.groups = new Uint8Array(count);
    this.ratios = new Float32Array(count);
    this.days = new Int32Array(count);
  }

  /**
   * Adds the columns of a slice behind those that are loaded.
   * @param {Record<string, any[]>} columns
   */
  add(columns) {
    const length = Math.min(columns.id.length, this.count - this.loaded);
    for (let offset = 0; offset < length; offset += 1) this.#addRow(columns, offset);
    if (this.#places !== null) this.#places = null;
  }

  /**
   * @param {Record<string, any[]>} columns
   * @param {number} offset
   */
  #addRow(columns, offset) {
    const index = this.loaded;
    this.ids.push(columns.id[offset]);
    this.names.push(columns.name[offset]);
    this.albums.push(this.#albumId(columns.album[offset]));
    this.kinds[index] = Math.max(0, kinds.indexOf(columns.kind[offset]));
    this.taken[index] = columns.taken[offset] ?? noDate;
    this.modified[index] = columns.modified[offset];
    this.sizes[index] = columns.size[offset];
    this.thumbs[index] = columns.thumb[offset];
    this.durations[index] = columns.duration[offset];
    this.favourites[index] = columns.favourite[offset];
    this.groups[index] = columns.group?.[offset] ?? 0;
    this.days[index] = Math.floor(this.date(index) / secondsOfDay);
    this.setSize(index, columns.width[offset], columns.height[offset]);
    this.loaded += 1;
  }

  /** @param {string} id */
  #albumId(id) {
    const known = this.#albumIds.get(id);
    if (known !== undefined) return known;
    this.#albumIds.set(id, id);
    return id;
  }

  /**
   * @param {number} index
   * @param {number} width
   * @param {number} height
   */
  setSize(index, width, height) {
    this.widths[index] = width;
    this.heights[index] = height;
    this.ratios[index] = ratioOf(width, height);
  }

  /**
   * Returns when a photo was taken, else when its file was changed.
   * @param {number} index
   */
  date(index) {
    const taken = this.taken[index];
    return Number.isNaN(taken) ? this.modified[index] : taken;
  }

  /**
   * @param {number} index
   * @returns {Photo}
   */
  photo(index) {
    const taken = this.taken[index];
    return {
      id: this.ids[index],
      name: this.names[index],
      kind: this.kind(index),
      width: this.widths[index],
      height: this.heights[index],
      taken: Number.isNaN(taken) ? null : taken,
      modified: this.modified[index],
      size: this.sizes[index],
      album: this.albums[index],
      thumb: this.thumbs[index],
      duration: this.durations[index],
      favourite: this.favourites[index] === 1,
      group: this.groups[index],
    };
  }

  /** @param {number} index */
  kind(index) {
    return kinds[this.kinds[index]];
  }

  /**
   * Finds a photo by id; -1 where it is not in this view.
   * @param {string} id
   */
  indexOf(id) {
    this.#places ??= new Map(this.ids.map((each, index) => [each, index]));
    return this.#places.get(id) ?? -1;
  }

  /**
   * Returns a number that is the same for all photos of one month.
   * @param {number} index
   */
  month(index) {
    const date = new Date(this.days[index] * secondsOfDay * 1000);
    return date.getUTCFullYear() * 12 + date.getUTCMonth();
  }

  /**
   * Returns where a day ends that begins at a photo.
   * @param {number} index
   */
  endOfDay(index) {
    let end = index + 1;
    while (end < this.loaded && this.days[end] === this.days[index]) end += 1;
    return end;
  }
}

/** @param {Query} query */
function pathOf(query) {
  if ("search" in query) return `/api/photos?search=${encodeURIComponent(query.search)}`;
  if ("place" in query) return `/api/photos?place=${query.place}`;
  return "album" in query ? `/api/photos?album=${query.album}&sort=${query.sort ?? "name"}` : `/api/photos?view=${query.view}`;
}

/**
 * Loads a view slice by slice.
 * @param {Query} query
 * @param {AbortSignal} signal
 * @param {(listing: Listing) => Promise<void>} progress  called after each slice, and waited for; with another
 *   listing where the view changed meanwhile and loading began again
 * @returns {Promise<Listing>}
 */
export async function loadListing(query, signal, progress) {
  for (let attempt = 0; ; attempt += 1) {
    const listing = await loadOnce(query, signal, progress, attempt < 3);
    if (listing !== null) return listing;
  }
}

/**
 * @param {Query} query
 * @param {AbortSignal} signal
 * @param {(listing: Listing) => Promise<void>} progress
 * @param {boolean} strict  whether a change between two slices ends this attempt
 */
async function loadOnce(query, signal, progress, strict) {
  /** @type {Listing | null} */
  let listing = null;
  do {
    const from = /** @type {number} */ (listing?.loaded ?? 0);
    const limit = from === 0 ? firstSlice : nextSlice;
    /** @type {any} */
    const columns = await get(`${pathOf(query)}&from=${from}&limit=${limit}`, signal);
    if (listing === null) {
      listing = new Listing(columns.count, columns.revision);
      listing.videos = columns.videos ?? 0;
      listing.others = columns.others ?? 0;
    }
    const changed = columns.revision !== listing.revision || columns.count !== listing.count;
    const empty = columns.id.length === 0 && from < listing.count;
    if ((changed && strict) || empty) return empty && !strict ? listing : null;
    listing.add(columns);
    await progress(listing);
    await breathe();
    signal.throwIfAborted();
  } while (listing.loaded < listing.count);
  return listing;
}
