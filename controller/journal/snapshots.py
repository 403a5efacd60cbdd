"""Snapshots of the table's state. They make a start faster; the events alone are enough to rebuild the state.

A snapshot that is not reliable is therefore skipped. Whoever can write the file can also write a snapshot with a
matching digest, so a snapshot counts only if an event of the chain has recorded its digest.

Pure: rows in, snapshots out.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from controller.journal.records import StoredEvent

KEPT = 3  # snapshots; older ones are deleted
RECORD = "snapshot.taken"  # the kind of the events that record the digest of a snapshot, with `of_event` and `digest`
SNAPSHOT_COLUMNS = "seq, event_hash, code_version, digest, state"


class Snapshot(msgspec.Struct, frozen=True):
    """The state after the event `seq`, which has this hash, as the given version of the code wrote it."""

    seq: int
    hash: str
    code_version: str
    state: bytes

    @property
    def digest(self) -> str:
        """What the chain records of it."""
        return _digest(self).hex()


class BadSnapshot(ValueError):
    """A snapshot that is not reliable; the text says why."""


def snapshot_row(snapshot: Snapshot) -> tuple[int, bytes, str, bytes, bytes]:
    """A snapshot as it is stored."""
    return snapshot.seq, bytes.fromhex(snapshot.hash), snapshot.code_version, _digest(snapshot), snapshot.state


def read_snapshot(rows: Sequence[Sequence[Any]]) -> Snapshot:
    """The snapshot in the rows found for one number. BadSnapshot if it is damaged."""
    if len(rows) != 1 or not all(isinstance(value, bytes) for value in rows[0][1:]):
        raise BadSnapshot("it is unreadable")
    seq, event_hash, version, digest, state = rows[0]
    snapshot = Snapshot(seq, event_hash.hex(), version.decode(errors="replace"), state)
    if _digest(snapshot) != digest:
        raise BadSnapshot("its content does not match its digest")
    return snapshot


def check_event(snapshot: Snapshot, event: StoredEvent | None) -> None:
    """BadSnapshot unless it belongs to this event."""
    if event is None or event.hash != snapshot.hash:
        raise BadSnapshot("it belongs to another event")


def check_records(snapshot: Snapshot, records: Sequence[StoredEvent]) -> None:
    """BadSnapshot unless one of these events, found by `of_event`, has recorded the snapshot's digest."""
    if not records:
        raise BadSnapshot("the journal does not record it")
    if snapshot.digest not in [record.data.get("digest") for record in records]:
        raise BadSnapshot(f"its digest is not the one that event {records[-1].seq} records")


def check_version(snapshot: Snapshot, code_version: str | None) -> None:
    """BadSnapshot unless it was written by this version of the code, if one is given."""
    if code_version is not None and snapshot.code_version != code_version:
        raise BadSnapshot(f"it was written by version {snapshot.code_version} of the code; this is {code_version}")


def _digest(snapshot: Snapshot) -> bytes:
    head = msgspec.json.encode([snapshot.seq, snapshot.hash, snapshot.code_version])
    return sha256(head + b"\n" + snapshot.state).digest()
