// The actions of the table: buttons for the current step, the dealer's buttons, all other actions, and their forms.
// Which are allowed, which fields they have and which roles they need comes from the daemon; no rules are coded here.

import { askPin, askSignIn, hasRole, mayRead } from "./access.js";
import { get, post } from "./api.js";
import { clearNotice, closeDialog, notice, openDialog, refusalWords, whyNotWords } from "./dialog.js";
import { byId, capitalise, el, fill, icon, placeWords, roleWords, words } from "./dom.js";
import { enteredFor, showEntry } from "./entry.js";
import { answerTo, betWords, cardsOf, fieldset, onlyNumber, question, useFields } from "./fields.js";
import { flowChoices } from "./flows.js";

// The dealer's buttons, always in the same places.
const DOCK = ["close_bets", "record_bet", "players_acted", "reveal_dealer", "collect_all", "remove_stub", "take_back_decision",
  "correct_cards", "report_cut_card", "report_irregularity", "report_face_up", "report_drawn_in_error", "report_dealer_exposed",
  "report_wrong_number", "end_session"]; // those that the game has, at most nine
const MOST_IN_DOCK = 9;

const GROUPS = [
  ["The round", ["wager", "record_bet", "leave_seat", "close_bets", "deal_cards", "finish_deal", "request_card", "enter_cards", "correct_cards",
    "decide_hand", "take_back_decision", "correct_decision", "reconstruct_hands", "reshuffle_stock", "players_acted", "reveal_dealer", "collect_hand", "collect_all", "remove_stub", "want_stub_count", "count_stub", "answer_misdeal", "report_cut_card", "end_session"]],
  ["Something is wrong", ["report_irregularity", "report_face_up", "report_drawn_in_error", "report_dealer_exposed", "report_wrong_number",
    "return_wagers", "request_hands", "gather_all", "gather_cards", "correct_count", "declare_missing"]],
  ["Decks", ["receive_deck", "accept_deck", "inspect_deck", "verify_deck", "spread_deck", "wash_deck", "stack_deck", "insert_deck",
    "shuffle_by_hand", "cut_deck", "load_deck", "unload_deck", "direct_reshuffle", "require_recut", "reject_deck",
    "remove_deck"]],
  ["Devices", ["open_device", "free_jam", "try_again", "empty_device", "test_device", "accept_device", "take_out_of_service",
    "put_in_service", "clear_warning"]],
  ["The table", ["open_table", "player_arrived", "leave_seat", "idle_table", "close_table", "change_method",
    "unlock_person"]],
];

const LABELS = { target: "Hand" }; // of fields that are given; others are labelled with their names
const HIDDEN = new Set(["configure"]); // comes from the configuration file

let known = new Map();
let knownAt = -1; // the event number as of which `known` was fetched
let table = null;
let stale = true;
let fetching = null;
let heldAt = -1; // the event number at which a button was pressed: a second press on the same picture is ignored
let heldAction = "";
const HELD_MS = 1000;
const RETRY_MS = 1000;

export function useTable(picture) {
  const before = table;
  table = picture;
  useFields(picture);
  if (!before || before.seq !== picture.seq) refresh();
  if (!sending && picture.seq >= markedAt) marks = null;
  show();
}

let fetched = () => {};

/** `listener` is called whenever the list of possible actions has been updated. */
export const onActions = (listener) => { fetched = listener; };

/** Somebody has signed in: what is possible can be fetched now. */
export function forgetActions() {
  knownAt = -1;
  if (table) refresh();
}

export function setStale(now) {
  stale = now;
  if (!stale && table && knownAt < table.seq) refresh();
  show();
}

/** Fetch which actions are possible now; while one request is under way, at most one more waits. */
function refresh() {
  if (!mayRead() || stale) return;
  if (fetching) {
    fetching.again = true;
    return;
  }
  const mine = (fetching = { again: false, at: table.seq });
  get("actions").then((answer) => {
    knownAt = mine.at;
    known = new Map(answer.actions.map((action) => [action.action, action]));
    show();
    fetched();
  }).catch(() => { // the daemon is busy or restarting
    setTimeout(refresh, RETRY_MS);
  }).finally(() => {
    fetching = null;
    if (mine.again) refresh();
  });
}

// --- buttons ------------------------------------------------------------------------------------------------------

function show() {
  if (!table) return;
  const offers = (table.step.do ?? []).map((offer) => ({ offer, action: now(offer.action) })).filter((o) => o.action);
  const signed = (action, offer = {}) => hasRole(rolesOf(action, offer));
  const held = table.seq === heldAt;
  const fresh = knownAt >= table.seq; // until then, why an action is not possible is unknown
  const wager = now("wager"); // a tap is not lost while the list is on its way
  showWagers(marks ?? table.wagered, !stale && Boolean(wager && (fresh ? wager.allowed : table.step.allowed_actions?.includes("wager"))));
  fill(byId("offers"), [offers, stale, held, fresh, offers.map((o) => signed(o.action, o.offer))], () =>
    offers.map(({ offer, action }, index) =>
      actionButton(action, { class: index ? "offer" : "offer primary", disabled: stale || held || (!action.allowed && !fresh),
        data: { key: `offer-${index}`, action: action.action, warning: offer.warning ?? "" } }, offerTitle(action, offer, table.step.do, table.step.text), offer)));
  showEntry(table, stale || !mayRead() ? [] : offers, known, (offer) => begin(now(offer.action), offer));
  const dock = DOCK.map(now).filter((action) => action && action.in_game && !action.optional).slice(0, MOST_IN_DOCK);
  fill(byId("dock"), [mayRead(), dock, stale, fresh, dock.map((action) => signed(action))], () => [
    ...dock.map((action) =>
      actionButton(action, { class: action.action.startsWith("report") ? "report" : "", disabled: stale || (!action.allowed && !fresh),
        data: { key: action.action, action: action.action } }, action.title)),
    mayRead() ? el("button", { type: "button", class: "more", data: { key: "more" }, disabled: stale || !known.size, onclick: openAll }, "All actions …")
      : el("p", { class: "bystander-words", text: "Sign in to act, and to see more than can be seen at the table." }),
  ]);
}

/** A button for an action. While the action is not possible, it explains why not and when it will be. */
function actionButton(action, attributes, title, given = {}) {
  const off = !action.allowed && !attributes.disabled;
  const press = (event) => {
    if (event.detail > 1) return; // the second tap of a double tap: the button may be that of the next step by now
    if (off) notice(whyNotWords(action.title, action.why_not), "refused");
    else begin(action, given);
  };
  return el("button", { type: "button", "aria-disabled": off ? "true" : null, title: off ? action.why_not?.reason : null, onclick: press, ...attributes },
    padlock(action, given), title);
}

/** An action with its current state: the fetched list may be slightly older than the picture. */
function now(name) {
  const action = known.get(name);
  const possible = table.step.allowed_actions?.includes(name) ?? true;
  return action && { ...action, allowed: action.allowed && possible };
}

function padlock(action, given = {}) {
  const roles = rolesOf(action, given);
  return hasRole(roles) && !needsPin(action, given) ? null : icon("lock", `needs ${roles.map(roleWords).join(" or ")}:`);
}

/** The words on the button of an offer; `others` are those beside it, which must not look the same. A device that the
 * sentence beside the button does not mention is named on the button. */
function offerTitle(action, offer, others = [], sentence = offer.device) {
  const [name, yes] = Object.entries(offer).find(([, value]) => typeof value === "boolean") ?? [];
  if (offer.choice) return `${capitalise(String(offer.choice))}${offer.target ? "" : " …"}`;
  const twins = others.filter((other) => other.action === offer.action).length > 1;
  return name ? answerTo(name, yes) : offer.device && (twins || !sentence.includes(offer.device)) ? `${action.title}: ${offer.device}` : action.title;
}

/** Buttons for offers beside those of the step, such as the remedy for an alarm; those that the step has are left out. */
export function wayOut(offers, key) {
  const same = (offer) => (table?.step.do ?? []).some((other) => JSON.stringify(other) === JSON.stringify(offer));
  return offers.filter((offer) => known.has(offer.action) && !same(offer)).map((offer, index) => {
    const action = known.get(offer.action);
    return el("button", {
      type: "button", class: "way-out", disabled: stale, data: { key: `${key}-${index}`, action: action.action },
      onclick: () => begin(action, offer),
    }, padlock(action, offer), offerTitle(action, offer));
  });
}

/** Every action, by topic; those that are not possible now show the reason. */
async function openAll() {
  const flows = await flowChoices(); // first, so that nothing moves under a finger
  if (byId("dialog").open) return;
  const left = [...known.values()].filter((a) => a.in_game && !HIDDEN.has(a.action) && !GROUPS.some(([, names]) => names.includes(a.action)));
  const groups = [...GROUPS.map(([title, names]) => [title, names.map(now).filter((action) => action?.in_game)]), ["More", left]];
  const parts = groups.filter(([, actions]) => actions.length).map(([title, actions]) =>
    el("section", { class: "action-group" }, el("h3", { text: title }),
      el("div", { class: "action-grid" }, ...actions.map((action) =>
        el("button", {
          type: "button", class: "action", disabled: !action.allowed, data: { action: action.action },
          onclick: () => begin(action, {}, true),
        }, el("span", { class: "action-title" }, padlock(action), action.title),
        ...(action.allowed ? [capitalise(action.roles.map(roleWords).join(", "))]
          : [capitalise(action.why_not?.reason ?? "not now"), action.why_not?.possible_when ? `Possible when ${action.why_not.possible_when}` : ""])
          .map((text) => el("span", { class: "action-why", text })))))));
  openDialog("All actions", [el("div", { class: "dialog-body all-actions" }, flows, ...parts)], null, "wide");
}

// --- wagers, marked in the picture ---------------------------------------------------------------------------------

let showWagers = () => {};
let marks = null; // the seats as they were tapped, until a view of the table shows them
let markedAt = 0; // the event that recorded them
let sending = false;

/** `listener` draws which seats have wagered, and whether they can be tapped. */
export const onWagers = (listener) => { showWagers = listener; };

/** A seat was tapped: it has wagered, or no longer. Quick taps are sent together. */
export async function tapSeat(seat) {
  clearNotice();
  const { roles } = now("wager");
  if (!hasRole(roles) && !(await askSignIn(roles))) return;
  const seats = new Set(marks ?? table.wagered);
  if (!seats.delete(seat)) seats.add(seat);
  marks = [...seats].sort((a, b) => a - b);
  show();
  if (sending) return;
  sending = true;
  try {
    for (let sent = null; sent !== marks;) {
      sent = marks;
      markedAt = (await post("actions", { action: "wager", seats: sent })).events.at(-1).seq;
    }
  } catch (error) {
    marks = null;
    notice(refusalWords(error), "refused");
  } finally {
    sending = false;
    if (table.seq >= markedAt) marks = null;
    show();
  }
}

// --- taking an action ---------------------------------------------------------------------------------------------

/** The roles that may take an action; some warnings can only be cleared by a floorperson. */
function rolesOf(action, given) {
  const warned = table.warnings.find((one) => action.action === "clear_warning" && one.key === given.warning);
  return { floor: ["floor"], technician: ["floor", "technician"] }[warned?.needs] ?? action.roles;
}

/** Whether this action needs the PIN of the person who takes it: every action that a dealer may not take does. */
const needsPin = (action, given) => !rolesOf(action, given).includes("dealer");

/** The fields that are still open. */
const openFields = (action, given) => action.fields.filter((field) => !(field.name in given) && field.name !== "confirmed" && isAsked(action, field, given));

/** A decision is about a number of cards or about cards only if its turn says so, and cards are named only face up. */
function isAsked(action, field, given) {
  if (action.action === "decide_hand" && field.name === "number") return given.choice in (table.turn?.numbers ?? {}) && onlyNumber(given.choice) === null;
  if (action.action === "decide_hand" && field.name === "kinds") return Boolean(given.choice && cardsOf(given.choice));
  if (action.action === "correct_decision" && field.name === "kinds") return !given.choice || field.places.includes(given.choice);
  const faceUp = table.round?.stacks.find((stack) => stack.state === "due")?.face_up;
  if (action.action === "deal_cards" && ["cards", "kinds"].includes(field.name)) return (field.name === "kinds") === Boolean(faceUp);
  return true;
}

/** What is asked for first, where a pad follows: the hand and the choice, the seat and the bet. */
const firstFields = (action, given) => (action.fields.some((field) => field.type === "cards" || field.name === "amount")
  ? openFields(action, given).filter((field) => ["target", "choice", "seat", "bet"].includes(field.name) && mustAnswer(field)) : []);

const isCount = (action) => action.fields.some((field) => field.name === "confirmed");

/** A button was pressed: ask for a sign-in and for missing fields where needed, then submit the action. */
async function begin(action, given = {}, all = false) {
  if (table.seq === heldAt && action.action === heldAction) return;
  clearNotice();
  const entered = enteredFor(given);
  if (entered.missing) return void notice([entered.missing], "refused");
  given = { ...given, ...entered.fields };
  if (given.choice && onlyNumber(given.choice) !== null) given.number = onlyNumber(given.choice);
  const roles = rolesOf(action, given);
  if (!needsPin(action, given) && !hasRole(roles) && !(await askSignIn(roles))) return;
  for (const field of firstFields(action, given)) {
    const possible = field.possible ?? field.choices ?? [];
    if (possible.length === 1) given = { ...given, [field.name]: possible[0] };
  }
  const first = firstFields(action, given);
  if (first.length) return void openForm(action, given, null, first);
  if (marks && action.action === "close_bets") given = { ...given, seats: marks }; // they may not have arrived yet
  const open = openFields(action, given);
  const ask = open.some((field) => mustAnswer(field) || (field.type === "cards" && !entered.fields) || field.least || (field.type === "integers" && !table.wagered.length) || all);
  if (ask || action.consequence) openForm(action, given);
  else {
    if (byId("dialog").open) closeDialog();
    await submit(action, given).catch((error) => notice(refusalWords(error), "refused"));
  }
}

async function submit(action, fields) {
  const { action: _, ...values } = fields;
  const roles = rolesOf(action, values);
  const wanted = roles.length > 1 ? {} : { role: roles[0] };
  const send = (who = {}) => post("actions", { action: action.action, ...values, ...wanted, ...who });
  heldAt = table.seq;
  heldAction = action.action;
  show();
  setTimeout(() => { heldAt = -1; show(); }, HELD_MS);
  if (!needsPin(action, values)) await send();
  else if (!(await askPin(action.title, roles, (name, pin) => send({ name, pin })))) return;
  notice(`${values.choice ? capitalise(String(values.choice)) : action.title}: done.`);
}

/** What is known while a form is filled in: with only one hand to choose, it is that one. */
function formGiven(action, given) {
  const target = action.fields.find((field) => field.name === "target");
  const only = (target?.possible ?? target?.choices ?? []).length === 1 ? { hand: (target.possible ?? target.choices)[0] } : {};
  return { ...only, ...given, action: action.action };
}

/** Whether a person has to answer: also where another client may leave it out because a device knows. */
const mustAnswer = (field) => field.required || (field.name === "number" && field.default === 0) || field.name === "reason" || (field.choices && field.default === "");

function openForm(action, given, before = null, first = null) {
  const values = { ...given };
  const answer = el("p", { class: "form-answer", role: "alert" });
  if (before) answer.append(el("span", { class: "form-done", text: `Recorded: ${placeWords(`seat${before.seat}`)}, ${betWords(before.bet, before.amount)}.` }));
  const open = first ?? openFields(action, given);
  const title = given.choice ? capitalise(String(given.choice)) : action.title;
  const send = el("button", { type: "submit", class: "primary wide-button" }, title);
  let sent = false;
  let form = null;
  let origin = null; // where a deck was prepared: asked for only if it was
  const unanswered = () => open.find((field) => (mustAnswer(field) || (field.name === "came_from" && values.prepared)) && (values[field.name] ?? "") === "");
  const check = () => {
    if (origin) origin.hidden = !values.prepared;
    send.setAttribute("aria-disabled", String(Boolean(unanswered())));
  };
  const set = (name) => (value) => {
    values[name] = value;
    if (form?.isConnected) answer.replaceChildren();
    check();
    if ((first || (name === "number" && open.length === 1)) && !unanswered() && form?.isConnected) form.requestSubmit(); // the last tap is enough
  };
  const fixed = Object.entries(given).filter(([name]) => !["action", "counts", "choice"].includes(name));
  const pad = open.some((field) => field.type === "cards" || (field.type === "integer" && !field.least && !field.choices));
  form = el("form", {
    class: "form",
    onsubmit: async (event) => {
      event.preventDefault();
      if (sent) return;
      const missing = unanswered();
      if (missing) {
        answer.textContent = `Answer this first: ${question(missing)}`;
        return;
      }
      if (first) return void begin(action, values); // the rest is asked for next
      sent = true;
      try {
        await submit(action, values);
        if (action.action === "record_bet") openForm(action, {}, values, firstFields(action, {})); // there are usually several
        else closeDialog();
      } catch (error) {
        sent = false;
        if (error.confirm) askConfirmation(action, given, values, error);
        else if (!form.isConnected) notice(refusalWords(error), "refused"); // the PIN was asked for in its place
        answer.replaceChildren(...refusalWords(error));
        check();
      }
    },
  },
  el("div", { class: `dialog-body${pad ? " with-pad" : ""}` },
    fixed.length ? el("p", { class: "given" }, ...fixed.map(([name, value]) => el("span", { class: "chip", data: { field: name, value }, text: `${LABELS[name] ?? words(name)}: ${placeWords(value)}` }))) : null,
    ...open.map((field) => fieldset(field, set(field.name), formGiven(action, given))),
    action.about ? el("p", { text: action.about }) : null,
    open.length || action.consequence ? null : el("p", { text: action.text }),
    action.consequence ? el("p", { class: "consequence", text: action.consequence }) : null),
  el("div", { class: "dialog-foot" }, answer, send));
  origin = form.querySelector("[data-field=came_from]");
  openDialog(title, [form], null, [isCount(action) ? "blind" : "", pad && open.length > 1 ? "broad" : ""].filter(Boolean).join(" "));
  check();
}

/** A number does not match: it is accepted if the person has counted again and confirms it. */
function askConfirmation(action, given, values, error) {
  const confirm = () => submit(action, { ...values, confirmed: true })
    .catch((again) => notice(refusalWords(again), "refused")).finally(closeDialog);
  openDialog("Count again", [el("div", { class: "dialog-body form confirm" },
    el("p", { role: "alert", text: `${capitalise(error.message)}. Count the cards again.` }),
    el("button", { type: "button", class: "primary wide-button", onclick: () => openForm(action, given) }, "Enter another number"),
    el("button", { type: "button", class: "wide-button", data: { confirm: values.cards }, onclick: confirm }, `I counted again: ${values.cards}`))],
  null, "blind");
}

/** Show the summary of a clause. */
export async function showClause(clause) {
  const rules = await get("rules").catch(() => []);
  const list = Array.isArray(rules) ? rules : rules.rules ?? [];
  const rule = list.find((one) => one.clause === clause);
  openDialog(`Clause ${clause}`, [el("div", { class: "dialog-body" },
    el("p", { class: "clause-words", text: rule?.summary ?? "No summary is available for this clause." }),
    rule?.enforced_by?.length ? el("p", { class: "small", text: `Enforced by ${rule.enforced_by.join(", ")}.` }) : null)]);
}

