"""The table around the machine under test: the played devices on its USB, and the good people who deal at it.

The devices run here, on the host, in a thread of their own; so they keep their power when the machine loses its own.
What the table believes is folded here from the events that the daemon tells, by the daemon's own core.
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
from controller.core.machines import TableState
from controller.core.setup import Setup
from controller.core.state import Event, State
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
SEATS = (1, 3, 6)
USB_PORTS = {name: f"usb:1209:5d0e:SIM-{name.upper()}" for name in DEVICES}


class NoAnswer(Exception):
    """The daemon is not there just now."""


class PlayedTable:
    """Devices, cards and people; `state` is what the daemon has told so far."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.state = State()
        self.events: list[Event] = []  # all that the daemon has told
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
        """Take everything away."""
        for endpoint in self._endpoints.values():
            asyncio.run_coroutine_threadsafe(endpoint.close(), self._loop).result(LIMIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT_S)
        self._loop.close()

    # ---- cables ----

    def wire(self, kind: str) -> None:
        """Lay cables of this kind, serial or usb, to the machine; none is plugged in yet."""
        if self._endpoints:  # the devices' time, which runs faster than ours, goes on where it is
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
        """Pull a device's cable."""
        self.in_loop(lambda: getattr(self.sim, name).inject(FaultName.UNPLUG, self._endpoints[name].driver.now()))
        self.in_loop(self._look)

    def plug_in(self, name: str) -> None:
        """Put it back."""
        self.in_loop(lambda: getattr(self.sim, name).mend(FaultName.UNPLUG, self._endpoints[name].driver.now()))
        self.in_loop(self._look)

    def in_loop(self, work: Callable[[], T]) -> T:
        """Do something where the devices are, while they stand still."""

        async def run() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(LIMIT_S)

    def _look_soon(self) -> None:
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        for endpoint in self._endpoints.values():
            endpoint.poke()

    # ---- the daemon ----

    def refresh(self) -> list[Event]:
        """Learn what is new."""
        new: list[Event] = []
        while True:
            found = self._fetch(self.state.seq)
            for event in found:
                if event.seq != self.state.seq + 1:
                    raise Failed(f"after event {self.state.seq} the daemon tells number {event.seq}")
                apply(self.state, event)
            self.events += found
            new += found
            if not found:
                return new

    def _fetch(self, after: int) -> list[Event]:
        status, answer = self.machine.ask("dealer", "GET", f"/api/v1/events?after={after}&limit=500")
        if status != 200:
            raise NoAnswer(f"{status}: {answer}")
        return [Event(e["seq"], e["kind"], tuple(e["clause"]), e["data"]) for e in answer["events"]]

    def check_nothing_lost(self) -> None:
        """Everything that was told before must be in the journal still, and the same."""
        seen = 0
        while seen < len(self.events):
            found = self._fetch(seen)
            told = self.events[seen : seen + len(found)]
            if not found or found[: len(told)] != told:
                raise Failed(f"of {len(self.events)} events that were told, the journal has lost some after {seen}")
            seen += len(found)

    def _report(self, action: Action) -> list[Event]:
        """How people tell the table something: as a user of the machine with that role."""
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
        """Let the people work until the table is where it should be."""
        deadline = time.monotonic() + limit_s
        while not self.in_loop(lambda: self._one_thing(reached, working)):
            if time.monotonic() > deadline:
                raise Failed(f"{what}: not within {limit_s:.0f} s; {self.describe()}")
            time.sleep(LOOK_S)

    def until_online(self, name: str, online: bool) -> None:
        """Wait until the table has a device, or misses it."""
        what = f"the {name} is {'ready' if online else 'missed'}"
        self.until(what, lambda state: state.devices[name].online is online, working=False)

    def _one_thing(self, reached: Callable[[State], bool], working: bool) -> bool:
        try:
            self.refresh()
            if reached(self.state):
                return True
            if working:
                if self.state.table is TableState.CLOSED:
                    self.robot.tell(act.OpenTable)
                else:
                    self.robot.chore()
        except NoAnswer:
            pass
        return False

    def settle(self) -> None:
        """Go on until bets can be made: whatever there was is over and put right."""
        self.until("bets can be made", lambda state: state.table is TableState.BETTING and not state.warnings)

    def into_the_deal(self) -> int:
        """Begin a round and stop in the middle of the deal; the round's number."""
        self.settle()
        self.in_loop(lambda: self.robot.tell(act.CloseBets, seats=SEATS))
        self.until("the deal is under way", lambda state: state.round is not None and state.round.dealt >= 1)
        round_ = self.state.round
        assert round_ is not None
        if self.state.table is not TableState.DEALING:
            raise Failed(f"the deal is over too soon; {self.describe()}")
        return round_.number

    def end_of_round(self, number: int) -> str:
        """Go on until this round is over and put right; how it ended, with its clauses where it is void."""
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
                raise Failed(f"deck {name}: the table believes {deck.cards}, and {piles[name]} cards are there")
        left = self.in_loop(lambda: [seat for seat in range(1, 8) if self.sim.cards.count(hand(f"seat{seat}"))])
        if left:
            raise Failed(f"cards are left at seats {left}")

    def whole_round(self) -> None:
        """A round from the bets to the bets."""
        self.settle()
        self.in_loop(lambda: self.robot.tell(act.CloseBets, seats=SEATS))
        round_ = self.state.round
        if round_ is None:
            raise Failed(f"no round began; {self.describe()}")
        how = self.end_of_round(round_.number)
        if how != "completed":
            raise Failed(f"the round ended {how}")

    def describe(self) -> str:
        """Where the table is, for a report of failure."""
        state = self.state
        devices = {
            name: f"{device.state}{'' if device.online else ' offline'}" for name, device in state.devices.items()
        }
        decks = {name: str(deck.state) for name, deck in state.decks.items()}
        last = [f"{event.seq} {event.kind} {event.data}" for event in self.events[-8:]]
        lines = [f"table {state.table}, {devices}, {decks}, warnings {list(state.warnings)}", *last]
        return "\n    ".join(lines)


def _is(event: Event, kind: str, number: int) -> bool:
    return event.kind == kind and event.data.get("round") == number
