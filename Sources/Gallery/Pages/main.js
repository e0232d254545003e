/**
 * Starts the page: shows the login, or the gallery where a session is open, and drops everything when it
 * locks.
 * @module
 */

import { ApiError, onSessionLost } from "./api.js";
import { emptyNote, labelledButton } from "./albums-view.js";
import { Gallery } from "./gallery.js";
import { showLogin } from "./login.js";
import { Retry } from "./retry.js";
import { lockServer, sessionInfo, stayAlive, stopAlive } from "./session.js";
import { chooseLanguage, explain, t } from "./texts.js";

const host = /** @type {HTMLElement} */ (document.getElementById("page"));
/** @type {Gallery | null} */
let gallery = null;
let opening = 0;
/** @type {import("./kept-uploads.js").KeptUploads | null} uploads that a lost session interrupted */
let kept = null;
const retry = new Retry(() => void start());

/** @param {import("./session.js").SessionInfo} info */
async function enter(info) {
  const ticket = (opening += 1);
  retry.end();
  gallery = new Gallery(host, info, lock);
  stayAlive();
  try {
    await gallery.begin();
    if (ticket === opening) goOn(info);
  } catch (error) {
    if (ticket === opening) showFailure(error);
  }
}

/**
 * Goes on with uploads that a lost session interrupted, if these are the same albums.
 * @param {import("./session.js").SessionInfo} info
 */
function goOn(info) {
  const waiting = kept;
  forgetKept();
  const isSame = waiting !== null && info.space !== undefined && info.space !== null && waiting.space === info.space;
  if (isSame) gallery?.goOn(waiting.files);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let forgetting;

function forgetKept() {
  clearTimeout(forgetting);
  kept = null;
}

/** Keeps what was not saved yet through the login, for as long as an unused session would last. */
function loseSession() {
  if (!gallery) return;
  const now = gallery.unsaved();
  askForPassword(now === null ? t("sessionEnded") : `${t("sessionEnded")} ${t("uploadsWait", { n: now.files.length })}`);
  if (now === null) return;
  kept = now;
  forgetting = setTimeout(forgetKept, now.idleSeconds * 1000);
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
  forgetKept();
  lockServer();
  askForPassword(null);
}

/** @param {unknown} error */
function showFailure(error) {
  drop();
  retry.after(error);
  const again = labelledButton("retry", t("tryAgain"), start);
  host.replaceChildren(emptyNote(t("notLoaded"), `${explain(error)} ${t("triesAgain")}`, again));
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
onSessionLost(loseSession);
// A page that the browser kept aside would show photos of a session that may be over.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
// Browsers and phones keep small pictures of pages that go to the background.
document.addEventListener("visibilitychange", () => {
  document.documentElement.classList.toggle("covered", document.visibilityState === "hidden");
});
void start();
