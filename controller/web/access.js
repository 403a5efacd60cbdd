// Who is signed in at this screen: the names in the bar, the PIN pad, and lock-outs.

import { get, post, remove, useToken } from "./api.js";
import { closeDialog, notice, openDialog, refusalWords } from "./dialog.js";
import { byId, capitalise, duration, el, fill, icon, roleWords } from "./dom.js";

const MAX_PIN_LENGTH = 12;
let people = [];
let nowMs = () => 0;
let simulated = () => false;
let changed = () => {};
let reads = false;
let readsChanged = () => {};

/** Whether this page may read everything: it has the token of the table's own screen, or somebody is signed in. */
export const mayRead = () => reads;

/** `listener` is called when that changes. */
export const onMayRead = (listener) => { readsChanged = listener; };

/** Requests about the session go one after another: signing in changes the cookie, and a request that was already on its
 * way with the old one would come back as nobody, and sign everybody out. */
let last = Promise.resolve();
function inTurn(request) {
  const mine = last.then(async () => {
    const session = await request();
    use(session);
    return session;
  });
  last = mine.catch(() => {});
  return mine;
}

const TOKEN_HASH = /^#screen=([\w-]+)$/;

/** The table's own screen has a token in its address: present it, and take it out of the address. */
async function presentToken() {
  const token = TOKEN_HASH.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", "#table");
  await inTurn(() => post("session/screen", { token })).catch((error) => notice(refusalWords(error), "refused"));
}

export const hasRole = (roles) => people.some((person) => roles.includes(person.role));

export async function startAccess(now, isSimulated, listener) {
  nowMs = now;
  simulated = isSimulated;
  changed = listener;
  setInterval(() => {
    if (people.some((person) => person.expires_ms && person.expires_ms <= nowMs())) refreshSession();
    else showPeople();
  }, 5000);
  await refreshSession();
  await presentToken();
}

export const refreshSession = () => inTurn(() => get("session"));

function use(session) {
  useToken(session.token);
  people = session.people;
  const before = reads;
  reads = session.reads;
  document.body.classList.toggle("bystander", !reads);
  document.body.dataset.reads = reads;
  showPeople();
  changed();
  if (reads !== before) readsChanged();
}

function showPeople() {
  const shown = people.map((person) => ({ ...person, left: timeLeft(person.expires_ms) }));
  fill(byId("people"), shown, (list) => [
    ...list.map((person) =>
      el("span", { class: `person role-${person.role}` },
        el("span", { class: "person-words" }, el("span", { class: "person-name", text: person.name }),
          el("span", { class: "person-role", text: capitalise([roleWords(person.role), person.left].filter(Boolean).join(", ")) })),
        el("button", {
          type: "button", class: "icon-button", data: { key: `out-${person.role}` },
          "aria-label": `Sign out ${person.name}`, onclick: () => signOut(person),
        }, icon("out")))),
    el("button", { type: "button", class: "sign-in", data: { key: "sign-in" }, onclick: () => askSignIn() }, "Sign in"),
  ]);
}

/** The remaining time, once it is an hour or less. */
function timeLeft(until) {
  const minutes = Math.ceil((until - nowMs()) / 60000);
  return until && minutes <= 60 ? `${minutes} min` : "";
}

async function signOut(person) {
  try {
    await inTurn(() => remove("session", { role: person.role }));
    notice(`${person.name} has signed out.`);
  } catch (error) {
    notice(refusalWords(error), "refused");
  }
}

/** Ask a person with one of these roles to sign in; resolves to true once someone has. */
export function askSignIn(roles = null) {
  return askPerson(roles ? `Sign in: ${roles.map(roleWords).join(" or ")}` : "Sign in", roles, null, async (name, pin) => {
    const session = await inTurn(() => post("session", { name, pin }));
    notice(session.advice ? [session.advice] : `${name} has signed in.`, session.advice ? "refused" : "done");
  }).catch((error) => { notice(refusalWords(error), "refused"); return false; });
}

/** Ask a person with one of these roles for the PIN that an action needs; `send` gets the name and the PIN.
 * Resolves to true once it is done, to false if nobody entered a PIN; rejects if the table refuses. */
export function askPin(title, roles, send) {
  return askPerson(`${title}: PIN`, roles, people.find((person) => roles.includes(person.role))?.name, send);
}

const TRY_AGAIN = ["wrong_pin", "locked_out", "too_many_pins", "unreachable"];

/** Ask who it is, unless that is clear, and for the PIN. */
function askPerson(title, roles, name, send) {
  return new Promise((resolve, reject) => {
    let settle = () => resolve(false);
    const end = (how) => { settle = how; closeDialog(); };
    Promise.all([reads ? get("people") : { people: [] }, simulatedPins()]).then(([{ people: list }, pins]) => {
      const fit = list.filter((person) => !roles || person.roles.some((role) => roles.includes(role)));
      const body = el("div", { class: "dialog-body" });
      const pick = (person) => pinPad(body, person, pins.get(person.name), async (pin) => {
        try {
          await send(person.name, pin);
          end(() => resolve(true));
        } catch (error) {
          if (TRY_AGAIN.includes(error.code)) throw error;
          end(() => reject(error));
        }
      });
      const choose = () => body.replaceChildren(el("div", { class: "choices", role: "group", "aria-label": "Who are you?" },
        ...fit.map((person) => {
          const left = person.locked_until_ms ? person.locked_until_ms - nowMs() : 0;
          return el("button", { type: "button", class: "choice", onclick: () => pick(person) },
            el("strong", { text: person.name }), el("span", { text: capitalise(person.roles.map(roleWords).join(", ")) }),
            left > 0 ? el("span", { class: "locked", text: `Locked out, ${duration(left)} left` }) : null);
        })),
        ...(fit.length ? [] : [el("p", { text: "Nobody has this role. A technician can add people: shoectl person add." })]));
      if (reads) choose();
      else askName(body, pick);
      openDialog(title, [body], () => settle(), "pin");
      const known = fit.find((person) => person.name === name);
      if (!known) return;
      pick(known);
      if (fit.length > 1) body.append(el("button", { type: "button", class: "wide-button", onclick: choose }, "Somebody else"));
    }).catch(reject);
  });
}

/** Who works at this table is not shown to bystanders: the name is typed. */
function askName(body, pick) {
  const input = el("input", { type: "text", autocomplete: "off", maxlength: 40, "aria-label": "Your name", autofocus: true });
  body.replaceChildren(el("form", {
    class: "name-form", onsubmit: (event) => {
      event.preventDefault();
      if (input.value.trim()) pick({ name: input.value.trim(), roles: [] });
    },
  }, el("label", {}, "Your name ", input), el("button", { type: "submit", class: "primary wide-button" }, "Continue")));
}

/** At a simulated table the PINs are public. */
async function simulatedPins() {
  if (!simulated() || !reads) return new Map();
  const found = await get("simulation").catch(() => ({}));
  return new Map((found.people ?? []).map((person) => [person.name, person.pin]));
}

function pinPad(body, person, pin, enter) {
  let busy = false;
  const answer = el("p", { class: "pin-answer", role: "alert" });
  const input = el("input", {
    type: "password", inputmode: "numeric", autocomplete: "off", maxlength: MAX_PIN_LENGTH, class: "pin-input",
    "aria-label": `PIN of ${person.name}`, autofocus: true,
  });
  const press = (key) => {
    if (key === "⌫") input.value = input.value.slice(0, -1);
    else if (input.value.length < MAX_PIN_LENGTH) input.value += key;
  };
  const send = async () => {
    if (busy || !input.value) return;
    busy = ok.disabled = true;
    answer.replaceChildren(); // it was about the previous PIN
    try {
      await enter(input.value);
    } catch (error) {
      const wait = error.retryAfterMs ? ` ${duration(error.retryAfterMs)} left.` : "";
      answer.replaceChildren(...refusalWords(error), wait);
      input.value = "";
      input.focus();
    } finally {
      busy = ok.disabled = false;
    }
  };
  const keys = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "⌫", "0"].map((key) =>
    el("button", { type: "button", "aria-label": key === "⌫" ? "Delete" : key, onclick: () => press(key) }, key === "⌫" ? icon("back") : key));
  const ok = el("button", { type: "submit", class: "primary" }, "OK");
  const form = el("form", { class: "pin-form", onsubmit: (event) => { event.preventDefault(); send(); } },
    el("div", { class: "pin-words" },
      el("p", { class: "pin-who" }, el("strong", { text: person.name }), person.roles.length ? `, ${person.roles.map(roleWords).join(", ")}` : ""),
      pin ? el("p", { class: "small", text: `This table is simulated: the PIN is ${pin}.` }) : null,
      input, answer),
    el("div", { class: "pad", role: "group", "aria-label": "Digits" }, ...keys, ok));
  body.replaceChildren(form);
  input.focus();
}

/** Lock-outs, shown like alarms to everyone; a floorperson can end them. */
export function lockOuts(locked) {
  return locked.map(({ name, via, until_ms: until }) =>
    el("article", { class: "alarm lock-out" },
      el("h3", { text: capitalise(`${name} is locked out at the ${via}`) }),
      el("p", { text: `Too many wrong PINs. The lock-out ends in ${duration(Math.max(0, until - nowMs()))}.` }),
      el("button", { type: "button", class: "small-button", data: { key: `unlock-${name}-${via}` }, onclick: () => unlock(name) },
        "End the lock-out (floorperson)")));
}

async function unlock(name) {
  try {
    const ended = await askPin("End the lock-out", ["floor"], (by, pin) => post("people/unlock", { name, by, pin }));
    if (ended) notice(`${name} may try again.`);
  } catch (error) {
    notice(refusalWords(error), "refused");
  }
}
