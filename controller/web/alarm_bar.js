// The alarm bar on every page: what is wrong, what to do, and a sound until somebody has seen it. Alarms are also in the
// page's title, for a screen that shows another page.

import { wayOut } from "./actions.js";
import { byId, capitalise, el, fill, icon } from "./dom.js";

const EVERY_MS = 6000; // between two sounds
const SHOWN = 3; // alarms named in the bar
let standing = []; // the alarms shown now
const acknowledged = new Set(); // keys of alarms that somebody at this screen has seen
let muted = false;
let context = null;
let sounding = false;
let redraw = () => {};

/** Everything that is wrong, the most urgent first. `quiet`: it makes no sound, because it may pass by itself. */
export function alarmsOf(table) {
  const { stopped, warnings, troubles, round } = table;
  const active = warnings.filter((warning) => !warning.aside).sort((a, b) => a.gone - b.gone);
  return [
    stopped ? { key: "stopped", text: "The table has stopped", do: [] } : null,
    ...active.map((one) => ({ key: one.key, text: capitalise(one.text), quiet: one.gone, do: one.do ?? [] })),
    round?.void ? { key: `void-${round.number}`, text: `Round ${round.number} is void`, quiet: !round.wagers_open, do: [] } : null,
    ...troubles.map((one) => ({ key: `trouble-${one.device}`, text: one.text.replace(/\.$/, ""), quiet: true, do: one.do })),
  ].filter(Boolean);
}

/** The bar, the title, and the sound for these alarms. */
export function showAlarmBar(table) {
  const alarms = alarmsOf(table);
  const bar = byId("alarm-bar");
  const buttons = alarms.length ? wayOut(alarms[0].do, "bar") : [];
  const more = alarms.length - SHOWN;
  bar.hidden = !alarms.length;
  byId("state").classList.toggle("bad", alarms.length > 0);
  document.title = alarms.length ? `⚠ ${alarms[0].text} – ${table.name}` : `${table.name} · ${table.step.text}`;
  standing = alarms;
  sound();
  fill(bar, [alarms, muted, buttons.map((one) => one.outerHTML)], () => [
    icon("warning"),
    el("a", { href: "#table", class: "alarm-link", title: "Show what to do; the sound stops", data: { key: "alarm-link" }, onclick: acknowledge },
      [...alarms.slice(0, SHOWN).map((one) => one.text), ...(more > 0 ? [`${more} more`] : [])].join(" · ")),
    el("div", { class: "ways-out" }, ...buttons),
    el("button", {
      type: "button", class: "icon-button", "aria-pressed": String(muted), "aria-label": "Mute the alarm sound",
      title: muted ? "The sound is off" : "The sound is on", data: { key: "mute" }, onclick: toggleSound,
    }, icon(muted ? "muted" : "sound")),
  ]);
}

// --- the sound ----------------------------------------------------------------------------------------------------

/** `listener` draws the page again. */
export function startAlarmBar(listener) {
  redraw = listener;
  try {
    muted = localStorage.getItem("muted") === "yes";
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  for (const kind of ["pointerup", "keydown"]) addEventListener(kind, allowSound, true);
  setInterval(() => sounding && beep(), EVERY_MS);
}

/** Browsers allow a sound only after somebody has touched the page or pressed a key. */
function allowSound() {
  if (context || !("AudioContext" in window)) return;
  context = new AudioContext();
  sound();
}

/** Somebody has seen the alarms: the sound ends, and the page shows what to do. */
function acknowledge() {
  for (const alarm of standing) acknowledged.add(alarm.key);
  sound();
  scrollTo({ top: 0 });
}

function toggleSound() {
  muted = !muted;
  try {
    localStorage.setItem("muted", muted ? "yes" : "");
  } catch {
    // As above.
  }
  redraw();
}

/** Start or end the sound; an alarm that comes back sounds again. */
function sound() {
  for (const key of acknowledged) if (!standing.some((alarm) => alarm.key === key)) acknowledged.delete(key);
  const before = sounding;
  sounding = Boolean(context) && !muted && standing.some((alarm) => !alarm.quiet && !acknowledged.has(alarm.key));
  if (sounding && !before) beep();
}

/** Two short tones. */
function beep() {
  for (const [at, pitch] of [[0, 880], [0.22, 660]]) {
    const tone = context.createOscillator();
    const volume = context.createGain();
    const start = context.currentTime + at;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.0001, start);
    volume.gain.exponentialRampToValueAtTime(0.2, start + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, start + 0.2);
    tone.connect(volume).connect(context.destination);
    tone.start(start);
    tone.stop(start + 0.21);
  }
}
