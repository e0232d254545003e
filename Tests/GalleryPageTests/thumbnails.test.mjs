// A body of many thumbnails is split rightly, however the network cuts it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { splitBatch } from "../../Sources/Gallery/Pages/thumbnails.js";
import { randomFrom } from "./seeded.mjs";

test("thumbnails come out as they went in, and missing ones as empty", async () => {
  const random = randomFrom("batch");
  for (let round = 0; round < 100; round += 1) {
    const parts = Array.from({ length: Math.floor(random() * 20) }, () =>
      Uint8Array.from({ length: random() < 0.3 ? 0 : Math.floor(random() * 500) }, () => random() * 256));
    const body = Buffer.concat(parts.flatMap((part) => {
      const head = Buffer.alloc(4);
      head.writeUInt32BE(part.length);
      return [head, part];
    }));
    async function* chunks() {
      for (let at = 0; at < body.length;) {
        const next = at + 1 + Math.floor(random() * 300);
        yield new Uint8Array(body.subarray(at, next));
        at = next;
      }
    }
    const found = [];
    for await (const part of splitBatch(chunks())) found.push(part);
    assert.deepEqual(found.map((part) => [...part]), parts.map((part) => [...part]));
  }
});
