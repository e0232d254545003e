// Texts: each in both languages with the same values, plural forms, numbers and dates.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import {
  describeCounts, explain, formatBytes, formatDateLong, formatExposure, formatTimeLeft, setLanguage, t, table,
} from "../../Sources/Gallery/Pages/texts.js";

const pages = new URL("../../Sources/Gallery/Pages/", import.meta.url);

test("each text is there in English and German, with the same values in it", () => {
  const values = (text) => new Set([text].flat().flatMap((form) => form.match(/\{\w+\}/g) ?? []));
  for (const [key, [english, german]] of Object.entries(table)) {
    assert.deepEqual(values(english), values(german), key);
    assert.equal(english === "", german === "", key);
    assert.equal(Array.isArray(english), Array.isArray(german), `plural of ${key}`);
  }
});

test("every text is used, and no module has a text of its own", () => {
  const sources = readdirSync(pages).filter((name) => name.endsWith(".js") && name !== "texts.js")
    .map((name) => readFileSync(new URL(name, pages), "utf8"));
  const all = sources.join("\n") + readFileSync(new URL("texts.js", pages), "utf8").split("/** @typedef {keyof")[1];
  const states = ["ready", "waiting", "sending", "finishing", "saved", "there", "failed"];
  for (const key of Object.keys(table)) {
    if (key.startsWith("error_") || states.includes(key)) continue;
    assert.ok(new RegExp(`["]${key}["]`).test(all), `${key} is not used`);
  }
});

test("every failure of the interface has a text, and others have one too", () => {
  const interfaceText = readFileSync(new URL("../Documentation.docc/Interface.md", pages), "utf8");
  const codes = /Codes: ([^]*?)\n- /.exec(interfaceText)[1].match(/`([a-z]+)`\s\(/g).map((code) => code.slice(1, -3));
  assert.ok(codes.length > 10);
  for (const code of codes) assert.ok(`error_${code}` in table, code);
  assert.equal(explain({ code: "never heard of" }), t("error_failed"));
  assert.equal(explain(undefined), t("error_failed"));
});

test("numbers choose the form", () => {
  setLanguage("en");
  assert.equal(t("photoCount", { n: 1 }), "1 photo");
  assert.equal(t("photoCount", { n: 0 }), "0 photos");
  setLanguage("de");
  assert.equal(t("photoCount", { n: 1 }), "1 Foto");
  assert.equal(describeCounts({ photos: 12, others: 0, albums: 1 }), "1 Album, 12 Fotos");
  assert.equal(describeCounts({ photos: 0, others: 0, albums: 0 }), "Leer");
});

test("a value is put in as it is, also with signs of its own", () => {
  setLanguage("en");
  assert.equal(t("deletedAlbum", { name: "{n} $& <b>" }), "Deleted “{n} $& <b>”");
});

test("exposure reads as photographers write it", () => {
  setLanguage("en");
  const all = { exposure: 1 / 125, aperture: 1.8, iso: 64, focalLength: 6.86, focalLength35: 26 };
  assert.equal(formatExposure(all), "1/125 s · f/1.8 · ISO 64 · 6.9 mm (26 mm)");
  assert.equal(formatExposure({ exposure: 2.5, focalLength: 35, focalLength35: 35 }), "2.5 s · 35 mm");
  assert.equal(formatExposure({ exposure: null, aperture: null, iso: null }), "");
  assert.equal(formatExposure({}), "");
  setLanguage("de");
  assert.equal(formatExposure({ aperture: 5.6, iso: 12_800 }), "f/5,6 · ISO 12800");
});

test("sizes and times read as people write them", () => {
  setLanguage("en");
  assert.equal(formatBytes(0), "0 B");
  assert.equal(formatBytes(999), "999 B");
  assert.equal(formatBytes(3_456_000), "3.5 MB");
  assert.equal(formatBytes(999_999), "1.0 MB");
  assert.equal(formatTimeLeft(3), "5 seconds left");
  assert.equal(formatTimeLeft(60), "1 minute left");
  assert.equal(formatTimeLeft(7200), "2 hours left");
});

test("a camera's clock is shown as it was, wherever the reader is", () => {
  setLanguage("en");
  assert.match(formatDateLong(Date.UTC(2024, 1, 29, 23, 59) / 1000, true), /29.*2024.*(23:59|11:59)/);
});
