// Names: what nobody sees is written out, and nothing turns what stands beside it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isolated, shown } from "../../Sources/Gallery/Pages/names.js";
import { setLanguage, t } from "../../Sources/Gallery/Pages/texts.js";

test("characters without a shape are written out", () => {
  for (const [name, expected] of [
    ["invoice\u202Egpj.exe", "invoice‹U+202E›gpj.exe"], ["a\u2066b\u2069.jpg", "a‹U+2066›b‹U+2069›.jpg"],
    ["a\u200Bb", "a‹U+200B›b"], ["\u200D.jpg", "‹U+200D›.jpg"], ["a\nb\tc\u0085", "a‹U+000A›b‹U+0009›c‹U+0085›"],
    ["\u3164", "‹U+3164›"], ["\u2800", "‹U+2800›"], ["x\u{E0001}y", "x‹U+E0001›y"], ["\uFEFFa", "‹U+FEFF›a"],
    ["a\u00ADb", "a‹U+00AD›b"], ["a\u200F", "a‹U+200F›"], ["a\u2028b", "a‹U+2028›b"],
    ["a \u200Db", "a ‹U+200D›b"], ["a\u200Db", "a‹U+200D›b"], ["a\uFE0F", "a‹U+FE0F›"],
  ]) assert.equal(shown(name), expected);
});

test("names of all scripts and emoji stay as they are", () => {
  for (const name of [
    "IMG_1.jpg", "Grüße aus Köln.heic", "e\u0301.jpg", "日本語 写真.png", "שלום.jpg", "صورة.jpg", "می\u200Cخواهم.jpg", "क्\u200Dष.jpg",
    "👨\u200D👩\u200D👧.jpg", "❤\uFE0F.jpg", "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}.png", "葛\u{E0100}.jpg", "1\uFE0F\u20E3.png", "",
  ]) assert.equal(shown(name), name);
});

test("a name that is written from right to left turns no sentence", () => {
  setLanguage("en");
  assert.equal(isolated("שלום.jpg"), "\u2068שלום.jpg\u2069");
  assert.equal(isolated("plain.jpg"), "plain.jpg");
  assert.equal(t("deletedAlbum", { name: "שלום" }), "Deleted “\u2068שלום\u2069”");
  assert.equal(t("deletedAlbum", { name: "\u202Egpj" }), "Deleted “‹U+202E›gpj”");
  // Nothing that a name closes itself ends its isolation.
  assert.equal(isolated("\u2069שלום"), "\u2068‹U+2069›שלום\u2069");
});
