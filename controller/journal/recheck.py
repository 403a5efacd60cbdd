"""Verifies again what was verified before, a piece at a time: a row may be changed long after it was written."""

from __future__ import annotations

from pathlib import Path

from controller.journal.errors import JournalDamaged
from controller.journal.reader import JournalReader
from controller.journal.records import START, Checkpoint

LEAST = 1000  # events in a piece


class Recheck:
    """Goes through the verified part of a journal from its first event to its last, then starts again."""

    def __init__(self, path: Path, pieces: int) -> None:
        """`pieces`: the most pieces that one pass takes, however long the journal is."""
        self._path = path
        self._pieces = pieces
        self._at = START

    def step(self, verified: Checkpoint) -> None:
        """Check the next piece of the part up to `verified`. JournalDamaged names the first bad event."""
        if self._at.seq >= verified.seq:
            self._at = START
        size = max(LEAST, -(-verified.seq // self._pieces))
        with JournalReader(self._path) as reader:
            self._at = reader.verify_part(self._at, min(self._at.seq + size, verified.seq))
        if self._at.seq == verified.seq and self._at != verified:
            raise JournalDamaged(verified.seq, "it is not the event that was verified before")
