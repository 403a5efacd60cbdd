"""Saves snapshots as the daemon does: the digest goes into the chain first."""

from __future__ import annotations

from controller.journal import Journal, MemoryJournal, NewEvent

TS = "2026-01-31T23:59:59.123456Z"


def save_state(journal: Journal | MemoryJournal, seq: int, state: bytes, code_version: str) -> None:
    """Record the digest of the state after this event, then save it."""
    digest = journal.snapshot_digest(seq, state, code_version)
    journal.append([NewEvent(TS, "snapshot.taken", (), {"of_event": seq, "digest": digest})])
    journal.save_snapshot(seq, state, code_version)
