"""A journal in memory, for simulations: the same events in the same chain of hashes, only not on a disk.

What it holds is gone with the program, so nothing is gained by chaining each event at once: what was recorded gets its
places and hashes many at a time, or when somebody looks. It can be told how many events to hold: a table-year has some
36 million, and nobody reads those of last month. Then it lets go, with every snapshot, those that no snapshot needs any
more.
"""

# mypyc
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Final, Self

from controller.journal.chain import (
    NewEvent,
    Row,
    check_known,
    digest,
    from_new,
    from_row,
    link_rows,
    verify,
)
from controller.journal.errors import JournalDamaged, JournalStopped
from controller.journal.records import START, Checkpoint, Event
from controller.journal.snapshots import KEPT, BadSnapshot, Snapshot, read_snapshot, snapshot_row

GATHERED: Final = 64  # recorded events that are chained together


class MemoryJournal:
    """What a Journal does, without its file. `keep`: let old events go and hold at least this many; None: hold all."""

    def __init__(self, keep: int | None = None) -> None:
        self._keep = keep
        self._chained: list[Row] = []
        self._new: list[NewEvent] = []  # recorded, and not chained yet
        self._begin = START  # the last event that was let go
        self._seq, self._hash = 0, bytes.fromhex(START.hash)  # of the last event that is chained
        self._verified = START
        self._snapshots: list[Snapshot] = []
        self._closed = False

    # --- writing ----------------------------------------------------------------------------------------------------

    def append(self, new: Sequence[NewEvent]) -> list[Event]:
        """Keep all of them, or none. BadEvent: one of them is a mistake of the program; nothing happened."""
        self._check_open()
        self._chain()
        return [from_new(row) for row in self._link(new)]

    def record(self, new: Sequence[NewEvent]) -> int:
        """The same for those who need no copies back: it tells the last event's number. A mistake is found later."""
        self._check_open()
        self._new += new
        last = self._seq + len(self._new)
        if len(self._new) >= GATHERED:
            self._chain()
        return last

    def _check_open(self) -> None:
        if self._closed:
            raise JournalStopped("nothing more is written: it was closed; open the journal anew")

    def _chain(self) -> None:
        """Give what was recorded its places. Whoever looks at events, or at the head, does this first."""
        if self._new:
            new, self._new = self._new, []
            self._link(new)

    def _link(self, new: Sequence[NewEvent]) -> list[Row]:
        rows = link_rows(new, self._seq, self._hash)
        if rows:
            self._chained += rows
            self._seq, self._hash = rows[-1][0], rows[-1][4]
        return rows

    @property
    def _rows(self) -> list[Row]:
        self._chain()
        return self._chained

    def _let_go(self, count: int) -> None:
        if count > 0:
            last = self._rows[count - 1]
            self._begin = Checkpoint(last[0], last[4].hex())
            del self._chained[:count]

    def save_snapshot(self, seq: int, state: bytes, code_version: str) -> None:
        """Keep the state after an event; only the last few are kept."""
        event = self.event(seq)
        if event is None:
            raise ValueError(f"there is no event {seq} to take a snapshot of")
        others = [snapshot for snapshot in self._snapshots if snapshot.seq != seq]
        kept = sorted([*others, Snapshot(seq, event.hash, code_version, state)], key=lambda snapshot: snapshot.seq)
        self._snapshots = kept[-KEPT:]
        if self._keep is not None:
            self._let_go(min(self._snapshots[0].seq - 1, self._seq - self._keep) - self._begin.seq)

    def mark_verified(self, checkpoint: Checkpoint) -> None:
        """Remember up to where the chain was found whole, for verified()."""
        event = self.event(checkpoint.seq)
        if event is None or event.hash != checkpoint.hash:
            raise JournalDamaged(checkpoint.seq, "it is not the event that was verified")
        self._verified = checkpoint

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def head(self) -> Checkpoint:
        """The last event's place; START where there is none."""
        self._chain()
        return Checkpoint(self._seq, self._hash.hex())

    @property
    def begin(self) -> Checkpoint:
        """The place before the first event that it still holds; START where it holds all."""
        return self._begin

    def event(self, seq: int) -> Event | None:
        """The event with this number; None also where it was let go."""
        return next(self.events(seq - 1, seq), None)

    def events(
        self, after: int = 0, upto: int | None = None, kinds: Collection[str] = (), limit: int | None = None
    ) -> Iterator[Event]:
        """The events after this number that it still holds, in order. Whether the chain is whole is not looked at."""
        start = max(0, after - self._begin.seq)
        stop = None if upto is None else max(0, upto - self._begin.seq)
        found = (row for row in islice(self._rows, start, stop) if not kinds or row[2] in kinds)
        for row in islice(found, limit):
            yield _read(row)

    def last(self, count: int, kinds: Collection[str] = ()) -> list[Event]:
        """The newest events, oldest of them first."""
        found = (row for row in reversed(self._rows) if not kinds or row[2] in kinds)
        return [_read(row) for row in islice(found, count)][::-1]

    def verify(self, since: Checkpoint = START, on_event: Callable[[Event], None] | None = None) -> Checkpoint:
        """Check the chain after a place that is known to be good, to its end, and tell the end's place.

        What was let go cannot be looked at any more: START means the first event that is still there.
        """
        if since.seq > self._begin.seq:
            check_known(since, self.event(since.seq))
        elif since not in (START, self._begin):
            raise JournalDamaged(since.seq, "it was let go, and cannot be compared with what was verified")
        else:
            since = self._begin
        return verify(self.events(since.seq), since, on_event)

    def verified(self) -> Checkpoint:
        """The place up to which the chain was verified before; START where that is not known."""
        return self._verified

    def latest_snapshot(
        self, code_version: str | None = None, on_ignored: Callable[[str], None] = lambda reason: None
    ) -> Snapshot | None:
        """The newest snapshot, of this version of the code if one is given; `on_ignored` gets why not a newer one."""
        for snapshot in reversed(self._snapshots):
            seq, event_hash, version, digest_, state = snapshot_row(snapshot)
            try:
                row = seq, event_hash, version.encode(), digest_, state
                return read_snapshot([row], self.event(seq), code_version)
            except BadSnapshot as error:
                on_ignored(f"the snapshot at event {snapshot.seq}: {error}")
        return None

    # --- the end, and a new beginning -------------------------------------------------------------------------------

    def close(self) -> None:
        """Take no more, as if its program had ended; also more than once."""
        self._closed = True

    def reopen(self) -> Self:
        """What a new program finds: the events, looked at as a Journal does when it is opened."""
        newest = self.last(1)
        if newest and digest(newest[0]) != newest[0].hash:
            raise JournalDamaged(newest[0].seq, "its content does not fit its hash")
        last = newest[0] if newest else START
        self._seq, self._hash = last.seq, bytes.fromhex(last.hash)
        self._closed = False
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read(row: Row) -> Event:
    seq, ts, kind, prev, hashed, clause, data = row
    return from_row((seq, ts.encode(), kind.encode(), prev, hashed, clause.encode(), data.encode()))
