/**
 * Asks questions: dialogs that keep the focus, close with Escape, and resolve to an answer. Also menus.
 * @module
 */

import { append, h, passwordField } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./texts.js";

/** @type {Set<HTMLDialogElement>} */
const open = new Set();

/** Closes all dialogs without an answer. */
export function closeDialogs() {
  for (const dialog of open) dialog.close("");
}

/**
 * Shows a dialog; resolves to the value of the button that closed it, or "" where it was dismissed.
 * @param {string} title
 * @param {import("./dom.js").Child[]} content
 * @param {{label: string, value: string, kind?: "main" | "danger"}[]} buttons
 * @param {(dialog: HTMLDialogElement) => void} [prepare]
 * @returns {Promise<string>}
 */
export function showDialog(title, content, buttons, prepare) {
  const form = h("form", { method: "dialog", autocomplete: "off" }, h("h2", null, title));
  const dialog = h("dialog", { class: "dialog", "aria-label": title }, form);
  append(form, content);
  const bar = h("div", { class: "dialog-buttons" });
  for (const { label, value, kind } of buttons) {
    const dismisses = value === "";
    bar.append(h("button", {
      class: kind ?? "plain", value, type: dismisses ? "button" : "submit",
      on: dismisses ? { click: () => dialog.close("") } : {},
    }, label));
  }
  form.append(bar);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close("");
  });
  prepare?.(dialog);
  document.body.append(dialog);
  dialog.showModal();
  open.add(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      open.delete(dialog);
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

/**
 * Asks whether to do something.
 * @param {{title: string, text: string, action: string, danger?: boolean}} question
 */
export async function confirmDialog({ title, text, action, danger = false }) {
  const answer = await showDialog(title, [h("p", null, text)], [
    { label: t("cancel"), value: "" },
    { label: action, value: "yes", kind: danger ? "danger" : "main" },
  ]);
  return answer === "yes";
}

/**
 * Asks for the password before something that cannot be undone; the dialog stays and shows why while `act` fails.
 * The field is empty after each attempt.
 * @param {{title: string, text: string, action: string}} question
 * @param {(password: string) => Promise<void>} act  throws an error whose code is shown
 * @param {(error: unknown) => string} explain
 */
export async function confirmPassword({ title, text, action }, act, explain) {
  const problem = h("p", { class: "problem", role: "alert" });
  const field = passwordField(t("password"));
  const answer = await showDialog(title, [h("p", null, text), field, problem], [
    { label: t("cancel"), value: "" },
    { label: action, value: "yes", kind: "danger" },
  ], (dialog) => {
    field.autofocus = true;
    dialog.querySelector("form")?.addEventListener("submit", async (event) => {
      event.preventDefault();
      const password = field.value;
      if (password === "" || field.disabled) return;
      field.value = problem.textContent = "";
      field.disabled = true;
      try {
        await act(password);
        dialog.close("yes");
      } catch (error) {
        problem.textContent = explain(error);
      }
      field.disabled = false;
      field.focus();
    });
  });
  return answer === "yes";
}

/**
 * Asks for a name; the dialog stays and shows why while `save` fails.
 * @param {{title: string, label: string, value: string, action: string}} question
 * @param {(name: string) => Promise<void>} save  throws an error whose code is shown
 * @param {(error: unknown) => string} explain
 */
export async function nameDialog({ title, label, value, action }, save, explain) {
  const problem = h("p", { class: "problem", role: "alert" });
  const input = h("input", {
    type: "text", value, required: true, maxlength: 255, autocomplete: "off", autocapitalize: "sentences",
    spellcheck: "false", "aria-label": label, autofocus: true,
  });
  const answer = await showDialog(title, [input, problem], [
    { label: t("cancel"), value: "" },
    { label: action, value: "yes", kind: "main" },
  ], (dialog) => {
    selectStem(input);
    dialog.querySelector("form")?.addEventListener("submit", async (event) => {
      event.preventDefault();
      const name = input.value.trim();
      if (name === "") return;
      try {
        await save(name);
        dialog.close("yes");
      } catch (error) {
        problem.textContent = explain(error);
        input.focus();
      }
    });
  });
  return answer === "yes";
}

/**
 * Asks for lines of text; the dialog stays and shows why while `save` fails. Control and Enter answers, too.
 * @param {{title: string, label: string, hint: string, action: string}} question
 * @param {(lines: string[]) => Promise<void>} save  throws an error whose code is shown
 * @param {(error: unknown) => string} explain
 */
export async function linesDialog({ title, label, hint, action }, save, explain) {
  const problem = h("p", { class: "problem", role: "alert" });
  const field = h("textarea", {
    class: "lines", rows: 7, required: true, autocomplete: "off", autocapitalize: "none", spellcheck: "false",
    inputmode: "url", "aria-label": label, placeholder: "https://", autofocus: true,
  });
  const answer = await showDialog(title, [h("p", { class: "hint" }, label), field, h("p", { class: "hint" }, hint),
    problem], [
    { label: t("cancel"), value: "" },
    { label: action, value: "yes", kind: "main" },
  ], (dialog) => {
    const form = dialog.querySelector("form");
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form?.requestSubmit();
    });
    form?.addEventListener("submit", async (event) => {
      event.preventDefault();
      const lines = field.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");
      if (lines.length === 0) return;
      try {
        await save(lines);
        dialog.close("yes");
      } catch (error) {
        problem.textContent = explain(error);
        field.focus();
      }
    });
  });
  return answer === "yes";
}

/**
 * Selects a name up to its extension.
 * @param {HTMLInputElement} input
 */
function selectStem(input) {
  input.addEventListener("focus", () => {
    const dot = input.value.lastIndexOf(".");
    input.setSelectionRange(0, dot > 0 ? dot : input.value.length);
  }, { once: true });
}

/**
 * Shows a list of messages.
 * @param {string} title
 * @param {string[]} lines
 */
export async function listDialog(title, lines) {
  const shown = lines.slice(0, 500).map((line) => h("li", null, line));
  await showDialog(title, [h("ul", { class: "messages", tabindex: 0 }, ...shown)], [
    { label: t("close"), value: "ok", kind: "main" },
  ]);
}

/**
 * @typedef {{label: string, icon: import("./icons.js").IconName, run: () => void, danger?: boolean,
 *   hidden?: boolean, checked?: boolean}} MenuItem  `checked`: one of several that exclude each other
 */

/**
 * Shows a menu below a button. Arrow keys move in it; Escape and a click elsewhere close it.
 * @param {HTMLElement} button
 * @param {MenuItem[]} items
 */
export function showMenu(button, items) {
  const dialog = h("dialog", { class: "menu", "aria-label": t("more") });
  const list = h("div", { role: "menu" });
  for (const item of items) {
    if (item.hidden) continue;
    list.append(h("button", {
      type: "button", role: item.checked === undefined ? "menuitem" : "menuitemradio",
      "aria-checked": item.checked === undefined ? null : String(item.checked), class: item.danger ? "danger-text" : null,
      on: {
        click: () => {
          dialog.close();
          item.run();
        },
      },
    }, icon(item.icon), item.label));
  }
  dialog.append(list);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => moveInMenu(list, event));
  dialog.addEventListener("close", () => {
    open.delete(dialog);
    dialog.remove();
    button.setAttribute("aria-expanded", "false");
  });
  document.body.append(dialog);
  dialog.showModal();
  open.add(dialog);
  button.setAttribute("aria-expanded", "true");
  place(dialog, button.getBoundingClientRect());
}

/**
 * Puts a menu at a button, inside the window.
 * @param {HTMLElement} menu
 * @param {DOMRect} at
 */
function place(menu, at) {
  const { width, height } = menu.getBoundingClientRect();
  const left = Math.min(at.left, innerWidth - width - 8);
  const below = at.bottom + 6 + height < innerHeight;
  menu.style.left = `${Math.max(8, Math.min(left, at.right - width < 8 ? left : at.right - width))}px`;
  menu.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - height - 6)}px`;
}

/**
 * @param {HTMLElement} list
 * @param {KeyboardEvent} event
 */
function moveInMenu(list, event) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  const items = [...list.querySelectorAll("button")];
  const position = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  items[(position + step + items.length) % items.length].focus();
}
