/**
 * Holds the albums of the space, and hears of what changes in it.
 * @module
 */

import { ApiError, get, isAbort } from "./api.js";
import { sayAlive } from "./session.js";

/**
 * @typedef {{id: string, parent: string | null, name: string, cover: string | null, coverThumb?: number,
 *   photos: number, videos?: number, others: number, modified: number}} Album
 */
/** @typedef {{albums: boolean, in: Set<string>}} Changes */

export class Library {
  /** @type {Map<string, Album>} */
  #albums = new Map();
  /** @type {Map<string | null, Album[]>} sub-albums by album, sorted by name */
  #children = new Map();
  /** @type {Set<(changes: Changes) => void>} */
  #listeners = new Set();
  #stop = new AbortController();
  /** @type {unknown} */
  #revision;
  readOnly = false;
  /** Whether the server can load pictures from addresses. */
  imports = false;

  /** @param {(changes: Changes) => void} listener */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param {string} id */
  album(id) {
    return this.#albums.get(id);
  }

  /** @returns {Iterable<Album>} */
  get albums() {
    return this.#albums.values();
  }

  /**
   * Returns the albums in an album, or in the root, as people sort names.
   * @param {string | null} parent
   * @returns {readonly Album[]}
   */
  children(parent) {
    return this.#children.get(parent) ?? [];
  }

  /**
   * Returns an album and those that it lies in, outermost first.
   * @param {string} id
   */
  path(id) {
    /** @type {Album[]} */
    const path = [];
    for (let album = this.#albums.get(id); album && path.length < 100; ) {
      path.unshift(album);
      album = album.parent === null ? undefined : this.#albums.get(album.parent);
    }
    return path;
  }

  /**
   * Counts the photos and the albums below an album, and its own photos.
   * @param {string} id
   * @returns {{photos: number, videos: number, others: number, albums: number}}
   */
  total(id) {
    const album = this.#albums.get(id);
    const sum = { photos: album?.photos ?? 0, videos: album?.videos ?? 0, others: album?.others ?? 0, albums: 0 };
    for (const child of this.children(id)) {
      const inner = this.total(child.id);
      sum.photos += inner.photos;
      sum.videos += inner.videos;
      sum.others += inner.others;
      sum.albums += 1 + inner.albums;
    }
    return sum;
  }

  /** Loads the albums. */
  async load() {
    const { revision, albums } = await get("/api/albums", this.#stop.signal);
    this.#revision ??= revision;
    this.#take(albums);
  }

  /** @param {Album[]} albums */
  #take(albums) {
    const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
    this.#albums = new Map(albums.map((album) => [album.id, album]));
    this.#children = new Map();
    for (const album of albums) {
      const parent = album.parent !== null && this.#albums.has(album.parent) ? album.parent : null;
      const siblings = this.#children.get(parent);
      if (siblings) siblings.push(album);
      else this.#children.set(parent, [album]);
    }
    for (const siblings of this.#children.values()) {
      siblings.sort((one, other) => collator.compare(one.name, other.name));
    }
  }

  /** Loads the albums again after a change by this page, without waiting for the feed. */
  async refresh() {
    await this.load();
    this.#tell({ albums: true, in: new Set() });
  }

  /** Asks for changes until `stop`; a lost connection is tried again. */
  async follow() {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const path = `/api/changes?since=${encodeURIComponent(String(this.#revision))}`;
        await this.#apply(await get(path, signal));
        // Browsers run the timers of a page in the background once a minute only, which is too seldom.
        if (document.visibilityState === "hidden") sayAlive();
      } catch (error) {
        if (isAbort(error) || (error instanceof ApiError && error.status === 401)) return;
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    }
  }

  /** @param {{revision: unknown, albums: boolean, in: string[]}} reply */
  async #apply(reply) {
    this.#revision = reply.revision;
    if (!reply.albums && reply.in.length === 0) return;
    if (reply.albums) await this.load();
    this.#tell({ albums: reply.albums, in: new Set(reply.in) });
    // Many changes in a row, as during an upload, are looked at together.
    await new Promise((resolve) => setTimeout(resolve, 700));
  }

  /** @param {Changes} changes */
  #tell(changes) {
    for (const listener of this.#listeners) listener(changes);
  }

  /** Forgets everything, for good. */
  stop() {
    this.#stop.abort();
    this.#listeners.clear();
    this.#albums.clear();
    this.#children.clear();
  }
}
