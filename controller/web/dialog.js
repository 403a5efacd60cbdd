// The one dialog of the screen: forms, the PIN pad, a clause. It is modal, so focus stays inside and Escape closes it.

import { byId, clauses, el, icon } from "./dom.js";

let onClose = null;

/** Open it with a title and parts; `closed` is called when it is gone, whatever way. */
export function openDialog(title, parts, closed = null, kind = "") {
  const dialog = byId("dialog");
  const before = onClose; // one dialog gives way to the next without closing in between
  onClose = closed;
  before?.();
  dialog.className = kind;
  dialog.replaceChildren(
    el("div", { class: "dialog-head" },
      el("h2", { id: "dialog-title", text: title }),
      el("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: closeDialog }, icon("close"))),
    ...parts);
  if (!dialog.open) dialog.showModal();
  const first = dialog.querySelector("[autofocus]") ?? dialog.querySelector(".dialog-body button:not(:disabled), input");
  first?.focus();
}

export function closeDialog() {
  byId("dialog").close();
}

export function startDialog() {
  const dialog = byId("dialog");
  dialog.addEventListener("close", () => {
    if (dialog.open) return; // opened again meanwhile
    const closed = onClose;
    onClose = null;
    dialog.replaceChildren();
    closed?.();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) closeDialog(); // a touch beside it
  });
}

function sentence(text) {
  return text ? text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "";
}

/** Why something was not done, and what would make it possible. */
export function refusalWords(error) {
  const refused = error.code === "refused";
  const hint = sentence(refused && error.hint ? `possible when ${error.hint}` : error.hint);
  return [el("strong", { text: sentence(refused ? `refused: ${error.message}` : error.message) }), " ", hint, " ", ...clauses(error.clause, "refusal-")];
}

let noticeTimer = 0;

/** A line at the top of the page that goes away by itself; a refusal stays until something else is done. */
export function notice(parts, kind = "done") {
  const place = byId("notice");
  clearTimeout(noticeTimer);
  const gone = () => place.replaceChildren();
  place.replaceChildren(el("div", { class: `notice ${kind}` }, el("p", {}, ...[parts].flat()),
    el("button", { type: "button", class: "icon-button", "aria-label": "Dismiss", onclick: gone }, icon("close"))));
  noticeTimer = setTimeout(gone, kind === "done" ? 4000 : 15000);
}
