"""The journal: all that happened at a table, in order, on the disk before anything moves, and provably unchanged.

`Journal` writes it (one program at a time), `JournalReader` reads it; `MemoryJournal` keeps one for a simulation.
docs/journal.md explains it to auditors.
"""

from controller.journal.chain import NewEvent, canonical, check, digest, line
from controller.journal.errors import (
    BadEvent,
    JournalAbsent,
    JournalBusy,
    JournalDamaged,
    JournalDiskFailed,
    JournalError,
    JournalForbidden,
    JournalForeign,
    JournalFull,
    JournalReadOnly,
    JournalStopped,
)
from controller.journal.memory import MemoryJournal
from controller.journal.reader import JournalReader
from controller.journal.records import START, Checkpoint, Event
from controller.journal.snapshots import Snapshot
from controller.journal.store import Journal, timestamp, was_made

__all__ = [
    "START",
    "BadEvent",
    "Checkpoint",
    "Event",
    "Journal",
    "JournalAbsent",
    "JournalBusy",
    "JournalDamaged",
    "JournalDiskFailed",
    "JournalError",
    "JournalForbidden",
    "JournalForeign",
    "JournalFull",
    "JournalReadOnly",
    "JournalReader",
    "JournalStopped",
    "MemoryJournal",
    "NewEvent",
    "Snapshot",
    "canonical",
    "check",
    "digest",
    "line",
    "timestamp",
    "was_made",
]
