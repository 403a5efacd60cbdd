"""The journal: every event of a table, in order, on the disk before anything moves, and provably unchanged.

`Journal` writes it (one program at a time), `JournalReader` reads it; `MemoryJournal` is one for simulations.
docs/journal.md explains it to auditors.
"""

from controller.journal.chain import canonical, check, digest, line
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
    JournalIncomplete,
    JournalReadOnly,
    JournalReadTooLong,
    JournalStopped,
)
from controller.journal.memory import MemoryJournal
from controller.journal.reader import JournalReader
from controller.journal.recheck import Recheck
from controller.journal.records import (
    JOURNAL_ID,
    START,
    Checkpoint,
    NewEvent,
    StoredEvent,
    journal_id,
    moment,
    timestamp,
)
from controller.journal.search_index import SearchIndex, remove_index
from controller.journal.snapshots import Snapshot
from controller.journal.store import Journal
from controller.journal.writer_lock import was_made

__all__ = [
    "JOURNAL_ID",
    "START",
    "BadEvent",
    "Checkpoint",
    "Journal",
    "JournalAbsent",
    "JournalBusy",
    "JournalDamaged",
    "JournalDiskFailed",
    "JournalError",
    "JournalForbidden",
    "JournalForeign",
    "JournalFull",
    "JournalIncomplete",
    "JournalReadOnly",
    "JournalReadTooLong",
    "JournalReader",
    "JournalStopped",
    "MemoryJournal",
    "NewEvent",
    "Recheck",
    "SearchIndex",
    "Snapshot",
    "StoredEvent",
    "canonical",
    "check",
    "digest",
    "journal_id",
    "line",
    "moment",
    "remove_index",
    "timestamp",
    "was_made",
]
