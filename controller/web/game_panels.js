// The panels that a game's description gives: figures, scoreboards, bets, and the result with its payments.

import { capitalise, el, fill, byId, placeWords, plural } from "./dom.js";

export function showGame(table) {
  const blocks = table.board.filter((block) => !block.hand);
  fill(byId("board"), blocks, () => [
    blocks.some((block) => block.figure || block.lines.length) ? el("dl", { class: "figures" }, ...blocks.filter((block) => block.figure || block.lines.length).map((block) =>
      el("div", { class: "figure" }, el("dt", { text: block.label }), block.figure ? el("dd", { text: block.figure }) : null,
        ...block.lines.map((text) => el("dd", { class: "figure-line", text: capitalise(text) }))))) : null,
    ...blocks.filter((block) => block.rows).map(grid)]);
  for (const scroller of document.querySelectorAll("#board .grid-scroll")) scroller.scrollLeft = scroller.scrollWidth;
  showResult(table);
  showBets(table);
}

/** A grid such as a scoreboard; it is scrolled to the newest column. */
function grid(block) {
  const columns = Math.max(12, ...block.cells.map((cell) => cell.column + 2));
  const colourOf = (name) => block.colours[name] ?? "grey";
  const marks = new Map();
  for (const cell of block.cells) marks.set(cell.mark, (marks.get(cell.mark) ?? 0) + 1);
  const place = el("div", { class: "grid-cells" }, ...block.cells.map((cell) => {
    const node = el("span", { class: "cell", data: { colour: colourOf(cell.mark) }, title: cell.label }, cell.mark.charAt(0).toUpperCase(),
      cell.text ? el("b", { class: "count", text: cell.text }) : null, ...cell.dots.map((dot) => el("i", { class: "dot", data: { colour: colourOf(dot) } })));
    node.style.gridColumn = cell.column + 1;
    node.style.gridRow = cell.row + 1;
    return node;
  }));
  place.style.setProperty("--columns", columns);
  place.style.setProperty("--rows", block.rows);
  const counted = [...marks].map(([mark, number]) => `${mark} ${number}`).join(", ");
  const newest = block.cells.map((cell) => cell.label).reverse().join("; ");
  return el("figure", { class: `scoreboard board-${block.label.toLowerCase().replaceAll(" ", "-")}${block.outlined ? " outlined" : ""}` },
    el("figcaption", {}, el("strong", { text: block.label }), el("span", { text: counted })),
    el("div", { class: "grid-scroll", tabindex: 0, role: "img", "aria-label": `${block.label}: ${counted ? `${counted}; from the newest: ${newest}` : "empty"}` }, place));
}

const signed = (net) => (net > 0 ? `+${net}` : net < 0 ? `−${-net}` : "0");

/** The result of the last round, and what is paid in which order; the end of a session comes first. */
function showResult(table) {
  const { settled, session_ended: session } = table;
  const open = Boolean(settled) && table.round?.number === settled.round;
  byId("result").classList.toggle("now", open);
  fill(byId("result"), [settled, session, open], () => [
    ...[[session, "The session"], [settled, settled && `Round ${settled.round}`]].filter(([found]) => found).map(([found, title]) =>
      el("article", { class: "result-card" },
        el("h2", { text: `${title}: result` }), found.result ? el("p", { class: "result-words", text: capitalise(found.result) }) : null,
        found.results?.length ? el("ul", { class: "bet-list" }, ...found.results.map((one) =>
          el("li", {}, el("b", { text: capitalise(placeWords(one.hand)) }), el("span", { text: capitalise(one.text) })))) : null,
        found.payments.length ? el("ol", { class: "payments" }, ...found.payments.map((one) =>
          el("li", { class: one.net > 0 ? "won" : one.net < 0 ? "lost" : "" },
            el("b", { text: capitalise(placeWords(one.hand)) }),
            el("span", {}, capitalise(one.bet), el("small", { text: [one.outcome === one.bet ? "" : one.outcome.replace(/\bseat(\d+)/g, "seat $1"), one.other && one.other !== one.bet && `from ${placeWords(one.other)}`].filter(Boolean).join(", ") })),
            el("b", { class: "net", text: signed(one.net) })))) : null))]);
}

/** The bets that were recorded, by seat. */
function showBets(table) {
  const hands = table.hands.filter((hand) => Object.keys(hand.bets).length);
  fill(byId("bets"), hands.map(({ label, bets }) => [label, bets]), (list) => (list.length ? [
    el("h2", { text: `Bets of ${plural(list.length, "seat")}` }),
    el("ul", { class: "bet-list" }, ...list.map(([label, bets]) => el("li", {}, el("b", { text: label }),
      el("span", { text: Object.entries(bets).map(([bet, amount]) => `${bet} ${amount}`).join(", ") }))))] : []));
}
