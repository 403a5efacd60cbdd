"""Live events for any number of screens: each message is made once, and given to all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import msgspec

from controller.core.state import Event
from controller.daemon import Daemon
from controller.journal import timestamp
from controller.words import line_of

BEAT_S = 2.0
PICTURE_S = 0.05  # at most this often
PICTURES_PER_S = 200  # for all readers together: with many of them, each gets fewer
BEHIND = 2000  # messages that a slow reader may be behind before it is sent away, to come back and resume
GATHER_S = 0.02  # what happens within this time goes to a reader in one piece
AT_ONCE = 4  # readers served before the loop looks at the devices again: a deal does not wait for a crowd
encode = msgspec.json.Encoder(enc_hook=str).encode


def event_json(seq: int, ts: str, kind: str, clause: tuple[str, ...], data: dict[str, object]) -> dict[str, object]:
    """An event as the API tells it."""
    return {"seq": seq, "ts": ts, "kind": kind, "clause": list(clause), "data": data, "text": line_of(kind, data)}


def message(event: str, data: bytes, seq: int | None = None) -> bytes:
    """One message of a server-sent stream."""
    number = b"id: %d\n" % seq if seq is not None else b""
    return b"%sevent: %s\ndata: %s\n\n" % (number, event.encode(), data)


class Reader:
    """One screen or terminal that listens."""

    def __init__(self, only: str, hang_up: Callable[[], None]) -> None:
        self.only = only
        self.hang_up = hang_up
        self.sent_away = False
        self.woken = asyncio.Event()
        self._waiting: list[bytes] = []

    def put(self, kind: str, data: bytes) -> None:
        """Keep a message for it, unless it asked for another kind or is too far behind."""
        if self.sent_away or (self.only and kind not in (self.only, "beat", "gap")):
            return
        self._waiting.append(data)
        if len(self._waiting) > BEHIND:
            self.send_away()
            self.hang_up()  # whoever does not read would not read the end either

    def send_away(self) -> None:
        """It gets nothing more."""
        self._waiting.clear()
        self.sent_away = True
        self.woken.set()

    async def next(self) -> bytes:
        """All that has come since; empty when it is sent away."""
        while not self._waiting and not self.sent_away:
            await self.woken.wait()
            self.woken.clear()
        waiting, self._waiting = self._waiting, []
        return b"".join(waiting)


class Stream:
    """Tells all readers what happens."""

    def __init__(self, daemon: Daemon, picture: Callable[[], bytes]) -> None:
        self._daemon = daemon
        self._picture = picture
        self.readers: set[Reader] = set()
        self._loop = asyncio.get_running_loop()
        self._drawing: asyncio.TimerHandle | None = None
        self._waking: asyncio.Handle | None = None
        self._news = False  # since the readers were woken last
        self._drawn_at = 0.0
        self._closing = False
        self._stop = daemon.listen(self._happened)
        self._beating = asyncio.create_task(self._beat(), name="beat")

    async def close(self) -> None:
        """Send all readers away."""
        self._closing = True
        self._stop()
        self._beating.cancel()
        for handle in (self._drawing, self._waking):
            if handle:
                handle.cancel()
        for reader in self.readers:
            reader.send_away()

    def _happened(self, ts: str, events: list[Event]) -> None:
        if not self.readers:
            return
        for event in events:
            made = encode(event_json(event.seq, ts, event.kind, event.clause, event.data))
            self._tell("journal", message("journal", made, event.seq))
        self.draw()

    def draw(self) -> None:
        """Send the picture soon: at once, or after the shortest time between two."""
        if self._drawing is None and not self._closing:
            pause_s = max(PICTURE_S, len(self.readers) / PICTURES_PER_S)
            at = max(self._loop.time(), self._drawn_at + pause_s)
            self._drawing = self._loop.call_at(at, self._draw)

    def _draw(self) -> None:
        self._drawing, self._drawn_at = None, self._loop.time()
        if self.readers:
            self._tell("table", message("table", self._picture()))

    def _tell(self, kind: str, data: bytes) -> None:
        for reader in self.readers:
            reader.put(kind, data)
        self._news = True
        self._wake_soon()

    def _wake_soon(self) -> None:
        if self._waking is None and not self._closing:
            self._waking = self._loop.call_later(GATHER_S, self._wake_all)

    def _wake_all(self) -> None:
        self._news = False
        self._wake(list(self.readers))

    def _wake(self, readers: list[Reader]) -> None:
        """Let a few of them take what waits for them, and the others after the loop has been round."""
        for reader in readers[:AT_ONCE]:
            reader.woken.set()
        left = readers[AT_ONCE:]
        self._waking = self._loop.call_soon(self._wake, left) if left else None
        if self._news:  # meanwhile, for those who were woken before it
            self._wake_soon()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            if self.readers:
                now = {"now_ms": self._daemon.now_ms, "ts": timestamp(datetime.now(UTC))}
                self._tell("beat", message("beat", encode(now)))

    async def read(
        self, only: str, missed: Callable[[int], Awaitable[list[bytes]]], hang_up: Callable[[], None]
    ) -> AsyncIterator[bytes]:
        """What one reader gets: what it missed up to the event where it begins to listen, the picture, and everything
        from then on. Where that is, is looked up here and not before: the first step may come long after the call.
        """
        reader = Reader(only, hang_up)
        self.readers.add(reader)
        upto = self._daemon.live.state.seq if self._daemon.live else 0
        try:
            yield b"retry: 1000\n\n"
            for data in await missed(upto):
                yield data
            if only != "journal":
                yield message("table", self._picture())
            while not self._closing and (told := await reader.next()):
                yield told
        finally:
            self.readers.discard(reader)
