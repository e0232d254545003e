/**
 * Receives photos that phones send with the app LocalSend: shows the PIN, and how far it is.
 * @module
 */

import { codeOf, get, post } from "./api.js";
import { showDialog } from "./dialogs.js";
import { fill, h } from "./dom.js";
import { t } from "./texts.js";

/**
 * @typedef {{reception: string, pin: string, device: string, address: string | null, port: number,
 *   fingerprint: string}} Reception
 * @typedef {{state: "open" | "closed" | "guessed", done: number, total: number, saved: number,
 *   failed: number}} Progress
 */

const pollTime = 1000;

/**
 * Receives into an album as long as the dialog is open.
 * @param {string} album
 */
export async function receiveFromPhones(album) {
  /** @type {Reception} */
  const reception = await post("/api/receptions", { album });
  const path = `/api/receptions/${reception.reception}`;
  // A PIN would make people look for a device that no phone can find.
  if (reception.address === null) {
    await post(`${path}/close`).catch(() => {});
    await showDialog(t("receive"), [h("p", null, t("receiveUnreachable"))],
      [{ label: t("close"), value: "", kind: "main" }]);
    return;
  }
  const stop = new AbortController();
  const state = h("p", { class: "reception-state", role: "status", "aria-live": "polite" }, t("receiveWaiting"));
  const pin = h("p", { class: "reception-pin", "aria-label": `${t("pin")} ${[...reception.pin].join(" ")}` },
    reception.pin);
  void follow(path, stop.signal, (text) => {
    if (state.textContent !== text) fill(state, text);
  });
  await showDialog(t("receive"), [
    h("p", null, t("receiveText", { device: reception.device })), pin, state,
    h("p", { class: "hint" },
      t("receiveAddress", { device: reception.device, address: `${reception.address}, ${reception.port}` })),
  ], [{ label: t("stopReceiving"), value: "", kind: "main" }]);
  stop.abort();
  // A session that is over has ended it.
  await post(`${path}/close`).catch(() => {});
}

/**
 * Asks each second how it goes, which also tells the server that the PIN is still shown.
 * @param {string} path
 * @param {AbortSignal} signal
 * @param {(text: string) => void} say
 */
async function follow(path, signal, say) {
  while (!signal.aborted) {
    try {
      /** @type {Progress} */
      const progress = await get(path, signal);
      say(describe(progress));
      if (progress.state !== "open") return;
    } catch (error) {
      if (codeOf(error) === "unknown") return say(t("receiveEnded"));
      // Without a connection it goes on when there is one again.
    }
    await new Promise((resolve) => setTimeout(resolve, pollTime));
  }
}

/** @param {Progress} progress */
function describe({ state, done, total, saved, failed }) {
  if (state === "guessed") return t("receiveGuessed");
  if (state === "closed") return t("receiveEnded");
  const parts = [
    total > 0 ? t("receivingOf", { done, n: total }) : saved === 0 && t("receiveWaiting"),
    saved > 0 && t("savedCount", { n: saved }),
    failed > 0 && t("failedCount", { n: failed }),
  ];
  return parts.filter(Boolean).join(" · ");
}
