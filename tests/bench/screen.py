"""From a tap to the new headline in Chromium, against a bare page that posts and receives an echo over a stream."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from controller.daemon.config import read_config
from controller.daemon.people import hash_pin
from controller.journal import Journal, NewEvent, timestamp
from tests.bench.measure import Row
from tests.browser.chromium import Browser, Page
from tests.daemon.test_shoed import config_file
from tests.support.core_driver import House
from tests.support.served import LIMIT_S, Served, free_port

TURNS, TAPS = 8, 27  # turns of each page, and taps in each: three rounds
PIN = "2580"
TOKEN = "the-token-of-the-table-s-own-screen"
# A table that waits for people only: one deck, a manual shoe, no device.
TABLE = '[table]\nmethod = "manual_shoe"\nbacks = ["red"]\n'
# Every tap that changes the headline, from the input event until the new text was painted.
PROBE = """(() => {
  window.waits = [];
  let tapped = 0;
  addEventListener("click", (event) => { tapped = event.timeStamp; }, true);
  const painted = new MessageChannel();
  let begun = 0;
  painted.port1.onmessage = () => waits.push(performance.now() - begun);
  new MutationObserver(() => {
    if (!tapped) return;
    [begun, tapped] = [tapped, 0];
    requestAnimationFrame(() => painted.port2.postMessage(0)); // its message comes after the frame
  }).observe(document.querySelector("#step-text"), {childList: true, characterData: true, subtree: true});
})()"""


@contextlib.contextmanager
def table(folder: Path) -> Iterator[tuple[Served, str]]:
    """A table that is open for bets, and the address of its screen."""
    listen = f"127.0.0.1:{free_port()}"
    people = folder / "people.toml"
    people.write_text(f'[[person]]\nname = "Dana"\nroles = ["dealer"]\npin = "{hash_pin(PIN)}"\n')
    people.chmod(0o600)
    config = folder / config_file(folder)
    lines = config.read_text().split("[shuffler]")[0]  # without its devices
    token = folder / "screen.token"
    token.write_text(TOKEN)
    config.write_text(f'{lines}{TABLE}[screen]\nlisten = "{listen}"\npeople = "{people}"\ntoken = "{token}"\n')
    with Journal(folder / "run/journal.db", create=True) as journal:
        ts = timestamp(datetime.now(UTC))
        house = House(read_config(config).setup()).open()
        journal.append([NewEvent(ts, entry.kind, entry.clause, entry.event) for entry in house.events])
    served = Served(folder, "--config", config.name)
    try:
        served.until("ready")
        yield served, f"http://{listen}/#screen={TOKEN}"
    finally:
        served.close()


@contextlib.contextmanager
def bare_page() -> Iterator[str]:
    """The bare page's address."""
    port = free_port()
    words = [sys.executable, "-m", "tests.bench.bare_page", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(LIMIT_S)
        process.stdout.close()


def sign_in(page: Page) -> None:
    """The dealer signs in with the PIN pad."""
    page.click(".sign-in")
    page.click("dialog .choice", "Dana")
    for digit in PIN:
        page.click("dialog .pad button", digit)
    page.click("dialog .pad button", "OK")
    page.see(".person", "Dana")


def tap_screen(page: Page, served: Served, taps: int) -> None:
    """Do what the headline says, with its own button."""
    for _ in range(taps):
        seen = served.table()
        if seen["table"] == "betting" and not seen["wagered"]:
            served.do("wager", seats=[1, 3])
            page.wait("document.querySelector('.seat.playing') !== null")
        before = page.js("waits.length")
        page.click("#offers button:not(:disabled, [aria-disabled=true])")
        page.wait(f"waits.length > {before} || document.querySelector('dialog').open")
        if page.js("document.querySelector('dialog').open"):
            if page.js("document.querySelector('dialog .pad') !== null"):  # every few rounds the stub is counted
                for digit in str(max(deck["cards"].get("stub", 0) for deck in served.table()["decks"])):
                    page.click("dialog .pad button", digit)
            page.click("dialog button[type=submit]")
        page.wait(f"waits.length > {before}")


def tap_bare(page: Page, taps: int) -> None:
    """The same at the bare page."""
    for _ in range(taps):
        before = page.js("waits.length")
        page.click("button")
        page.wait(f"waits.length > {before}")


def measured(folder: Path, turns: int = TURNS) -> tuple[list[float], list[float]]:
    """The waits at the screen and at the bare page, in milliseconds, in alternating turns."""
    browser = Browser(folder / "profile")
    try:
        with table(folder) as (served, address), bare_page() as bare:
            ours, theirs = browser.page(still=False), browser.page(still=False)
            ours.goto(address)
            ours.wait("document.body.dataset.reads === 'true'")
            ours.see("#offers button")
            theirs.goto(bare)
            sign_in(ours)
            for page in (ours, theirs):
                page.js(PROBE)
            for _ in range(turns):
                tap_screen(ours, served, TAPS)
                tap_bare(theirs, TAPS)
            return ours.js("waits"), theirs.js("waits")
    finally:
        browser.close()


def rows() -> list[Row]:
    """Tap to headline."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("DRAGONSHOE_BENCH_FOLDER")) as name:
        ours, theirs = measured(Path(name))
    peer = "a bare page that posts and receives an echo over a stream"
    return [
        Row("tap to new headline in Chromium", "ms", statistics.median(ours), statistics.median(theirs), peer, "<= 2")
    ]
