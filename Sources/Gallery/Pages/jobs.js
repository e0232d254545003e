/**
 * Runs deleting, moving, copying and importing on the server: progress, cancel, ten seconds to undo, and what failed.
 * @module
 */

import { get, isAbort, post } from "./api.js";
import { listDialog } from "./dialogs.js";
import { isolated } from "./names.js";
import { explain, formatBytes, t } from "./texts.js";
import { Toast } from "./toasts.js";

/**
 * `bytes` and `size` are those of the file that an import loads.
 * @typedef {{id: string, kind: "delete" | "move" | "copy" | "import",
 *   state: "pending" | "running" | "done" | "cancelled", done: number, total: number,
 *   bytes?: number, size?: number | null,
 *   errors: {id: string, name: string, error: string}[]}} Job
 */

const undoTime = 10_000;
const pollTime = 400;

export class Jobs {
  #stop = new AbortController();
  #changed;
  /** @type {Set<string>} jobs that are not over */
  #running = new Set();

  /** @param {() => void} changed  called when a job ends, or is undone */
  constructor(changed) {
    this.#changed = changed;
  }

  /**
   * Starts a job for some photos and all that belongs to them.
   * @param {"delete" | "move" | "copy"} kind
   * @param {string[]} ids
   * @param {{album?: string, alone?: boolean}} [options]  `alone` for the files themselves
   */
  async start(kind, ids, options = {}) {
    const { job } = await post("/api/jobs", { kind, ids, ...options });
    const deleted = options.alone ? "deletedFiles" : "deletedPhotos";
    this.follow(job, kind === "delete" ? t(deleted, { n: job.total }) : null);
  }

  /**
   * Follows a job to its end.
   * @param {Job} job
   * @param {string | null} pendingText  what to say while it can be undone
   */
  follow(job, pendingText) {
    this.#running.add(job.id);
    void this.#follow(job, new Toast(pendingText ?? this.#text(job)), pendingText);
  }

  /**
   * @param {Job} job
   * @param {Toast} toast
   * @param {string | null} pendingText
   */
  async #follow(job, toast, pendingText) {
    const began = performance.now();
    const cancel = () => void this.#cancel(job.id).catch(() => {});
    toast.offer([{ label: job.state === "pending" ? t("undo") : t("cancel"), run: cancel }]);
    let state = job.state;
    try {
      while (job.state === "pending" || job.state === "running") {
        if (state !== job.state) toast.offer([{ label: t("cancel"), run: cancel }]);
        state = job.state;
        this.#show(job, toast, pendingText, began);
        await this.#pause();
        job = (await get(`/api/jobs/${job.id}`, this.#stop.signal)).job;
      }
      this.#end(job, toast, pendingText);
    } catch (error) {
      if (isAbort(error)) return;
      toast.say(explain(error));
      toast.offer([]);
      toast.close(5000);
    } finally {
      this.#running.delete(job.id);
      if (!this.#stop.signal.aborted) this.#changed();
    }
  }

  /**
   * @param {Job} job
   * @param {Toast} toast
   * @param {string | null} pendingText
   * @param {number} began
   */
  #show(job, toast, pendingText, began) {
    if (job.state === "pending") {
      toast.say(pendingText ?? this.#text(job));
      toast.progress(Math.max(0, 1 - (performance.now() - began) / undoTime));
    } else {
      toast.say(this.#text(job));
      const part = job.bytes && job.size ? job.bytes / job.size : 0;
      toast.progress(job.total > 0 ? (job.done + part) / job.total : null);
    }
  }

  /** @param {Job} job */
  #text(job) {
    if (job.kind === "import" && job.bytes) {
      const bytes = job.size ? t("ofBytes", { done: formatBytes(job.bytes), total: formatBytes(job.size) })
        : formatBytes(job.bytes);
      return t("importingBytes", { done: job.done, n: job.total, bytes });
    }
    const key = /** @type {const} */ ({
      delete: "deleting", move: "moving", copy: "copying", import: "importing",
    })[job.kind];
    return t(key, { done: job.done, n: job.total });
  }

  /**
   * @param {Job} job
   * @param {Toast} toast
   * @param {string | null} pendingText
   */
  #end(job, toast, pendingText) {
    toast.progress(null);
    toast.offer([]);
    if (job.errors.length > 0) {
      this.#endWithErrors(job, toast);
      return;
    }
    if (job.state === "cancelled") toast.say(pendingText === null ? t("cancelled") : t("undone"));
    else {
      const key = /** @type {const} */ ({
        delete: "deletedDone", move: "moved", copy: "copied", import: "imported",
      })[job.kind];
      toast.say(t(key, { n: job.total }));
    }
    toast.close(3000);
  }

  /**
   * @param {Job} job
   * @param {Toast} toast
   */
  #endWithErrors(job, toast) {
    const lines = job.errors.map(({ name, error }) => `${isolated(name)}: ${explain({ code: error })}`);
    const title = t("failedOf", { failed: job.errors.length, n: job.total });
    toast.say(title);
    toast.offer([{
      label: t("show"),
      run: () => {
        toast.close();
        void listDialog(title, lines);
      },
    }]);
    toast.keep();
  }

  /** @param {string} id */
  async #cancel(id) {
    await post(`/api/jobs/${id}/cancel`);
  }

  #pause() {
    return new Promise((resolve) => setTimeout(resolve, pollTime));
  }

  /** Stops following, for good. The server drops what is not yet done for certain. */
  stop() {
    this.#stop.abort();
  }
}
