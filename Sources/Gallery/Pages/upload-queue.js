/**
 * Decides what happens to files that are uploaded: a pure state machine over a transport, without a page.
 *
 * A file goes  ready -> waiting -> sending -> finishing -> saved | there | failed.
 * Invariants:
 * 1. `saved` and `there` are set by the server's answer to `finish` or `same`, and by nothing else.
 * 2. A file whose sending is interrupted (pause, lost connection) goes back to `waiting`, in front of the
 *    others, and continues where the server says it is.
 *    What the server has of an upload that this queue did not begin counts only as far as its hash is the
 *    file's: another file may have the same name, size and time.
 * 3. At most `parallel` files are sent at once. A file that only waits for the disk does not count.
 * @module
 */

/** @typedef {"ready" | "waiting" | "sending" | "finishing" | "saved" | "there" | "failed"} UploadState */
/**
 * A file to upload. `source` is what the transport reads; `folders` are album names below `album`.
 * @typedef {{name: string, size: number, modified: number, folders: string[], source: any}} UploadFile
 */
/**
 * @typedef {object} UploadItem
 * @property {number} number
 * @property {UploadFile} file
 * @property {string} album  where it goes; "" before `start`
 * @property {UploadState} state
 * @property {number} sent  bytes that the server has, or that are on the way
 * @property {string | null} error  a code
 * @property {string | null} savedAs  the name that the server gave, where it differs
 */
/**
 * `offset`: how much an earlier upload left, perhaps of another file. `candidate`: the album has a file of this
 * size, perhaps with the same content.
 * @typedef {{upload: string, offset: number, candidate?: boolean}} Begun
 */
/**
 * @typedef {object} Transport
 * @property {(album: string, file: UploadFile) => Promise<Begun>} begin
 * @property {(upload: string) => Promise<number>} offset  how far an upload of this queue is
 * @property {(upload: string, file: UploadFile, offset: number, found: number) => Promise<number>} prove
 *   proves the next bytes of those that were found; returns how many are proved, 0 where they are another file's
 * @property {(upload: string, file: UploadFile) => Promise<{state: "there" | "new"}>} same
 * @property {(upload: string, file: UploadFile, offset: number, progress: (bytes: number) => void,
 *   signal: AbortSignal) => Promise<number>} send  sends a slice; returns the new offset
 * @property {(upload: string) => Promise<{state: "saved" | "there", name: string}>} finish
 * @property {(upload: string) => Promise<unknown>} cancel
 */
/**
 * @typedef {object} QueueOptions
 * @property {number} [parallel]
 * @property {number} [finishing]  the most files that wait for the disk at once
 * @property {number} [comparable]  the largest file that is compared by content before it is sent
 * @property {(milliseconds: number) => Promise<void>} [wait]
 * @property {() => number} [now]
 */

const mostAttempts = 5;
const mostRestarts = 3;
const longestWait = 30_000;

/**
 * Returns where the server is in a file, if an error tells that.
 * @param {any} error
 * @returns {number | undefined}
 */
function offsetIn(error) {
  const offset = error?.code === "invalid" ? error.body?.offset : undefined;
  return typeof offset === "number" ? offset : undefined;
}

export class UploadQueue {
  /** @type {UploadItem[]} */
  items = [];
  /** @type {string | null} the album that files go to when `start` is called */
  album = null;
  paused = false;
  /**
   * The code of what stopped all files: `offline`, or `room` where the disk is full.
   * @type {string | null}
   */
  trouble = null;
  /** How many files are in each state. */
  counts = { ready: 0, waiting: 0, sending: 0, finishing: 0, saved: 0, there: 0, failed: 0 };
  totalBytes = 0;
  /** Bytes that have arrived or are on the way, with those of files that are over. */
  sentBytes = 0;

  #transport;
  #options;
  /** @type {UploadItem[]} next file last */
  #waiting = [];
  /** @type {Map<UploadItem, AbortController>} */
  #active = new Map();
  /** @type {Map<UploadItem, string>} uploads that the server knows */
  #uploads = new Map();
  /** @type {WeakMap<UploadItem, number>} */
  #restarts = new WeakMap();
  #failures = 0;
  #number = 0;
  #speed = 0;
  #marked = { time: 0, bytes: 0 };
  #newBytes = 0;
  /** @type {Set<(item: UploadItem | null) => void>} */
  #listeners = new Set();
  #stopped = false;

  /**
   * @param {Transport} transport
   * @param {QueueOptions} [options]
   */
  constructor(transport, options = {}) {
    this.#transport = transport;
    this.#options = {
      parallel: 3,
      finishing: 64,
      comparable: 64 << 20,
      wait: (/** @type {number} */ milliseconds) => new Promise((done) => setTimeout(done, milliseconds)),
      now: () => performance.now(),
      ...options,
    };
  }

  /** @param {(item: UploadItem | null) => void} listener  null: anything may have changed */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param {UploadItem | null} item */
  #tell(item) {
    for (const listener of this.#listeners) listener(item);
  }

  /**
   * Adds files; nothing is sent before `start`.
   * @param {UploadFile[]} files
   */
  add(files) {
    for (const file of files) {
      this.#number += 1;
      this.items.push({
        number: this.#number, file, album: "", state: "ready", sent: 0, error: null, savedAs: null,
      });
      this.counts.ready += 1;
      this.totalBytes += file.size;
    }
    this.#tell(null);
  }

  /** Sends everything that was added, to `album`. */
  start() {
    const added = this.items.filter((item) => item.state === "ready");
    for (const item of added) {
      item.album = this.album ?? "";
      this.#enter(item, "waiting");
    }
    this.#waiting = [...added.reverse(), ...this.#waiting];
    this.#pump();
    this.#tell(null);
  }

  pause() {
    this.paused = true;
    for (const controller of this.#active.values()) controller.abort();
    this.#tell(null);
  }

  resume() {
    this.paused = false;
    this.trouble = null;
    this.#failures = 0;
    this.#pump();
    this.#tell(null);
  }

  /** Tries everything again that failed. */
  retryAll() {
    const failed = this.items.filter((item) => item.state === "failed");
    for (const item of failed) this.#requeue(item, 0);
    this.resume();
  }

  /**
   * Takes a file out; what the server has of it is discarded.
   * @param {UploadItem} item
   */
  remove(item) {
    const position = this.items.indexOf(item);
    if (position < 0) return;
    this.items.splice(position, 1);
    this.#waiting = this.#waiting.filter((each) => each !== item);
    this.counts[item.state] -= 1;
    this.totalBytes -= item.file.size;
    this.sentBytes -= item.sent;
    this.#active.get(item)?.abort();
    this.#discard(item);
    this.#tell(null);
  }

  /** Takes out what is not over yet. */
  cancelAll() {
    const over = new Set(["saved", "there", "failed"]);
    const open = this.items.filter((item) => !over.has(item.state));
    this.items = this.items.filter((item) => over.has(item.state));
    this.#waiting = [];
    for (const item of open) {
      this.counts[item.state] -= 1;
      this.totalBytes -= item.file.size;
      this.sentBytes -= item.sent;
      this.#active.get(item)?.abort();
      this.#discard(item);
    }
    this.resume();
  }

  /** Forgets all files, when none is on the way. */
  clear() {
    if (!this.isOver) return;
    this.items = [];
    this.#uploads.clear();
    this.counts = { ready: 0, waiting: 0, sending: 0, finishing: 0, saved: 0, there: 0, failed: 0 };
    this.totalBytes = this.sentBytes = 0;
    this.#tell(null);
  }

  /** Ends everything, for good; the server keeps what it has for another time. */
  stop() {
    this.#stopped = true;
    for (const controller of this.#active.values()) controller.abort();
    this.items = [];
    this.#waiting = [];
    this.#uploads.clear();
    this.#listeners.clear();
  }

  /** True when no file waits or is on the way. */
  get isOver() {
    const { ready, waiting, sending, finishing } = this.counts;
    return ready + waiting + sending + finishing === 0;
  }

  /** True while files are to be sent, also while they pause. */
  get isRunning() {
    const { waiting, sending, finishing } = this.counts;
    return waiting + sending + finishing > 0;
  }

  /** Seconds until everything has been sent, or null while that cannot be told. */
  get secondsLeft() {
    if (this.#speed <= 0 || this.paused || this.trouble !== null) return null;
    return (this.totalBytes - this.sentBytes) / this.#speed;
  }

  /**
   * @param {UploadItem} item
   * @param {UploadState} state
   */
  #enter(item, state) {
    this.counts[item.state] -= 1;
    this.counts[state] += 1;
    item.state = state;
    if (state === "saved" || state === "there" || state === "failed") {
      this.#setSent(item, item.file.size, false);
    }
    this.#tell(item);
  }

  /**
   * @param {UploadItem} item
   * @param {number} bytes
   * @param {boolean} moved  whether these bytes went over the network just now
   */
  #setSent(item, bytes, moved) {
    const change = bytes - item.sent;
    item.sent = bytes;
    this.sentBytes += change;
    if (moved && change > 0) this.#measure(change);
  }

  /** @param {number} bytes */
  #measure(bytes) {
    const now = this.#options.now();
    this.#newBytes += bytes;
    if (this.#marked.time === 0) this.#marked.time = now;
    const time = now - this.#marked.time;
    if (time < 1000) return;
    const speed = (this.#newBytes * 1000) / time;
    // A gap, as a pause, says nothing about the speed.
    if (time < 10_000) this.#speed = this.#speed === 0 ? speed : this.#speed * 0.75 + speed * 0.25;
    this.#marked.time = now;
    this.#newBytes = 0;
  }

  #pump() {
    while (!this.#stopped && !this.paused && this.trouble === null) {
      if (this.counts.sending >= this.#options.parallel) return;
      if (this.counts.finishing >= this.#options.finishing) return;
      const item = this.#waiting.pop();
      if (!item) return;
      this.#enter(item, "sending");
      void this.#run(item).finally(() => this.#pump());
    }
  }

  /** @param {UploadItem} item */
  async #run(item) {
    const controller = new AbortController();
    this.#active.set(item, controller);
    try {
      await this.#transfer(item, controller.signal);
      this.#failures = 0;
    } catch (error) {
      const isKnown = !this.#stopped && this.items.includes(item);
      if (isKnown) await this.#failed(item, error, controller.signal.aborted);
    } finally {
      this.#active.delete(item);
    }
  }

  /**
   * @param {UploadItem} item
   * @param {AbortSignal} signal
   */
  async #transfer(item, signal) {
    const { file } = item;
    const begun = await this.#begin(item);
    const { upload } = begun;
    if (!this.items.includes(item)) {
      await this.#transport.cancel(upload);
      return;
    }
    this.#uploads.set(item, upload);
    signal.throwIfAborted();
    if (begun.candidate && begun.offset < file.size && file.size <= this.#options.comparable) {
      const answer = await this.#transport.same(upload, file);
      if (answer.state === "there") {
        this.#over(item, "there", file.name);
        return;
      }
    }
    const offset = begun.isOurs ? begun.offset : await this.#prove(item, upload, begun.offset, signal);
    this.#setSent(item, offset, false);
    await this.#sendSlices(item, upload, offset, signal);
    this.#enter(item, "finishing");
    this.#pump();
    const result = await this.#transport.finish(upload);
    this.#over(item, result.state === "there" ? "there" : "saved", result.name);
  }

  /**
   * Begins an upload, or asks how far the one is that this queue began.
   * @param {UploadItem} item
   * @returns {Promise<Begun & {isOurs: boolean}>}
   */
  async #begin(item) {
    const known = this.#uploads.get(item);
    if (known !== undefined) {
      try {
        return { upload: known, offset: await this.#transport.offset(known), isOurs: true };
      } catch (/** @type {any} */ error) {
        if (error?.code !== "unknown") throw error;
      }
    }
    return { ...await this.#transport.begin(item.album, item.file), isOurs: false };
  }

  /**
   * Proves that what the server found is of this file; returns how much of it is.
   * @param {UploadItem} item
   * @param {string} upload
   * @param {number} found
   * @param {AbortSignal} signal
   */
  async #prove(item, upload, found, signal) {
    let offset = 0;
    while (offset < found) {
      signal.throwIfAborted();
      const proved = await this.#transport.prove(upload, item.file, offset, found);
      if (proved <= offset) return proved;
      offset = proved;
      this.#setSent(item, offset, false);
      this.#tell(item);
    }
    return offset;
  }

  /**
   * @param {UploadItem} item
   * @param {string} upload
   * @param {number} offset
   * @param {AbortSignal} signal
   */
  async #sendSlices(item, upload, offset, signal) {
    for (let attempt = 0; offset < item.file.size; ) {
      signal.throwIfAborted();
      const start = offset;
      try {
        offset = await this.#transport.send(upload, item.file, start, (bytes) => {
          this.#setSent(item, Math.min(item.file.size, start + bytes), true);
          this.#tell(item);
        }, signal);
      } catch (/** @type {any} */ error) {
        // The server is elsewhere in the file, after an answer that was lost: go on from there.
        const known = offsetIn(error);
        attempt += 1;
        if (known === undefined || attempt > mostAttempts) throw error;
        offset = known;
      }
      this.#setSent(item, offset, true);
      this.#tell(item);
    }
  }

  /**
   * @param {UploadItem} item
   * @param {"saved" | "there"} state
   * @param {string} name
   */
  #over(item, state, name) {
    if (!this.items.includes(item)) return;
    item.savedAs = name !== item.file.name ? name : null;
    item.error = null;
    this.#uploads.delete(item);
    this.#enter(item, state);
  }

  /**
   * Decides what a failure means: for this file, or for all.
   * @param {UploadItem} item
   * @param {any} error
   * @param {boolean} interrupted
   */
  async #failed(item, error, interrupted) {
    const code = typeof error?.code === "string" ? error.code : "failed";
    if (interrupted) return this.#requeue(item, item.sent);
    // Something else became of the hidden file, so that the upload was not complete after all.
    if (offsetIn(error) !== undefined && this.#restart(item)) return this.#requeue(item, 0);
    if (code === "offline" || code === "busy" || code === "slow") {
      this.#requeue(item, item.sent);
      await this.#comeBack(code, error);
    } else if (code === "room") {
      this.#requeue(item, item.sent);
      this.trouble = "room";
      this.#tell(null);
    } else {
      item.error = code;
      this.#enter(item, "failed");
    }
  }

  /**
   * Counts a restart; false where there were too many.
   * @param {UploadItem} item
   */
  #restart(item) {
    const restarts = (this.#restarts.get(item) ?? 0) + 1;
    this.#restarts.set(item, restarts);
    return restarts <= mostRestarts;
  }

  /**
   * Puts a file in front of those that wait.
   * @param {UploadItem} item
   * @param {number} sent
   */
  #requeue(item, sent) {
    item.error = null;
    this.#setSent(item, sent, false);
    this.#enter(item, "waiting");
    this.#waiting.push(item);
  }

  /**
   * Waits until the server is there again, longer after each failure. Only one waits for all.
   * @param {string} code
   * @param {any} error
   */
  async #comeBack(code, error) {
    if (this.trouble !== null) return;
    this.trouble = code === "offline" ? "offline" : "busy";
    this.#tell(null);
    const told = Number(error?.body?.retryAfter) * 1000;
    await this.#options.wait(told > 0 ? told : Math.min(longestWait, 1000 * 2 ** this.#failures));
    this.#failures += 1;
    if (this.trouble === "offline" || this.trouble === "busy") this.trouble = null;
    this.#tell(null);
    this.#pump();
  }

  /** @param {UploadItem} item */
  #discard(item) {
    const upload = this.#uploads.get(item);
    this.#uploads.delete(item);
    if (upload !== undefined) void this.#transport.cancel(upload).catch(() => {});
  }
}
