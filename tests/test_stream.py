"""The live events: a reader gets each one once, whenever it happens while the reader is on its way in."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from controller.core.state import Event
from controller.stream import Stream, message


class _Daemon:
    """What a stream needs of the daemon."""

    def __init__(self) -> None:
        self.live = SimpleNamespace(state=SimpleNamespace(seq=0))
        self._listeners: list[Any] = []

    def listen(self, listener: Any) -> Any:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def happens(self) -> None:
        """One more event."""
        self.live.state.seq += 1
        for listener in self._listeners:
            listener("", [Event(self.live.state.seq, "round.started", (), {})])


def test_no_event_is_lost_on_the_way_in() -> None:
    """One happens after the request was read, one before the reader is asked for, one while it reads what it missed."""

    async def told() -> list[bytes]:
        daemon = _Daemon()
        stream = Stream(daemon, lambda: b"{}")  # type: ignore[arg-type]

        async def missed(upto: int) -> list[bytes]:
            daemon.happens()
            await asyncio.sleep(0)
            return [message("journal", b"stored", seq) for seq in range(1, upto + 1)]

        daemon.happens()
        reading = stream.read("journal", missed, lambda: None)
        daemon.happens()
        got = [await anext(reading) for _ in range(4)]
        await stream.close()
        return got

    retry, *events = asyncio.run(told())
    assert retry.startswith(b"retry")
    assert [event.split(b"\n")[0] for event in events] == [b"id: 1", b"id: 2", b"id: 3"]
