// Puts the screen together: the stream brings pictures of the table, every part shows its share of them.

import { refreshSession, startAccess } from "./access.js";
import { setStale, showClause, useTable } from "./actions.js";
import { get, query } from "./api.js";
import { startDialog } from "./dialog.js";
import { byId, duration, icon, onClause, say } from "./dom.js";
import { openDevices, useDevices } from "./devices.js";
import { openJournal, startJournal } from "./journal.js";
import { addEvents, showAlarms, showDecks, showStep } from "./panels.js";
import { Picture } from "./picture.js";
import { startSimulation, useSimulation } from "./simulation.js";
import { Stream } from "./stream.js";

const picture = new Picture(byId("picture"));
let table = null;
let heardAt = 0; // of this browser's clock, when `table` came

/** The table's own clock, also between two pictures. */
const nowMs = () => (table ? table.now_ms + (performance.now() - heardAt) : 0);

// What a table that has stopped does not tell.
const NOTHING = { seats: 0, backs: [], rounds: 0, rounds_uncounted: 0, stub_count_rounds: null, method: "", now_ms: 0, void_steps: null };

function show(next) {
  table = { ...NOTHING, ...next };
  heardAt = performance.now();
  document.title = `${table.name} · ${table.step.text}`;
  say(byId("name"), table.name);
  say(byId("state"), table.table_words);
  say(byId("round"), table.round ? `Round ${table.round.number}` : `${table.rounds} ${table.rounds === 1 ? "round" : "rounds"}`);
  document.body.dataset.state = table.table;
  document.body.dataset.seq = table.seq;
  showStep(table);
  showAlarms(table);
  showDecks(table);
  picture.show(table);
  useTable(table);
  useDevices(table);
  useSimulation(table);
}

function tellStale(silentMs) {
  const place = byId("stale");
  const first = !document.body.classList.contains("stale");
  document.body.classList.add("stale");
  const text = table ? `STALE: nothing heard for ${duration(silentMs)}. What you see may be wrong. Connecting again …`
    : "Connecting to the table …";
  if (first) setStale(true);
  place.hidden = false;
  // Screen readers hear it once; the seconds go on silently.
  if (first) place.textContent = text;
  else if (place.firstChild) place.firstChild.nodeValue = text;
}

function tellFresh() {
  document.body.classList.remove("stale");
  byId("stale").hidden = true;
  byId("stale").textContent = "";
  setStale(false);
  refreshSession().catch(() => {});
  get(`events?${query({ newest: 1, limit: 60 })}`).then((answer) => addEvents(answer.events, answer.head)).catch(() => {});
}

// --- pages --------------------------------------------------------------------------------------------------------

const PAGES = { table: () => {}, devices: openDevices, journal: openJournal };

function route() {
  const [name, rest = ""] = location.hash.slice(1).split("/");
  const page = name in PAGES ? name : "table";
  for (const other of Object.keys(PAGES)) byId(`page-${other}`).hidden = other !== page;
  for (const link of document.querySelectorAll("nav a"))
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  document.body.dataset.page = page;
  PAGES[page](decodeURIComponent(rest));
}

// --- light and dark -----------------------------------------------------------------------------------------------

const THEMES = [["", "system", "as the system"], ["light", "light", "light"], ["dark", "dark", "dark"]];

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
      // Then it is forgotten with the page.
    }
    draw();
  });
  draw();
}

startTheme();
startDialog();
onClause(showClause);
startJournal();
startSimulation();
startAccess(nowMs, () => Boolean(table?.simulated), () => setStale(document.body.classList.contains("stale"))).catch(() => {});
addEventListener("hashchange", route);
route();

// A busy table tells more than an eye can see: drawn is the last picture, at most ten times a second.
const DRAW_MS = 100;
let waiting = null;
let news = [];
let drawing = false;

function draw() {
  drawing = false;
  const [next, list] = [waiting, news];
  waiting = null;
  news = [];
  if (next) show(next);
  if (list.length) addEvents(list);
}

function drawSoon() {
  if (drawing) return;
  drawing = true;
  const since = performance.now() - heardAt;
  setTimeout(draw, Math.max(0, DRAW_MS - since));
}

new Stream({
  table: (next) => { waiting = next; drawSoon(); },
  journal: (event) => { news.push(event); drawSoon(); },
  stale: tellStale,
  fresh: tellFresh,
});
