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
 * 3. Small files go in batches, each in one request. At most `parallel` requests send at once. One that only waits
 *    for the disk does not count.
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
 * What the server says of one file of a batch; null where it says nothing, because another file broke the batch off.
 * @typedef {{state: "saved" | "there", name: string} | {error: string, offset?: number} | null} Outcome
 */
/**
 * @typedef {object} Transport
 * @property {number} sliceSize  the most bytes that `send` sends
 * @property {{files: number, bytes: number}} batch  the most files that begin at once, and bytes that `sendAll` sends
 * @property {(album: string, file: UploadFile) => Promise<Begun>} begin
 * @property {(files: {album: string, file: UploadFile}[]) => Promise<(Begun | {error: string})[]>} beginAll
 * @property {(upload: string) => Promise<number>} offset  how far an upload of this queue is
 * @property {(upload: string, file: UploadFile, offset: number, found: number) => Promise<number>} prove
 *   proves the next bytes of those that were found; returns how many are proved, 0 where they are another file's
 * @property {(upload: string, file: UploadFile) => Promise<{state: "there" | "new"}>} same
 * @property {(upload: string, file: UploadFile, offset: number, progress: (bytes: number) => void,
 *   signal: AbortSignal) => Promise<number>} send  sends a slice; returns the new offset
 * @property {(files: {upload: string, file: UploadFile}[], progress: (bytes: number) => void,
 *   signal: AbortSignal) => Promise<Outcome[]>} sendAll  sends files whole, and finishes each
 * @property {(upload: string) => Promise<{state: "saved" | "there", name: string}>} finish
 * @property {(upload: string) => Promise<unknown>} cancel
 */
/**
 * @typedef {object} QueueOptions
 * @property {number} [parallel]  the most requests that send at once
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

/** @param {any} error */
function codeIn(error) {
  return typeof error?.code === "string" ? error.code : "failed";
}

/**
 * Returns the error that a request of this file alone would have failed with.
 * @param {{error: string, offset?: number}} outcome
 */
function failureOf(outcome) {
  return Object.assign(new Error(outcome.error), { code: outcome.error, body: outcome });
}

export class UploadQueue {
  /** @type {UploadItem[]} */
  items = [];
  /** @type {Set<UploadItem>} the same, for quick questions */
  #known = new Set();
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
      /** @type {UploadItem} */
      const item = {
        number: this.#number, file, album: "", state: "ready", sent: 0, error: null, savedAs: null,
      };
      this.items.push(item);
      this.#known.add(item);
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
    this.#known.delete(item);
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
    this.#known = new Set(this.items);
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
    this.#known.clear();
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
    this.#known.clear();
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
      if (this.#senders >= this.#options.parallel) return;
      if (this.counts.finishing >= this.#options.finishing) return;
      const items = this.#next();
      if (items.length === 0) return;
      for (const item of items) this.#enter(item, "sending");
      void this.#run(items).finally(() => this.#pump());
    }
  }

  /** How many requests send files. */
  get #senders() {
    const sending = [...this.#active].filter(([item]) => item.state === "sending");
    return new Set(sending.map(([, controller]) => controller)).size;
  }

  /**
   * Takes the next file, or the next small ones that go in one request: so few that all requests have some to send.
   * @returns {UploadItem[]}
   */
  #next() {
    const { batch, sliceSize } = this.#transport;
    const most = Math.min(batch.files, Math.ceil(this.#waiting.length / this.#options.parallel));
    /** @type {UploadItem[]} */
    const items = [];
    let bytes = 0;
    for (let item = this.#waiting.at(-1); item; item = this.#waiting.at(-1)) {
      const isAlone = item.file.size > sliceSize || this.#uploads.has(item);
      bytes += item.file.size;
      if (items.length > 0 && (isAlone || bytes > batch.bytes || items.length >= most)) break;
      this.#waiting.pop();
      items.push(item);
      if (isAlone) break;
    }
    return items;
  }

  /** @param {UploadItem[]} items */
  async #run(items) {
    const controller = new AbortController();
    const { signal } = controller;
    for (const item of items) this.#active.set(item, controller);
    const [first] = items;
    const isAlone = first.file.size > this.#transport.sliceSize || this.#uploads.has(first);
    await this.#attempt(items, controller, () =>
      (isAlone ? this.#transfer(first, signal) : this.#transferAll(items, controller)));
    for (const item of items) if (this.#active.get(item) === controller) this.#active.delete(item);
  }

  /**
   * Runs a part of a transfer, and decides what a failure means for those of its files that did not go back to the
   * others, from where another transfer may have taken them.
   * @param {UploadItem[]} items
   * @param {AbortController} controller
   * @param {() => Promise<void>} action
   */
  async #attempt(items, controller, action) {
    try {
      await action();
    } catch (error) {
      if (this.#stopped) return;
      const { aborted } = controller.signal;
      const open = items.filter((item) => this.#known.has(item) && this.#active.get(item) === controller
        && (item.state === "sending" || item.state === "finishing"));
      // The first of those that go back is the next again.
      const waits = open.reverse().map((item) => this.#failed(item, error, aborted, open.length > 1));
      if (waits.includes(true)) await this.#comeBack(error);
    }
  }

  /**
   * @param {UploadItem} item
   * @param {AbortSignal} signal
   */
  async #transfer(item, signal) {
    const begun = await this.#begin(item);
    if (!await this.#hasBegun(item, begun.upload)) return;
    signal.throwIfAborted();
    if (await this.#isThere(item, begun)) return;
    await this.#send(item, begun, signal);
  }

  /**
   * Notes an upload; false where the person took its file out meanwhile.
   * @param {UploadItem} item
   * @param {string} upload
   */
  async #hasBegun(item, upload) {
    if (this.#known.has(item)) {
      this.#uploads.set(item, upload);
      return true;
    }
    if (!this.#stopped) await this.#transport.cancel(upload);
    return false;
  }

  /**
   * Ends an upload whose content the album has already.
   * @param {UploadItem} item
   * @param {Begun} begun
   */
  async #isThere(item, { upload, offset, candidate }) {
    const { file } = item;
    if (!candidate || offset >= file.size || file.size > this.#options.comparable) return false;
    const answer = await this.#transport.same(upload, file);
    if (answer.state === "there") this.#over(item, "there", file.name);
    return answer.state === "there";
  }

  /**
   * Sends what is missing of a file, and finishes it.
   * @param {UploadItem} item
   * @param {Begun & {isOurs?: boolean}} begun
   * @param {AbortSignal} signal
   */
  async #send(item, { upload, offset: found, isOurs }, signal) {
    const offset = isOurs ? found : await this.#prove(item, upload, found, signal);
    this.#setSent(item, offset, false);
    await this.#sendSlices(item, upload, offset, signal);
    this.#enter(item, "finishing");
    this.#pump();
    const result = await this.#transport.finish(upload);
    this.#over(item, result.state === "there" ? "there" : "saved", result.name);
  }

  /**
   * Sends small files: those of which the server has nothing in one request.
   * @param {UploadItem[]} items
   * @param {AbortController} controller
   */
  async #transferAll(items, controller) {
    const { signal } = controller;
    const answers = await this.#transport.beginAll(items);
    /** @type {UploadItem[]} */
    const whole = [];
    /** @type {[UploadItem, Begun][]} */
    const parts = [];
    for (const [place, item] of items.entries()) {
      const answer = answers[place];
      await this.#attempt([item], controller, async () => {
        if ("error" in answer) throw failureOf(answer);
        if (!await this.#hasBegun(item, answer.upload)) return;
        signal.throwIfAborted();
        if (await this.#isThere(item, answer)) return;
        if (answer.offset > 0) parts.push([item, answer]);
        else whole.push(item);
      });
    }
    if (whole.length > 0) await this.#sendAll(whole, controller);
    for (const [item, begun] of parts) await this.#attempt([item], controller, () => this.#send(item, begun, signal));
  }

  /**
   * @param {UploadItem[]} items
   * @param {AbortController} controller
   */
  async #sendAll(items, controller) {
    const { signal } = controller;
    const files = items.map((item) => ({ upload: this.#uploads.get(item) ?? "", file: item.file }));
    const total = files.reduce((sum, { file }) => sum + file.size, 0);
    const outcomes = await this.#transport.sendAll(files, (bytes) => {
      if (signal.aborted || this.#stopped) return;
      this.#spread(items, bytes);
      if (bytes < total) return;
      for (const item of items) if (item.state === "sending") this.#enter(item, "finishing");
      this.#pump();
    }, signal);
    for (const [place, item] of items.entries()) {
      const outcome = outcomes[place];
      await this.#attempt([item], controller, async () => {
        if (outcome === null) this.#sendLater(item);
        else if ("error" in outcome) throw failureOf(outcome);
        else this.#over(item, outcome.state, outcome.name);
      });
    }
  }

  /**
   * Says of each file how much of it is among the first bytes of a batch.
   * @param {UploadItem[]} items
   * @param {number} bytes
   */
  #spread(items, bytes) {
    let rest = bytes;
    for (const item of items) {
      const sent = Math.min(item.file.size, rest);
      rest -= sent;
      if (sent === item.sent || item.state !== "sending") continue;
      this.#setSent(item, sent, true);
      this.#tell(item);
    }
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
    this.#failures = 0;
    if (!this.#known.has(item)) return;
    item.savedAs = name !== item.file.name ? name : null;
    item.error = null;
    this.#uploads.delete(item);
    this.#enter(item, state);
  }

  /**
   * Decides what a failure means: for this file, or for all. Returns true where all have to wait.
   * @param {UploadItem} item
   * @param {any} error
   * @param {boolean} interrupted
   * @param {boolean} isShared  whether the failure may be another file's
   */
  #failed(item, error, interrupted, isShared) {
    const code = codeIn(error);
    const isPassing = code === "offline" || code === "busy" || code === "slow";
    if (interrupted || isPassing) this.#requeue(item, item.sent);
    // Something else became of the hidden file, so that the upload was not complete after all; or the request was
    // of several files, and each goes alone now.
    else if (offsetIn(error) !== undefined && this.#restart(item)) this.#requeue(item, 0);
    // The server has finished it, and the reply was lost; or forgot it.
    else if (code === "unknown" && this.#uploads.delete(item) && this.#restart(item)) this.#requeue(item, 0);
    else if (isShared && this.#uploads.has(item) && code !== "room") this.#requeue(item, 0);
    else if (code === "room") {
      this.#requeue(item, item.sent);
      this.trouble = "room";
      this.#tell(null);
    } else {
      item.error = code;
      this.#enter(item, "failed");
    }
    return isPassing && !interrupted;
  }

  /** @param {UploadItem} item */
  #sendLater(item) {
    if (this.#known.has(item)) this.#requeue(item, 0);
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
    this.#active.delete(item);
    item.error = null;
    this.#setSent(item, sent, false);
    this.#enter(item, "waiting");
    this.#waiting.push(item);
  }

  /**
   * Waits until the server is there again, longer after each failure. Only one waits for all.
   * @param {any} error
   */
  async #comeBack(error) {
    if (this.trouble !== null) return;
    this.trouble = codeIn(error) === "offline" ? "offline" : "busy";
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
