"""A simulated table with its real daemon, and a browser in front of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.core.ledger import EXIT, IN_DEVICE, TRAY
from tests.browser.chromium import Browser, Page

PINS = {"Dana": "2580", "Flo": "147036", "Tess": "7913"}
CHOICES = {"method": "manual shoe"}  # where people do not choose the first one
OFFER = "#offers button:not(:disabled, [aria-disabled=true])"
# The table does not accept what a form says, or asks to count again: a device has moved cards in the meantime.
REFUSED_IN_FORM = (
    "(!!document.querySelector('dialog .form-answer')?.innerText"
    " || document.querySelector('dialog [data-confirm]') !== null)"
)
UP_S = 30.0
READY = "document.body.dataset.reads === 'true' && document.body.dataset.state && !document.body.matches('.stale')"


class Shoed:
    """`shoed --simulate` as a separate process, with real ptys, journal and sockets."""

    def __init__(self, folder: Path, *flags: str, speed: float = 20.0, program: tuple[str, ...] = ()) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._command = [
            *(program or (str(Path(sys.executable).parent / "shoed"),)), "--simulate", "--folder", str(folder / "run"),
            "--listen", f"127.0.0.1:{self.port}", "--speed", str(speed), *flags,
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._log = (self._folder / "shoed.log").open("ab")
        self.process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        end = time.monotonic() + UP_S
        while True:
            try:
                table = self.get("table")
                if table["devices"] and table["simulated"] and all(device["online"] for device in table["devices"]):
                    return
            except (urllib.error.URLError, OSError):
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"shoed did not start:\n{(self._folder / 'shoed.log').read_text()}")
            time.sleep(0.05)

    @property
    def token(self) -> str:
        """What the table's own screen presents."""
        return (self._folder / "run/screen.token").read_text().strip()

    @property
    def socket(self) -> Path:
        """The daemon's socket, for a second client."""
        return self._folder / "run/control.sock"

    @property
    def screen(self) -> str:
        """The address of the table's own screen."""
        return f"{self.address}/#screen={self.token}"

    def get(self, path: str) -> Any:
        """Read from the API as the table's own screen does."""
        request = urllib.request.Request(f"{self.address}/api/v1/{path}")
        request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def kill(self) -> None:
        """Kill it, like a power cut."""
        self.process.kill()
        self.process.wait()
        self._log.close()

    def freeze(self) -> None:
        """Make it hang with its connections open."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it continue."""
        os.kill(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it cleanly."""
        self.thaw()
        self.process.terminate()
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._log.close()
        assert code == 0, (self._folder / "shoed.log").read_text()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One Chromium for all tests."""
    found = Browser(tmp_path_factory.mktemp("chromium") / "profile")
    yield found
    found.close()


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Callable[..., Shoed]]:
    """Starts simulated tables, with `--paused` or other flags."""
    started: list[Shoed] = []

    def start(*flags: str, speed: float = 20.0, program: tuple[str, ...] = ()) -> Shoed:
        started.append(Shoed(tmp_path, *flags, speed=speed, program=program))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def screen(browser: Browser, table: Callable[..., Shoed]) -> Iterator[Callable[..., Person]]:
    """Starts a table and opens its screen."""
    opened: list[Person] = []

    def open_(
        *flags: str,
        width: int = 1024,
        height: int = 600,
        dark: bool = False,
        speed: float = 20.0,
        program: tuple[str, ...] = (),
    ) -> Person:
        person = Person(browser.page(width, height, dark=dark), table(*flags, speed=speed, program=program))
        opened.append(person)
        person.page.goto(person.shoed.screen)
        person.page.wait(READY)
        return person

    yield open_
    for person in opened:
        complaints = [text for text in person.page.complaints if not person.expects(text)]
        person.page.close()
        assert not complaints, complaints


class Person:
    """A person at the screen, who only clicks and types."""

    def __init__(self, page: Page, shoed: Shoed) -> None:
        self.page = page
        self.shoed = shoed
        self.refusals = False  # whether 4xx responses are expected; the browser logs each as an error
        self.looks = 0  # how often people had to look again where the cards are, which changes what they count

    def expects(self, complaint: str) -> bool:
        """Whether a console message is expected."""
        return self.refusals and "Failed to load resource" in complaint

    def sign_in(self, name: str, pin: str = "") -> None:
        """Sign in with the PIN pad."""
        self.page.click(".sign-in")
        self.page.click("dialog .choice", name)
        self.enter_pin(pin or PINS[name])
        self.page.see(".person", name)

    def sign_everybody_out(self) -> None:
        """Sign everyone out."""
        while names := self.page.js("[...document.querySelectorAll('.person-name')].map(name => name.innerText)"):
            self.page.click(".person button")
            self.page.unseen(".person", names[0])

    def enter_pin(self, pin: str) -> None:
        """Press the keys of the PIN pad, then OK."""
        self.page.see("dialog .pad")
        for digit in pin:
            self.page.click("dialog .pad button", digit)
        self.page.click("dialog .pad button", "OK")

    def open_simulation(self) -> None:
        """Open the simulation's panel."""
        if self.page.js("document.querySelector('#simulation').hidden"):
            self.page.click("#simulation-toggle")
        self.page.see("#simulation .fault")

    def close_simulation(self) -> None:
        """Close the panel, which covers other parts on a small screen."""
        if not self.page.js("document.querySelector('#simulation').hidden"):
            self.page.js("document.querySelector('#simulation-toggle').click()")  # an alarm may just be moving it
            self.page.wait("document.querySelector('#simulation').hidden")

    def press_fault(self, device: str, fault: str) -> None:
        """Switch a fault of a device on or off in the panel."""
        self.open_simulation()
        self.page.click("#simulation .segments button", device.capitalize())
        self.page.see("#simulation .segments button[aria-pressed=true]", device.capitalize())
        self.page.click(f"#simulation [data-fault={fault}]")
        self.page.see(".notice", device)
        self.close_simulation()

    def robot(self, *, speed: int = 10) -> None:
        """Let the robot play, fast."""
        self.open_simulation()
        if "Resume the robot" in self.page.text("#simulation .robot"):
            self.page.click("#simulation button", "Resume the robot")
            self.page.see("#simulation button", "Pause the robot")
        if not self.page.js(f"document.querySelector('[data-key=speed-{speed}]').ariaPressed === 'true'"):
            self.page.click("#simulation .segments button", f"{speed}×")
        self.close_simulation()

    def pause(self) -> None:
        """Pause the robot, so that it does not act before the person at the screen."""
        for _ in range(5):  # pausing again does no harm
            self.open_simulation()
            with contextlib.suppress(AssertionError):
                self.page.click("#simulation button", "Pause the robot", within=3)
            with contextlib.suppress(AssertionError):
                self.page.see("#simulation button", "Resume the robot", within=3)
                break
        assert not self.shoed.get("simulation")["robot"]["running"]
        self.close_simulation()

    def follow(self, until: str, *, most: int = 80, look: Callable[[], None] = lambda: None) -> list[str]:
        """Follow the screen with its own buttons until a condition holds; returns the steps taken.

        `look` is called before each step, and at the end.
        """
        taken: list[str] = []
        for _ in range(most):
            self.page.wait(
                f"({until}) || document.querySelector('{OFFER}') !== null"
                " && !document.body.classList.contains('stale')",
                within=60,
            )
            look()
            if self.page.js(until):
                return taken
            taken.append(self.take_step())
        raise AssertionError(f"no end after: {taken}\nthe page says:\n{self.page.words()}")

    def take_step(self) -> str:
        """Press the button that answers the step, fill in what it asks, and wait until the table has moved on."""
        found: str = self.page.js("document.querySelector('#step-text').innerText")
        before = self.shoed.get("table")["seq"]
        if not self.page.js(f"document.querySelector('{OFFER}') !== null"):
            return ""
        self.page.js("document.querySelector('#notice button')?.click()")  # what was noticed before
        self.page.click(OFFER)
        self.page.wait(
            "document.querySelector('dialog').open || document.querySelector('.notice') !== null"
            f" || document.querySelector('#step-text').innerText !== {json.dumps(found)}"
        )
        if self.page.js("document.querySelector('dialog').open"):
            self.fill_form()
        end = time.monotonic() + 10
        while self.shoed.get("table")["seq"] == before:
            assert time.monotonic() < end, f"nothing happened after {found!r}: {self.page.text('#notice')}"
        self.page.wait(f"Number(document.body.dataset.seq) > {before}")
        return found

    def act(self, action: str, **fields: str) -> None:
        """Take an action from the list of all actions."""
        self.page.click("#dock .more")
        self.page.click(f"dialog .action[data-action={action}]")
        for name, value in fields.items():
            self.page.click(f"dialog fieldset[data-field={name}] .choice", value)
        self.submit()

    def submit(self) -> None:
        """Submit the open form, if there is one, and enter the PIN if the action needs it."""
        if not self.page.js("document.querySelector('dialog').classList.contains('pin')"):
            self.page.click("dialog button[type=submit]")
            self.page.wait(
                "!document.querySelector('dialog').open || document.querySelector('dialog.pin') !== null"
                f" || {REFUSED_IN_FORM}"
            )
        if self.page.js(REFUSED_IN_FORM):  # a device was quicker: the next step asks for something else
            self.refusals = True
            self.looks += 1
            self.page.click("dialog .dialog-head button")
        elif self.page.js("document.querySelector('dialog').open"):
            if not self.page.js("document.querySelector('dialog .pad') !== null"):
                self.page.click("dialog .choice", "Flo")
            self.page.see("dialog .pin-who")
            self.enter_pin(PINS[self.page.js("document.querySelector('dialog .pin-who strong').innerText")])
        self.page.wait("!document.querySelector('dialog').open")

    def fill_form(self) -> None:
        """Fill the open form with the right values for this table, and submit it."""
        picture = self.shoed.get("table")
        given: dict[str, str] = self.page.js(
            "Object.fromEntries([...document.querySelectorAll('dialog .given .chip')]"
            ".map(chip => [chip.dataset.field, chip.dataset.value]))"
        )
        for name in self.page.js(
            "[...document.querySelectorAll('dialog fieldset:not([hidden])')].map(f => f.dataset.field)"
        ):
            field = f"dialog fieldset[data-field={name}]"
            if name == "seats":
                for seat in (1, 3, 6):
                    self.page.click(f"{field} [data-value='{seat}']")
            elif name == "deck" and self.page.js(f"!!document.querySelector('{field} input')"):
                self.page.click(f"{field} .choice")
            elif name == "cards":
                for digit in str(self._cards(picture, given)):
                    self.page.click(f"{field} .pad button", digit)
            elif not self.page.js(f"!!document.querySelector('{field} [aria-pressed=true]')"):
                self.page.click(f"{field} .choice", CHOICES.get(name, ""))
        self.submit()

    def _cards(self, picture: dict[str, Any], given: dict[str, str]) -> int:
        """How many cards a person would count at the place that the form names; a device is emptied as a whole.

        A form without a place is about the whole pile: all cards but those that a working device brings out. People
        cannot know which these are: all of them, none, or all but those at its exit.
        """
        place = given.get("place", "")
        places = next((inside for inside in IN_DEVICE.values() if place in inside), (place,))
        working = {device["name"] for device in picture["devices"] if device["state"] in ("ready", "working")}
        inside = {one for device in working for one in IN_DEVICE[device]}
        kept = (inside, set(), inside - {EXIT, TRAY})[self.looks % 3]
        for deck in picture["decks"]:
            if deck["name"] == given.get("deck"):
                places = places if place else tuple(set(deck["cards"]) - kept)
                return sum(deck["cards"].get(one, 0) for one in places)
        raise AssertionError(f"nothing to count: {given}")
