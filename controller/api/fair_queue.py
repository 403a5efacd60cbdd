"""Divides the work for screens and clients into small pieces, one per turn of the event loop: devices are served
between any two of them however many clients are connected.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class FairQueue:
    """A first-in, first-out queue of pieces of work."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pieces: deque[Callable[[], None]] = deque()

    def add(self, piece: Callable[[], None]) -> None:
        """Run this soon, in a turn of the loop that it shares with no other piece."""
        self._pieces.append(piece)
        if len(self._pieces) == 1:
            self._loop.call_soon(self._run_next)

    async def turn(self) -> None:
        """Wait in the queue; what the caller does next is a piece of its own."""
        reached: asyncio.Future[None] = self._loop.create_future()

        def reach() -> None:
            if not reached.done():  # the caller may have been cancelled
                reached.set_result(None)

        self.add(reach)
        await reached

    def _run_next(self) -> None:
        try:
            self._pieces[0]()
        finally:
            self._pieces.popleft()
            if self._pieces:
                self._loop.call_soon(self._run_next)
