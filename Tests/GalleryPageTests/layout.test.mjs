// Rows of photos: each photo has one place, rows are as wide as the view, and days are kept apart.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Layout, ratioOf } from "../../Sources/Gallery/Pages/layout.js";
import { randomFrom } from "./seeded.mjs";

const options = { width: 1000, target: 200, gap: 4, header: 40, between: 10 };

function randomRatios(random, count) {
  return Float32Array.from({ length: count }, () => ratioOf(400 + random() * 4000, 400 + random() * 4000));
}

function laidOut(ratios, sections = null, chosen = options) {
  const layout = new Layout(ratios, sections, chosen);
  while (!layout.advance(ratios.length, 1000));
  return layout;
}

function check(layout, ratios, sections, { width, gap }) {
  let next = 0;
  let bottom = 0;
  for (let row = 0; row < layout.rows; row += 1) {
    assert.equal(layout.start(row), next, "rows follow one another");
    next = layout.end(row);
    assert.ok(next > layout.start(row), "no row is empty");
    const boxes = layout.boxes(row);
    const last = boxes.at(-1);
    assert.ok(last.x + last.width <= width + 1, "no row is wider than the view");
    assert.ok(layout.top(row) >= bottom - 0.01, "no row lies over another");
    bottom = layout.top(row) + layout.rowHeight(row);
    for (let at = layout.start(row) + 1; at < next && sections; at += 1) {
      assert.equal(sections[at], sections[at - 1], "a row holds photos of one day");
    }
    const endsSection = next === ratios.length || (sections && sections[next] !== sections[next - 1]);
    if (!endsSection) assert.ok(Math.abs(last.x + last.width - width) <= 1, "a full row is as wide as the view");
  }
  assert.equal(next, ratios.length, "each photo has a place");
  assert.ok(Math.abs(layout.height - bottom) < 0.01 || ratios.length === 0);
  assert.ok(gap > 0);
}

test("every photo has exactly one place, in rows as wide as the view", () => {
  const random = randomFrom("layout");
  for (let round = 0; round < 200; round += 1) {
    const chosen = { ...options, width: 200 + Math.floor(random() * 3800), target: 100 + random() * 200 };
    const ratios = randomRatios(random, Math.floor(random() * 300));
    const sections = round % 2 ? Int32Array.from(ratios, (_, index) => Math.floor(index / (1 + 40 * random() ** 3))) : null;
    check(laidOut(ratios, sections, chosen), ratios, sections, chosen);
  }
});

test("the layout is the same whether it is made at once or in slices, as photos arrive", () => {
  const random = randomFrom("slices");
  const ratios = randomRatios(random, 3000);
  const sections = Int32Array.from(ratios, (_, index) => Math.floor(index / 17));
  const whole = laidOut(ratios, sections);
  const sliced = new Layout(ratios, sections, options);
  for (let available = 0; available < ratios.length;) {
    available = Math.min(ratios.length, available + 1 + Math.floor(random() * 200));
    while (!sliced.advance(available, 37));
  }
  assert.equal(sliced.rows, whole.rows);
  for (let row = 0; row < whole.rows; row += 1) assert.deepEqual(sliced.boxes(row), whole.boxes(row));
});

test("a photo is found by its row, and a row by its height", () => {
  const random = randomFrom("find");
  const ratios = randomRatios(random, 2000);
  const layout = laidOut(ratios, Int32Array.from(ratios, (_, index) => Math.floor(index / 50)));
  for (let index = 0; index < 2000; index += 7) {
    const row = layout.rowOf(index);
    assert.ok(layout.start(row) <= index && index < layout.end(row));
    assert.equal(layout.rowAt(layout.top(row) + 1), row);
    const box = layout.boxes(row)[index - layout.start(row)];
    assert.equal(layout.itemAt(box.x + box.width / 2, box.y + 1), index);
  }
  assert.equal(layout.rowOf(2000), -1);
});

test("a rectangle selects the photos that it touches, and no others", () => {
  const random = randomFrom("rectangle");
  const ratios = randomRatios(random, 300);
  const layout = laidOut(ratios);
  for (let round = 0; round < 50; round += 1) {
    const [x0, x1] = [random() * 1000, random() * 1000].sort((a, b) => a - b);
    const [y0, y1] = [random() * layout.height, random() * layout.height].sort((a, b) => a - b);
    const expected = [];
    for (let row = 0; row < layout.rows; row += 1) {
      layout.boxes(row).forEach((box, position) => {
        const touches = box.x <= x1 && box.x + box.width >= x0 && box.y <= y1 && box.y + box.height >= y0;
        if (touches) expected.push(layout.start(row) + position);
      });
    }
    assert.deepEqual(layout.within(x0, y0, x1, y1), expected);
  }
});

test("arrow keys go to the row above and below, and stay at the edges", () => {
  const layout = laidOut(new Float32Array(100).fill(1));
  assert.equal(layout.vertical(0, -1), 0);
  const below = layout.vertical(0, 1);
  assert.equal(below, layout.start(1));
  assert.equal(layout.vertical(below, -1), 0);
  assert.equal(layout.vertical(99, 1), 99);
});

test("the height of what is not loaded yet is estimated", () => {
  const ratios = new Float32Array(100_000).fill(1.5);
  const layout = new Layout(ratios, null, options);
  layout.advance(2000, 100_000);
  const estimate = layout.height;
  const whole = laidOut(ratios).height;
  assert.ok(Math.abs(estimate - whole) < whole * 0.05, `${estimate} for ${whole}`);
});

test("photos of unknown size and of extreme shapes keep a usable shape", () => {
  assert.equal(ratioOf(0, 0), 4 / 3);
  assert.equal(ratioOf(10_000, 10), 3);
  assert.equal(ratioOf(10, 10_000), 0.5);
});

test("an empty view has no rows", () => {
  const layout = laidOut(new Float32Array(0));
  assert.equal(layout.rows, 0);
  assert.equal(layout.height, 0);
  assert.equal(layout.rowAt(10), -1);
  assert.deepEqual(layout.within(0, 0, 10, 10), []);
});
