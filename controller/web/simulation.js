// The panel of a simulated table: the robot dealer, faults to inject, and handling the devices by hand.

import { get, post } from "./api.js";
import { notice, refusalWords } from "./dialog.js";
import { byId, el, fill, words } from "./dom.js";

const SPEEDS = [1, 2, 5, 10];
const EVERY_MS = 1500;
let open = false;
let state = null;
let table = null;
let device = "shoe";

export function startSimulation() {
  byId("simulation-toggle").addEventListener("click", () => setOpen(!open));
  setInterval(() => open && load(), EVERY_MS);
}

export function useSimulation(picture) {
  const before = table;
  table = picture;
  const shown = picture.simulated && !picture.bystander;
  byId("simulation-toggle").hidden = !shown;
  if (!shown) setOpen(false);
  else if ((!before || before.bystander) && matchMedia("(min-width: 1400px)").matches) setOpen(true);
  if (open) show();
}

function setOpen(now) {
  if (open === now) return;
  open = now;
  byId("simulation").hidden = !open;
  byId("simulation-toggle").setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("with-simulation", open);
  if (open) load();
}

async function load() {
  try {
    state = await get("simulation");
    show();
  } catch {
    // The stream shows whether the daemon is running.
  }
}

async function ask(request, done) {
  try {
    await post("simulation", request);
    if (done) notice(done);
  } catch (error) {
    notice(refusalWords(error), "refused");
  }
  await load();
}

function show() {
  if (!state) return;
  const decks = table.decks.map((deck) => deck.name);
  const seats = table.round?.stacks.filter((stack) => stack.state === "at_exit").map((stack) => stack.target) ?? [];
  fill(byId("simulation"), [state, decks, seats, device], () => [
    el("h2", { text: "Simulation" }), robot(state.robot),
    el("div", { class: "segments", role: "group", "aria-label": "Device" }, ...Object.keys(state.devices).map((name) =>
      el("button", { type: "button", "aria-pressed": String(name === device), data: { key: `device-${name}` }, onclick: () => { device = name; show(); } }, words(name)))),
    deviceLine(state.devices[device] ?? {}),
    el("h3", { text: "Faults" }), faults(),
    el("h3", { text: "By hand" }), hands(decks, seats)]);
}

function robot(dealer) {
  return el("section", { class: "robot", "aria-label": "Robot dealer" },
    el("p", {}, el("strong", { text: "Robot dealer" }), ` ${dealer.stopped ? `stopped: ${dealer.stopped}` : dealer.running ? dealer.doing : "is paused"}`),
    el("div", { class: "row" },
      el("button", {
        type: "button", class: dealer.running ? "" : "primary", data: { key: "robot" },
        onclick: () => ask({ do: dealer.running ? "pause" : "resume" }),
      }, dealer.running ? "Pause the robot" : "Resume the robot"),
      "helps" in dealer ? el("button", {
        type: "button", "aria-pressed": String(dealer.helps), data: { key: "helps" }, onclick: () => ask({ do: "help", on: !dealer.helps }),
      }, "Resolve problems") : null,
      el("div", { class: "segments", role: "group", "aria-label": "Speed" }, ...SPEEDS.map((speed) =>
        el("button", { type: "button", "aria-pressed": String(speed === dealer.speed), data: { key: `speed-${speed}` }, onclick: () => ask({ do: "speed", speed }) }, `${speed}×`)))));
}

function deviceLine(found) {
  const parts = [found.power === false ? "no power" : "", found.plugged === false ? "unplugged" : "", found.power === false ? "" : found.mode, found.door_open ? "door open" : ""];
  return el("p", { class: "small", text: words(parts.filter(Boolean).join(", ")) });
}

/** A toggle for every fault: pressed while it is active or waits for the next card that moves. */
function faults() {
  const on = new Set(state.devices[device]?.faults ?? []);
  return el("div", { class: "faults" }, ...state.faults.filter((fault) => !fault.devices || fault.devices.includes(device)).map((fault) =>
    el("button", {
      type: "button", class: "fault", "aria-pressed": String(on.has(fault.name)), data: { key: `fault-${fault.name}`, fault: fault.name },
      onclick: () => on.has(fault.name) ? ask({ do: "mend", device, fault: fault.name }, `${words(fault.name)}: removed from the ${device}.`)
        : ask({ do: "inject", device, fault: fault.name }, `${words(fault.name)}: injected into the ${device}.`),
    }, el("strong", { text: words(fault.name) }), el("span", { text: fault.text }))));
}

function hands(decks, seats) {
  const found = state.devices[device] ?? {};
  const button = (text, request, key) => el("button", { type: "button", data: { key }, onclick: () => ask({ device, ...request }) }, text);
  const seat = seats.length ? Number(/\d+/.exec(seats[0])?.[0] ?? 7) : 0;
  return el("div", { class: "hands" },
    button(`Take the cards at the ${device}'s exit`, seat ? { do: "take", seat } : { do: "take" }, "take"),
    ...decks.map((deck) => button(`Put ${deck} into the ${device}`, { do: "load", deck }, `load-${deck}`)),
    button("Return all loose cards to the table", { do: "gather" }, "gather"),
    button(found.door_open ? "Close the door" : "Open the door", { do: "door", is_open: !found.door_open }, "door"),
    button("Press green", { do: "press", button: "green" }, "green"), button("Press red", { do: "press", button: "red" }, "red"));
}
