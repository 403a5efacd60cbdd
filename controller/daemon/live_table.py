"""A table with its journal: a report comes in, the decision is stored, and only then are commands sent.

This module uses neither asyncio nor a clock: the daemon calls it with real time and real connections, the simulations
with virtual ones. The caller supplies four functions: `send` sends a command to a device, `forget` confirms that a
device's events are stored, `withdraw` cancels a command that is no longer wanted, and `ask` asks a device a question.
"""

# mypyc
from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

import msgspec

from controller.core.apply import apply
from controller.core.commands import command_of
from controller.core.events import UnreadableEvent, read
from controller.core.events.devices import CommandGiven, CycleLost, DeviceAccepted
from controller.core.events.event import Entry
from controller.core.events.play import HandDecided
from controller.core.events.rounds import DealerRevealed, HandsRequested
from controller.core.reports import (
    CardsRecognised,
    CommandReply,
    DeviceAhead,
    DeviceEvent,
    DeviceFlooding,
    DeviceReady,
    DeviceUnusable,
    LinkLost,
    Report,
    StateSaved,
)
from controller.core.state import State, decode, encode, pending_of, questions_of
from controller.core.table import Table
from controller.journal import (
    START,
    Checkpoint,
    Journal,
    JournalDamaged,
    JournalError,
    JournalForeign,
    MemoryJournal,
    NewEvent,
    check,
)
from firmware_bridge.wire.link import Lost
from firmware_bridge.wire.messages import COMMAND_ANSWERS, AnyCommand, AskCards, CardKinds
from firmware_bridge.wire.session import (
    EVENT_TYPES,
    Ahead,
    EventMark,
    Flooding,
    Happening,
    Ready,
    Rejected,
    Untrusted,
    WrongRole,
)

# A snapshot can only be read by the code that wrote it; newer code replays the journal instead.
CODE_VERSION: Final = "core-11"
SNAPSHOT_EVERY = 2000  # events: the most that a start has to replay, some tens of milliseconds

Send = Callable[[str, AnyCommand], None]
Forget = Callable[[str, EventMark], None]
Withdraw = Callable[[str, int], None]
Ask = Callable[[str, AskCards], None]


class LiveTable:
    """One table with its journal. After a journal error, discard it and create a new one."""

    def __init__(
        self,
        journal: Journal | MemoryJournal,
        send: Send,
        forget: Forget,
        withdraw: Withdraw,
        ask: Ask,
        snapshot_every: int | None = None,
        on_ignored: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self._journal = journal
        self._send = send
        self._forget = forget
        self._withdraw = withdraw
        self._ask = ask
        self.table = Table(restore(journal, on_ignored))
        self._failure: JournalError | None = None
        self._snapshot_every = snapshot_every or SNAPSHOT_EVERY
        self._snapshot_at = self.state.seq + self._snapshot_every

    @property
    def state(self) -> State:
        """The state after all stored events."""
        return self.table.state

    @property
    def deadline(self) -> float:
        """When `take(Tick())` is due, on the table's clock."""
        return self.table.deadline

    def take(self, report: Report, now: float, ts: str) -> list[Entry]:
        """Decide, store, act. If it raises JournalError, nothing was sent."""
        if self._failure is not None:
            raise self._failure
        entries = self._decide(report, now, ts)
        if self.state.seq >= self._snapshot_at:
            try:
                entries += self._save_state(now, ts)
            except JournalError as error:  # this report is stored and acted upon, so the next one fails
                self._failure = error
            self._snapshot_at = self.state.seq + self._snapshot_every
        return entries

    def _save_state(self, now: float, ts: str) -> list[Entry]:
        """Save the state for a faster start. Its digest goes into the chain first: see journal/snapshots.py."""
        seq, state = self.state.seq, encode(self.state)
        entries = self._decide(StateSaved(seq, self._journal.snapshot_digest(seq, state, CODE_VERSION)), now, ts)
        with contextlib.suppress(JournalError):  # a snapshot only saves time; events are stored and sent
            self._journal.save_snapshot(seq, state, CODE_VERSION)
        return entries

    def _decide(self, report: Report, now: float, ts: str) -> list[Entry]:
        table = self.table
        entries = table.handle(report, now)
        if entries:
            last = self._journal.append([NewEvent(ts, entry.kind, entry.clause, entry.event) for entry in entries])
            assert last == entries[-1].seq, "journal and table disagree on the event number"
        for entry in entries:
            event = entry.event
            if isinstance(event, CommandGiven):
                self._send(event.device, command_of(entry.seq, event.boot, event.command))
            elif isinstance(event, CycleLost):
                self._withdraw(event.device, event.id)
            elif isinstance(event, DeviceAccepted):
                self._forget(event.device, self.mark(event.device))
            elif isinstance(event, DealerRevealed | HandsRequested | HandDecided):  # stored: cards may be turned over
                for name in self.state.devices:
                    for question in self.questions(name, event.round):
                        self._ask(name, question)
        if type(report) is DeviceEvent:
            self._forget(report.device, self.mark(report.device))
        return entries

    def mark(self, device: str) -> EventMark:
        """The last stored event of a device, from which a session continues."""
        found = self.state.devices.get(device)
        return EventMark(found.boot, found.last_event) if found else EventMark()

    def unanswered(self, device: str) -> list[AnyCommand]:
        """The commands to a device that have no answer yet: after a restart they are sent again unchanged."""
        found = self.state.devices.get(device)
        return [given.command for given in (pending_of(found) if found else [])]

    def questions(self, device: str, round_: int = 0) -> list[AskCards]:
        """Open questions to a device: which cards it dealt, in this round or in all rounds."""
        found = self.state.devices.get(device)
        return questions_of(found, round_) if found else []


def restore(journal: Journal | MemoryJournal, on_ignored: Callable[[str], None] = lambda reason: None) -> State:
    """The state after everything in the journal: the latest usable snapshot plus the events since.

    The chain is checked on the way, since it vouches for the snapshot. `on_ignored` gets why a snapshot is not used.
    """
    snapshot = journal.latest_snapshot(CODE_VERSION, on_ignored)
    try:
        state = decode(snapshot.state) if snapshot else State()
    except msgspec.MsgspecError as error:
        on_ignored(f"snapshot at event {snapshot.seq if snapshot else 0}: {error}")
        snapshot, state = None, State()
    since = Checkpoint(snapshot.seq, snapshot.hash) if snapshot else START
    for event in check(journal.events(after=since.seq), since):
        try:
            entry = read(event.seq, event.kind, event.clause, event.data)
        except UnreadableEvent as error:
            raise JournalForeign(f"{error}; it was written by another version: install that version") from None
        try:
            apply(state, entry)
        except Exception as error:  # whatever it is, it is the event's fault: the same code stored all others
            raise JournalDamaged(
                event.seq,
                f"{event.kind} is impossible after the events before it ({_on_one_line(error)}), although its hash is "
                "right; keep the journal unchanged and restore the last copy, or install the version that wrote it",
            ) from None
    return state


def _on_one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def report_of(device: str, boot: int, happening: Happening) -> Report | None:
    """The report that a session's happening is to the table; None if it does not concern the table."""
    if type(happening) in EVENT_TYPES:
        return DeviceEvent(device, boot, happening)  # type: ignore[arg-type]
    if isinstance(happening, COMMAND_ANSWERS):
        return CommandReply(device, happening.id, happening)
    if isinstance(happening, CardKinds):
        return CardsRecognised(device, happening.command, tuple(happening.kinds))
    if isinstance(happening, Ready):
        found = happening.identity
        return DeviceReady(
            device,
            happening.boot,
            tuple(sorted(int(capability) for capability in found.capabilities)),
            happening.restarted,
            happening.last_command,
            found.maker,
            found.model,
            found.serial,
            found.firmware,
            found.firmware_digest,
            happening.longest_ms,
        )
    if isinstance(happening, Ahead):
        return DeviceAhead(device, happening.boot, happening.last_forgotten)
    if isinstance(happening, Rejected | WrongRole | Untrusted):
        return DeviceUnusable(device, str(happening))
    if isinstance(happening, Flooding):
        return DeviceFlooding(device, str(happening))
    if isinstance(happening, Lost):
        return LinkLost(device, str(happening))
    return None
