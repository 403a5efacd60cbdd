// The panels around the picture: the step, the alarms, the decks and the latest events.

import { lockOuts } from "./access.js";
import { wayOut } from "./actions.js";
import { alarmsOf } from "./alarm_bar.js";
import { byId, capitalise, clauses, clock, duration, el, fill, icon, placeWords, plural, roleWords, setText } from "./dom.js";
import { endFlow } from "./flows.js";
import { backColour, backSwatch } from "./picture.js";

const WHO = { dealer: "Dealer", floor: "Floorperson", technician: "Technician", device: "Devices at work" };
const KEPT = 60; // events shown
const METHODS = { automated_shoe: "Dealt from the automated shoe", manual_shoe: "Dealt from a manual shoe", hand: "Dealt by hand" };

/** A text in which the name of a deck, such as red-1, stays on one line. */
const unbroken = (text) => text.split(/(\S+-\S+)/).map((part, index) => (index % 2 ? el("span", { class: "unbroken", text: part }) : part));

export function showStep(table) {
  const step = table.stopped
    ? { text: "The table has stopped.", why: table.stopped, clause: [], who: "technician" } : table.step;
  const alarm = alarmsOf(table).length > 0;
  byId("step").classList.toggle("alarm", alarm);
  setText(byId("step-who"), [table.flow?.title, table.round ? `Round ${table.round.number}` : "", WHO[step.who]].filter(Boolean).join(" · "));
  fill(byId("step-text"), step.text, unbroken);
  setText(byId("step-why"), step.why);
  fill(byId("step-clause"), step.clause, (list) => clauses(list, "step-"));
}

export function showAlarms(table) {
  const { troubles, void_steps: steps, round, access, stopped } = table;
  const warnings = [...table.warnings].sort((a, b) => a.aside - b.aside); // what is set aside comes after the alarms
  const buttons = [...warnings, ...troubles].map((one) => wayOut(one.do ?? [], one.key ?? one.device));
  const locked = (access?.locked ?? []).map((one) => ({ ...one, left: duration(Math.max(0, one.until_ms - table.now_ms)) }));
  const shown = [warnings.map(({ since_ms: _, ...rest }) => rest), troubles, buttons.map((list) => list.map((one) => one.outerHTML))];
  fill(byId("alarms"), [shown, steps, round?.void && round.number, locked, stopped], () => [
    stopped ? el("article", { class: "alarm" }, el("h3", { text: "The table has stopped" }), el("p", { text: stopped })) : null,
    steps?.length ? el("article", { class: "alarm void" },
      el("h3", {}, `Round ${round.number} is void `, ...clauses(round.void_clause, "void-")),
      el("p", { class: "small", text: capitalise(round.void_reason) }), checklist(steps)) : null,
    ...warnings.map((warning, index) =>
      el("article", { class: warning.aside ? "set-aside" : `alarm${warning.gone ? " gone" : ""}`, data: { warning: warning.key } },
        el("h3", {}, capitalise(warning.text), " ", ...clauses(warning.clause, `${warning.key}-`)),
        el("p", { class: "small", text: capitalise([warning.device, warning.deck && `deck ${warning.deck}`, `a ${roleWords(warning.needs)} can clear it`].filter(Boolean).join(" · ")) }),
        checklist(warning.steps), ways(buttons[index]))),
    ...troubles.map((trouble, index) =>
      el("article", { class: "alarm trouble", data: { trouble: trouble.device } },
        el("h3", { text: trouble.text.replace(/\.$/, "") }), el("p", { text: trouble.remedy }), ways(buttons[warnings.length + index]))),
    ...lockOuts(locked),
  ]);
}

const ways = (buttons) => (buttons.length ? el("div", { class: "ways-out" }, ...buttons) : null);

/** The flow that people are following: what is done, and what comes next. */
export function showFlow(flow) {
  fill(byId("flow"), flow, () => flow && el("article", {},
    el("h3", { text: flow.title }), checklist(flow.tasks),
    el("button", { type: "button", data: { key: "end-flow" }, onclick: endFlow }, "Stop guiding")));
}

function checklist(steps) {
  const next = steps.findIndex((step) => !step.done);
  return el("ol", { class: "checklist" }, ...steps.map((step, index) =>
    el("li", { class: step.done ? "done" : index === next ? "next" : "" },
      icon(step.done ? "done" : "open", step.done ? "done:" : "to do:"),
      el("span", { text: step.text }))));
}

export function showDecks(table) {
  const ages = table.decks.map((deck) => deck.age_ms === null ? "" : Math.floor(deck.age_ms / 60000));
  fill(byId("decks"), [table.decks.map(({ age_ms: _, left_ms: __, ...deck }) => deck), ages, table.due], () =>
    table.decks.map(deckCard));
  setText(byId("method"), METHODS[table.method] ?? "");
  const left = table.stub_count_rounds - table.rounds_uncounted; // null with a shuffler that counts
  setText(byId("stub-rounds"), table.stub_count_rounds === null ? ""
    : left > 0 ? `The stub must be counted within ${plural(left, "round")}.` : "The stub must be counted in this round.");
}

function deckCard(deck) {
  const present = Object.entries(deck.cards).reduce((sum, [place, number]) => sum + (place === "missing" || place === "gone" ? 0 : number), 0);
  const places = Object.entries(deck.cards).filter(([place]) => place !== "missing" && place !== "gone");
  const limited = deck.life_ms !== null; // some games let a deck be played for as long as it looks new
  const part = deck.age_ms === null || !limited ? 0 : Math.min(1, deck.age_ms / deck.life_ms);
  const bar = el("span", { class: "age-bar" }, el("span", { class: "age-fill" }));
  bar.firstChild.style.width = `${(part * 100).toFixed(1)}%`;
  const left = !limited ? "" : deck.age_ms === null ? `${duration(deck.life_ms)} left` : deck.left_ms > 0 ? `${duration(deck.left_ms)} left` : "time is up";
  const age = [deck.age_ms === null ? "Not in play yet" : `${duration(deck.age_ms)} in play`, left].filter(Boolean).join(", ");
  const node = el("article", { class: `deck${deck.change_due ? " change" : ""}`, data: { deck: deck.name } },
    backSwatch(deck.back),
    el("div", { class: "deck-words" },
      el("h3", {}, deck.name, deck.due && deck.state !== "in_play" ? el("span", { class: "chip turn", text: "Next" }) : null,
        el("span", { class: "deck-state", text: deck.state_words })),
      el("p", { class: "deck-places" }, ...places.map(([place, number]) =>
        el("span", { class: "place" }, el("b", { text: number }), ` ${placeWords(place)}`))),
      el("p", { class: "deck-age" }, limited ? bar : null, el("span", { text: deck.change_due ? `${age}; change the deck` : age }))),
    el("p", { class: `deck-total${deck.missing ? " wrong" : ""}` }, el("b", { text: present }),
      el("span", { text: deck.missing > 0 ? `${deck.missing} missing` : deck.missing < 0 ? `${-deck.missing} too many` : deck.counted ? "counted" : "cards" })));
  node.style.setProperty("--back", backColour(deck.back));
  return node;
}

let events = [];

/** Add events, streamed or fetched; each is shown once, newest first. A new journal replaces the list. */
export function addEvents(list, head = Infinity) {
  if (events.length && events[0].seq > head) events = [];
  const known = new Set(events.map((event) => event.seq));
  const fresh = list.filter((event) => !known.has(event.seq) && !QUIET.test(event.kind));
  events = [...events, ...fresh].sort((a, b) => b.seq - a.seq).slice(0, KEPT);
  const place = byId("events");
  let line = place.firstChild;
  for (const event of events) // lines that stay are not touched: a list is slow to rebuild
    if (line?.dataset.seq === String(event.seq)) line = line.nextSibling;
    else place.insertBefore(eventLine(event), line);
  while (line) {
    const next = line.nextSibling;
    line.remove();
    line = next;
  }
}

function eventLine(event) {
  return el("li", { class: tone(event.kind), data: { seq: event.seq } },
    el("time", { datetime: event.ts, text: clock(event.ts) }),
    el("span", { class: "event-text" }, ...unbroken(event.text)),
    event.clause.length ? el("span", { class: "event-clause", text: `§ ${event.clause.join(", ")}` }) : null);
}

const QUIET = /^(command\.|cycle\.completed)/; // traffic between table and devices; the journal page shows it

const BAD = /(jammed|failed|lost|refused|voided|rejected|missing|disagreed|broken|locked_out|denied|exposed|face_up|found_wrong|error|raised)/;
const GOOD = /(accepted|cleared|completed|granted|connected|in_service)$/;

export function tone(kind) {
  if (BAD.test(kind)) return "bad";
  return GOOD.test(kind) ? "good" : "";
}
