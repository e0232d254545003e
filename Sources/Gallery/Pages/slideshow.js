/**
 * Goes through photos by itself: each is shown for some seconds, and a film until its end.
 * @module
 */

const each = 5000;
/** How often it looks whether a film is over, in milliseconds. */
const look = 500;

export class Slideshow {
  #step;
  #film;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {WakeLockSentinel | null} */
  #awake = null;

  /**
   * @param {() => boolean} step  goes to the next photo; false at the end
   * @param {() => HTMLVideoElement | null} film  the film that is shown
   */
  constructor(step, film) {
    this.#step = step;
    this.#film = film;
  }

  get isRunning() {
    return this.#timer !== undefined;
  }

  start() {
    this.#plan();
    navigator.wakeLock?.request("screen").then((lock) => {
      if (this.isRunning) this.#awake = lock;
      else void lock.release();
    }, () => {});
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    void this.#awake?.release().catch(() => {});
    this.#awake = null;
  }

  /** Shows the photo that is there now for its whole time. */
  restart() {
    if (this.isRunning) this.#plan();
  }

  #plan() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#next(), each);
  }

  #next() {
    const film = this.#film();
    const plays = film !== null && !film.paused && !film.ended;
    if (plays) this.#timer = setTimeout(() => this.#next(), look);
    else if (this.#step()) this.#plan();
    else this.stop();
  }
}

/** Shows the page on the whole screen, or in its window again. */
export function toggleFullScreen() {
  if (document.fullscreenElement) void document.exitFullscreen().catch(() => {});
  else void document.documentElement.requestFullscreen?.().catch(() => {});
}

/** True where the browser can show a page on the whole screen: an iPhone cannot. */
export function hasFullScreen() {
  return document.fullscreenEnabled === true;
}
