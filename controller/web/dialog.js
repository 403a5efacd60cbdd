// The modal dialog (forms, the PIN pad, a clause) and the line for messages.

import { byId, capitalise, clauses, el, icon } from "./dom.js";

let onClose = null;

/** Open the dialog with a title and parts; `closed` is called when it closes, for any reason. */
export function openDialog(title, parts, closed = null, kind = "") {
  const dialog = byId("dialog");
  const before = onClose; // a new dialog replaces the current one without closing it
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
    if (dialog.open) return; // reopened in the meantime
    const closed = onClose;
    onClose = null;
    dialog.replaceChildren();
    closed?.();
  });
  let outside = false; // a touch that began outside the dialog, not a finger that slipped out of it
  dialog.addEventListener("pointerdown", (event) => { outside = event.target === dialog; });
  dialog.addEventListener("click", (event) => {
    if (outside && event.target === dialog && event.detail < 2) closeDialog(); // not the second tap of the double tap that opened it
  });
}

function sentence(text) {
  return text ? capitalise(text) + (/[.!?]$/.test(text) ? "" : ".") : "";
}

/** Why an action failed, and when it is possible. */
export function refusalWords(error) {
  const refused = error.code === "refused";
  const hint = sentence(refused && error.hint ? `possible when ${error.hint}` : error.hint);
  return [el("strong", { text: sentence(refused ? `refused: ${error.message}` : error.message) }), " ", hint, " ", ...clauses(error.clause, "refusal-")];
}

/** Why an action is not possible now, and when it will be: `why` is what the daemon says about it. */
export function whyNotWords(title, why) {
  const when = why?.possible_when ? ` ${sentence(`possible when ${why.possible_when}`)}` : "";
  return [el("strong", { text: `${title}: not possible now.` }), ` ${sentence(why?.reason ?? "the table has just changed")}${when} `,
    ...clauses(why?.clause, "why-not-")];
}

let noticeTimer = 0;

/** A message on the line that the page keeps free for it; it disappears by itself, a refusal later. */
export function notice(parts, kind = "done") {
  const place = byId("notice");
  if (place.closest(".page").hidden)
    document.querySelector(".page:not([hidden]) :is(.page-head, .picture)").after(place);
  clearTimeout(noticeTimer);
  place.replaceChildren(el("p", { class: `notice ${kind}` }, ...[parts].flat()));
  if (kind === "refused") place.scrollIntoView({ block: "nearest" }); // on a phone it may be out of sight
  noticeTimer = setTimeout(clearNotice, kind === "done" ? 4000 : 15000);
}

/** Remove the message: it is about an action that is over. */
export function clearNotice() {
  clearTimeout(noticeTimer);
  byId("notice").replaceChildren();
}
