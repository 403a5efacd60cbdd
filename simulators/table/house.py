"""A whole table in virtual time: core, journal, sessions, links, wires, firmware, mechanics and physical cards.

Only the devices, the wires and the clock are simulated: the core, the journal and the bridge are the real ones.
People are in people.py.
"""

# mypyc
from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from heapq import heappop
from pathlib import Path
from typing import Final

from controller.core.events import read
from controller.core.events.event import Entry
from controller.core.names import stored_name
from controller.core.reports import HostBoot, LinkLost, Report, Tick
from controller.core.setup import Setup, devices_of
from controller.core.state import State
from controller.daemon.live_table import LiveTable, report_of
from controller.games import DRAGON_POKER as GAME
from controller.games.game import Game, Method
from controller.journal import Journal, MemoryJournal, timestamp
from firmware_bridge.wire.link import LinkTiming, LossReason, Lost
from firmware_bridge.wire.messages import AnyCommand, AskCards, Capability
from firmware_bridge.wire.session import DISTRUST_S, Ahead, EventMark, HostSession, Rejected, Untrusted
from simulators.devices.cards import DRAGON_POKER, CardPlace, Cards, Pack, Spot, pack_of
from simulators.devices.device import (
    MANUAL_SHOE,
    SHOE_CAPABILITIES,
    SHUFFLER_CAPABILITIES,
    SimulatedDevice,
    SimulatedTable,
)
from simulators.devices.faults import FaultPlan
from simulators.devices.firmware import Firmware
from simulators.devices.shuffling import ShuffleModel
from simulators.pipes.wires import VirtualLine, WireQuality

BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)  # when virtual time is 0
STORED_WITH: Final = 8  # stored events before the device is notified: with its next command, or at once
STORED_AFTER: Final = 16
# On their own, these leave people nothing to do.
QUIET: Final = frozenset({"command.given", "command.answered", "stack.taken", "hand.recognised"})
# For many rounds: acknowledgements wait for a packet to carry them, heartbeats are rare. The price: a link that dies
# silently is noticed after minutes instead of seconds.
CALM_LINK: Final = LinkTiming(
    heartbeat_s=60.0,
    dead_after_s=180.0,
    stall_after_s=120.0,
    ack_delay_s=15.0,
    resend_first_s=20.0,
    resend_min_s=20.0,
    resend_max_s=40.0,
)
_NEVER: Final = math.inf
_LINK_ENDS: Final = frozenset((Lost, Ahead, Rejected, Untrusted))
_TWO_DIGITS: Final = tuple(f"{number:02d}" for number in range(60))
RETRY_S: Final = 1.0  # how soon a host tries again to reach a device that does not answer


def deck_names(setup: Setup, sets: int) -> tuple[str, ...]:
    """The decks in the cupboard: red-1, blue-1, red-2 and so on."""
    return tuple(f"{stored_name(back)}-{number}" for number in range(1, sets + 1) for back in setup.backs)


def pack_for(game: Game) -> Pack:
    """The cards that one deck of a game consists of."""
    return DRAGON_POKER if game.kinds == GAME.kinds else pack_of(dict(zip(game.kinds, game.copies, strict=True)))


def capabilities(setup: Setup, device: str) -> frozenset[Capability]:
    """What a simulated device that fits this set-up can do."""
    if device == "shoe":
        return SHOE_CAPABILITIES
    kind = setup.shuffler
    wanted = SHUFFLER_CAPABILITIES - {Capability.COUNTS, Capability.FEEDS_SHOE}
    if kind is None:
        return wanted
    pairs = {
        Capability.COUNTS: kind.counts,
        Capability.FEEDS_SHOE: kind.feeds_shoe,
        Capability.RESHUFFLES: kind.reshuffles,
        Capability.RECOGNISES: kind.recognises,
    }
    return wanted | {capability for capability, has in pairs.items() if has}


def fed_shoe(setup: Setup) -> Spot:
    """The shoe that a shuffler which feeds one stands beside: the one of this set-up."""
    return MANUAL_SHOE if setup.method is Method.MANUAL_SHOE else Spot(CardPlace.SHOE)


class Wired:
    """One device with its line and its host's session, kept connected."""

    def __init__(
        self,
        name: str,
        device: SimulatedDevice,
        quality: WireQuality,
        rng: random.Random,
        mark: EventMark,
        now: float,
        timing: LinkTiming | None = None,
    ) -> None:
        self.name = name
        self.device = device
        boot = rng.randrange(1, 2**32)
        self.session = HostSession(host_boot=boot, stored=mark, timing=timing, software="house")
        self.line = VirtualLine(self.session, device, to_device=quality, to_host=quality, rng=rng, now=now)
        self.retry_at = now
        self.plugged = False
        self.notified = mark  # the events that the device knows to be stored
        self.stirred = True  # the session may have something to send, or another deadline
        device.stirred = True
        self.next_at = now  # the next moment at which something happens here; true unless one of the ends is stirred
        self._host_at = self._device_at = now
        self.happened: Callable[[object, float], None]

    def step(self, now: float) -> None:
        """Handle what happens here now: what arrives, or else what is due."""
        device, flying = self.device, self.line.flying
        arrived = False
        while flying and flying[0][0] <= now:
            arrived = True
            _, _, to_host, piece = heappop(flying)
            if to_host:
                self.stirred = True
                for happening in self.session.receive(piece, now):
                    self.happened(happening, now)
            else:
                device.stirred = True
                device.receive(piece, now)
        if arrived:
            return
        if self._host_at <= now and self.plugged:
            self.stirred = True
            for happening in self.session.tick(now):
                self.happened(happening, now)
        if self._device_at <= now:
            device.stirred = True
            device.tick(now)
        if self.retry_at <= now:
            self.stirred = True

    def look(self, now: float) -> Lost | None:
        """Put on the wire whatever the ends have to send, and find their next deadline; Lost if a cable was pulled."""
        device, line, lost = self.device, self.line, None
        line.now = now
        if device.stirred:
            device.stirred = False
            if device.plugged is not self.plugged:
                lost = self._cable_moved(now)
            data = device.take_output()
            if data:
                line.put(data, to_host=True)
            self._device_at = device.deadline
        if self.stirred:
            self.stirred = False
            if now >= self.retry_at and self.plugged:
                self.retry_at = math.inf
                self.session.connect(now)
            data = self.session.take_output()
            if data:
                line.put(data, to_host=False)
            self._host_at = self.session.deadline
        at = self._device_at
        if self.plugged:
            if self._host_at < at:
                at = self._host_at
            if self.retry_at < at:
                at = self.retry_at
            if line.flying and line.flying[0][0] < at:
                at = line.flying[0][0]
        self.next_at = at
        return lost

    def _cable_moved(self, now: float) -> Lost | None:
        self.plugged = self.device.plugged
        self.stirred = True
        if self.plugged:
            self.retry_at = now
            return None
        self.session.disconnect()
        self.line.cut()
        return Lost(LossReason.UNPLUGGED)


class HostDied(Exception):
    """The host lost power at this moment."""


class House:
    """The table, its devices and its cards. People report actions with `report`."""

    def __init__(
        self,
        journal_file: Path | None,
        setup: Setup | None = None,
        *,
        seed: int = 0,
        sets: int = 4,
        quality: WireQuality = WireQuality(),  # noqa: B008 - frozen
        way: ShuffleModel | None = None,
        shuffler_plan: FaultPlan | None = None,
        shoe_plan: FaultPlan | None = None,
        timing: LinkTiming | None = None,
        card_by_card: bool = False,
        build: Callable[..., Firmware] = Firmware,
        keep: int | None = None,
        snapshot_every: int | None = None,
    ) -> None:
        """Without a `journal_file` the journal is in memory. `timing` is that of the links.

        `card_by_card` moves every card at its own time, also where nothing observes it. `keep`: hold at least this many
        of the latest events in memory; None holds all. `snapshot_every`: a number of events.
        """
        self.setup = setup or Setup()
        self.now = 0.0
        self.ahead_s = 0.0  # by how much the table's clock differs, after the computer was off
        self.events: list[Entry] = []
        self.decks = deck_names(self.setup, sets)
        self.sim = SimulatedTable(
            seed,
            decks=self.decks,
            pack=pack_for(self.setup.game),
            shuffler_capabilities=self.capabilities_of("shuffler"),
            shoe_capabilities=self.capabilities_of("shoe"),
            feeds=fed_shoe(self.setup),
            way=way,
            shuffler_plan=shuffler_plan,
            shoe_plan=shoe_plan,
            timing=timing,
            clock=None if card_by_card else lambda: self.now,
            build=build,
        )
        self.dies_at = 0  # the host dies when the event with this number is stored and nothing of it is sent yet
        self.deaths = 0
        self._stamped_at, self._stamp_now = -1.0, ""
        self._minute, self._minute_stamp = -1, ""
        self._file = journal_file
        self._keep = keep
        self._snapshot_every = snapshot_every
        self._quality = quality
        self._timing = timing
        self._rng = random.Random(f"{seed}/wires")
        self.journal = self._open_journal()
        self._start_host()

    def capabilities_of(self, device: str) -> frozenset[Capability]:
        """What a device at this table can do."""
        return capabilities(self.setup, device)

    @property
    def cards(self) -> Cards:
        """The physical cards."""
        return self.sim.cards

    @property
    def now_ms(self) -> int:
        """The table's time."""
        return int((self.now + self.ahead_s) * 1000 + 0.5)

    def report(self, report: Report) -> list[Entry]:
        """Report something to the table, and let it act. If the host dies meanwhile, the answer is empty."""
        try:
            return self._take(report)
        except HostDied:
            self.restart_host()
            return []

    def _take(self, report: Report) -> list[Entry]:
        made = self.live.take(report, self.now + self.ahead_s, self._stamp())
        self.events += made
        if self._keep is not None and len(self.events) > 2 * self._keep:
            del self.events[: -self._keep]
        return made

    def _stamp(self) -> str:
        """The time of day in the journal, from cached parts: formatting takes as long as a small decision."""
        if self.now != self._stamped_at:
            self._stamped_at = self.now
            micros = int(self.now * 1_000_000 + 0.5)
            second = micros // 1_000_000
            minute = second // 60
            if minute != self._minute:
                self._minute = minute
                self._minute_stamp = timestamp(BEGINNING + timedelta(minutes=minute))[: -len("00.000000Z")]
            self._stamp_now = (
                f"{self._minute_stamp}{_TWO_DIGITS[second % 60]}.{str(1_000_000 + micros % 1_000_000)[1:]}Z"
            )
        return self._stamp_now

    # --- the host ---------------------------------------------------------------------------------------------------

    def _open_journal(self) -> Journal | MemoryJournal:
        if self._file is None:
            return MemoryJournal(self._keep)
        return Journal(self._file, create=not self._file.exists())

    def _start_host(self) -> None:
        """Start from the journal alone, as the daemon does."""
        self.live = LiveTable(self.journal, self._send, self._forget, self._withdraw, self._ask, self._snapshot_every)
        self.state: State = self.live.state  # what the table believes
        self._next_at = -math.inf  # when something happens next; true after a look
        self._table_at = math.inf  # when the table wants a tick, as of this event
        self._table_seq = -1
        self._stops = 0  # how many cycles the devices have ended
        devices = {"shuffler": self.sim.shuffler, "shoe": self.sim.shoe}
        self.wired = {}
        for name in devices_of(self.setup):
            wired = Wired(name, devices[name], self._quality, self._rng, self.live.mark(name), self.now, self._timing)
            for command in self.live.unanswered(name):
                wired.session.send(command, self.now)
            for question in self.live.questions(name):
                wired.session.ask(question, self.now)
            wired.happened = self._happened(wired)
            self.wired[name] = wired
        self._lines = tuple(self.wired.values())

    def restart_host(self) -> None:
        """The host's power goes off and on: what was on the wires or not stored is lost."""
        self.deaths += 1
        if self._file is not None:  # a journal in memory stands for a disk
            self.journal.close()
            self.journal = self._open_journal()
        self._start_host()
        self.events = [read(event.seq, event.kind, event.clause, event.data) for event in self.journal.events()]
        self._come_up()

    def _come_up(self) -> None:
        """The first report of a restarted daemon: every link is lost, and the grace times begin."""
        self._take(HostBoot("house", self.now_ms, 0, "house"))

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    # --- time -------------------------------------------------------------------------------------------------------

    @property
    def next_at(self) -> float:
        """The next moment at which something happens."""
        self.look()
        return self._next_at if self._next_at > self.now else self.now

    def step(self, at: float | None = None) -> None:
        """Go to the next moment, which the caller may already know, and handle what happens there."""
        try:
            self.now = now = self.next_at if at is None else at
            for wired in self._lines:
                if wired.next_at <= now:
                    mechanics = wired.device.mechanics
                    working = mechanics.doing
                    wired.step(now)
                    if working is not None and mechanics.doing is not working:
                        self._stops += 1
            self._settle()
            if self._table_at <= now:
                self._take(Tick())
                self._settle()
        except HostDied:
            self.restart_host()

    def look(self) -> None:
        """Make the lines notice what a hand, a fault or the table has changed."""
        try:
            self._look()
        except HostDied:
            self.restart_host()

    def _look(self) -> None:
        """Update whatever was touched, and find the next moment."""
        for wired in self._lines:
            if wired.stirred or wired.device.stirred:
                break
        else:
            if self._table_seq == self.state.seq:
                return  # nothing has changed
        self._settle()

    def _settle(self) -> None:
        state, now = self.state, self.now
        if not state.configured:  # a table that is not set up has no lines
            self._next_at = _NEVER
            return
        again = True
        while again:
            again = False
            at = _NEVER
            for wired in self._lines:
                if wired.stirred or wired.device.stirred:
                    lost = wired.look(now)
                    if lost:
                        self._take(LinkLost(wired.name, str(lost)))
                        again = True  # the table may have sent to a line that was already handled
                if wired.next_at < at:
                    at = wired.next_at
        if self._table_seq != state.seq:
            self._table_seq = state.seq
            self._table_at = self.live.deadline - self.ahead_s
        if self._table_at < at:
            at = self._table_at
        self._next_at = at if at > now else now

    def run(self, until: Callable[[], bool], limit_s: float) -> bool:
        """Step until the condition holds; False if it does not within this much virtual time."""
        end = self.now + limit_s
        self.look()
        while not until():
            at = self.next_at
            if at > end:
                self.now = end
                return False
            self.step(at)
        return True

    def rest(self, for_s: float) -> None:
        """Let this much virtual time pass."""
        end = self.now + for_s
        at = self.next_at
        while at <= end:
            self.step(at)
            at = self.next_at
        self.now = end

    def watch(self, limit_s: float) -> None:
        """Let time pass until the table decides something, or a device stops."""
        end = self.now + limit_s
        stops, seen = self._stops, self.state.seq
        at = self.next_at
        while at <= end:
            self.step(at)
            if self._stops != stops:
                return
            if self.state.seq != seen:
                for event in self.events[seen - self.state.seq :]:
                    if event.kind not in QUIET:
                        return
                seen = self.state.seq
            at = self.next_at
        self.now = end

    # --- between the table and its devices --------------------------------------------------------------------------

    def _send(self, device: str, command: AnyCommand) -> None:
        if 0 < self.dies_at <= self.state.seq:
            self.dies_at = 0
            raise HostDied
        wired = self.wired[device]
        wired.stirred = True
        if self.state.devices[device].last_event - wired.notified.number >= STORED_WITH:
            wired.notified = self.live.mark(device)
            wired.session.stored(wired.notified, self.now)  # in the same bytes as the command
        wired.session.send(command, self.now)

    def _forget(self, device: str, mark: EventMark) -> None:
        wired = self.wired[device]
        behind = mark.number - wired.notified.number >= STORED_AFTER or not wired.session.ready
        if mark.boot != wired.notified.boot or behind:
            wired.stirred = True
            wired.notified = mark
            wired.session.stored(mark, self.now)

    def _withdraw(self, device: str, id: int) -> None:
        wired = self.wired[device]
        wired.stirred = True
        wired.session.withdraw(id)

    def _ask(self, device: str, question: AskCards) -> None:
        wired = self.wired[device]
        wired.stirred = True
        wired.session.ask(question, self.now)

    def _happened(self, wired: Wired) -> Callable[[object, float], None]:
        def happened(happening: object, now: float) -> None:
            if type(happening) in _LINK_ENDS:
                wired.retry_at = self.now + (DISTRUST_S if type(happening) is Untrusted else RETRY_S)
            report = report_of(wired.name, wired.session.boot, happening)  # type: ignore[arg-type]
            if report is not None:
                self._take(report)

        return happened
