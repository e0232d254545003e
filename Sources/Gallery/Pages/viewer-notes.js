/**
 * Shows and changes what people say of a photo: caption, tags, stars, and a corrected date.
 * @module
 */

import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { namesIn } from "./names.js";
import { explain, formatDateLong, t } from "./texts.js";
import { say } from "./toasts.js";

/** @typedef {import("./viewer-info.js").Details} Details */

const mostStars = 5;

/**
 * Writes the value of a field for dates; the camera's clock is read as if it showed UTC.
 * @param {number} seconds
 */
function localTime(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 19);
}

export class ViewerNotes {
  #changed;
  #readOnly;

  /**
   * @param {boolean} readOnly
   * @param {(details: Details) => void} changed  called with the photo as the server now describes it
   */
  constructor(readOnly, changed) {
    this.#readOnly = readOnly;
    this.#changed = changed;
  }

  /**
   * Returns the rows of a photo, as pairs of a label and a value.
   * @param {Details} details
   * @returns {[string, import("./dom.js").Child][]}
   */
  rows(details) {
    const { caption, tags = [], rating, people = [] } = details;
    if (this.#readOnly) {
      return [
        [t("caption"), caption],
        [t("tags"), tags.join(", ")],
        [t("people"), people.join(", ")],
        [t("rating"), rating ? this.#readRating(rating) : null],
      ];
    }
    return [
      [t("caption"), this.#captionField(details)],
      [t("tags"), this.#tagField(details)],
      [t("people"), people.join(", ")],
      [t("rating"), this.#starButtons(details)],
    ];
  }

  /** @param {number} rating */
  #readRating(rating) {
    const text = rating < 0 ? t("rejected") : t("stars", { n: rating });
    return rating < 0 ? text : h("span", { role: "img", "aria-label": text }, "★".repeat(rating));
  }

  /** @param {Details} details */
  #captionField(details) {
    const field = h("textarea", {
      class: "note-field", rows: 2, placeholder: t("addCaption"), "aria-label": t("caption"), dir: "auto",
    });
    field.value = details.caption ?? "";
    field.addEventListener("change", () => {
      const caption = field.value.trim();
      void this.#save(details, { caption: caption === "" ? null : caption });
    });
    return field;
  }

  /** @param {Details} details */
  #tagField(details) {
    const field = h("input", {
      type: "text", class: "note-field", placeholder: t("addTags"), "aria-label": t("tags"), autocomplete: "off",
      value: (details.tags ?? []).join(", "), dir: "auto",
    });
    field.addEventListener("change", () => void this.#save(details, { tags: namesIn(field.value) }));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") field.blur();
    });
    return field;
  }

  /** @param {Details} details */
  #starButtons(details) {
    const buttons = h("div", { class: "stars", role: "group", "aria-label": t("rating") });
    const draw = (/** @type {number} */ rating) => {
      fill(buttons, ...Array.from({ length: mostStars }, (_, place) => {
        const stars = place + 1;
        return h("button", {
          type: "button", class: `quiet small ${stars <= rating ? "lit" : ""}`, title: t("stars", { n: stars }),
          "aria-label": t("stars", { n: stars }), "aria-pressed": String(stars === rating),
          on: {
            click: async () => {
              const next = stars === rating ? null : stars;
              if (await this.#save(details, { rating: next })) draw(next ?? 0);
              const again = buttons.children[place];
              if (again instanceof HTMLElement) again.focus();
            },
          },
        }, icon("star"));
      }));
    };
    draw(Math.max(0, details.rating ?? 0));
    return buttons;
  }

  /**
   * Returns the date of a photo, which a person can correct.
   * @param {Details} details
   */
  date(details) {
    const { taken } = details;
    const text = taken === null ? t("noDate") : formatDateLong(taken, true);
    if (this.#readOnly) return taken !== null && text;
    const line = h("span", { class: "date-line" });
    const show = () => fill(line, h("span", null, text), h("button", {
      type: "button", class: "quiet small", title: t("correctDate"), "aria-label": t("correctDate"),
      on: { click: edit },
    }, icon("edit")));
    const edit = () => {
      const field = h("input", {
        type: "datetime-local", step: 1, class: "note-field", "aria-label": t("taken"),
        value: localTime(taken ?? details.modified),
      });
      fill(line, h("span", { class: "date-edit" }, field, h("span", { class: "date-buttons" },
        h("button", { type: "button", class: "main", on: { click: () => void save(field.value) } }, t("save")),
        h("button", { type: "button", class: "plain", on: { click: () => void save(null) } }, t("originalDate")),
        h("button", { type: "button", class: "plain", on: { click: show } }, t("cancel")))));
      field.focus();
    };
    const save = async (/** @type {string | null} */ value) => {
      if (value === "") return;
      // A field leaves out seconds that are zero.
      const time = value !== null && value.length === 16 ? `${value}:00` : value;
      await this.#save(details, { taken: time });
    };
    show();
    return line;
  }

  /**
   * Saves a change; says why where it fails.
   * @param {Details} details
   * @param {Record<string, unknown>} change
   */
  async #save(details, change) {
    try {
      const saved = await post(`/api/photo/${details.id}`, change);
      if ("taken" in change) this.#changed(await get(`/api/photo/${details.id}`));
      else Object.assign(details, saved);
      return true;
    } catch (error) {
      say(explain(error));
      return false;
    }
  }
}
