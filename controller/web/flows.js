// Guided flows: closing the table, changing a deck, taking a device out of service. While people follow one, its next
// step takes the place of the table's.

import { get, query } from "./api.js";
import { closeDialog, notice } from "./dialog.js";
import { el } from "./dom.js";

const STORED = "flow";
let active = stored(); // the goal, and what it is about
let found = null; // the flow as fetched last
let fetching = false;
let redraw = () => {};

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(STORED));
  } catch {
    return null;
  }
}

function follow(goal) {
  active = goal;
  found = null;
  try {
    if (goal) sessionStorage.setItem(STORED, JSON.stringify(goal));
    else sessionStorage.removeItem(STORED);
  } catch {
    // Without storage the flow lasts as long as the page.
  }
  redraw();
}

export function startFlows(listener) {
  redraw = listener;
}

export function beginFlow(goal, about) {
  location.hash = "#table";
  follow({ goal, about });
}

export const endFlow = () => follow(null);

/** The table with the step of the flow that people are following. */
export function withFlow(table) {
  if (!active || table.stopped) return table;
  if (!found || found.seq < table.seq) fetchFlow();
  return found ? { ...table, step: found.step ?? table.step, flow: found } : table;
}

function fetchFlow() {
  if (fetching) return;
  fetching = true;
  const wanted = active;
  const answer = get(`flows/${wanted.goal}?${query({ about: wanted.about })}`).finally(() => { fetching = false; });
  answer.then((flow) => {
    if (wanted === active && flow.done) {
      notice(`${flow.title}: done.`);
      endFlow();
      return;
    }
    if (wanted === active) found = flow;
    redraw();
  }).catch((error) => {
    if (error.code !== "not_found") return; // the stream shows whether the daemon is running
    notice(error.message, "refused");
    endFlow();
  });
}

/** The goals that people can choose now, for the list of all actions. */
export async function flowChoices() {
  const { flows } = await get("flows").catch(() => ({ flows: [] }));
  return el("section", { class: "action-group" }, el("h3", { text: "Step by step" }),
    el("div", { class: "action-grid" }, ...flows.map(({ goal, about, title }) =>
      el("button", { type: "button", class: "action", data: { flow: goal, about }, onclick: () => { closeDialog(); beginFlow(goal, about); } },
        el("span", { class: "action-title", text: `${title} …` })))));
}
