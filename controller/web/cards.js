// The faces of cards, drawn from the names of their kinds: "ace of spades", "bamboo 3", "red dragon". Any other name gets
// a face with its initials, so that a new game needs no drawing.

import { capitalise, svg } from "./dom.js";

const RANKS = { ace: "A", two: "2", three: "3", four: "4", five: "5", six: "6", seven: "7", eight: "8", nine: "9", ten: "10", jack: "J", queen: "Q", king: "K" };
const RED = "#b3171f", BLACK = "#16191c";

const SUITS = {
  spades: [BLACK, "M0-11C3-6 11-3 11 3 11 7 8 9 5 9 3 9 2 8 1 7 1 10 2 11 4 12H-4C-2 11-1 10-1 7-2 8-3 9-5 9-8 9-11 7-11 3-11-3-3-6 0-11Z"],
  hearts: [RED, "M0 11C-4 6-11 2-11-4-11-8-8-10-6-10-3-10-1-8 0-6 1-8 3-10 6-10 8-10 11-8 11-4 11 2 4 6 0 11Z"],
  diamonds: [RED, "M0-12 9 0 0 12-9 0Z"],
  clubs: [BLACK, "M0-11A5 5 0 0 1 4-3 5 5 0 1 1 1 4C1 9 2 11 4 12H-4C-2 11-1 9-1 4A5 5 0 1 1-4-3 5 5 0 0 1 0-11Z"],
};

const COLOURS = { red: "#c0232b", blue: "#1f5fc4", gold: "#c08a12", green: "#17804a", white: "#7d858c", black: BLACK };

const shape = (d, fill, more = {}) => svg("path", { d, fill, ...more });
const line = (d, colour, width = 2) => svg("path", { d, fill: "none", stroke: colour, "stroke-width": width, "stroke-linecap": "round", "stroke-linejoin": "round" });
const dot = (cx, cy, r, fill, more = {}) => svg("circle", { cx, cy, r, fill, ...more });

// Drawings by the last word of a kind; each gets a colour, and fits into a square of 26.
const EMBLEMS = {
  dragon: ["#c0232b", (c) => [line("M-11 9C-3 13 0 6-5 2S-9-9 1-8 10-3 5 1", c, 4), shape("M3-3 13-6 9 1 12 5 4 4Z", c), line("M2-9 0-13M6-8 6-13", c, 2), dot(7, -2, 1.3, "#fff")]],
  phoenix: ["#d6521d", (c) => [shape("M0 12C-2 5-12 5-13-8-7-4-4-4-1-9L1-13 3-9C5-4 8-4 13-8 12 5 3 5 0 12Z", c), line("M-4 8-6 13M0 11V14M4 8 6 13", "#e9a21f", 2)]],
  tiger: ["#e08a1e", (c) => [dot(-7, -8, 4, c), dot(7, -8, 4, c), dot(0, 0, 11, c), line("M0-10V-5M-4-9V-6M4-9V-6M-10 1H-6M10 1H6M-9 5-6 4M9 5 6 4", BLACK, 1.8), dot(-4, -1, 1.5, BLACK), dot(4, -1, 1.5, BLACK), shape("M-2 4H2L0 7Z", BLACK)]],
  panda: [BLACK, (c) => [dot(-8, -8, 4.5, c), dot(8, -8, 4.5, c), dot(0, 1, 11, "#fff", { stroke: c, "stroke-width": 1.6 }), svg("ellipse", { cx: -4.5, cy: 0, rx: 3, ry: 4, fill: c }), svg("ellipse", { cx: 4.5, cy: 0, rx: 3, ry: 4, fill: c }), shape("M-2 5H2L0 8Z", c)]],
  monkey: ["#8a5327", (c) => [dot(-11, 0, 4, c), dot(11, 0, 4, c), dot(0, 0, 11, c), svg("ellipse", { cx: 0, cy: 3, rx: 8, ry: 7, fill: "#ecc99b" }), dot(-3.5, -1, 1.5, BLACK), dot(3.5, -1, 1.5, BLACK), line("M-3 6Q0 8 3 6", BLACK, 1.5)]],
  rabbit: ["#8d949b", (c) => [svg("ellipse", { cx: -4, cy: -8, rx: 3, ry: 7, fill: c }), svg("ellipse", { cx: 4, cy: -8, rx: 3, ry: 7, fill: c }), dot(0, 4, 9, c), dot(-3, 3, 1.4, "#fff"), dot(3, 3, 1.4, "#fff"), shape("M-1.500 6H1.500L0 8Z", "#f3b4bd")]],
  wind: ["#1f5fc4", (c) => [shape("M0-13 3.500-3.500 13 0 3.500 3.500 0 13-3.500 3.500-13 0-3.500-3.500Z", c)]],
  shui: ["#a3171d", (c) => [dot(0, 0, 11, "#fff", { stroke: c, "stroke-width": 2 }), shape("M0-11A11 11 0 0 1 0 11 5.500 5.500 0 0 1 0 0 5.500 5.500 0 0 0 0-11Z", c)]],
  bamboo: ["#17804a", (c) => [line("M-6-11V11M6-11V11", c, 5), line("M-9-1H-3M3-1H9", "#fff", 2)]],
  circle: ["#1f5fc4", (c) => [dot(0, 0, 10, "none", { stroke: c, "stroke-width": 3.5 }), dot(0, 0, 4, c)]],
  script: ["#b3171f", (c) => [line("M-9-8H9M-6-1H6M-10 7H10M0-12V11", c, 3)]],
};
const PLAIN = ["#4a535c", (c) => [shape("M0-11 9 0 0 11-9 0Z", c)]];

/** What is drawn of a kind: the sign in the corner, its colour, and the drawing. */
function faceOf(kind) {
  const [, rank, suit] = /^(\w+) of (\w+)$/.exec(kind) ?? [];
  if (SUITS[suit]) return { index: RANKS[rank] ?? rank, colour: SUITS[suit][0], draw: () => [shape(SUITS[suit][1], SUITS[suit][0])] };
  const [, name, number] = /^(.*?) ?(\d*)$/.exec(kind);
  const all = name.split(" ");
  const [colour, draw] = EMBLEMS[all.at(-1)] ?? PLAIN;
  const own = COLOURS[all[0]] ?? colour;
  const known = all.at(-1) in EMBLEMS;
  const initial = known && (all.length === 1 || COLOURS[all[0]]) ? "" : all.map((word) => word[0].toUpperCase()).join("").slice(0, known ? 1 : 2);
  return { index: number || initial, colour: own, draw: () => draw(own), label: all.at(-1) };
}

/** A card that is face up, with its middle at 0, 0; 40 wide and 56 high. */
export function cardFace(kind) {
  const { index, colour, draw, label } = faceOf(kind);
  const parts = [svg("title", { text: capitalise(kind) }), svg("rect", { x: -20, y: -28, width: 40, height: 56, rx: 5, class: "card-face" })];
  if (index) {
    parts.push(svg("text", { x: -17, y: -8, class: "card-index", fill: colour, "font-size": index.length > 1 ? 20 : 24, textLength: index.length > 1 ? 20 : null, lengthAdjust: "spacingAndGlyphs", text: index }),
      svg("g", { transform: "translate(5 11) scale(1.05)" }, ...draw()));
  } else
    parts.push(svg("g", { transform: "translate(0 -6) scale(1.15)" }, ...draw()), svg("text", { y: 23, class: "card-label", "text-anchor": "middle", fill: colour, text: label }));
  return svg("g", { class: "face", data: { kind } }, ...parts);
}

/** A card as a picture of its own, for buttons and lists. */
export function cardPicture(kind) {
  return svg("svg", { class: "card-picture", viewBox: "-21 -29 42 58", role: "img", "aria-label": kind }, cardFace(kind));
}

/** A kind as the two parts by which a pad finds it, such as rank and suit; null if it has only one. */
export function partsOf(kind) {
  const [, rank, suit] = /^(\w+) of (\w+)$/.exec(kind) ?? [];
  if (suit) return [rank, suit];
  const [, name, number] = /^(.*) (\d+)$/.exec(kind) ?? [];
  return number ? [number, name] : null;
}

/** The first part on a button: "A" for "ace". */
export const rankSign = (rank) => RANKS[rank] ?? rank;

/** The second part on a button: the drawing of a suit. */
export function suitSign(suit) {
  const [colour, draw] = SUITS[suit] ? [SUITS[suit][0], (c) => [shape(SUITS[suit][1], c)]] : EMBLEMS[suit.split(" ").at(-1)] ?? PLAIN;
  return svg("svg", { class: "suit", viewBox: "-14 -14 28 28", "aria-hidden": "true" }, ...draw(colour));
}
