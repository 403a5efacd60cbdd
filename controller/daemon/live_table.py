"""The table live: a report comes in, the decision is stored, and only then do commands go out.

No asyncio and no clock here: the daemon calls it with real time and real connections, the simulations with virtual
ones. `send`, `forget` and `withdraw` are given by the caller: a command to a device, the word that its events are
stored, and the word that a command is not wanted any more.
"""

# mypyc
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

from controller.core import state as core
from controller.core.apply import apply
from controller.core.reports import CommandAnswered, DeviceAhead, DeviceEvent, DeviceLost, DeviceReady, Report
from controller.core.state import State, decode, encode, pending_of
from controller.core.table import Table
from controller.journal import Journal, JournalError, MemoryJournal, NewEvent
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.link import Lost
from firmware_bridge.wire.messages import COMMAND_ANSWERS, AnyCommand
from firmware_bridge.wire.session import EVENT_TYPES, Ahead, EventMark, Happening, Ready, Rejected, WrongRole

# Snapshots are of use only to the code that wrote them: a later one folds the journal instead.
CODE_VERSION: Final = "core-5"
SNAPSHOT_EVERY = 2000  # events: what a start has to fold at most, some tens of milliseconds

Send = Callable[[str, AnyCommand], None]
Forget = Callable[[str, EventMark], None]
Withdraw = Callable[[str, int], None]


class LiveTable:
    """One table with its journal. After an error of the journal it must be thrown away and started again."""

    def __init__(
        self,
        journal: Journal | MemoryJournal,
        send: Send,
        forget: Forget,
        withdraw: Withdraw,
        snapshot_every: int | None = None,
    ) -> None:
        self._journal = journal
        self._send = send
        self._forget = forget
        self._withdraw = withdraw
        self.table = Table(restore(journal))
        self._snapshot_every = snapshot_every or SNAPSHOT_EVERY
        self._snapshot_at = self.state.seq + self._snapshot_every

    @property
    def state(self) -> State:
        """The state that all stored events have led to."""
        return self.table.state

    @property
    def deadline(self) -> float:
        """When `take(Tick())` is wanted, on the table's clock."""
        return self.table.deadline

    def take(self, report: Report, now: float, ts: str) -> list[core.Event]:
        """Decide, store, act. Raises JournalError, and then nothing was sent."""
        table = self.table
        events = table.handle(report, now)
        if events:
            last = self._journal.record([NewEvent(ts, event.kind, event.clause, event.data) for event in events])
            assert last == events[-1].seq, "the journal and the table count alike"
        for event in events:
            kind = event.kind
            if kind == "command.given":
                self._send(event.data["device"], command_of(event.seq, event.data))
            elif kind == "cycle.lost":
                self._withdraw(event.data["device"], event.data["id"])
            elif kind == "device.accepted":
                self._forget(event.data["device"], self.mark(event.data["device"]))
        if type(report) is DeviceEvent:
            self._forget(report.device, self.mark(report.device))
        if table.state.seq >= self._snapshot_at:
            self._snapshot_at = self.state.seq + self._snapshot_every
            with contextlib.suppress(JournalError):  # it only saves time: what was stored and sent stays done
                self._journal.save_snapshot(self.state.seq, encode(self.state), CODE_VERSION)
        return events

    def mark(self, device: str) -> EventMark:
        """The last event of a device that is stored: what a session begins with."""
        found = self.state.devices.get(device)
        return EventMark(found.boot, found.last_event) if found else EventMark()

    def unanswered(self, device: str) -> list[AnyCommand]:
        """The commands to a device whose fate is open: after a restart they are given again, as they are."""
        found = self.state.devices.get(device)
        return [
            command_of(given.id, {"command": {"name": given.name, **given.args}, "boot": given.boot})
            for given in (pending_of(found) if found else [])
        ]


def restore(journal: Journal | MemoryJournal) -> State:
    """The state after everything in the journal: the latest good snapshot, and the events since."""
    snapshot = journal.latest_snapshot(CODE_VERSION)
    state = decode(snapshot.state) if snapshot else State()
    for event in journal.events(after=state.seq):
        apply(state, core.Event(event.seq, event.kind, event.clause, event.data))
    return state


def command_of(seq: int, data: dict[str, Any]) -> AnyCommand:
    """The command of a `command.given` event; the event's number is its id."""
    arguments = dict(data["command"])
    kind: type[AnyCommand] = getattr(wire, arguments.pop("name"))
    if kind is wire.Indicate:
        arguments |= {"light": wire.Light(arguments["light"]), "sound": wire.Sound(arguments["sound"])}
    return kind(id=seq, boot=data["boot"], **arguments)


def report_of(device: str, boot: int, happening: Happening) -> Report | None:
    """What a session's happening means to the table; None where it means nothing."""
    if type(happening) in EVENT_TYPES:
        return DeviceEvent(device, boot, happening)  # type: ignore[arg-type]
    if isinstance(happening, COMMAND_ANSWERS):
        return CommandAnswered(device, happening.id, happening)
    if isinstance(happening, Ready):
        known = tuple(sorted(int(capability) for capability in happening.identity.capabilities))
        return DeviceReady(device, happening.boot, known, happening.restarted, happening.last_command)
    if isinstance(happening, Ahead):
        return DeviceAhead(device, happening.boot, happening.told)
    if isinstance(happening, Lost | Rejected | WrongRole):
        return DeviceLost(device, str(happening))
    return None
