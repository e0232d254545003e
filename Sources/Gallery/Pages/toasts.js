/**
 * Shows short messages at the lower edge, with progress and an action. Screen readers hear them.
 * @module
 */

import { h, publishHeight, style } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";

/** Lies above the viewer; made once for each session. */
export const toastHost = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
// On a narrow page the panel of uploads leaves this room.
publishHeight(toastHost, "--toasts");

const shortTime = 5000;

export class Toast {
  #element;
  #text;
  #bar;
  #buttons;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {string} text */
  constructor(text) {
    this.#text = h("span", { class: "toast-text" }, text);
    this.#bar = h("span", { class: "toast-bar", hidden: true });
    this.#buttons = h("span", { class: "toast-buttons" });
    this.#element = h("div", { class: "toast" }, this.#text, this.#buttons, this.#bar);
    toastHost.append(this.#element);
  }

  /** @param {string} text */
  say(text) {
    if (this.#text.textContent !== text) this.#text.textContent = text;
  }

  /** @param {{label: string, run: () => void}[]} actions */
  offer(actions) {
    this.#buttons.replaceChildren(...actions.map(({ label, run }) =>
      h("button", { type: "button", class: "toast-button", on: { click: run } }, label)));
  }

  /** @param {number | null} part  between 0 and 1 */
  progress(part) {
    this.#bar.hidden = part === null;
    style(this.#bar, { transform: `scaleX(${part ?? 0})` });
  }

  /**
   * Removes the message, at once or after some seconds.
   * @param {number} [milliseconds]
   */
  close(milliseconds = 0) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#element.remove(), milliseconds);
  }

  /** Keeps the message until the person closes it. */
  keep() {
    this.#buttons.append(h("button", {
      type: "button", class: "toast-button toast-close", "aria-label": t("close"),
      on: { click: () => this.close() },
    }, icon("close")));
  }
}

/**
 * Says something that needs no answer.
 * @param {string} text
 */
export function say(text) {
  new Toast(text).close(shortTime);
}

/** Removes all messages, for they may contain names. */
export function clearToasts() {
  toastHost.replaceChildren();
}
