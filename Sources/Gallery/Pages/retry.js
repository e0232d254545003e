/**
 * Tries again by itself what failed because the server could not be reached: after a while, and at once when the
 * network is back or the page is looked at again.
 * @module
 */

import { codeOf } from "./api.js";

const firstWait = 2000;
const longestWait = 30_000;
/** Failures that may pass. */
const passing = new Set(["offline", "busy", "slow", "failed"]);

export class Retry {
  #again;
  #wait = firstWait;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {() => void} again */
  constructor(again) {
    this.#again = again;
  }

  /**
   * Plans another attempt, if one may help.
   * @param {unknown} error
   */
  after(error) {
    this.#forget();
    if (!passing.has(codeOf(error))) return;
    this.#timer = setTimeout(this.#now, this.#wait);
    this.#wait = Math.min(longestWait, this.#wait * 2);
    addEventListener("online", this.#now);
    document.addEventListener("visibilitychange", this.#now);
  }

  /** Plans none any more: it went well, or nobody needs it. */
  end() {
    this.#forget();
    this.#wait = firstWait;
  }

  #now = () => {
    if (document.visibilityState === "hidden") return;
    this.#forget();
    this.#again();
  };

  #forget() {
    clearTimeout(this.#timer);
    removeEventListener("online", this.#now);
    document.removeEventListener("visibilitychange", this.#now);
  }
}
