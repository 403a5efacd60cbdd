"""Limits how fast a device may report events: every one is stored on disk before anything else happens."""

# mypyc
from __future__ import annotations

from typing import Final

EVENTS_PER_S: Final = 10  # what a device may report over a long time, unless configured; play has about one a second
KEPT_MOST: Final = 512  # events that a device may keep, and so send at once when it connects
WARN_AT: Final = 600  # events beyond the allowed rate
STOP_AT: Final = 1200


class EventRate:
    """How many events a device has sent beyond the allowed rate."""

    __slots__ = ("_at", "_excess", "_warned", "per_s")

    def __init__(self, per_s: float) -> None:
        self.per_s = per_s
        self._at = 0.0
        self._excess = 0.0
        self._warned = False

    def count(self, now: float) -> None:
        """One more event."""
        self._excess = max(0.0, self._excess - (now - self._at) * self.per_s) + 1
        self._at = now
        if self._excess < WARN_AT / 2:
            self._warned = False

    @property
    def too_many(self) -> bool:
        """Whether this is more than any working device sends."""
        return self._excess >= STOP_AT

    def warn(self) -> bool:
        """Whether it is time for a warning; True once, until the device has slowed down."""
        if self._warned or self._excess < WARN_AT:
            return False
        self._warned = True
        return True
