/**
 * Makes the back button work without telling the browser anything: its history gets the one address again and
 * a number; what the number means is known in this module's memory only.
 * @module
 */

/**
 * @typedef {{view: "albums"} | {view: "deleted"} | {view: "duplicates"} | {view: "places"} | {view: "place", place: string, name: string} | {view: "all" | "recent" | "date" | "favourites"}
 *   | {view: "search", text: string} | {view: "album", album: string}} Route
 */
/** @typedef {{route: Route, scroll: number, viewer: boolean}} Entry */

/** @type {Map<number, Entry>} */
const entries = new Map();
let current = 0;
let last = 0;
/** @type {(entry: Entry, before: Entry) => void} */
let arrived = () => {};

/** @returns {Entry} */
const start = () => ({ route: { view: "albums" }, scroll: 0, viewer: false });

/** @returns {Entry} */
export function here() {
  let entry = entries.get(current);
  if (!entry) entries.set(current, (entry = start()));
  return entry;
}

/**
 * Begins; `action` is called when the person goes back or forward.
 * @param {(entry: Entry, before: Entry) => void} action
 */
export function followHistory(action) {
  arrived = action;
  entries.clear();
  history.scrollRestoration = "manual";
  last = current = Number.isInteger(history.state) ? history.state : 0;
  history.replaceState(current, "");
  entries.set(current, start());
  addEventListener("popstate", arrive);
}

/** Forgets where the person was. */
export function forgetHistory() {
  removeEventListener("popstate", arrive);
  entries.clear();
  arrived = () => {};
}

/** @param {PopStateEvent} event */
function arrive(event) {
  const before = here();
  before.scroll = scrollY;
  current = Number.isInteger(event.state) ? event.state : 0;
  // A number from before a reload means nothing any more.
  if (!entries.has(current)) entries.set(current, start());
  arrived(here(), before);
}

/**
 * Goes to a view, or into the viewer above the same view.
 * @param {Route} route
 * @param {boolean} [viewer]
 */
export function go(route, viewer = false) {
  const before = here();
  before.scroll = scrollY;
  last = current = Math.max(last, current) + 1;
  entries.set(current, { route, scroll: viewer ? scrollY : 0, viewer });
  history.pushState(current, "");
  arrived(here(), before);
}

/**
 * Puts another view in place of this one, when its album is gone.
 * @param {Route} route
 */
export function replace(route) {
  const before = { ...here() };
  entries.set(current, { route, scroll: 0, viewer: false });
  arrived(here(), before);
}

export function back() {
  history.back();
}
