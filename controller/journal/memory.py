"""A journal in memory, for simulations: the same events in the same chain of hashes, without a disk.

It can be limited to a number of events: a simulated table-year has some 36 million. With every snapshot it then
discards the events that no remaining snapshot needs.
"""

# mypyc
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Self

from controller.journal.base_journal import BaseJournal
from controller.journal.chain import check_known, from_row, link, verify
from controller.journal.errors import JournalDamaged, JournalStopped
from controller.journal.records import START, Checkpoint, EventRow, NewEvent, StoredEvent
from controller.journal.snapshots import KEPT, Snapshot


class MemoryJournal(BaseJournal):
    """A Journal without a file. `keep`: discard old events but keep at least this many; None: keep all."""

    def __init__(self, keep: int | None = None) -> None:
        self._keep = keep
        self._rows: list[EventRow] = []
        self._discarded = START  # the last event that was discarded
        self._head = START
        self._verified = START
        self._snapshots: dict[int, Snapshot] = {}
        self._closed = False

    # --- writing ----------------------------------------------------------------------------------------------------

    def append(self, new: Sequence[NewEvent]) -> int:
        """Add all of them or none, and return the number of the last event. BadEvent: one of them is not valid."""
        if self._closed:
            raise JournalStopped("the journal was closed and takes no more events; open the journal again")
        rows = link(new, self._head)
        if rows:
            self._rows += rows
            self._head = rows[-1].checkpoint
        return self._head.seq

    def save_snapshot(self, seq: int, state: bytes, code_version: str) -> None:
        """Save the state after an event; only the last few are kept."""
        self._snapshots[seq] = self._new_snapshot(seq, state, code_version)
        for old in self._snapshot_numbers()[KEPT:]:
            del self._snapshots[old]
        if self._keep is not None:
            self._discard(min(min(self._snapshots) - 1, self._head.seq - self._keep) - self._discarded.seq)

    def _discard(self, count: int) -> None:
        if count > 0:
            self._discarded = self._rows[count - 1].checkpoint
            del self._rows[:count]

    def mark_verified(self, checkpoint: Checkpoint) -> None:
        """Record up to where the chain was verified, for verified()."""
        check_known(checkpoint, self.event(checkpoint.seq))
        self._verified = checkpoint

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def head(self) -> Checkpoint:
        """The last event's position; START if there is none."""
        return self._head

    @property
    def begin(self) -> Checkpoint:
        """The position before the first event that it still has; START if none was discarded."""
        return self._discarded

    def events(
        self, after: int = 0, upto: int | None = None, kinds: Collection[str] = (), limit: int | None = None
    ) -> Iterator[StoredEvent]:
        """The events after this number that were not discarded, in order. The chain is not checked."""
        start = max(0, after - self._discarded.seq)
        stop = None if upto is None else max(0, upto - self._discarded.seq)
        found = (row for row in islice(self._rows, start, stop) if not kinds or row.kind in kinds)
        for row in islice(found, limit):
            yield _stored(row)

    def last(self, count: int, kinds: Collection[str] = ()) -> list[StoredEvent]:
        """The newest events, in order."""
        found = (row for row in reversed(self._rows) if not kinds or row.kind in kinds)
        return [_stored(row) for row in islice(found, count)][::-1]

    def verify(self, since: Checkpoint = START, on_event: Callable[[StoredEvent], None] | None = None) -> Checkpoint:
        """Check the chain from a checkpoint that is known to be good to its end, and return the end.

        Discarded events cannot be checked: START stands for the first event that is still there.
        """
        if since.seq > self._discarded.seq:
            check_known(since, self.event(since.seq))
        elif since not in (START, self._discarded):
            raise JournalDamaged(since.seq, "it was discarded and cannot be compared with what was verified")
        else:
            since = self._discarded
        return verify(self.events(since.seq), since, on_event)

    def verified(self) -> Checkpoint:
        """The checkpoint up to which the chain was verified; START if it was not."""
        return self._verified

    def _snapshot_numbers(self) -> list[int]:
        return sorted(self._snapshots, reverse=True)

    def _snapshot(self, seq: int) -> Snapshot:
        return self._snapshots[seq]

    # --- closing and opening again ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Take no more events, as if the program had ended; may be called more than once."""
        self._closed = True

    def reopen(self) -> Self:
        """What a new program finds: the same events, checked as a Journal checks them when it is opened."""
        self._head = self._checked_head()
        self._closed = False
        return self


def _stored(row: EventRow) -> StoredEvent:
    return from_row([value.encode() if isinstance(value, str) else value for value in row])
