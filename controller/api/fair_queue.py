"""The work for screens and clients in small pieces, one for each turn of the loop: a device is heard between any two of
them, however many people look on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Turns:
    """A queue of pieces of work; whoever comes first is served first."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pieces: deque[Callable[[], None]] = deque()

    def add(self, piece: Callable[[], None]) -> None:
        """Do this soon: not in this turn, and not in one with another piece."""
        self._pieces.append(piece)
        if len(self._pieces) == 1:
            self._loop.call_soon(self._next)

    async def mine(self) -> None:
        """Wait for a turn: what follows is a piece of its own."""
        come: asyncio.Future[None] = self._loop.create_future()

        def has_come() -> None:
            if not come.done():  # whoever waited may have left
                come.set_result(None)

        self.add(has_come)
        await come

    def _next(self) -> None:
        try:
            self._pieces[0]()
        finally:
            self._pieces.popleft()
            if self._pieces:
                self._loop.call_soon(self._next)
