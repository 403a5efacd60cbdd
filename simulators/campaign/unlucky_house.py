"""A house with mishaps: power, disk, clock, wires and devices fail at the moments that were drawn."""

# mypyc
from __future__ import annotations

import heapq
import math
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, cast

from controller.core.events import read
from controller.core.events.event import Entry
from controller.core.reports import HostBoot, Report
from controller.daemon.live_table import restore
from controller.daemon.table_clock import time_away_ms
from controller.journal import Journal, JournalError, timestamp
from firmware_bridge.wire.messages import AnyCommand, Capability, CardsCounted, Cycle, CycleDone, Place
from firmware_bridge.wire.messages import EventMessage as DeviceEvent
from firmware_bridge.wire.session import HostSession
from simulators.campaign.luck import OF_DEVICES, OF_THE_CLOCK, OF_THE_DISK, OF_THE_HOST, OF_WIRES, Mishap, Shift
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.faults import OF_THE_MECHANICS, FaultName
from simulators.devices.firmware import Firmware
from simulators.devices.shuffling import Shelf
from simulators.pipes.wires import WireQuality
from simulators.table.house import BEGINNING, HostDied, House

RESTART_S = 2.0  # how long a host that was stopped by its disk waits before it tries again
SNAPSHOT_EVERY = 50  # events: few enough that a host that restarts often has some
_QUALITIES = {
    "wire_loss": WireQuality(lose=0.1),
    "wire_flips": WireQuality(flip=3e-4),
    "wire_delay": WireQuality(delay=0.5, delay_s=0.4),
    "wire_repeats": WireQuality(repeat=0.3, reorder=0.1),
}
_JUMPS_S = (-86_400.0, -3_600.0, -1.5, 2.0, 7_200.0, 864_000.0)


class Watching(Protocol):
    """An observer of what devices do and report, and of what the table decides."""

    def acted(self, device: str, boot: int, command: AnyCommand) -> None: ...

    def reported(self, device: str, boot: int, kind: type[DeviceEvent], fields: dict[str, Any]) -> None: ...

    def forgot(self, device: str, boot: int, number: int) -> None: ...

    def decided(self) -> None: ...


class WatchedFirmware(Firmware):
    """The usual firmware, with an observer."""

    watching: Watching
    name: str

    house: UnluckyHouse

    def report(self, what: type[DeviceEvent], **fields: object) -> None:
        """Inform the observer first, while the cards are still as the device saw them."""
        if self.house.false_count and what in (CardsCounted, CycleDone):
            self.house.falsify(what, fields)
        self.watching.reported(self.name, self.boot, what, fields)
        super().report(what, **fields)

    @property
    def last_event(self) -> int:
        """The number of the last event."""
        return self._next_event - 1

    def _act(self, command: AnyCommand) -> None:
        self.watching.acted(self.name, self.boot, command)
        super()._act(command)

    def _forget_events(self, number: int) -> None:
        self.watching.forgot(self.name, self.boot, number)
        super()._forget_events(number)


class Disk:
    """The disk under the journal, and the power of the host at the moment of a commit."""

    def __init__(self) -> None:
        self.fails = ""  # one of OF_THE_DISK while it does
        self.dies = ""  # `before_commit` or `after_commit`: the host's next commit is its last

    def commit(self, really: Callable[[], Any]) -> Any:
        """Commit, unless disk or power fail."""
        if self.dies == "before_commit":
            self.dies = ""
            raise HostDied
        if self.fails and self.fails != "disk_lies":
            raise _failure(self.fails)
        done = really()
        if self.fails:
            raise _failure(self.fails)
        if self.dies == "after_commit":
            self.dies = ""
            raise HostDied
        return done


def _failure(how: str) -> sqlite3.OperationalError:
    code, text = (
        ("SQLITE_FULL", "database or disk is full") if how == "disk_full" else ("SQLITE_IOERR", "disk I/O error")
    )
    error = sqlite3.OperationalError(text)
    error.sqlite_errorname = code
    error.sqlite_errorcode = getattr(sqlite3, code)
    return error


class _Connection:
    """SQLite's own connection, whose commits go through the disk."""

    def __init__(self, connection: sqlite3.Connection, disk: Disk) -> None:
        self._inner = connection
        self._disk = disk

    def execute(self, statement: str, values: Any = ()) -> Any:
        if statement == "COMMIT":
            return self._disk.commit(lambda: self._inner.execute(statement))
        return self._inner.execute(statement, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class FailingJournal(Journal):
    """The real journal on a disk that can fail."""

    def __init__(self, path: Path, disk: Disk, *, create: bool) -> None:
        self._disk = disk
        super().__init__(path, create=create)

    def _connect(self) -> sqlite3.Connection:
        connection = super()._connect()
        connection.execute("PRAGMA synchronous = OFF")  # only simulated power fails here
        return cast(sqlite3.Connection, _Connection(connection, self._disk))


class _Nobody(HostSession):
    """The host's end of a line while the host is off: never connected, receives and sends nothing."""

    def connect(self, now: float) -> None: ...


class UnluckyHouse(House):
    """A house with its mishaps. `confuse` passes a mishap on to the people."""

    def __init__(self, journal_file: Path, shift: Shift, watching: Watching) -> None:
        self.shift = shift
        self.file = journal_file
        self.watching = watching
        self.disk = Disk()
        self.dark = False  # the host is off
        self.restarts = 0
        self.happened: Counter[str] = Counter()
        self.notes: list[tuple[float, int, str]] = []  # when, after which event, and what went wrong
        self.confuse: Callable[[Mishap], bool] = lambda mishap: False
        self.strangers: dict[str, WatchedFirmware] = {}  # of devices that replaced others
        self.exchanged_at: dict[str, float] = {}
        self.false_count: Mishap | None = None  # how the shuffler's next count is reported
        self._boot = "house"  # of the computer
        self._booted = 0.0
        self._reboots = False
        self._dark_until = 0.0
        self._dark_s = 0.0
        self._wall_s = 0.0  # how far the wall clock is off
        self._late_s = 0.0
        self._dies_after_send = False
        self._bad_wires: dict[str, WireQuality] = {}
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._planned = 0
        super().__init__(
            journal_file,
            shift.setup,
            seed=shift.seed * 1_000_003 + shift.number,
            sets=4 + len(shift.mishaps),
            way=Shelf(10, passes=1),
            build=self.build,
            snapshot_every=SNAPSHOT_EVERY,
        )

    def capabilities_of(self, device: str) -> frozenset[Capability]:
        """Where the shuffler recognises cards, the shoe does too."""
        able = super().capabilities_of(device)
        recognises = self.setup.shuffler and self.setup.shuffler.recognises
        return able | {Capability.RECOGNISES} if recognises else able

    def build(self, plate: Any, *rest: Any) -> WatchedFirmware:
        """The firmware of a device at this table."""
        firmware = WatchedFirmware(plate, *rest)
        firmware.watching, firmware.name, firmware.house = self.watching, plate.role.name.lower(), self
        return firmware

    def _open_journal(self) -> Journal:
        return FailingJournal(self.file, self.disk, create=not self.file.exists())

    def note(self, text: str) -> None:
        """Keep what went wrong, for the story of a violation."""
        self.notes.append((self.now, self.state.seq, text))

    # --- the agenda ---------------------------------------------------------------------------------------------------

    def plan(self, mishap: Mishap) -> None:
        """Plan a mishap, counted from now."""
        self._at(self.now + mishap.after_s, lambda: self._happen(mishap))

    def later(self, after_s: float, what: Callable[[], object]) -> None:
        """Do something after a time, such as closing a door again."""
        self._at(self.now + after_s, what)

    def _at(self, at: float, what: Callable[[], object]) -> None:
        self._planned += 1
        heapq.heappush(self._agenda, (at, self._planned, what))

    @property
    def next_at(self) -> float:
        """The next moment at which something happens, mishaps included."""
        at = self._dark_next_at() if self.dark else super().next_at
        return max(self.now, min(at, self._agenda[0][0])) if self._agenda else at

    def step(self, at: float | None = None) -> None:
        """Go to the next moment. Each mishap is a moment of its own."""
        at = self.next_at if at is None else at
        if self._agenda and self._agenda[0][0] <= at:
            self.now = max(self.now, at)
            heapq.heappop(self._agenda)[2]()
            self.look()
        elif self.dark:
            self._step_dark(at)
        else:
            super().step(at)

    # --- reporting ----------------------------------------------------------------------------------------------------

    def report(self, report: Report) -> list[Entry]:
        """Report once the host is on."""
        self.wait_for_light()
        return super().report(report)

    def _take(self, report: Report) -> list[Entry]:
        late_s, self._late_s = self._late_s, 0.0
        try:
            made = self.live.take(report, max(0.0, self.now + self.ahead_s - late_s), timestamp(self._wall()))
        except JournalError:
            self._dark_s = RESTART_S
            raise HostDied from None
        self.events += made
        self.watching.decided()
        return made

    def _send(self, device: str, command: AnyCommand) -> None:
        super()._send(device, command)
        if self._dies_after_send:
            self._dies_after_send = False
            raise HostDied

    # --- a host without power -----------------------------------------------------------------------------------------

    def wait_for_light(self) -> None:
        """Let time pass until the host is on."""
        while self.dark:
            self.step()

    def restart_host(self) -> None:
        """The host goes off. What it has sent still arrives; what it has not stored, people have not seen."""
        self.dark = True
        self._dark_until = self.now + self._dark_s
        for wired in self._lines:
            wired.stirred = True
            wired.look(self.now)
            wired.session = _Nobody(host_boot=1)
            wired.retry_at = math.inf
            wired.stirred = True
        self.journal.close()
        self.journal = self._open_journal()
        self.state = restore(self.journal)

    def _dark_next_at(self) -> float:
        self._look_in_the_dark()
        return max(self.now, min([self._dark_until, *(wired.next_at for wired in self._lines)]))

    def _look_in_the_dark(self) -> None:
        for wired in self._lines:
            if wired.stirred or wired.device.stirred:
                wired.look(self.now)

    def _step_dark(self, at: float) -> None:
        self.now = at
        for wired in self._lines:
            if wired.next_at <= at:
                wired.step(at)
        self._look_in_the_dark()
        if at >= self._dark_until:
            self.dark = False
            self.restarts += 1
            self._restart()
            for name, quality in self._bad_wires.items():
                self._set_wires(name, quality)
            self.watching.decided()
            try:
                self._come_up()
            except HostDied:
                self.restart_host()
            self.look()

    def set_wall_clock(self, ahead_s: float) -> None:
        """The wall clock is ahead by this much."""
        self._wall_s = ahead_s

    def _wall(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.now + self._wall_s)

    def _wall_ms(self) -> int:
        return round(self._wall().timestamp() * 1000)

    def reboot(self, off_s: float) -> None:
        """The computer is switched off for this long; then its wall clock is right."""
        self._dark_s = off_s
        self._reboots = True
        self.restart_host()

    def start(self) -> None:
        """The daemon starts for the first time."""
        self._come_up()

    def _come_up(self) -> None:
        """The first report of a daemon; after a reboot it works out how long the computer was off."""
        away_ms = 0
        if self._reboots:
            self._reboots = False
            self._wall_s = 0.0
            self._booted = self.now
            self._boot = f"house at {self.now:.0f} s"
            (newest,) = self.journal.last(1)
            away_ms = time_away_ms(self.state, self._boot, 0, self._wall_ms(), newest.ts)
            self.ahead_s = (self.state.now_ms + away_ms) / 1000 - self.now
        up_ms = round((self.now - self._booted) * 1000)
        self._take(HostBoot(self._boot, up_ms, away_ms, "house", self._wall_ms()))

    def _restart(self) -> None:
        """Restart from the journal, reading only new events: with a failing disk the host restarts often."""
        self.deaths += 1
        self._start_host()
        del self.events[self.journal.head.seq :]
        more = self.journal.events(after=len(self.events))
        self.events += [read(event.seq, event.kind, event.clause, event.data) for event in more]

    def look(self) -> None:
        """Nothing happens on the lines while the host is off."""
        if not self.dark:
            super().look()

    # --- what goes wrong ----------------------------------------------------------------------------------------------

    def _happen(self, mishap: Mishap) -> None:
        kind = mishap.kind
        if kind in OF_DEVICES:
            came = self._break_device(mishap)
        elif kind in OF_WIRES:
            came = self._spoil_wire(mishap)
        elif kind in OF_THE_HOST:
            came = self._kill(mishap)
        elif kind in OF_THE_DISK:
            came = self._break_disk(mishap)
        elif kind in OF_THE_CLOCK:
            came = self._turn_clock(mishap)
        else:
            came = self.confuse(mishap)
        self.happened[kind] += came
        if came:
            self.note(str(mishap))

    def _break_device(self, mishap: Mishap) -> bool:
        wired = self.wired.get(mishap.device)
        if wired is None:
            return False
        fault = FaultName(mishap.kind)
        if fault in wired.device.faults:  # one that is active or waiting for its card is not injected twice
            return False
        wired.device.inject(fault, self.now, after_cards=mishap.after_cards, for_s=mishap.for_s)
        return True

    def stranger(self, device: str) -> bool:
        """Whether this device is currently replaced by another."""
        return device in self.strangers and self.wired[device].device.firmware is self.strangers[device]

    def put_back(self, device: str) -> None:
        """The device that belongs here is put back, and switched on."""
        if self.stranger(device):
            self.wired[device].device.inject(FaultName.REBOOT, self.now)
            self.look()

    def falsify(self, what: type[DeviceEvent], fields: dict[str, object]) -> None:
        """The shuffler reports its count at another place, without the kinds, twice with a difference, or unasked."""
        mishap = self.false_count
        assert mishap is not None
        if mishap.kind == "counts_disagree" and what is (CardsCounted, CycleDone)[mishap.salt % 2]:
            if what is CardsCounted or fields["cycle"] is Cycle.SHUFFLE:
                fields["cards"] = cast(int, fields["cards"]) + (1 if mishap.salt % 4 < 2 else -1)
                self.false_count = None
        elif mishap.kind == "counted_at_infeed" and what is CardsCounted:
            fields["place"] = Place.INFEED
        elif mishap.kind == "counted_at_infeed" and fields["cycle"] is Cycle.SHUFFLE:
            fields["cards"] = -1
            self.false_count = None
        elif mishap.kind == "kinds_missing" and what is CardsCounted:
            fields["kinds"] = []
            self.false_count = None
        elif mishap.kind == "counts_unasked" and what is CycleDone and fields["cycle"] is Cycle.SHUFFLE:
            fields["cards"] = self.cards.count(Spot(CardPlace.OUTPUT))
            self.false_count = None

    def waiting_faults(self) -> Counter[str]:
        """The faults that were injected and have not occurred, since no card has moved."""
        return Counter(
            str(fault)
            for wired in self.wired.values()
            for fault in wired.device.mechanics.armed
            if fault in OF_THE_MECHANICS
        )

    def _spoil_wire(self, mishap: Mishap) -> bool:
        if mishap.device not in self.wired:
            return False
        self._bad_wires[mishap.device] = _QUALITIES[mishap.kind]
        self._set_wires(mishap.device, _QUALITIES[mishap.kind])
        self._at(self.now + mishap.for_s, lambda: self._mend_wire(mishap.device))
        return True

    def _mend_wire(self, device: str) -> None:
        self._bad_wires.pop(device, None)
        self._set_wires(device, WireQuality())

    def _set_wires(self, device: str, quality: WireQuality) -> None:
        for wire in self.wired[device].line.wires:
            wire.quality = quality

    def _kill(self, mishap: Mishap) -> bool:
        if self.dark:
            return False
        self._dark_s = mishap.for_s
        if mishap.kind == "host_dies":
            self.restart_host()
        elif mishap.kind == "host_dies_after_send":
            self._dies_after_send = True
        else:
            self.disk.dies = mishap.kind.removeprefix("host_dies_")
        return True

    def _break_disk(self, mishap: Mishap) -> bool:
        self.disk.fails = mishap.kind
        self._at(self.now + mishap.for_s, self._mend_disk)
        return True

    def _mend_disk(self) -> None:
        self.disk.fails = ""

    def _turn_clock(self, mishap: Mishap) -> bool:
        if mishap.kind == "clock_jumps":
            self._wall_s = _JUMPS_S[mishap.salt % len(_JUMPS_S)]
        else:
            self._late_s = 0.5 + mishap.for_s
        return True
