// Zooming: the point under the fingers stays, the picture stays on the stage, and sizes fit.
import assert from "node:assert/strict";
import { test } from "node:test";
import { clampZoom, fit, noZoom, previewEdge, zoomAt } from "../../Sources/Gallery/Pages/zoom.js";
import { randomFrom } from "./seeded.mjs";

const stage = { width: 800, height: 600 };

test("a picture fits on the stage and keeps its shape", () => {
  const random = randomFrom("fit");
  for (let round = 0; round < 100; round += 1) {
    const picture = { width: 1 + random() * 9000, height: 1 + random() * 9000 };
    const fitted = fit(picture, stage);
    assert.ok(fitted.width <= 800.001 && fitted.height <= 600.001);
    assert.ok(Math.abs(fitted.width / fitted.height - picture.width / picture.height) < 1e-6 * 9000);
  }
  assert.deepEqual(fit({ width: 10, height: 10 }, stage), { width: 20, height: 20 });
});

test("the point under the fingers stays where it is", () => {
  const random = randomFrom("zoom");
  let zoom = noZoom;
  for (let round = 0; round < 200; round += 1) {
    const point = { x: random() * 800 - 400, y: random() * 600 - 300 };
    const inPicture = { x: (point.x - zoom.x) / zoom.scale, y: (point.y - zoom.y) / zoom.scale };
    zoom = zoomAt(zoom, 0.5 + random(), point, 8);
    assert.ok(zoom.scale >= 1 && zoom.scale <= 8);
    assert.ok(Math.abs(inPicture.x * zoom.scale + zoom.x - point.x) < 1e-6);
    assert.ok(Math.abs(inPicture.y * zoom.scale + zoom.y - point.y) < 1e-6);
  }
});

test("a zoomed picture cannot be dragged off the stage, and a narrow one stays in the middle", () => {
  const fitted = { width: 400, height: 600 };
  assert.deepEqual(clampZoom({ scale: 1.5, x: 999, y: 999 }, fitted, stage), { scale: 1.5, x: 0, y: 150 });
  assert.deepEqual(clampZoom({ scale: 4, x: -9999, y: 0 }, fitted, stage), { scale: 4, x: -400, y: 0 });
});

test("previews come in few sizes, within what the server makes", () => {
  assert.equal(previewEdge({ width: 360, height: 740 }, 3), 2560);
  assert.equal(previewEdge({ width: 3840, height: 2160 }, 2), 4096);
  assert.equal(previewEdge({ width: 10, height: 10 }, 1), 512);
});
