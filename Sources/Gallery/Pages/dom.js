/**
 * Creates elements. Texts become text nodes and never markup, so a name cannot change the page.
 * @module
 */

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Attributes of an element. `on` holds event listeners, `style` CSS properties; true sets an empty
 * attribute, and false, null or undefined leave it out.
 * @typedef {{
 *   on?: Record<string, (event: any) => void>,
 *   style?: Record<string, string>,
 *   [name: string]: unknown
 * }} Attributes
 */

/**
 * Creates an element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes | null} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") listen(element, /** @type {Record<string, (event: any) => void>} */ (value));
    else if (name === "style") style(element, /** @type {Record<string, string>} */ (value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/**
 * Adds event listeners by name.
 * @param {EventTarget} target
 * @param {Record<string, (event: any) => void>} listeners
 */
function listen(target, listeners) {
  for (const [type, listener] of Object.entries(listeners)) target.addEventListener(type, listener);
}

/**
 * Sets CSS properties. The content security policy allows this and forbids style attributes.
 * @param {HTMLElement} element
 * @param {Record<string, string>} properties
 */
export function style(element, properties) {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value);
}

/**
 * Appends children; empty ones are left out.
 * @param {Element} element
 * @param {Child[]} children
 */
export function append(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replaces all children of an element.
 * @param {Element} element
 * @param {Child[]} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * Creates the element of a thumbnail.
 * @param {string} url
 * @param {boolean} [fades]  whether it fades in, because it arrived after its place was shown
 */
export function picture(url, fades = false) {
  return h("img", { src: url, alt: "", draggable: "false", class: fades && "fresh" });
}

/**
 * Creates a field that no browser offers to fill or to save: browsers do not keep one-time codes.
 * @param {string} label
 */
export function passwordField(label) {
  return h("input", {
    type: "password", autocomplete: "one-time-code", autocapitalize: "off", spellcheck: "false",
    placeholder: label, "aria-label": label, required: true, "data-lpignore": "true", "data-1p-ignore": true,
  });
}

/**
 * Keeps a thumbnail that has been seen from fading in again when its element is put somewhere else.
 * @param {Element} place
 */
export function settle(place) {
  place.querySelector(".fresh")?.classList.remove("fresh");
}

/**
 * Returns a function that runs `action` at most once in each frame.
 * @param {() => void} action
 */
export function oncePerFrame(action) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      action();
    });
  };
}

/**
 * Returns a function that runs `action` in a frame, and again only after a pause: drawing costs a processor that has
 * more to do.
 * @param {number} pause  in milliseconds
 * @param {() => void} action
 */
export function nowAndThen(pause, action) {
  let asked = false;
  let last = -Infinity;
  return () => {
    if (asked) return;
    asked = true;
    setTimeout(() => requestAnimationFrame(() => {
      asked = false;
      last = performance.now();
      action();
    }), Math.max(0, last + pause - performance.now()));
  };
}

/**
 * Keeps a CSS property of the document at an element's height and a gap, or at 0 where it shows nothing.
 * @param {HTMLElement} element
 * @param {string} property
 * @returns {ResizeObserver}
 */
export function publishHeight(element, property) {
  const observer = new ResizeObserver(() => {
    const height = element.offsetHeight;
    style(document.documentElement, { [property]: height > 0 ? `${height + 12}px` : "0px" });
  });
  observer.observe(element);
  return observer;
}

/** Returns after the browser had the chance to draw and to handle input. */
export function breathe() {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** True where the person asked the system for little motion. */
export function wantsLittleMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
