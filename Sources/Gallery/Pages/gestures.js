/**
 * Tells taps, drags, pinches and turns of the wheel apart.
 * @module
 */

/** @typedef {{x: number, y: number}} Point  from the middle of the element */
/**
 * @typedef {object} GestureActions
 * @property {(point: Point) => void} tap
 * @property {(point: Point) => void} doubleTap
 * @property {(dx: number, dy: number) => void} drag  distance since the fingers went down
 * @property {(dx: number, dy: number, vx: number, vy: number) => void} dragEnd  and speed
 * @property {(factor: number, point: Point, dx: number, dy: number) => void} pinch  since the event before
 * @property {() => void} pinchEnd
 * @property {(factor: number, point: Point) => void} wheel
 * @property {(event: PointerEvent) => boolean} ignores  true where the element below wants the pointer itself
 */

const tapDistance = 8;
const doubleTapTime = 260;

export class Gestures {
  #element;
  #actions;
  /** @type {Map<number, PointerEvent>} */
  #pointers = new Map();
  #start = { x: 0, y: 0 };
  #last = { x: 0, y: 0, time: 0 };
  #speed = { x: 0, y: 0 };
  /** @type {"none" | "press" | "drag" | "pinch"} */
  #state = "none";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #tapTimer;

  /**
   * @param {HTMLElement} element
   * @param {GestureActions} actions
   */
  constructor(element, actions) {
    this.#element = element;
    this.#actions = actions;
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerup", (event) => this.#up(event, false));
    element.addEventListener("pointercancel", (event) => this.#up(event, true));
    element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  /**
   * @param {{clientX: number, clientY: number}} event
   * @returns {Point}
   */
  #point(event) {
    const box = this.#element.getBoundingClientRect();
    return { x: event.clientX - box.left - box.width / 2, y: event.clientY - box.top - box.height / 2 };
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0 || this.#actions.ignores(event)) return;
    this.#pointers.set(event.pointerId, event);
    // A gesture may end outside the window.
    this.#element.setPointerCapture(event.pointerId);
    if (this.#pointers.size === 1) {
      this.#state = "press";
      this.#start = { x: event.clientX, y: event.clientY };
      this.#last = { ...this.#start, time: event.timeStamp };
      this.#speed = { x: 0, y: 0 };
    } else if (this.#pointers.size === 2) {
      if (this.#state === "drag") this.#actions.dragEnd(0, 0, 0, 0);
      this.#state = "pinch";
    }
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    if (this.#state === "pinch") this.#pinch(before, event);
    this.#pointers.set(event.pointerId, event);
    const dx = event.clientX - this.#start.x;
    const dy = event.clientY - this.#start.y;
    if (this.#state === "press" && Math.hypot(dx, dy) > tapDistance) this.#state = "drag";
    if (this.#state !== "drag") return;
    const time = Math.max(1, event.timeStamp - this.#last.time);
    const weight = Math.min(1, time / 40);
    this.#speed.x += ((event.clientX - this.#last.x) / time - this.#speed.x) * weight;
    this.#speed.y += ((event.clientY - this.#last.y) / time - this.#speed.y) * weight;
    this.#last = { x: event.clientX, y: event.clientY, time: event.timeStamp };
    this.#actions.drag(dx, dy);
  }

  /**
   * @param {PointerEvent} before
   * @param {PointerEvent} event
   */
  #pinch(before, event) {
    const other = [...this.#pointers.values()].find((each) => each.pointerId !== event.pointerId);
    if (!other) return;
    const distance = (/** @type {PointerEvent} */ one) =>
      Math.max(20, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY));
    const middle = (/** @type {PointerEvent} */ one) => this.#point({
      clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2,
    });
    const from = middle(before);
    const to = middle(event);
    this.#actions.pinch(distance(event) / distance(before), to, to.x - from.x, to.y - from.y);
  }

  /**
   * @param {PointerEvent} event
   * @param {boolean} cancelled
   */
  #up(event, cancelled) {
    if (!this.#pointers.delete(event.pointerId)) return;
    if (this.#state === "pinch") {
      if (this.#pointers.size === 0) this.#state = "none";
      if (this.#pointers.size === 1) this.#actions.pinchEnd();
      return;
    }
    const state = this.#state;
    this.#state = "none";
    if (state === "drag") {
      const { x, y } = cancelled ? { x: 0, y: 0 } : this.#speed;
      this.#actions.dragEnd(event.clientX - this.#start.x, event.clientY - this.#start.y, x, y);
    } else if (state === "press" && !cancelled) this.#tap(this.#point(event));
  }

  /** @param {Point} point */
  #tap(point) {
    if (this.#tapTimer !== undefined) {
      clearTimeout(this.#tapTimer);
      this.#tapTimer = undefined;
      this.#actions.doubleTap(point);
      return;
    }
    this.#tapTimer = setTimeout(() => {
      this.#tapTimer = undefined;
      this.#actions.tap(point);
    }, doubleTapTime);
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    // A pinch on a touchpad arrives as a wheel with the control key, in small steps.
    const speed = event.ctrlKey ? 0.01 : 0.002;
    const delta = Math.max(-100, Math.min(100, event.deltaY * lines));
    this.#actions.wheel(Math.exp(-delta * speed), this.#point(event));
  }
}
