/**
 * Draws the icons: 24 x 24, one stroke weight, the colour of the text around them.
 * @module
 */

const paths = {
  albums: "M4 7.5V18a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2V9.5a2 2 0 0 0-2-2h-6l-2-3H6a2 2 0 0 0-2 2z",
  photos: "M5 4h14a1.5 1.5 0 0 1 1.5 1.5v13A1.5 1.5 0 0 1 19 20H5a1.5 1.5 0 0 1-1.5-1.5v-13A1.5 1.5 0 0 1 5 4zM4 "
    + "17l5-5.5 4 4.5 2.5-2.5L20 18M15.5 9.5a1 1 0 1 0 0-2 1 1 0 0 0 0 2",
  recent: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 7.5V12l3 2",
  date: "M5.5 5.5h13a1.5 1.5 0 0 1 1.5 1.5v11.5a1.5 1.5 0 0 1-1.5 1.5h-13A1.5 1.5 0 0 1 4 18.5V7a1.5 1.5 0 0 1 "
    + "1.5-1.5zM4 10.5h16M8 3.5v4M16 3.5v4",
  lock: "M6.5 10.5h11A1.5 1.5 0 0 1 19 12v7a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 5 19v-7a1.5 1.5 0 0 1 1.5-1.5z"
    + "M8 10.5V8a4 4 0 0 1 8 0v2.5M12 14.5v2.5",
  upload: "M12 16V4.5M7 9l5-5 5 5M4.5 15.5v3A1.5 1.5 0 0 0 6 20h12a1.5 1.5 0 0 0 1.5-1.5v-3",
  download: "M12 4v11.5M7 11l5 5 5-5M4.5 15.5v3A1.5 1.5 0 0 0 6 20h12a1.5 1.5 0 0 0 1.5-1.5v-3",
  add: "M12 5v14M5 12h14",
  remove: "M4.5 6.5h15M9.5 6.5V5A1.5 1.5 0 0 1 11 3.5h2A1.5 1.5 0 0 1 14.5 5v1.5M6.5 6.5l.8 12.2a1.5 1.5 0 0 0 1.5 "
    + "1.3h6.4a1.5 1.5 0 0 0 1.5-1.3l.8-12.2M10 10.5v6M14 10.5v6",
  move: "M4 7.5V18a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2V9.5a2 2 0 0 0-2-2h-6l-2-3H6a2 2 0 0 0-2 2zM9 13.5h6M12.5 11l2.5 "
    + "2.5-2.5 2.5",
  copy: "M9.5 8.5H18A1.5 1.5 0 0 1 19.5 10v8.5A1.5 1.5 0 0 1 18 20H9.5A1.5 1.5 0 0 1 8 18.5V10a1.5 1.5 0 0 1 1.5-1.5z"
    + "M4.5 15.5v-10A1.5 1.5 0 0 1 6 4h10",
  duplicates: "M9.5 8.5h9A1.5 1.5 0 0 1 20 10v9a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 8 19v-9a1.5 1.5 0 0 1 1.5-1.5z"
    + "M4.5 15.5V5A1.5 1.5 0 0 1 6 3.5h9.5M11.5 14.5l2 2 3.5-4",
  close: "M6 6l12 12M18 6L6 18",
  back: "M14.5 5l-7 7 7 7",
  forward: "M9.5 5l7 7-7 7",
  down: "M5 9.5l7 7 7-7",
  more: "M12 6.2v-.4M12 12.2v-.4M12 18.2v-.4",
  info: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 11v5.5M12 7.8v-.3",
  rotate: "M19.5 4.5v5h-5M19 9.5a8 8 0 1 0 1 4.5",
  cover: "M7 3.5h10A1.5 1.5 0 0 1 18.5 5v15.5L12 16.5l-6.5 4V5A1.5 1.5 0 0 1 7 3.5z",
  star: "M12 4l2.4 5 5.6.8-4 3.9.9 5.5-4.9-2.6-4.9 2.6.9-5.5-4-3.9 5.6-.8z",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.3 15.3L20.5 20.5",
  edit: "M5 19l.8-3.8L16.2 4.8a1.4 1.4 0 0 1 2 0l1 1a1.4 1.4 0 0 1 0 2L8.8 18.2zM14 7l3 3",
  check: "M6 12.5l4 4 8-9",
  select: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM8.5 12.3l2.5 2.5 4.5-5",
  larger: "M12 6.5v11M6.5 12h11M5 3.5h14A1.5 1.5 0 0 1 20.5 5v14a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 19V5A1.5 1.5 0 0 "
    + "1 5 3.5z",
  smaller: "M6.5 12h11M5 3.5h14A1.5 1.5 0 0 1 20.5 5v14a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 19V5A1.5 1.5 0 0 1 5 3.5z",
  sort: "M4.5 7h15M7 12h10M9.5 17h5",
  screen: "M4 5h16v11H4zM9 20h6M12 16v4",
  keys: "M4.5 6.5h15A1.5 1.5 0 0 1 21 8v8a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 16V8a1.5 1.5 0 0 1 1.5-1.5zM7 10.5v-.2"
    + "M12 10.5v-.2M17 10.5v-.2M8.5 14h7",
  slides: "M4 5h16v11H4zM10 8l4.5 2.5L10 13zM8 20h8",
  eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  phone: "M8.5 3.5h7A1.5 1.5 0 0 1 17 5v14a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 7 19V5a1.5 1.5 0 0 1 1.5-1.5z"
    + "M11 17.5h2",
  live: "M12 10.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6zM12 6.8a5.2 5.2 0 1 0 0 10.4 5.2 5.2 0 0 0 0-10.4zM12 3.4v.2"
    + "M18.1 5.9l-.1.1M20.6 12h-.2M18.1 18.1l-.1-.1M12 20.6v-.2M5.9 18.1l.1-.1M3.4 12h.2M5.9 5.9l.1.1",
  stack: "M4.5 8.5h11A1.5 1.5 0 0 1 17 10v8.5a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 3 18.5V10a1.5 1.5 0 0 1 1.5-1.5z"
    + "M6.5 6h11A2 2 0 0 1 19.5 8v9M9 3.5h10A2.5 2.5 0 0 1 21.5 6v8",
  place: "M12 21c4.5-5 6.5-8.4 6.5-11.3a6.5 6.5 0 1 0-13 0C5.5 12.6 7.5 16 12 21zM12 7.3a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 "
    + "0-4.8z",
  play: "M8.5 5.5l10 6.5-10 6.5z",
  pause: "M8.5 5.5v13M15.5 5.5v13",
  retry: "M4.5 4.5v5h5M5 9.5a8 8 0 1 1-1 4.5",
  file: "M7 3.5h7l4.5 4.5v11a1.5 1.5 0 0 1-1.5 1.5H7A1.5 1.5 0 0 1 5.5 19V5A1.5 1.5 0 0 1 7 3.5z"
    + "M13.5 3.5V8.5h5",
  full: "M4 9V5.5A1.5 1.5 0 0 1 5.5 4H9M15 4h3.5A1.5 1.5 0 0 1 20 5.5V9M20 15v3.5a1.5 1.5 0 0 1-1.5 "
    + "1.5H15M9 20H5.5A1.5 1.5 0 0 1 4 18.5V15",
  link: "M10 13.5a4 4 0 0 0 6 .4l2.8-2.8a4 4 0 0 0-5.6-5.6L11.8 7M14 10.5a4 4 0 0 0-6-.4l-2.8 2.8a4 4 0 0 0 5.6 5.6l1.4-1.4",
  warning: "M12 4.5l8.5 15h-17zM12 10v4.5M12 17v.2",
  language: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM3.5 12h17M12 3.5c2.5 2.4 3.6 5.2 3.6 "
    + "8.5s-1.1 6.1-3.6 8.5c-2.5-2.4-3.6-5.2-3.6-8.5s1.1-6.1 3.6-8.5z",
};

/** @typedef {keyof typeof paths} IconName */

const namespace = "http://www.w3.org/2000/svg";

/** @type {Map<IconName, SVGElement>} one of each icon, to copy: a copy costs a third of a new one */
const made = new Map();

/**
 * Returns a new icon. A screen reader skips it; the control around it carries the name.
 * @param {IconName} name
 */
export function icon(name) {
  const model = made.get(name) ?? draw(name);
  made.set(name, model);
  return /** @type {SVGElement} */ (model.cloneNode(true));
}

/** @param {IconName} name */
function draw(name) {
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(namespace, "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
}
