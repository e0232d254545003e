/**
 * Computes where photos lie: justified rows, in sections where there are days. Pure arithmetic, in slices, so
 * that 100,000 photos never hold up the page.
 *
 * Invariants:
 * 1. Rows are in the order of the photos and cover each laid-out photo once.
 * 2. A row never contains photos of two sections.
 * 3. Every row except the last of a section is exactly as wide as the view, up to half a pixel a photo.
 * @module
 */

/**
 * @typedef {object} LayoutOptions
 * @property {number} width  of the view
 * @property {number} target  the height that rows come close to
 * @property {number} gap  between photos and between rows
 * @property {number | ((index: number) => number)} header  height of the header of a section, by its first photo
 * @property {number} [between]  space before the header of every section but the first
 */

/** @typedef {{x: number, y: number, width: number, height: number}} Box */

const narrowest = 0.5;
const widest = 3;
/** How much higher than the target a row may be. */
const highest = 1.5;

/**
 * Returns width divided by height, within what a row can show; 4:3 where the size is unknown.
 * @param {number} width
 * @param {number} height
 */
export function ratioOf(width, height) {
  if (!(width > 0) || !(height > 0)) return 4 / 3;
  return Math.min(widest, Math.max(narrowest, width / height));
}

export class Layout {
  #ratios;
  #sections;
  #options;
  /** First photo of each row; one entry more than there are rows. */
  #starts = new Int32Array(1024);
  #tops = new Float64Array(1024);
  #heights = new Float32Array(1024);
  /** The height of the header above a row that begins a section; 0 for other rows. */
  #heads = new Float32Array(1024);
  #laid = 0;
  #end = 0;
  rows = 0;

  /**
   * @param {Float32Array} ratios  one for each photo
   * @param {Int32Array | null} sections  a number for each photo; a change begins a section
   * @param {LayoutOptions} options
   */
  constructor(ratios, sections, options) {
    this.#ratios = ratios;
    this.#sections = sections;
    this.#options = options;
  }

  /** Number of photos that have their place. */
  get laid() {
    return this.#laid;
  }

  /** @param {number} index */
  #headerOf(index) {
    const { header } = this.#options;
    return typeof header === "number" ? header : header(index);
  }

  /**
   * Returns the height of the header above a row; 0 where there is none.
   * @param {number} row
   */
  headHeight(row) {
    return this.#heads[row];
  }

  /**
   * Lays out more photos.
   * @param {number} available  photos whose ratios are known
   * @param {number} limit  about how many to lay out now
   * @returns {boolean} true when all available photos that fill rows have their place
   */
  advance(available, limit) {
    const until = Math.min(available, this.#laid + limit);
    while (this.#laid < until) {
      const end = this.#rowEnd(this.#laid, available);
      if (end === null) return true;
      this.#push(end);
    }
    return this.#laid >= available;
  }

  /**
   * Finds where the row that begins with a photo ends, or null while that depends on photos to come.
   * @param {number} start
   * @param {number} available
   */
  #rowEnd(start, available) {
    const { width, target, gap } = this.#options;
    let sum = 0;
    for (let index = start; index < available; index += 1) {
      if (index > start && this.#beginsSection(index)) return index;
      const before = sum;
      sum += this.#ratios[index];
      const height = (width - gap * (index - start)) / sum;
      if (height > target) continue;
      // The row is full: with this photo it is lower than the target, without it higher.
      if (index === start) return index + 1;
      const higher = (width - gap * (index - start - 1)) / before;
      return higher < target * highest && higher - target < target - height ? index : index + 1;
    }
    return available === this.#ratios.length ? available : null;
  }

  /** @param {number} index */
  #beginsSection(index) {
    const sections = this.#sections;
    return sections !== null && (index === 0 || sections[index] !== sections[index - 1]);
  }

  /**
   * Adds the row from the first photo without a place.
   * @param {number} end
   */
  #push(end) {
    const { width, target, gap, between = 0 } = this.#options;
    if (this.rows + 2 > this.#starts.length) this.#grow();
    let sum = 0;
    for (let index = this.#laid; index < end; index += 1) sum += this.#ratios[index];
    const full = (width - gap * (end - this.#laid - 1)) / sum;
    const head = this.#beginsSection(this.#laid);
    const header = head ? this.#headerOf(this.#laid) : 0;
    const row = this.rows;
    if (head) this.#end += header + (row > 0 ? between : 0);
    // A last row that is not full keeps the usual height.
    this.#heights[row] = full > target * 1.15 && this.#isLast(end) ? target : full;
    this.#starts[row] = this.#laid;
    this.#starts[row + 1] = end;
    this.#tops[row] = this.#end;
    this.#heads[row] = header;
    this.#end += this.#heights[row] + gap;
    this.#laid = end;
    this.rows += 1;
  }

  /** @param {number} end */
  #isLast(end) {
    return end >= this.#ratios.length || this.#beginsSection(end);
  }

  #grow() {
    const length = this.#starts.length * 2;
    const starts = new Int32Array(length);
    starts.set(this.#starts);
    this.#starts = starts;
    const tops = new Float64Array(length);
    tops.set(this.#tops);
    this.#tops = tops;
    const heights = new Float32Array(length);
    heights.set(this.#heights);
    this.#heights = heights;
    const heads = new Float32Array(length);
    heads.set(this.#heads);
    this.#heads = heads;
  }

  /** The height of all photos; photos without a place are estimated from the others. */
  get height() {
    const rest = this.#ratios.length - this.#laid;
    if (rest === 0) return Math.max(0, this.#end - this.#options.gap);
    const { width, target, gap } = this.#options;
    const each = this.#laid > 100 ? this.#end / this.#laid : ((target + gap) * target * 1.4) / width;
    return this.#end + rest * each;
  }

  /** @param {number} row */
  start(row) {
    return this.#starts[row];
  }

  /** @param {number} row */
  end(row) {
    return this.#starts[row + 1];
  }

  /** @param {number} row */
  top(row) {
    return this.#tops[row];
  }

  /** @param {number} row */
  rowHeight(row) {
    return this.#heights[row];
  }

  /**
   * True where a row begins a section, whose header lies above it.
   * @param {number} row
   */
  isHead(row) {
    return this.#heads[row] > 0;
  }

  /**
   * Finds the row at a height; the nearest where there is none, -1 where there are no rows.
   * @param {number} y
   */
  rowAt(y) {
    let low = 0;
    let high = this.rows - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#tops[middle] - this.#heads[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return high < 0 ? -1 : low;
  }

  /**
   * Finds the row of a photo; -1 while it has no place.
   * @param {number} index
   */
  rowOf(index) {
    if (index < 0 || index >= this.#laid) return -1;
    let low = 0;
    let high = this.rows - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle] <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * Returns the boxes of the photos of a row.
   * @param {number} row
   * @returns {Box[]}
   */
  boxes(row) {
    const height = this.#heights[row];
    const boxes = [];
    let x = 0;
    for (let index = this.start(row); index < this.end(row); index += 1) {
      const width = this.#ratios[index] * height;
      // Rounding the edges, and not the widths, keeps the right edge straight.
      const left = Math.round(x);
      boxes.push({ x: left, y: this.#tops[row], width: Math.round(x + width) - left, height });
      x += width + this.#options.gap;
    }
    return boxes;
  }

  /**
   * Returns the photos that touch a rectangle.
   * @param {number} left
   * @param {number} top
   * @param {number} right
   * @param {number} bottom
   * @returns {number[]}
   */
  within(left, top, right, bottom) {
    /** @type {number[]} */
    const found = [];
    const first = this.rowAt(top);
    if (first < 0) return found;
    for (let row = first; row < this.rows && this.#tops[row] <= bottom; row += 1) {
      if (this.#tops[row] + this.#heights[row] < top) continue;
      this.boxes(row).forEach((box, position) => {
        if (box.x <= right && box.x + box.width >= left) found.push(this.start(row) + position);
      });
    }
    return found;
  }

  /**
   * Finds the photo at a point, or the nearest of its row; -1 where there is none.
   * @param {number} x
   * @param {number} y
   */
  itemAt(x, y) {
    const row = this.rowAt(y);
    if (row < 0) return -1;
    const position = this.boxes(row).findIndex((box) => x < box.x + box.width);
    return position < 0 ? this.end(row) - 1 : this.start(row) + position;
  }

  /**
   * Finds the photo that an arrow key leads to, in the row below or above.
   * @param {number} index
   * @param {1 | -1} direction
   */
  vertical(index, direction) {
    const row = this.rowOf(index);
    const next = row + direction;
    if (row < 0 || next < 0 || next >= this.rows) return index;
    const box = this.boxes(row)[index - this.start(row)];
    return this.itemAt(box.x + box.width / 2, this.#tops[next] + 1);
  }
}
