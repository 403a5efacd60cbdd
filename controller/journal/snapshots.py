"""Snapshots of the table's state. They make a start faster; the events alone are enough to rebuild the state.

A snapshot that is not reliable is therefore skipped. Pure: rows in, snapshots out.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from controller.journal.records import StoredEvent

KEPT = 3  # snapshots; older ones are deleted
SNAPSHOT_COLUMNS = "seq, event_hash, code_version, digest, state"


class Snapshot(msgspec.Struct, frozen=True):
    """The state after the event `seq`, which has this hash, as the given version of the code wrote it."""

    seq: int
    hash: str
    code_version: str
    state: bytes


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


def check_snapshot(snapshot: Snapshot, event: StoredEvent | None, code_version: str | None) -> None:
    """BadSnapshot unless it belongs to this event and was written by this version of the code, if one is given."""
    if event is None or event.hash != snapshot.hash:
        raise BadSnapshot("it belongs to another event")
    if code_version is not None and snapshot.code_version != code_version:
        raise BadSnapshot(f"it was written by version {snapshot.code_version} of the code; this is {code_version}")


def _digest(snapshot: Snapshot) -> bytes:
    head = msgspec.json.encode([snapshot.seq, snapshot.hash, snapshot.code_version])
    return sha256(head + b"\n" + snapshot.state).digest()
