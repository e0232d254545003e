/**
 * Computes how a picture lies on the stage while it is zoomed and moved. Pure arithmetic.
 * @module
 */

/**
 * `x` and `y` tell how far the middle of the picture is from the middle of the stage.
 * @typedef {{scale: number, x: number, y: number}} Zoom
 */
/** @typedef {{width: number, height: number}} Size */

/** @type {Zoom} */
export const noZoom = { scale: 1, x: 0, y: 0 };

/**
 * Returns the size at which a picture fits on the stage; small ones are at most doubled.
 * @param {Size} picture
 * @param {Size} stage
 * @returns {Size}
 */
export function fit(picture, stage) {
  if (!(picture.width > 0) || !(picture.height > 0)) return { ...stage };
  const scale = Math.min(stage.width / picture.width, stage.height / picture.height, 2);
  return { width: picture.width * scale, height: picture.height * scale };
}

/**
 * Zooms so that the point under the fingers stays there.
 * @param {Zoom} zoom
 * @param {number} factor
 * @param {{x: number, y: number}} point  from the middle of the stage
 * @param {number} most  the largest scale
 * @returns {Zoom}
 */
export function zoomAt(zoom, factor, point, most) {
  const scale = Math.min(most, Math.max(1, zoom.scale * factor));
  const change = scale / zoom.scale;
  return { scale, x: point.x - (point.x - zoom.x) * change, y: point.y - (point.y - zoom.y) * change };
}

/**
 * Moves a picture back so that it covers as much of the stage as it can.
 * @param {Zoom} zoom
 * @param {Size} fitted
 * @param {Size} stage
 * @returns {Zoom}
 */
export function clampZoom(zoom, fitted, stage) {
  const x = Math.max(0, (fitted.width * zoom.scale - stage.width) / 2);
  const y = Math.max(0, (fitted.height * zoom.scale - stage.height) / 2);
  return {
    scale: zoom.scale,
    x: Math.min(x, Math.max(-x, zoom.x)),
    y: Math.min(y, Math.max(-y, zoom.y)),
  };
}

/**
 * Returns the largest scale: three points of the screen for a pixel, and four times the fitted size at least.
 * @param {Size} picture
 * @param {Size} fitted
 */
export function largestScale(picture, fitted) {
  return Math.max(4, (3 * picture.width) / Math.max(1, fitted.width));
}

/**
 * Returns the long edge of the preview for a stage: steps of 512, so that few sizes are made.
 * @param {Size} stage
 * @param {number} density  pixels of the screen for a point
 */
export function previewEdge(stage, density) {
  const edge = Math.max(stage.width, stage.height) * density;
  return Math.min(4096, Math.max(512, Math.ceil(edge / 512) * 512));
}
