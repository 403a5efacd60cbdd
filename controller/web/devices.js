// The devices page: identity and state of each device, its link's health over time, counters and latest frames.

import { get } from "./api.js";
import { openDialog } from "./dialog.js";
import { byId, duration, el, fill, svg, words } from "./dom.js";
import { beginFlow } from "./flows.js";
import { deviceWords } from "./picture.js";

const SPANS = [[10, "10 min", 5], [60, "1 h", 4], [360, "6 h", 6]]; // minutes, label, sections of the axis
const EVERY_MS = 5000;
const STEP_MS = 10000; // between two samples
let span = 60;
let timer = 0;
let table = null;
let devices = []; // as fetched last
const expanded = new Set(); // devices whose counters are shown

export function useDevices(picture) {
  table = picture;
  if (!byId("page-devices").hidden) show();
}

export function openDevices() {
  clearInterval(timer);
  showSpans();
  load();
  timer = setInterval(() => {
    if (byId("page-devices").hidden) clearInterval(timer);
    else load();
  }, EVERY_MS);
}

function showSpans() {
  fill(byId("span"), span, () => SPANS.map(([minutes, text]) =>
    el("button", {
      type: "button", "aria-pressed": String(minutes === span), data: { key: `span-${minutes}` },
      onclick: () => { span = minutes; showSpans(); show(); },
    }, text)));
}

async function load() {
  try {
    ({ devices } = await get("devices"));
    show();
  } catch (error) {
    fill(byId("devices"), error.message, () => el("p", { class: "trouble", text: error.message }));
  }
}

function show() {
  const states = table?.devices.map((device) => [deviceWords(device), device.state]);
  fill(byId("devices"), [devices, span, states], () =>
    devices.length ? devices.map(card) : el("p", { text: "This table has no devices." }));
}

function card(device) {
  const seen = table?.devices.find((one) => one.name === device.name);
  const identity = device.identity;
  const trip = device.round_trip;
  const online = device.online && (seen?.online ?? true); // the table knows sooner
  const state = seen ? deviceWords(seen) : device.state;
  return el("article", { class: "panel device-card", data: { device: device.name } },
    el("header", {},
      el("span", { class: `light is-${seen?.state ?? device.state}${online ? "" : " is-lost"}`, "aria-hidden": "true" }),
      el("h2", { text: words(device.name) }),
      el("span", { class: `chip ${inTrouble(seen) ? "bad" : ""}`, text: words(state) }),
      el("span", { class: `chip ${online ? "quiet" : "bad"}`, text: online ? "Connected" : device.online ? "Not connected" : `Not connected: ${device.stage}` })),
    device.trouble ? el("p", { class: "trouble", text: device.trouble }) : null,
    plot(device),
    el("dl", { class: "facts" },
      ...fact("Round trip", trip ? `median ${number(trip.median_ms)} ms, p99 ${number(trip.p99_ms)} ms (${trip.samples} samples)` : "not measured yet"),
      ...fact("Port", device.port),
      ...(identity ? [
        ...fact("Device", [identity.maker, identity.model].filter(Boolean).join(" ")),
        ...fact("Serial number", identity.serial),
        ...fact("Firmware", `${identity.firmware}, protocol ${identity.protocol}`),
        ...fact("Capabilities", (identity.capabilities ?? []).map((one) => String(one).toLowerCase().replaceAll("_", " ")).join(", "))] : []),
      ...fact("Boot", device.boot), ...fact("Last event", device.last_event)),
    el("details", {
      open: expanded.has(device.name), "aria-label": `Link counters of the ${device.name}`,
      ontoggle: (event) => expanded[event.target.open ? "add" : "delete"](device.name),
    }, el("summary", { data: { key: `counters-${device.name}` }, text: "Link counters" }),
      el("dl", { class: "facts counters" }, ...Object.entries(device.counters ?? {}).flatMap(([name, value]) => fact(words(name), value)))),
    el("div", { class: "row" },
      el("button", { type: "button", data: { key: `frames-${device.name}` }, onclick: () => frames(device.name) }, "Latest frames"),
      !seen || seen.state === "out_of_service" ? null : el("button", {
        type: "button", data: { key: `out-${device.name}` }, onclick: () => beginFlow("out-of-service", device.name),
      }, "Take out of service …")));
}

const BROKEN = new Set(["jammed", "failed", "lost", "unknown"]);
const inTrouble = (device) => Boolean(device && (BROKEN.has(device.state) || device.hindered));

const fact = (name, value) => (value === undefined || value === null || value === "" ? [] : [el("dt", { text: name }), el("dd", { text: value })]);
const number = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));

async function frames(name) {
  const { lines } = await get(`devices/${encodeURIComponent(name)}/frames`).catch((error) => ({ lines: [error.message] }));
  openDialog(`Latest frames: ${name}`, [el("div", { class: "dialog-body" },
    el("pre", { class: "frames", tabindex: "0", "aria-label": "Frames, oldest first", text: lines.join("\n") || "No frames yet." }))], null, "wide");
}

// --- the plot -------------------------------------------------------------------------------------------------------

const W = 720;
const H = 168;
const PLOT = { left: 46, right: 8, top: 10, rtt: 92, bars: 122, band: 132, bottom: 146 };

/** Round-trip time as a line, resends and bad frames as bars, and a band for ok, degraded or down. */
function plot(device) {
  const history = device.history ?? [];
  const end = (history.at(-1)?.at_ms ?? 0) + STEP_MS;
  const start = end - span * 60000;
  const seen = history.filter((point) => point.at_ms >= start);
  if (seen.length < 2) return el("p", { class: "small", text: "The link's health is plotted here after two samples, one every ten seconds." });
  const most = nice(Math.max(1, ...seen.map((point) => point.rtt_ms ?? 0)));
  const x = (at) => PLOT.left + ((at - start) / (span * 60000)) * (W - PLOT.left - PLOT.right);
  const y = (ms) => PLOT.rtt - (Math.min(ms, most) / most) * (PLOT.rtt - PLOT.top);
  const wide = Math.max(1, x(start + STEP_MS) - x(start)) + 0.6;
  const parts = [];
  for (const ms of [0, most / 2, most])
    parts.push(svg("line", { x1: PLOT.left, x2: W - PLOT.right, y1: y(ms), y2: y(ms), class: "grid" }),
      svg("text", { x: PLOT.left - 6, y: y(ms) + 5, "text-anchor": "end", class: "axis", text: Number.isInteger(most / 2) ? ms : ms.toFixed(1) }));
  const worst = Math.max(1, ...seen.map((point) => (point.resends ?? 0) + (point.bad_frames ?? 0)));
  for (const point of seen) {
    parts.push(svg("rect", { x: x(point.at_ms), y: PLOT.band, width: wide, height: PLOT.bottom - PLOT.band, class: `band-${point.state}` }));
    const bad = (point.resends ?? 0) + (point.bad_frames ?? 0);
    if (bad) {
      const tall = Math.max(3, (bad / worst) * (PLOT.bars - PLOT.rtt - 6));
      parts.push(svg("rect", { x: x(point.at_ms), y: PLOT.bars - tall, width: Math.max(2, wide), height: tall, class: "bar-bad" }));
    }
  }
  let path = "";
  let down = true;
  for (const point of seen) {
    const has = typeof point.rtt_ms === "number" && point.state !== "down";
    if (has) path += `${down ? "M" : "L"}${(x(point.at_ms) + wide / 2).toFixed(1)} ${y(point.rtt_ms).toFixed(1)}`;
    down = !has;
  }
  parts.push(svg("path", { d: path, class: "rtt" }));
  const sections = SPANS.find(([minutes]) => minutes === span)[2];
  for (let part = 0; part <= sections; part++) {
    const ago = (span * 60000 * part) / sections;
    const anchor = part === 0 ? "end" : part === sections ? "start" : "middle";
    parts.push(svg("text", { x: x(end - ago), y: H - 4, "text-anchor": anchor, class: "axis", text: part ? `−${duration(ago)}` : "now" }));
  }
  return el("figure", { class: "plot" },
    svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": inWords(device.name, seen) }, ...parts),
    el("figcaption", {},
      el("span", { class: "key rtt-key", text: "round trip, ms" }), el("span", { class: "key bad-key", text: "resends and bad frames" }),
      el("span", { class: "key ok-key", text: "ok" }), el("span", { class: "key degraded-key", text: "degraded" }), el("span", { class: "key down-key", text: "down" })));
}

function nice(value) {
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((times) => times * step).find((round) => round >= value);
}

function inWords(name, seen) {
  const of = (state) => seen.filter((point) => point.state === state).length * STEP_MS;
  return `Link of the ${name}: ok for ${duration(of("ok"))}, degraded for ${duration(of("degraded"))}, down for ${duration(of("down"))}.`;
}
