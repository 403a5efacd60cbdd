"""Live events: a reader gets each event once, even if it happens while the reader is connecting."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from controller.api import event_stream
from controller.api.event_stream import MAX_UNSENT, Reader, Stream, message
from controller.api.fair_queue import FairQueue
from controller.core.events.event import Entry
from controller.core.events.table import TableResumed

LIMIT_S = 120.0  # generous: only a hang runs into it


class QuietDaemon:
    """The part of a daemon that a stream needs; events happen when `happens` is called."""

    def __init__(self) -> None:
        self.live = SimpleNamespace(state=SimpleNamespace(seq=0))
        self._listeners: list[Any] = []

    def listen(self, listener: Any) -> Any:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def happens(self) -> int:
        """One more event; returns an upper limit of its bytes in the stream."""
        self.live.state.seq += 1
        event = Entry(self.live.state.seq, (), TableResumed())
        for listener in self._listeners:
            listener("", [event])
        return 200


def test_no_event_is_lost_on_the_way_in() -> None:
    """One event after the request was read, one before the reader is served, one while it reads what it missed."""

    async def read() -> list[bytes]:
        daemon = QuietDaemon()
        stream = Stream(daemon, lambda: b"{}", FairQueue())  # type: ignore[arg-type]
        got: list[bytes] = []
        written = asyncio.Event()

        async def missed(upto: int) -> list[bytes]:
            daemon.happens()
            await asyncio.sleep(0)
            return [message("journal", b"stored", seq) for seq in range(1, upto + 1)]

        async def send(data: bytes) -> None:
            got.append(data)

        def write(data: bytes) -> int:
            got.append(data)
            written.set()
            return 0

        daemon.happens()
        reading = stream.read(Reader("journal", write, lambda: None), missed, send)
        daemon.happens()
        task = asyncio.create_task(reading)
        await written.wait()
        await stream.close()
        await task
        return got

    retry, *events = asyncio.run(asyncio.wait_for(read(), LIMIT_S))
    assert retry.startswith(b"retry")
    assert [event.split(b"\n")[0] for event in events] == [b"id: 1", b"id: 2", b"id: 3"]


@pytest.mark.parametrize("listening", [True, False])
def test_a_reader_that_takes_nothing_is_sent_away(listening: bool) -> None:
    """Both after it has read what it missed and before; but not until it is far behind."""

    async def sent_before() -> int:
        daemon, away = QuietDaemon(), asyncio.Event()
        stream = Stream(daemon, lambda: b"{}", FairQueue())  # type: ignore[arg-type]
        unsent = 0

        def write(data: bytes) -> int:
            nonlocal unsent
            unsent += len(data)
            return unsent

        async def send(data: bytes) -> None:
            if not listening:
                await asyncio.Event().wait()

        async def missed(upto: int) -> list[bytes]:
            return []

        reading = asyncio.create_task(stream.read(Reader("journal", write, away.set), missed, send))
        await asyncio.sleep(0)
        sent = 0
        while not away.is_set():
            sent += daemon.happens()
            await asyncio.sleep(0)
        reading.cancel()
        await stream.close()
        return sent

    assert asyncio.run(asyncio.wait_for(sent_before(), LIMIT_S)) >= MAX_UNSENT


def test_a_person_who_waits_is_shown_the_effect_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other people and devices do is gathered for a moment; here, that moment never ends."""
    for name in ("VIEW_S", "GATHER_S"):
        monkeypatch.setattr(event_stream, name, 1e6)

    async def written() -> list[bytes]:
        daemon = QuietDaemon()
        stream = Stream(daemon, lambda: b"{}", FairQueue())  # type: ignore[arg-type]
        got: list[bytes] = []
        arrived = asyncio.Event()

        async def missed(upto: int) -> list[bytes]:
            return []

        async def send(data: bytes) -> None:
            pass

        def write(data: bytes) -> int:
            got.append(data)
            arrived.set()
            return 0

        reading = asyncio.create_task(stream.read(Reader("", write, lambda: None), missed, send))
        await asyncio.sleep(0)
        daemon.happens()
        stream.send_view_now()
        await arrived.wait()
        await stream.close()
        await reading
        return got

    (data,) = asyncio.run(asyncio.wait_for(written(), LIMIT_S))
    assert [line for line in data.split(b"\n") if line.startswith(b"event")] == [b"event: journal", b"event: table"]
