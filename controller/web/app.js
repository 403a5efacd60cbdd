// The screen's main module: the stream delivers views of the table, and every part of the page shows its share.

import { mayRead, onMayRead, refreshSession, startAccess } from "./access.js";
import { forgetActions, onActions, onWagers, setStale, showClause, tapSeat, useTable } from "./actions.js";
import { showAlarmBar, startAlarmBar } from "./alarm_bar.js";
import { get, query } from "./api.js";
import { startDialog } from "./dialog.js";
import { byId, capitalise, duration, icon, onClause, plural, setText } from "./dom.js";
import { openDevices, useDevices } from "./devices.js";
import { showGame } from "./game_panels.js";
import { openJournal, startJournal } from "./journal.js";
import { startFlows, withFlow } from "./flows.js";
import { addEvents, showAlarms, showDecks, showFlow, showStep } from "./panels.js";
import { Picture, useBacks } from "./picture.js";
import { startSimulation, useSimulation } from "./simulation.js";
import { Stream } from "./stream.js";

const picture = new Picture(byId("picture"), tapSeat);
let table = null;
let receivedAt = 0; // when `table` was received, on this browser's clock

/** The table's clock, continued between two views. */
const nowMs = () => (table ? table.now_ms + (performance.now() - receivedAt) : 0);

// Fields that are missing while the table is stopped, or in what a bystander may see.
const DEFAULTS = { seq: 0, warnings: [], decks: [], devices: [], round: null, access: { locked: [] }, seats: 0, backs: [], wagered: [], rounds: 0, rounds_uncounted: 0, stub_count_rounds: null, method: "", now_ms: 0, void_steps: null, troubles: [], hands: [], seat_bets: [], button: 0, turn: null, board: [], settled: null, session_ended: null };

function show(next) {
  table = { ...DEFAULTS, ...next, step: { why: "", clause: [], ...next.step } };
  receivedAt = performance.now();
  redraw();
}

function redraw() {
  if (table) showAll(withFlow(table));
}

function showAll(table) {
  setText(byId("name"), table.name);
  setText(byId("state"), capitalise(table.table_words));
  setText(byId("round"), table.round ? `Round ${table.round.number}` : table.bystander ? "" : plural(table.rounds, "round"));
  document.body.dataset.state = table.table;
  document.body.dataset.seq = table.seq;
  useBacks(table.backs);
  showStep(table);
  useTable(table);
  showFlow(table.flow ?? null);
  showAlarmBar(table);
  showAlarms(table);
  if (!table.bystander) showDecks(table);
  showGame(table);
  picture.show(table);
  useDevices(table);
  useSimulation(table);
}

function showStale(silentMs) {
  const place = byId("stale");
  const first = !document.body.classList.contains("stale");
  document.body.classList.add("stale");
  const text = table ? `STALE: no data for ${duration(silentMs)}. This page may be out of date. Reconnecting …`
    : "Connecting to the table …";
  if (first) {
    setStale(true);
    redraw();
    document.title = `⚠ No data – ${table?.name ?? "Dragonshoe"}`;
  }
  place.hidden = false;
  // Announced once to screen readers; the seconds are updated silently.
  if (first) place.textContent = text;
  else if (place.firstChild) place.firstChild.nodeValue = text;
}

function showFresh() {
  document.body.classList.remove("stale");
  byId("stale").hidden = true;
  byId("stale").textContent = "";
  setStale(false);
  redraw();
  refreshSession().catch(() => {});
  fetchEvents();
}

function fetchEvents() {
  if (!mayRead()) return;
  get(`events?${query({ newest: 1, limit: 60 })}`).then((answer) => addEvents(answer.events, answer.head)).catch(() => {});
}

// --- pages --------------------------------------------------------------------------------------------------------

const PAGES = { table: () => {}, devices: openDevices, journal: openJournal };

function route() {
  const [name, rest = ""] = location.hash.slice(1).split("/");
  const page = name in PAGES && mayRead() ? name : "table";
  for (const other of Object.keys(PAGES)) byId(`page-${other}`).hidden = other !== page;
  for (const link of document.querySelectorAll("nav a"))
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  document.body.dataset.page = page;
  PAGES[page](decodeURIComponent(rest));
}

// --- light and dark -----------------------------------------------------------------------------------------------

const THEMES = [["", "system", "system"], ["light", "light", "light"], ["dark", "dark", "dark"]];

function startTheme() {
  const button = byId("theme");
  const draw = () => {
    const found = THEMES.find(([name]) => name === (document.documentElement.dataset.theme ?? ""));
    button.replaceChildren(icon(found[1]));
    button.setAttribute("aria-label", `Colours: ${found[2]}`);
    button.title = `Colours: ${found[2]}`;
  };
  button.addEventListener("click", () => {
    const at = THEMES.findIndex(([name]) => name === (document.documentElement.dataset.theme ?? ""));
    const [name] = THEMES[(at + 1) % THEMES.length];
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    try {
      localStorage.setItem("theme", name);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    draw();
  });
  draw();
}

startTheme();
startDialog();
onClause(showClause);
onWagers((seats, open) => picture.showWagers(seats, open));
startJournal();
startSimulation();
startAlarmBar(redraw);
startFlows(redraw);
onActions(redraw);
startAccess(nowMs, () => Boolean(table?.simulated), () => setStale(document.body.classList.contains("stale"))).catch(() => {});
addEventListener("hashchange", route);
route();

// A busy table sends more than anyone can see: draw only the latest view, at most 25 times a second.
const DRAW_MS = 40;
let waiting = null;
let newEvents = [];
let drawing = false;

function draw() {
  drawing = false;
  const [next, list] = [waiting, newEvents];
  waiting = null;
  newEvents = [];
  if (next) show(next);
  if (list.length) addEvents(list);
}

function drawSoon() {
  if (drawing) return;
  drawing = true;
  const since = performance.now() - receivedAt;
  setTimeout(draw, Math.max(0, DRAW_MS - since));
}

const stream = new Stream({
  table: (next) => { waiting = next; drawSoon(); },
  journal: (event) => {
    newEvents.push(event);
    drawSoon();
    if (event.kind.startsWith("access.")) refreshSession().catch(() => {}); // somebody may no longer be signed in here
  },
  stale: showStale,
  fresh: showFresh,
});

onMayRead(() => {
  stream.connect();
  if (mayRead()) forgetActions();
  fetchEvents();
  route();
});
