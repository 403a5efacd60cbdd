// A pad for entering cards, built from the kinds of the game: two taps for a card with a rank and a suit, one for others.

import { cardPicture, partsOf, rankSign, suitSign } from "./cards.js";
import { capitalise, el, icon } from "./dom.js";

/** A pad: `entry` keeps the cards and the part that was tapped, so that it survives being drawn again.
 *  `kinds` are those of the game, `left` those that can still come, `most` how many are wanted; `changed` is called after
 *  each tap with whether a card was added. */
export function cardPad({ kinds, left, most, entry, changed }) {
  const possible = new Set(left);
  const parted = kinds.map((kind) => [kind, partsOf(kind)]);
  const firsts = [...new Set(parted.filter(([, parts]) => parts).map(([, parts]) => parts[0]))];
  const seconds = [...new Set(parted.filter(([, parts]) => parts).map(([, parts]) => parts[1]))];
  const single = parted.filter(([, parts]) => !parts).map(([kind]) => kind);
  const find = (first, second) => parted.find(([, parts]) => parts && parts[0] === first && parts[1] === second)?.[0];
  const draw = () => place.replaceChildren(...build());
  const tap = (part, value) => {
    if (entry.kinds.length >= most) entry.kinds.length = most === 1 ? 0 : most;
    entry[part] = entry[part] === value ? "" : value;
    const kind = find(entry.first, entry.second);
    if (kind) add(kind);
    else { draw(); changed(false); }
  };
  const add = (kind) => {
    entry.first = entry.second = "";
    if (most === 1) entry.kinds.length = 0;
    if (entry.kinds.length < most) entry.kinds.push(kind);
    draw();
    changed(true);
  };
  const undo = () => {
    if (entry.first || entry.second) entry.first = entry.second = "";
    else entry.kinds.pop();
    draw();
    changed(false);
  };
  const gone = (first, second) => {
    const fit = parted.filter(([kind, parts]) => parts && (!first || parts[0] === first) && (!second || parts[1] === second) && possible.has(kind));
    return !fit.length || entry.kinds.length >= Math.max(most, 2);
  };
  const key = (label, sign, attributes) => el("button", { type: "button", "aria-label": label, ...attributes }, sign);
  function build() {
    return [
      el("div", { class: "entered", role: "group", "aria-label": "Cards entered" },
        ...entry.kinds.map((kind) => cardPicture(kind)),
        ...Array.from({ length: Math.max(0, Math.min(most, 13) - entry.kinds.length) }, () => el("span", { class: "slot" })),
        key("Undo", icon("back"), { class: "undo", data: { key: "pad-undo" }, disabled: !entry.kinds.length && !entry.first && !entry.second, onclick: undo })),
      firsts.length ? el("div", { class: "ranks", role: "group", "aria-label": "Rank" }, ...firsts.map((first) =>
        key(capitalise(first), rankSign(first), { "aria-pressed": String(entry.first === first), data: { key: `pad-${first}`, rank: first }, disabled: gone(first, entry.second), onclick: () => tap("first", first) }))) : null,
      seconds.length ? el("div", { class: "suits", role: "group", "aria-label": "Suit" }, ...seconds.map((second) =>
        key(capitalise(second), suitSign(second), { "aria-pressed": String(entry.second === second), data: { key: `pad-${second}`, suit: second }, disabled: gone(entry.first, second), onclick: () => tap("second", second) }))) : null,
      single.length ? el("div", { class: "kinds", role: "group", "aria-label": "Card" }, ...single.map((kind) =>
        key(capitalise(kind), cardPicture(kind), { data: { key: `pad-${kind}`, kind }, disabled: !possible.has(kind) || entry.kinds.length >= Math.max(most, 2), onclick: () => add(kind) }))) : null,
    ].filter(Boolean);
  }
  const place = el("div", { class: "card-pad" });
  draw();
  return place;
}

/** An entry without cards. */
export const emptyEntry = () => ({ kinds: [], first: "", second: "" });

/** Cards to choose from, as buttons that stay pressed. */
export function cardChoice(cards, entry, changed) {
  const place = el("div", { class: "card-choice", role: "group", "aria-label": "Cards to choose from" });
  const draw = () => place.replaceChildren(...cards.map((kind) => el("button", {
    type: "button", "aria-label": capitalise(kind), "aria-pressed": String(entry.kinds.includes(kind)), data: { key: `choose-${kind}`, kind },
    onclick: () => {
      if (entry.kinds.includes(kind)) entry.kinds.splice(entry.kinds.indexOf(kind), 1);
      else entry.kinds.push(kind);
      draw();
      changed();
    },
  }, cardPicture(kind))));
  draw();
  return place;
}
