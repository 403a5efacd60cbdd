// The journal page: a search of the events, and the rounds as they were dealt.

import { get, query } from "./api.js";
import { openDialog } from "./dialog.js";
import { byId, clauses, clock, el, fill, placeWords, plural, words } from "./dom.js";
import { tone } from "./panels.js";

const PAGE = 50;
const ROUND_PAGE = 500; // a whole round at once
const KINDS = ["access.", "action.refused", "card.", "command.", "count.", "cut.", "cycle.", "deck.", "device.", "round.",
  "shuffle.", "stack.", "stub.", "table.", "warning."];
let found = [];
let rounds = [];

export function startJournal() {
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
  byId("search").addEventListener("reset", () => setTimeout(() => search()));
  byId("older").addEventListener("click", () => search(found.at(-1)?.seq));
  byId("older-rounds").addEventListener("click", () => loadRounds(rounds.at(-1)?.round));
  byId("kinds").append(...KINDS.map((kind) => el("option", { value: kind })));
}

export function openJournal(rest = "") {
  search();
  loadRounds().then(() => rest && showRound(Number(rest)));
  get("journal").then(showVerified).catch(() => {});
  get("table").then((table) => {
    byId("deck-names").replaceChildren(...table.decks.map((deck) => el("option", { value: deck.name })));
    byId("device-names").replaceChildren(...table.devices.map((device) => el("option", { value: device.name })));
  }).catch(() => {});
}

function showVerified(journal) {
  const ok = journal.verified_ok;
  const place = byId("journal-verified");
  place.className = `chip ${ok ? "good" : "bad"}`;
  const verified = journal.verified_to ? `Verified up to event ${journal.verified_to} of ${journal.head}` : "New journal";
  place.textContent = ok ? verified : `NOT verified after event ${journal.verified_to}`;
}

async function search(before = "") {
  const form = new FormData(byId("search"));
  const limit = form.get("round") ? ROUND_PAGE : PAGE;
  try {
    const answer = await get(`events?${query({ ...Object.fromEntries(form), before, newest: 1, limit })}`);
    const list = [...answer.events].sort((a, b) => b.seq - a.seq);
    found = before ? [...found, ...list] : list;
    byId("older").hidden = list.length < limit;
    byId("found").textContent = found.length ? `${plural(found.length, "event")}, newest first.` : "No matching events.";
    fill(byId("results"), found.map((event) => event.seq), () => el("ol", { class: "result-list" }, ...found.map(row)));
  } catch (error) {
    byId("found").textContent = `${error.message} ${error.hint}`;
  }
}

function row(event) {
  return el("li", { class: tone(event.kind) },
    el("button", { type: "button", class: "result", data: { key: `event-${event.seq}` }, onclick: () => showEvent(event) },
      el("span", { class: "seq", text: event.seq }),
      el("time", { datetime: event.ts, text: clock(event.ts) }),
      el("span", { class: "event-text", text: event.text }),
      el("span", { class: "event-clause", text: event.clause.length ? `§ ${event.clause.join(", ")}` : "" })));
}

function showEvent(event) {
  const { round } = event.data;
  openDialog(`Event ${event.seq}`, [el("div", { class: "dialog-body" },
    el("p", { class: "event-line", text: event.text }),
    el("p", {}, el("code", { text: event.kind }), " ", ...clauses(event.clause, "event-")),
    el("p", { class: "small", text: event.ts }),
    el("pre", { class: "frames", tabindex: "0", "aria-label": "Event data", text: JSON.stringify(event.data, null, 2) }),
    round ? el("a", { class: "button", href: `#journal/${round}`, onclick: () => byId("dialog").close() }, `Show round ${round}`) : null)], null, "wide");
}

// --- rounds -------------------------------------------------------------------------------------------------------

async function loadRounds(before = "") {
  const answer = await get(`rounds?${query({ limit: PAGE, before })}`).catch(() => ({ rounds: [] }));
  rounds = before ? [...rounds, ...answer.rounds] : answer.rounds;
  byId("older-rounds").hidden = answer.rounds.length < PAGE;
  fill(byId("rounds"), rounds, () => rounds.length ? el("ol", { class: "round-list" }, ...rounds.map((round) =>
    el("li", {}, el("a", { class: `round-link ${round.ended === "voided" ? "bad" : ""}`, href: `#journal/${round.round}`, data: { key: `round-${round.round}` } },
      el("strong", { text: `Round ${round.round}` }), el("span", { text: round.deck }),
      el("span", { text: `seats ${round.seats.join(", ")}` }), el("span", { class: "chip", text: words(round.ended || "in progress") }),
      el("time", { datetime: round.started_ts, text: clock(round.started_ts) }))))) : el("p", { text: "No round has been played yet." }));
}

async function showRound(number) {
  const place = byId("round-viewer");
  try {
    const round = await get(`rounds/${number}`);
    const hands = Object.entries(round.hands ?? {});
    const order = new Map((round.collected ?? []).map((target, index) => [target, index + 1]));
    const ended = String(round.ended ?? "").replace("round.", "");
    const first = round.first_seq ?? round.seq;
    fill(place, round, () => el("article", { class: "panel round-card", tabindex: "-1" },
      el("h3", {}, `Round ${number} `, el("span", { class: `chip ${ended === "voided" ? "bad" : ""}`, text: words(ended || "in progress") })),
      el("p", { text: `Deck ${round.deck}, ${String(round.method).replaceAll("_", " ")}, seats ${(round.seats ?? []).join(", ")}${round.face_up ? `, ${round.face_up} face up` : ""}.` }),
      el("table", {}, el("caption", { class: "visually-hidden", text: `Hands of round ${number} in dealing order` }),
        el("thead", {}, el("tr", {}, ...["Hand", "Cards", "Seen", "Collected"].map((head) => el("th", { scope: "col", text: head })))),
        el("tbody", {}, ...hands.map(([target, hand]) => el("tr", {}, el("th", { scope: "row", text: words(placeWords(target)) }),
          el("td", { text: hand.cards }), el("td", { text: [hand.kinds?.join(", "), hand.seen === "known" ? "" : hand.seen].filter(Boolean).join("; ") || "–" }),
          el("td", { text: order.has(target) ? `${order.get(target)}.` : "–" }))))),
      ...(round.requested ?? []).map((asked) => el("p", { class: "small", text: `${asked.who} requested the cards of the hands: ${asked.reason}` })),
      first ? el("p", { class: "small", text: `Events ${first} to ${round.last_seq ?? "now"}.` }) : null,
      el("button", { type: "button", data: { key: "round-events" }, onclick: () => eventsOf(number) }, "Show events")));
    place.firstChild.focus();
    place.scrollIntoView({ block: "nearest" });
  } catch (error) {
    fill(place, error.message, () => el("p", { class: "trouble", text: error.message }));
  }
}

function eventsOf(number) {
  byId("search").reset();
  byId("search").elements.round.value = number;
  search();
  byId("search-title").scrollIntoView({ block: "nearest" });
}
