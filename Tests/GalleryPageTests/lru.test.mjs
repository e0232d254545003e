// The cache of pictures: never above its limit, and every picture that leaves is given back once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LRU } from "../../Sources/Gallery/Pages/lru.js";
import { randomFrom } from "./seeded.mjs";

test("what was not used for longest leaves first", () => {
  const gone = [];
  const cache = new LRU(3, (value) => gone.push(value));
  for (const name of ["a", "b", "c"]) cache.set(name, name, 1);
  cache.get("a");
  cache.set("d", "d", 1);
  assert.deepEqual(gone, ["b"]);
});

test("its weight stays below the limit, and nothing is given back twice or forgotten", () => {
  const random = randomFrom("lru");
  const alive = new Set();
  const cache = new LRU(1000, (value) => assert.ok(alive.delete(value), "given back once"));
  for (let step = 0; step < 5000; step += 1) {
    const key = `k${Math.floor(random() * 80)}`;
    if (random() < 0.6) {
      alive.add(step);
      cache.set(key, step, Math.floor(random() * 90));
    } else if (random() < 0.5) cache.get(key);
    else cache.delete(key);
    assert.ok(cache.weight <= 1000);
    assert.equal(alive.size, cache.size);
  }
  cache.clear();
  assert.equal(alive.size, 0);
  assert.equal(cache.weight, 0);
});

test("a picture larger than the cache is kept alone", () => {
  const gone = [];
  const cache = new LRU(10, (value) => gone.push(value));
  cache.set("small", "small", 5);
  cache.set("large", "large", 50);
  assert.equal(cache.get("large"), "large");
  assert.deepEqual(gone, ["small"]);
});
