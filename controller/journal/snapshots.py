"""Snapshots of the table's state: they save time at the start and are never needed, since the events tell everything.

So a snapshot that cannot be relied on is passed over. Pure: rows in, snapshots out.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from controller.journal.records import Event

KEPT = 3
SNAPSHOT_COLUMNS = "seq, event_hash, code_version, digest, state"


class Snapshot(msgspec.Struct, frozen=True):
    """The state after the event `seq`, which has this hash, as the given version of the code wrote it."""

    seq: int
    hash: str
    code_version: str
    state: bytes


class BadSnapshot(ValueError):
    """A snapshot that cannot be relied on; the text says why."""


def snapshot_row(snapshot: Snapshot) -> tuple[int, bytes, str, bytes, bytes]:
    """It as it is stored."""
    return snapshot.seq, bytes.fromhex(snapshot.hash), snapshot.code_version, _digest(snapshot), snapshot.state


def read_snapshot(rows: Sequence[Sequence[Any]], event: Event | None, code_version: str | None) -> Snapshot:
    """The snapshot in what was found for its number, which must be one row, beside the event of that number."""
    if len(rows) != 1 or not all(isinstance(value, bytes) for value in rows[0][1:]):
        raise BadSnapshot("it is unreadable")
    seq, event_hash, version, digest, state = rows[0]
    snapshot = Snapshot(seq, event_hash.hex(), version.decode(errors="replace"), state)
    if _digest(snapshot) != digest:
        raise BadSnapshot("its content does not fit its digest")
    if event is None or event.hash != snapshot.hash:
        raise BadSnapshot("it belongs to another event")
    if code_version is not None and snapshot.code_version != code_version:
        raise BadSnapshot(f"version {snapshot.code_version} of the code wrote it, this is {code_version}")
    return snapshot


def _digest(snapshot: Snapshot) -> bytes:
    head = msgspec.json.encode([snapshot.seq, snapshot.hash, snapshot.code_version])
    return sha256(head + b"\n" + snapshot.state).digest()
