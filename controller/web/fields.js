// The fields of a form, made for fingers: buttons to choose from, a number pad, a pad for cards, texts with proposals.

import { cardChoice, cardPad, emptyEntry } from "./card_pad.js";
import { el, icon, placeWords, words } from "./dom.js";
import { backSwatch } from "./picture.js";

// What a field asks for; others are labelled with their names.
const QUESTIONS = {
  target: "Which hand?", cards: "How many cards?", deck: "Which deck?", place: "Where were they?", how: "How?", device: "Which device?",
  method: "Which dealing method?", warning: "Which warning?", misdealt: "Were the cards misdealt?", good: "Is the deck in order?",
  prepared: "Was it inspected and shuffled beforehand?", back: "Which back?", came_from: "Who prepared it, and where?", seats: "Which seats have wagered?",
  round: "Which round?", seat: "Which seat?", bet: "Which bet?", amount: "How much?", choice: "What was decided?", kinds: "Which cards?",
  irregularity: "What happened?", number: "How many cards?", was: "Which cards were wrong?", cut_by: "Which seat cut?", reason: "What is the reason?",
};
const QUESTIONS_OF = { // in some actions a field asks for something else
  "reconstruct_hands.kinds": "Which cards, in the order in which they were drawn?", "correct_cards.kinds": "Which cards are they?",
};
const CHOICES = { marked: "marked out of order" };
const ANSWERS = { misdealt: ["Yes, misdealt", "No, dealt correctly"] };
export const question = (field, action = "") => QUESTIONS_OF[`${action}.${field.name}`] ?? QUESTIONS[field.name] ?? words(field.name);
export const answerTo = (name, yes) => (ANSWERS[name] ?? ["Yes", "No"])[yes ? 0 : 1];

let table = null;

/** The table that the fields are about. */
export const useFields = (picture) => { table = picture; };

/** How many cards a decision is about, or which cards there are to choose from; null if it is not about cards. */
export function cardsOf(choice) {
  const { turn } = table;
  if (!turn) return null;
  if (choice in turn.enter) return { most: turn.enter[choice] };
  return turn.cards.length && !(choice in turn.numbers) ? { cards: turn.cards } : null;
}

/** The number that a choice is about, if there is only one; otherwise null. */
export function onlyNumber(choice) {
  const [least, most] = table.turn?.numbers[choice] ?? [0, 1];
  return least === most ? least : null;
}

/** A bet with its amount, or with the seat that it names. */
export const betWords = (bet, amount) => (table.seat_bets.includes(bet) && !amount ? `no ${bet.replace(/ of seat$/, "")}` : `${bet} ${amount}`);

export function fieldset(field, set, given) {
  if (field.least) // nobody knows the exact number: what counts is that there are enough
    return el("p", { class: "confirm", text: `At least ${field.least} cards are above the cover card, and at least one is below it.` });
  if (field.name === "counts") { // a pack of several decks: each was counted
    set(field.default);
    return field.default.length ? el("p", { class: "confirm", text: `Each deck was counted: ${field.default.join(", ")} cards.` }) : null;
  }
  const make = field.type === "cards" ? cardsField : field.name === "number" && given.choice in (table.turn?.numbers ?? {}) ? numbersField
    
    : field.name === "amount" && table.seat_bets.includes(given.bet) ? namedSeatField : field.name === "deck" && !field.choices ? newDeckField : field.type === "integers" ? seatsField : field.type === "integer" && !field.choices ? numberField
    : field.type === "boolean" ? yesNo : field.choices?.length ? choiceField : field.name === "reason" ? reasonField : textField;
  const initial = field.name === "reason" ? undefined : field.default ?? undefined; // a person gives the reason
  if (initial !== undefined && !["integers", "cards"].includes(field.type)) set(initial);
  return el("fieldset", { data: { field: field.name } }, el("legend", { text: make === namedSeatField ? QUESTIONS.seat : question(field, given.action) }), make(field, set, initial, given));
}

function radios(options, set, initial, label) {
  const buttons = options.map(([value, parts]) => {
    const button = el("button", {
      type: "button", class: "choice", "aria-pressed": String(value === initial), data: { value: String(value) },
      onclick: () => {
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        set(value);
      },
    }, ...[parts].flat());
    return button;
  });
  if (options.length === 1 && initial === undefined) buttons[0].click();
  return el("div", { class: "choices", role: "group", "aria-label": label }, ...buttons);
}

function choiceField(field, set, initial) {
  const decks = new Map(table.decks.map((deck) => [deck.name, deck.back]));
  const face = (choice) => {
    if (decks.has(choice)) return [backSwatch(decks.get(choice)), choice];
    if (field.name === "back") return [backSwatch(choice), choice];
    return field.texts?.[choice] ?? CHOICES[choice] ?? placeWords(choice);
  };
  return radios((field.possible ?? field.choices).map((choice) => [choice, face(choice)]), set, initial, question(field));
}

const yesNo = (field, set, initial) => radios([true, false].map((yes) => [yes, answerTo(field.name, yes)]), set, initial, question(field));

function seatsField(field, set) {
  const all = field.choices?.length ? field.choices : Array.from({ length: table.seats }, (_, index) => index + 1);
  const chosen = new Set(table.wagered);
  const update = () => set([...chosen].sort((a, b) => a - b));
  const buttons = all.map((seat) => {
    const button = el("button", {
      type: "button", class: "choice seat-choice", "aria-pressed": String(chosen.has(seat)), "aria-label": `Seat ${seat}`, data: { value: seat },
      onclick: () => toggle(seat),
    }, String(seat));
    return [seat, button];
  });
  const draw = () => buttons.forEach(([seat, button]) => button.setAttribute("aria-pressed", String(chosen.has(seat))));
  const toggle = (seat) => { chosen[chosen.has(seat) ? "delete" : "add"](seat); draw(); update(); };
  const toggleAll = () => { const full = chosen.size === all.length; all.forEach((seat) => chosen[full ? "delete" : "add"](seat)); draw(); update(); };
  if (chosen.size) update();
  return el("div", { class: "choices seats", role: "group", "aria-label": "Seats that have wagered" },
    ...buttons.map(([, button]) => button),
    el("button", { type: "button", class: "choice", onclick: toggleAll }, "All seats"));
}

/** The seat that a bet names, such as that of the player's own hand. */
function namedSeatField(field, set, initial, given) {
  const others = Array.from({ length: table.seats }, (_, index) => index + 1).filter((seat) => seat !== given.seat);
  return radios([...others.map((seat) => [seat, String(seat)]), [0, "None"]], set, undefined, QUESTIONS.seat);
}

/** A small number of cards: one button for each. */
function numbersField(field, set, initial, given) {
  const [least, most] = table.turn.numbers[given.choice];
  return radios(Array.from({ length: most - least + 1 }, (_, index) => [least + index, String(least + index)]), set, undefined, question(field));
}

/** Cards: tapped on a pad, or chosen among those of the hand. */
function cardsField(field, set, initial, given) {
  const entry = emptyEntry();
  const changed = () => set(entry.kinds.length ? [...entry.kinds] : undefined);
  const held = table.hands.find((one) => one.name === (given.target ?? given.hand));
  const { cards, most = held?.to_enter || held?.kinds.length || Math.max(6, table.hands.reduce((sum, hand) => sum + hand.cards, 0)) } = (given.choice && cardsOf(given.choice)) || {};
  if (cards) return cardChoice(cards, entry, changed);
  if (field.name === "was" || given.action === "correct_decision") { // those that the hand has; usually the last was wrong
    entry.kinds.push(...(held?.kinds.slice(-1) ?? []));
    changed();
    return cardChoice(held?.kinds ?? [], entry, changed);
  }
  return cardPad({ kinds: field.choices, left: field.possible ?? field.choices, most: given.action === "deal_cards" ? 1 : most, entry, changed });
}

function numberField(field, set, initial) {
  const most = field.name === "amount" ? 6 : 3; // digits
  const input = el("input", {
    type: "text", inputmode: "numeric", pattern: "[0-9]*", maxlength: most, autocomplete: "off", class: "number-input",
    "aria-label": words(field.name), value: initial ?? "", autofocus: true,
  });
  const update = () => {
    input.value = input.value.replace(/\D/g, "");
    set(input.value === "" ? undefined : Number(input.value));
  };
  input.addEventListener("input", update);
  const press = (key) => {
    input.value = key === "C" ? "" : key === "⌫" ? input.value.slice(0, -1) : (input.value + key).slice(0, most);
    update();
  };
  const names = { C: "Clear", "⌫": "Delete" };
  const keys = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "C", "0", "⌫"].map((key) =>
    el("button", { type: "button", "aria-label": names[key] ?? key, onclick: () => press(key) }, key === "⌫" ? icon("back") : key));
  return el("div", { class: "number" }, input, el("div", { class: "pad", role: "group", "aria-label": "Digits" }, ...keys));
}

function textField(field, set, initial) {
  const input = el("input", { type: "text", autocomplete: "off", "aria-label": words(field.name), value: initial ?? "", maxlength: field.most ?? 80 });
  input.addEventListener("input", () => set(input.value.trim()));
  return input;
}

/** A text that is typed, or tapped: `proposals` are pairs of a text and what is drawn before it. */
function proposedField(field, set, proposals) {
  const input = textField(field, set);
  return el("div", { class: "choices" }, input, ...proposals.map(([text, drawn]) =>
    el("button", { type: "button", class: "choice", onclick: () => { input.value = text; set(text); } }, drawn, text)));
}

/** The name of a new deck: typed, or the next unused one of its colour. */
function newDeckField(field, set, initial, given) {
  const unused = Object.entries(field.unused ?? {}).filter(([back]) => !given.back || given.back === back);
  return proposedField(field, set, unused.map(([back, name]) => [name, backSwatch(back)]));
}

/** A reason goes into the journal as it is given; the usual one is only a proposal. */
const reasonField = (field, set) => proposedField(field, set, field.default ? [[field.default, null]] : []);
