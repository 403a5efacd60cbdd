// Sets light or dark before the page is drawn, so that it does not flash. The switch is in app.js.
"use strict";
try {
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // Without storage the page follows the system.
}
