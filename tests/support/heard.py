"""What a port said, for the tests of the transports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortLost, PortSettings, Transport, open_port

LIMIT_S = 20.0  # generous: only a hang runs into it


class Heard:
    """Collects bytes and losses, and waits for news of them."""

    def __init__(self, settings: PortSettings = DEFAULT_SETTINGS) -> None:
        self.settings = settings
        self.data = bytearray()
        self.losses: list[PortLost] = []
        self._news = asyncio.Event()

    def on_bytes(self, data: bytes) -> None:
        """For open_port."""
        self.data += data
        self._news.set()

    def on_lost(self, loss: PortLost) -> None:
        """For open_port."""
        self.losses.append(loss)
        self._news.set()

    async def open(self, address: str) -> Transport:
        """Open a port that is heard here."""
        return await open_port(address, self.on_bytes, self.on_lost, self.settings)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for news until the condition holds."""
        async with asyncio.timeout(LIMIT_S):
            while not condition():
                self._news.clear()
                await self._news.wait()
