/**
 * Keeps the session: asks whether there is one, logs in, says that the page is open, and locks.
 * @module
 */

import { get, ownHeaders, post } from "./api.js";

/**
 * @typedef {{readOnly: boolean, idleSeconds: number, thumbnailSize: number, maximumUpload: number,
 *   sliceSize: number, batch: {files: number, bytes: number}, imports?: boolean, space?: string | null}} SessionInfo
 * `space` is the same in each session of a space.
 */

const aliveTime = 20_000;
/** Shorter than the shortest time after which a session without use locks. */
const inUseTime = 5000;
/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;

/** @returns {Promise<SessionInfo>} */
export function sessionInfo() {
  return get("/api/session");
}

/**
 * @param {string} password
 * @returns {Promise<SessionInfo>}
 */
export function login(password) {
  return post("/api/login", { password });
}

/** Tells the server now and then that the page is still open; hears so whether it has locked. */
export function stayAlive() {
  stopAlive();
  timer = setInterval(sayAlive, aliveTime);
  document.addEventListener("visibilitychange", sayAlive);
}

export function stopAlive() {
  clearInterval(timer);
  document.removeEventListener("visibilitychange", sayAlive);
}

/** Tells the server that the page is open. A lost connection shows elsewhere; the session may outlive it. */
export function sayAlive() {
  post("/api/alive").catch(() => {});
}

/** @type {number} when the server last heard that the page is in use */
let told = -inUseTime;

/** Tells the server that somebody uses the page where nothing else shows it, as while a video plays. */
export function sayInUse() {
  if (performance.now() - told < inUseTime) return;
  told = performance.now();
  sessionInfo().catch(() => {});
}

/** Locks on the server; works while the page goes away, too. */
export function lockServer() {
  const headers = { ...ownHeaders, "Content-Type": "application/json" };
  fetch("/api/lock", { method: "POST", body: "{}", headers, keepalive: true }).catch(() => {});
}
