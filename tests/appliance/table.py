"""The table around the machine under test: the simulated devices on its USB, and the simulated people who deal.

The devices run on the host, in their own thread, so they stay powered when the machine is not. The table's state is
computed here from the daemon's events, with the daemon's own core.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from controller.core import actions as act
from controller.core.actions import Action
from controller.core.apply import apply
from controller.core.events import read
from controller.core.events.event import Entry
from controller.core.machines import TableState
from controller.core.setup import Setup
from controller.core.state import State
from firmware_bridge.wire.link import LinkTiming
from simulators.devices.cards import DECK_SIZE
from simulators.devices.device import SimulatedTable
from simulators.devices.faults import FaultName
from simulators.pipes.endpoints import Endpoint
from simulators.pipes.qemu import QemuSerialEndpoint, QemuUsbEndpoint
from simulators.pipes.usb_backend import SoftwareUsbDevice
from simulators.table.hands import hand
from simulators.table.house import capabilities, deck_names
from simulators.table.robot import Robot, RunningTable
from tests.appliance.machine import DEVICES, LIMIT_S, LOOK_S, Failed, Machine

T = TypeVar("T")
SPEED = 5.0  # of the devices; their links keep real time
SETS = 6  # of decks in the cupboard
MOST_EVENTS = 500  # in one answer
SEATS = (1, 3, 6)
USB_PORTS = {name: f"usb:1209:5d0e:SIM-{name.upper()}" for name in DEVICES}


class NoAnswer(Exception):
    """The daemon does not answer at the moment."""


class PlayedTable:
    """Devices, cards and people; `state` is the result of the daemon's events so far."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.state = State()
        self.events: list[Entry] = []  # all of the daemon's events
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="devices", daemon=True)
        self._thread.start()
        setup = Setup()
        self.sim = SimulatedTable(
            1,
            now=self._loop.time(),
            decks=deck_names(setup, SETS),
            shuffler_capabilities=capabilities(setup, "shuffler"),
            shoe_capabilities=capabilities(setup, "shoe"),
            timing=LinkTiming().scaled(SPEED),
        )
        for name in DEVICES:  # nothing is plugged in yet
            getattr(self.sim, name).inject(FaultName.UNPLUG, self._loop.time())
        self._endpoints: dict[str, Endpoint] = {}
        self._ahead_s = 0.0
        self.sim.on_fed = self._look_soon
        self.robot = Robot(
            RunningTable(
                self.sim,
                DEVICES,
                setup,
                lambda: self.state,
                self._report,
                self._look,
                lambda: self._endpoints["shoe"].driver.now(),
            )
        )

    def close(self) -> None:
        """Disconnect everything."""
        for endpoint in self._endpoints.values():
            asyncio.run_coroutine_threadsafe(endpoint.close(), self._loop).result(LIMIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT_S)
        self._loop.close()

    # ---- cables ----

    def wire(self, kind: str) -> None:
        """Use cables of this kind, serial or usb; none is connected yet."""
        if self._endpoints:  # the devices' clock runs faster than ours and must not jump back
            self._ahead_s = self.in_loop(lambda: self._endpoints["shoe"].driver.now() - self._loop.time())
        for name in DEVICES:
            if name in self._endpoints:
                asyncio.run_coroutine_threadsafe(self._endpoints[name].close(), self._loop).result(LIMIT_S)
            device, path = getattr(self.sim, name), self.machine.device_socket(kind, name)
            self._endpoints[name] = self._endpoint(kind, name, path, device)
            asyncio.run_coroutine_threadsafe(self._endpoints[name].start(), self._loop).result(LIMIT_S)

    def _endpoint(self, kind: str, name: str, path: Path, device: Any) -> Endpoint:
        ahead_s = self._ahead_s

        def clock() -> float:
            return self._loop.time() + ahead_s

        if kind == "serial":
            return QemuSerialEndpoint(device, path, speed=SPEED, clock=clock)
        usb = SoftwareUsbDevice(serial=f"SIM-{name.upper()}", product_name=f"Dragonshoe {name.title()}")
        return QemuUsbEndpoint(device, path, usb, speed=SPEED, clock=clock)

    def pull_out(self, name: str) -> None:
        """Disconnect a device."""
        self.in_loop(lambda: getattr(self.sim, name).inject(FaultName.UNPLUG, self._endpoints[name].driver.now()))
        self.in_loop(self._look)

    def plug_in(self, name: str) -> None:
        """Connect a device."""
        self.in_loop(lambda: getattr(self.sim, name).mend(FaultName.UNPLUG, self._endpoints[name].driver.now()))
        self.in_loop(self._look)

    def in_loop(self, work: Callable[[], T]) -> T:
        """Run something in the devices' thread, between their steps."""

        async def run() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(LIMIT_S)

    def _look_soon(self) -> None:
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        for endpoint in self._endpoints.values():
            endpoint.poke()

    # ---- the daemon ----

    def refresh(self) -> list[Entry]:
        """Fetch and apply new events."""
        new: list[Entry] = []
        while True:
            found = self._fetch(self.state.seq)
            for event in found:
                if event.seq != self.state.seq + 1:
                    raise Failed(f"after event {self.state.seq} the daemon sends event {event.seq}")
                apply(self.state, event)
            self.events += found
            new += found
            if len(found) < MOST_EVENTS:  # no further request: they are slow there
                return new

    def _fetch(self, after: int) -> list[Entry]:
        status, answer = self.machine.ask("dealer", "GET", f"/api/v1/events?after={after}&limit={MOST_EVENTS}")
        if status != 200:
            raise NoAnswer(f"{status}: {answer}")
        return [read(e["seq"], e["kind"], e["clause"], e["data"]) for e in answer["events"]]

    def check_nothing_lost(self) -> None:
        """Every event that was received must still be in the journal, unchanged."""
        seen = 0
        while seen < len(self.events):
            found = self._fetch(seen)
            known = self.events[seen : seen + len(found)]
            if not found or found[: len(known)] != known:
                raise Failed(f"the journal has lost or changed some of {len(self.events)} events after {seen}")
            seen += len(found)

    def _report(self, action: Action) -> list[Entry]:
        """Send a person's action to the daemon, as a user of the machine with that role."""
        body = msgspec.to_builtins(action)
        del body["who"]
        status, answer = self.machine.ask(body.pop("role"), "POST", "/api/v1/actions", body)
        if status in (0, 503):
            raise NoAnswer(f"{status}: {answer}")
        if status not in (200, 409):
            raise Failed(f"{body}: {status} {answer}")
        return self.refresh()

    # ---- playing ----

    def until(
        self, what: str, reached: Callable[[State], bool], *, working: bool = True, limit_s: float = LIMIT_S
    ) -> None:
        """Let the people work until the table has reached a state."""
        deadline = time.monotonic() + limit_s
        while not self.in_loop(lambda: self._one_thing(reached, working)):
            if time.monotonic() > deadline:
                raise Failed(f"{what}: not within {limit_s:.0f} s; {self.describe()}")
            time.sleep(LOOK_S)

    def until_online(self, name: str, online: bool) -> None:
        """Wait until the table has connected to a device or lost it."""
        what = f"the {name} is {'ready' if online else 'offline'}"
        self.until(what, lambda state: state.devices[name].online is online, working=False)

    def _one_thing(self, reached: Callable[[State], bool], working: bool) -> bool:
        try:
            self.refresh()
            if reached(self.state):
                return True
            if working:
                if self.state.table is TableState.CLOSED:
                    self.robot.perform(act.OpenTable)
                else:
                    self.robot.chore()
        except NoAnswer:
            pass
        return False

    def settle(self) -> None:
        """Continue until bets can be made and nothing is left to resolve."""
        self.until("bets can be made", lambda state: state.table is TableState.BETTING and not state.warnings)

    def into_the_deal(self) -> int:
        """Start a round and stop in the middle of the deal; returns the round's number."""
        self.settle()
        self.in_loop(lambda: self.robot.perform(act.CloseBets, seats=SEATS))
        self.until("the deal is under way", lambda state: state.round is not None and state.round.dealt >= 1)
        round_ = self.state.round
        assert round_ is not None
        if self.state.table is not TableState.DEALING:
            raise Failed(f"the deal is over too soon; {self.describe()}")
        return round_.number

    def end_of_round(self, number: int) -> str:
        """Continue until this round is over and resolved; returns how it ended, with the clauses if it is void."""
        begun = next(event.seq for event in self.events if _is(event, "round.started", number))
        ended = ("round.completed", "round.voided")
        self.until("the round is over", lambda _: any(event.kind in ended for event in self.events[begun:]))
        end = next(event for event in self.events[begun:] if event.kind in ended)
        if end.kind == "round.completed":
            dealt = [event for event in self.events[begun : end.seq] if event.kind == "stack.taken"]
            if len(dealt) != len(SEATS) + 1:
                raise Failed(f"{len(dealt)} stacks were dealt to {len(SEATS)} seats and the dealer")
        self.settle()
        self.check_cards()
        return "completed" if end.kind == "round.completed" else f"void, {' '.join(end.clause)}"

    def check_cards(self) -> None:
        """Every deck at the table has all its cards, as the table believes and in truth; and no hand has any left."""
        piles = self.in_loop(lambda: {name: self.robot.hands.physical(name) for name in self.state.decks})
        for name, deck in self.state.decks.items():
            if sum(deck.cards.values()) != DECK_SIZE or piles[name] != DECK_SIZE:
                raise Failed(f"deck {name}: the ledger has {deck.cards}, but there are {piles[name]} cards")
        left = self.in_loop(lambda: [seat for seat in range(1, 8) if self.sim.cards.count(hand(f"seat{seat}"))])
        if left:
            raise Failed(f"cards are left at seats {left}")

    def whole_round(self) -> None:
        """Play a complete round."""
        self.settle()
        self.in_loop(lambda: self.robot.perform(act.CloseBets, seats=SEATS))
        round_ = self.state.round
        if round_ is None:
            raise Failed(f"no round began; {self.describe()}")
        how = self.end_of_round(round_.number)
        if how != "completed":
            raise Failed(f"the round ended {how}")

    def describe(self) -> str:
        """The state of the table, for a failure report."""
        state = self.state
        devices = {
            name: f"{device.state}{'' if device.online else ' offline'}" for name, device in state.devices.items()
        }
        decks = {name: str(deck.state) for name, deck in state.decks.items()}
        last = [f"{event.seq} {event.kind} {event.data}" for event in self.events[-8:]]
        lines = [f"table {state.table}, {devices}, {decks}, warnings {list(state.warnings)}", *last]
        return "\n    ".join(lines)


def _is(event: Entry, kind: str, number: int) -> bool:
    return event.kind == kind and event.data.get("round") == number
