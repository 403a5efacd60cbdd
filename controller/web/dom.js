// Helpers for building the page: elements, updates that keep the focus, and times, names and clauses as text.

const SVG = "http://www.w3.org/2000/svg";

/** An element. `on…` are listeners, `data` is the dataset; true sets an empty attribute, false omits it. */
export function el(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const ICONS = {
  lock: "M7 11V8a5 5 0 0 1 10 0v3M5.500 11h13v9.500h-13z",
  close: "M6 6l12 12M18 6 6 18",
  back: "M9 5h11v14H9l-6-7zM12.500 9.500l4.500 5M17 9.500l-4.500 5",
  out: "M10 4H5v16h5M9.500 12H20M16 8l4 4-4 4",
  system: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2.500M12 19.500V22M2 12h2.500M19.500 12H22M5 5l1.800 1.800M17.200 17.200 19 19M5 19l1.800-1.800M17.200 6.800 19 5",
  dark: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  warning: "M12 4 2.500 20h19zM12 10v5M12 17.500v.5",
  sound: "M4 9.500v5h3.500L12 19V5L7.500 9.500zM15.500 8.500a5 5 0 0 1 0 7M18 6a9 9 0 0 1 0 12",
  muted: "M4 9.500v5h3.500L12 19V5L7.500 9.500zM16 9.500l5 5M21 9.500l-5 5",
  done: "M5 12.500l4.500 4.500L19 7.500",
  open: "M12 5.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13z",
};

/** An icon; with a label for screen readers, or without one where text stands beside it. */
export function icon(name, label = "") {
  const attributes = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return svg("svg", { class: `icon icon-${name}`, viewBox: "0 0 24 24", ...attributes }, svg("path", { d: ICONS[name] }));
}

export const byId = (id) => document.getElementById(id);

// A button must not be replaced while it is pressed: such an update is postponed until the pointer is up.
let pressed = null;
let presses = 0;
const postponed = new Map(); // place → what to fill it with
addEventListener("pointerdown", (event) => { pressed = event.target; presses += 1; }, true);
for (const kind of ["pointerup", "pointercancel"])
  addEventListener(kind, (event, press = presses) => setTimeout(() => {
    if (press !== presses) return; // pressed again already
    pressed = null;
    const list = [...postponed];
    postponed.clear();
    for (const [place, [value, make]] of list) fill(place, value, make);
  }), true);

const shown = new WeakMap();

/** Rebuild a place if its value has changed; the focus stays on the element with the same `data-key`. */
export function fill(place, value, make) {
  if (pressed && place.contains(pressed)) {
    postponed.set(place, [value, make]);
    return;
  }
  const text = JSON.stringify(value);
  if (shown.get(place) === text) return;
  shown.set(place, text);
  const active = place.contains(document.activeElement) ? document.activeElement : null;
  const key = active?.dataset.key;
  place.replaceChildren(...[make(value)].flat().filter(Boolean));
  if (active) {
    const again = key && place.querySelector(`[data-key="${CSS.escape(key)}"]`);
    (again && !again.disabled ? again : byId("main")).focus({ preventScroll: true });
  }
}

/** Set an attribute only if it differs, or remove it: even setting the same value takes the browser time. */
export function setAttribute(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** Set a text only if it differs, so that a live region is announced once. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function duration(ms) {
  const minutes = Math.round(ms / 60000);
  if (ms < 60000) return `${Math.max(0, Math.round(ms / 1000))} s`;
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
}

const CLOCK = new Intl.DateTimeFormat([], { timeStyle: "medium", hour12: false }); // making one takes longer than using it

export function clock(ts) {
  const at = new Date(ts);
  return Number.isNaN(at.getTime()) ? "" : CLOCK.format(at);
}

export const capitalise = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** An identifier as a label: `out_of_service` as `Out of service`. */
export const words = (name) => capitalise(String(name).replaceAll("_", " "));

const ROLES = { floor: "floorperson" };
export const roleWords = (role) => ROLES[role] ?? role;

const PLACES = {
  infeed: "shuffler infeed", shelves: "shuffler", output: "shuffler output", tray: "shuffler tray", held: "held in shoe",
  exit: "shoe exit", hand: "dealer's hand", aside: "set aside", freed: "out of the jam",
};

/** A place of the ledger as text: `seat3` as `seat 3`. */
export function placeWords(place) {
  const seat = /^seat(\d+)$/.exec(place);
  return seat ? `seat ${seat[1]}` : PLACES[place] ?? String(place).replaceAll("_", " ");
}

/** The same in a sentence: `dealer` as `the dealer`. */
export const handWords = (hand) => (/^seat\d+$/.test(hand) ? placeWords(hand) : `the ${placeWords(hand)}`);

export const plural = (number, one) => `${number} ${number === 1 ? one : `${one}s`}`;

let openClause = () => {};
export const onClause = (listener) => { openClause = listener; };

/** The numbers of clauses as buttons that show their summaries. */
export function clauses(list, prefix = "") {
  return (list ?? []).map((clause) =>
    el("button", {
      type: "button", class: "clause", data: { key: `${prefix}clause-${clause}` },
      "aria-label": `Show clause ${clause}`, onclick: () => openClause(clause),
    }, `§ ${clause}`));
}
