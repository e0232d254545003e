/**
 * Starts the page: shows the login, or the gallery where a session is open, and drops everything when it
 * locks.
 * @module
 */

import { ApiError, onSessionLost } from "./api.js";
import { emptyNote, labelledButton } from "./albums-view.js";
import { Gallery } from "./gallery.js";
import { showLogin } from "./login.js";
import { lockServer, sessionInfo, stayAlive, stopAlive } from "./session.js";
import { chooseLanguage, explain, t } from "./texts.js";

const host = /** @type {HTMLElement} */ (document.getElementById("page"));
/** @type {Gallery | null} */
let gallery = null;
let opening = 0;

/** @param {import("./session.js").SessionInfo} info */
async function enter(info) {
  const ticket = (opening += 1);
  gallery = new Gallery(host, info, lock);
  stayAlive();
  try {
    await gallery.begin();
  } catch (error) {
    if (ticket === opening) showFailure(error);
  }
}

/** Drops everything that was shown. */
function drop() {
  opening += 1;
  stopAlive();
  gallery?.remove();
  gallery = null;
}

/** @param {string | null} notice */
function askForPassword(notice) {
  drop();
  showLogin(host, { notice, entered: (info) => void enter(info), redraw: () => askForPassword(null) });
}

function lock() {
  lockServer();
  askForPassword(null);
}

/** @param {unknown} error */
function showFailure(error) {
  drop();
  const retry = labelledButton("retry", t("tryAgain"), start);
  host.replaceChildren(emptyNote(t("notLoaded"), explain(error), retry));
}

async function start() {
  try {
    await enter(await sessionInfo());
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) askForPassword(null);
    else showFailure(error);
  }
}

chooseLanguage(navigator.languages);
onSessionLost(() => {
  if (gallery) askForPassword(t("wasLocked"));
});
// A page that the browser kept aside would show photos of a session that may be over.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
// Browsers and phones keep small pictures of pages that go to the background.
document.addEventListener("visibilitychange", () => {
  document.documentElement.classList.toggle("covered", document.visibilityState === "hidden");
});
void start();
