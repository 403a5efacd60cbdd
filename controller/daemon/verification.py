"""Verifies the journal while the table runs: new events soon after they are written, old ones again every few hours.

It runs beside the table: the events are read in a thread, a few at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from controller.journal import START, Checkpoint, Journal, JournalDamaged, JournalError, JournalReader, Recheck

NEW_S = 600.0  # how often newly written events are verified
PIECE_S = 5.0  # how often a piece of the older events is verified again
PASS_S = 6 * 3600.0  # how long it takes at most to verify all of them again

Sleep = Callable[[float], Awaitable[object]]


class Verification:
    """Verifies one opened journal. `on_failure` gets why the journal is damaged or cannot be read."""

    def __init__(self, journal: Journal, verified: Checkpoint, on_failure: Callable[[str], None]) -> None:
        self.verified = verified
        self._journal = journal
        self._on_failure = on_failure

    def verify_new(self) -> None:
        """Verify the events since the last time, at once, and mark them as verified."""
        self._mark(_verify(self._journal.path, self.verified))

    async def keep_verifying(self, sleep: Sleep = asyncio.sleep) -> None:
        """Verify newly written events at intervals, to detect a failing disk or tampering."""
        try:
            while True:
                await sleep(NEW_S)
                self._mark(await asyncio.to_thread(_verify, self._journal.path, self.verified))
        except JournalError as error:
            self._on_failure(str(error))

    async def keep_rechecking(self, sleep: Sleep = asyncio.sleep) -> None:
        """Verify the older events again, piece by piece."""
        recheck = Recheck(self._journal.path, int(PASS_S / PIECE_S))
        try:
            while True:
                await sleep(PIECE_S)
                if self.verified != START:
                    await asyncio.to_thread(recheck.step, self.verified)
        except JournalDamaged as error:
            with contextlib.suppress(JournalError):
                self._journal.withdraw_verified()  # a restart must find it too, wherever the mark was
            self._on_failure(str(error))
        except JournalError as error:
            self._on_failure(str(error))

    def _mark(self, verified: Checkpoint) -> None:
        if verified != START:
            self._journal.mark_verified(verified)
        self.verified = verified


def _verify(path: Path, since: Checkpoint) -> Checkpoint:
    with JournalReader(path) as reader:
        return reader.verify(since)
