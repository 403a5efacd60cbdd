// Sets light or dark before the page is drawn, so that nothing flashes. `app.js` has the switch.
"use strict";
try {
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // A browser that keeps nothing follows the system.
}
