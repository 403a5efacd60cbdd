"""The table's clock: it never goes back, across restarts and whatever happens to the computer's wall clock.

While the computer is up it uses the time since boot, which cannot be set. After a reboot, only the wall clock says how
long the computer was off. If that is not plausible, the time away is taken to be longer than any deck may be in play,
so that no deck is played for too long. If the wall clock was set forward while the daemon ran, that difference counts
as time away too: it may have been wrong, and corrected since.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from controller.core.state import Host, State

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LONGEST_AWAY_MS = 10 * 365 * 86_400_000  # a wall clock that implies more is wrong


def boot_id() -> str:
    """The kernel's identifier of this boot of the computer; empty if there is none."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


def up_s() -> float:
    """Seconds since the computer was booted, including those it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def time_away_ms(state: State, boot: str, up_ms: int, wall_ms: int, last_ts: str) -> int:
    """The time since the last event. `last_ts` is the wall clock's time of that event."""
    if state.host is None or not last_ts:
        return 0
    if boot and state.host.boot_id == boot and up_ms >= state.host.up_ms:
        return max(0, state.host.at_ms + up_ms - state.host.up_ms - state.now_ms)
    last_ms = round(datetime.fromisoformat(last_ts).timestamp() * 1000)
    away_ms = wall_ms - last_ms + _ran_ahead_ms(state, state.host, last_ms)
    if not 0 <= away_ms <= LONGEST_AWAY_MS:
        away_ms = max(state.setup.game.life_h.values(), default=24) * 3_600_000
    return max(away_ms, up_ms)  # the last event was before this boot


def _ran_ahead_ms(state: State, host: Host, last_ms: int) -> int:
    """By how much the wall clock was ahead at the last event, compared with the time since it was read at the start.

    It may have been corrected by now: without this, the time away would seem shorter than it was.
    """
    if host.wall_ms < 0:
        return 0
    return max(0, (last_ms - host.wall_ms) - (state.now_ms - host.at_ms))


class TableClock:
    """Seconds on the table's clock, continuing from a given time."""

    def __init__(self, now_ms: int, up: Callable[[], float] = up_s) -> None:
        self._up = up
        self._ahead_s = now_ms / 1000 - up()

    def now(self) -> float:
        """The table's time."""
        return self._up() + self._ahead_s
