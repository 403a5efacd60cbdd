"""What all journals have in common, on disk and in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from types import TracebackType
from typing import Self

from controller.journal.chain import check_hash
from controller.journal.errors import JournalDamaged
from controller.journal.records import START, Checkpoint, StoredEvent, journal_id
from controller.journal.snapshots import (
    RECORD,
    BadSnapshot,
    Snapshot,
    check_event,
    check_records,
    check_version,
)


class BaseJournal(ABC):
    """Reading events, checkpoints and snapshots, wherever they are stored."""

    @abstractmethod
    def events(
        self, after: int = 0, upto: int | None = None, kinds: Collection[str] = (), limit: int | None = None
    ) -> Iterator[StoredEvent]:
        """The events after this number, in order. The chain is not checked: `check` and `verify` do that."""

    @abstractmethod
    def last(self, count: int, kinds: Collection[str] = ()) -> list[StoredEvent]:
        """The newest events, in order."""

    @abstractmethod
    def close(self) -> None:
        """Close the journal; may be called more than once."""

    @abstractmethod
    def _snapshot_numbers(self) -> list[int]:
        """The numbers of the events that have a snapshot, newest first."""

    @abstractmethod
    def _snapshot(self, seq: int) -> Snapshot:
        """The snapshot after this event. BadSnapshot or JournalDamaged if it is unreadable."""

    @property
    def id(self) -> str:
        """What distinguishes this journal from all others; empty if it has no event yet."""
        first = self.event(1)
        return journal_id(first) if first else ""

    def event(self, seq: int) -> StoredEvent | None:
        """The event with this number, None if there is none."""
        return next(self.events(seq - 1, seq), None)

    def latest_snapshot(
        self, code_version: str | None = None, on_ignored: Callable[[str], None] = lambda reason: None
    ) -> Snapshot | None:
        """The newest reliable snapshot, written by this version of the code if one is given.

        Those that are damaged, that do not match the events, or whose digest the chain does not record are skipped;
        `on_ignored` gets the reason. The caller must check the chain from the snapshot on: it contains the record.
        """
        try:
            numbers = self._snapshot_numbers()
        except JournalDamaged as damage:
            on_ignored(f"snapshots: {damage}")
            return None
        for seq in numbers:
            try:
                snapshot = self._snapshot(seq)
                check_version(snapshot, code_version)
                check_event(snapshot, self.event(seq))
                check_records(snapshot, self._records_of(seq))
                return snapshot
            except (BadSnapshot, JournalDamaged) as error:
                on_ignored(f"snapshot at event {seq}: {error}")
        return None

    def check_snapshots(self, code_version: str) -> None:
        """JournalDamaged if a snapshot is not the one that was saved.

        Versions before 0.2 did not record the digests of their snapshots. The given version does, and uses no others.
        """
        for seq in self._snapshot_numbers():
            try:
                snapshot, records = self._snapshot(seq), self._records_of(seq)
                check_event(snapshot, self.event(seq))
                if records or snapshot.code_version == code_version:
                    check_records(snapshot, records)
            except BadSnapshot as error:
                reason = f"the saved state after it was forged or damaged: {error}; the events are intact"
                raise JournalDamaged(seq, reason) from None

    def snapshot_digest(self, seq: int, state: bytes, code_version: str) -> str:
        """The digest of the snapshot that save_snapshot() would save, to be recorded in the chain first."""
        return self._new_snapshot(seq, state, code_version).digest

    def _records_of(self, seq: int) -> list[StoredEvent]:
        """The events that record the digest of a snapshot after this event."""
        return [record for record in self.events(seq, kinds=(RECORD,)) if record.data.get("of_event") == seq]

    def _new_snapshot(self, seq: int, state: bytes, code_version: str) -> Snapshot:
        """A snapshot of the state after this event."""
        event = self.event(seq)
        if event is None:
            raise ValueError(f"cannot take a snapshot: there is no event {seq}")
        return Snapshot(seq, event.hash, code_version, state)

    def _checked_head(self) -> Checkpoint:
        """The last event's position, for the next one to follow. Only this event is checked; verify() checks all."""
        newest = self.last(1)
        if not newest:
            return START
        check_hash(newest[0])
        return Checkpoint(newest[0].seq, newest[0].hash)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
