"""The live events: a reader gets each one once, whenever it happens while the reader is on its way in."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from controller.api.event_stream import BEHIND, Reader, Stream, message
from controller.api.fair_queue import Turns
from controller.core.events.event import Entry
from controller.core.events.table import TableResumed

LIMIT_S = 20.0  # generous: only a hang runs into it


class QuietDaemon:
    """What a stream needs of a daemon; things happen when they are told to."""

    def __init__(self) -> None:
        self.live = SimpleNamespace(state=SimpleNamespace(seq=0))
        self._listeners: list[Any] = []

    def listen(self, listener: Any) -> Any:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def happens(self) -> int:
        """One more event; gives the most bytes that it can be in a stream."""
        self.live.state.seq += 1
        event = Entry(self.live.state.seq, (), TableResumed())
        for listener in self._listeners:
            listener("", [event])
        return 200


def test_no_event_is_lost_on_the_way_in() -> None:
    """One happens after the request was read, one before the reader is served, one while it reads what it missed."""

    async def told() -> list[bytes]:
        daemon = QuietDaemon()
        stream = Stream(daemon, lambda: b"{}", Turns())  # type: ignore[arg-type]
        got: list[bytes] = []
        heard = asyncio.Event()

        async def missed(upto: int) -> list[bytes]:
            daemon.happens()
            await asyncio.sleep(0)
            return [message("journal", b"stored", seq) for seq in range(1, upto + 1)]

        async def tell(data: bytes) -> None:
            got.append(data)

        def say(data: bytes) -> int:
            got.append(data)
            heard.set()
            return 0

        daemon.happens()
        reading = stream.read(Reader("journal", say, lambda: None), missed, tell)
        daemon.happens()
        task = asyncio.create_task(reading)
        await heard.wait()
        await stream.close()
        await task
        return got

    retry, *events = asyncio.run(asyncio.wait_for(told(), LIMIT_S))
    assert retry.startswith(b"retry")
    assert [event.split(b"\n")[0] for event in events] == [b"id: 1", b"id: 2", b"id: 3"]


@pytest.mark.parametrize("listening", [True, False])
def test_a_reader_that_takes_nothing_is_sent_away(listening: bool) -> None:
    """After it has what it missed, and before; and it is not sent away before it is far behind."""

    async def told_before() -> int:
        daemon, away = QuietDaemon(), asyncio.Event()
        stream = Stream(daemon, lambda: b"{}", Turns())  # type: ignore[arg-type]
        unsent = 0

        def say(data: bytes) -> int:
            nonlocal unsent
            unsent += len(data)
            return unsent

        async def tell(data: bytes) -> None:
            if not listening:
                await asyncio.Event().wait()

        async def missed(upto: int) -> list[bytes]:
            return []

        reading = asyncio.create_task(stream.read(Reader("journal", say, away.set), missed, tell))
        await asyncio.sleep(0)
        told = 0
        while not away.is_set():
            told += daemon.happens()
            await asyncio.sleep(0)
        reading.cancel()
        await stream.close()
        return told

    assert asyncio.run(asyncio.wait_for(told_before(), LIMIT_S)) >= BEHIND
