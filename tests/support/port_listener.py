"""Collects what a port receives, for the tests of the ports."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortLost, PortSettings, Transport, open_port

LIMIT_S = 120.0  # generous: only a hang runs into it


class PortListener:
    """Collects bytes and losses, and waits for them."""

    def __init__(self, settings: PortSettings = DEFAULT_SETTINGS) -> None:
        self.settings = settings
        self.data = bytearray()
        self.losses: list[PortLost] = []
        self._changed = asyncio.Event()

    def on_bytes(self, data: bytes) -> None:
        """Callback for open_port."""
        self.data += data
        self._changed.set()

    def on_lost(self, loss: PortLost) -> None:
        """Callback for open_port."""
        self.losses.append(loss)
        self._changed.set()

    async def open(self, address: str) -> Transport:
        """Open a port that this listener listens to."""
        return await open_port(address, self.on_bytes, self.on_lost, self.settings)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until the condition holds."""
        async with asyncio.timeout(LIMIT_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


def threads() -> set[threading.Thread]:
    """The threads that run now, without those that stay to open ports."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith("port_")}
