/**
 * Shows the page that asks for the password.
 * @module
 */

import { ApiError } from "./api.js";
import { h, passwordField } from "./dom.js";
import { icon } from "./icons.js";
import { login } from "./session.js";
import { explain, language, setLanguage, t } from "./texts.js";

/** @typedef {import("./session.js").SessionInfo} SessionInfo */

/**
 * Shows the login in a host.
 * @param {HTMLElement} host
 * @param {{notice: string | null, entered: (info: SessionInfo) => void, redraw: () => void}} options
 */
export function showLogin(host, { notice, entered, redraw }) {
  const message = h("p", { class: "login-message", role: "alert" }, notice);
  const password = passwordField(t("password"));
  const submit = h("button", { class: "main", type: "submit" }, t("unlock"));
  const form = h("form", { class: "login", autocomplete: "off" },
    h("div", { class: "login-mark" }, icon("lock")),
    h("h1", null, t("appName")),
    h("p", { class: "hint" }, t("loginHint")),
    h("div", { class: "password-line" }, password, eyeButton(password)), submit, message);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(password, submit, message, entered);
  });
  const other = language() === "de" ? "en" : "de";
  const switcher = h("button", {
    class: "quiet login-language", type: "button", lang: other,
    on: {
      click: () => {
        setLanguage(other);
        redraw();
      },
    },
  }, icon("language"), other === "de" ? "Deutsch" : "English");
  host.replaceChildren(h("main", { class: "login-page" }, form, switcher));
  password.focus();
}

/**
 * Creates a button that shows what is typed.
 * @param {HTMLInputElement} field
 */
function eyeButton(field) {
  const button = h("button", {
    type: "button", class: "quiet", title: t("showPassword"), "aria-label": t("showPassword"), "aria-pressed": "false",
    on: {
      click: () => {
        const shows = field.type === "password";
        field.type = shows ? "text" : "password";
        const label = t(shows ? "hidePassword" : "showPassword");
        button.title = label;
        button.setAttribute("aria-label", label);
        button.setAttribute("aria-pressed", String(shows));
        field.focus();
      },
    },
  }, icon("eye"));
  return button;
}

/**
 * Tries a password; the field is empty afterwards, whatever comes of it.
 * @param {HTMLInputElement} field
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} message
 * @param {(info: SessionInfo) => void} entered
 */
async function attempt(field, button, message, entered) {
  const password = field.value;
  if (password === "" || button.disabled) return;
  field.value = "";
  field.type = "password";
  field.disabled = button.disabled = true;
  button.classList.add("busy");
  message.textContent = "";
  try {
    entered(await login(password));
  } catch (error) {
    message.textContent = error instanceof ApiError && error.code === "slow" && error.body.retryAfter
      ? t("slowFor", { n: Math.ceil(error.body.retryAfter) }) : explain(error);
    field.disabled = button.disabled = false;
    field.focus();
  }
  button.classList.remove("busy");
}
