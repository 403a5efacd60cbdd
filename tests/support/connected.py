"""A real connection to a device, whose happenings a test can wait for."""

from __future__ import annotations

import asyncio
from typing import Any, Self, TypeVar

from firmware_bridge.connection import Connection
from firmware_bridge.wire.session import Happening, HostSession, Ready

Kind = TypeVar("Kind")


class Happenings:
    """Everything that a connection reports, in order."""

    def __init__(self) -> None:
        self.all: list[Happening] = []
        self._seen = 0  # by `until`
        self._news = asyncio.Event()

    def add(self, happening: Happening) -> None:
        """For `Connection.on_happening`."""
        self.all.append(happening)
        self._news.set()

    async def until(self, kind: type[Kind]) -> Kind:
        """The next happening of this kind; those before it are passed over."""
        while True:
            while self._seen < len(self.all):
                happening = self.all[self._seen]
                self._seen += 1
                if isinstance(happening, kind):
                    return happening
            self._news.clear()
            await self._news.wait()

    def of(self, kind: type[Kind]) -> list[Kind]:
        """All happenings of this kind so far."""
        return [happening for happening in self.all if isinstance(happening, kind)]


class ConnectedDevice:
    """Connects to the device at an address for the length of a `with` block, and waits until it is ready."""

    def __init__(self, address: str, *, host_boot: int = 1) -> None:
        self.happenings = Happenings()
        session = HostSession(host_boot=host_boot)
        self.connection = Connection(address, session, on_happening=self.happenings.add)
        self.until = self.happenings.until
        self._running: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self.connection.run())
        await self.until(Ready)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.connection.close()
        await self._running

    async def command(self, kind: Any, id: int, *fields: object) -> None:
        """Give a command for the device's present boot, and wait until the device has accepted it."""
        await self.connection.command(kind(id, self.connection.session.boot, *fields))
