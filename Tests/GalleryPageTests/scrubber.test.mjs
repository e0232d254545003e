import assert from "node:assert/strict";
import test from "node:test";
import { spread } from "../../Sources/Gallery/Pages/scrubber.js";

/** @param {number[]} places */
const years = (places) => places.map((at, place) => ({ year: 2025 - place, at }));

test("all years are shown, apart from one another and inside the strip", () => {
  // Nearly all photos are of the last year.
  const marks = spread(years([0, 580, 585, 586, 590, 591, 592, 595, 596, 597, 598, 599, 599, 600, 600, 600, 600, 600,
    600, 600]), 600);
  assert.equal(marks.length, 20);
  for (const [place, { at }] of marks.entries()) {
    assert.ok(at >= 0 && at <= 600, `${at}`);
    if (place > 0) assert.ok(at - marks[place - 1].at >= 16.9, `${at}`);
  }
});

test("where there is no room for all, every second one is left out, and so on", () => {
  const marks = spread(years(Array.from({ length: 100 }, (_, place) => place * 3)), 300);
  assert.ok(marks.length >= 12 && marks.length <= 17, `${marks.length}`);
  assert.equal(marks[0].year, 2025);
  assert.deepEqual(spread([], 300), []);
});
