// Selecting: one by one, ranges with Shift, rectangles, and what happens when photos go away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Selection } from "../../Sources/Gallery/Pages/selection.js";

const order = ["a", "b", "c", "d", "e", "f"];

test("a click selects and deselects", () => {
  const selection = new Selection();
  selection.toggle("b");
  selection.toggle("d");
  selection.toggle("b");
  assert.deepEqual(selection.ids, ["d"]);
  assert.ok(selection.active);
});

test("Shift selects from the last click, in both directions, and a second Shift replaces the range", () => {
  const selection = new Selection();
  selection.toggle("c");
  selection.extend(order, "e");
  assert.deepEqual(selection.ids, ["c", "d", "e"]);
  selection.extend(order, "a");
  assert.deepEqual(selection.ids.sort(), ["a", "b", "c"]);
});

test("a range keeps what was selected before", () => {
  const selection = new Selection();
  selection.toggle("f");
  selection.toggle("a");
  selection.extend(order, "b");
  assert.deepEqual(selection.ids.sort(), ["a", "b", "f"]);
});

test("a rectangle that shrinks gives back what it had touched, but not what was selected before", () => {
  const selection = new Selection();
  selection.toggle("a");
  selection.hold();
  selection.draw(["b", "c", "d"]);
  selection.draw(["b"]);
  assert.deepEqual(selection.ids, ["a", "b"]);
});

test("photos that went away are no longer selected, nor a place to start a range", () => {
  const selection = new Selection();
  selection.set(["a", "b", "c"], true);
  selection.anchor = "a";
  selection.keep((id) => id !== "a");
  assert.deepEqual(selection.ids, ["b", "c"]);
  selection.extend(["b", "c"], "c");
  assert.deepEqual(selection.ids, ["b", "c"]);
});

test("a selection can begin empty, and ends when it is cleared", () => {
  const selection = new Selection();
  let changes = 0;
  selection.onChange(() => (changes += 1));
  selection.begin();
  assert.ok(selection.active);
  selection.clear();
  assert.ok(!selection.active);
  assert.equal(changes, 2);
});
