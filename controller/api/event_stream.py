"""Live events for any number of screens: each message is made once, and given to all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from controller.api.event_text import stored_text
from controller.api.fair_queue import Turns
from controller.core.events.event import Entry
from controller.daemon.daemon import Daemon
from controller.journal import timestamp

BEAT_S = 2.0
PICTURE_S = 0.05  # at most this often
PICTURES_PER_S = 200  # for all readers together: with many of them, each gets fewer
GATHER_S = 0.02  # what happens within this time goes to a reader in one piece
PIECES_PER_S = 1000  # for all readers together: with many of them, more is gathered
AT_ONCE = 4  # readers served in one turn of the loop
BEHIND = 1 << 18  # bytes that a slow reader may be behind before it is sent away, to come back and resume
encode = msgspec.json.Encoder(enc_hook=str).encode


def event_json(seq: int, ts: str, kind: str, clause: tuple[str, ...], data: dict[str, object]) -> dict[str, object]:
    """An event as the API tells it."""
    return {"seq": seq, "ts": ts, "kind": kind, "clause": list(clause), "data": data, "text": stored_text(kind, data)}


def message(event: str, data: bytes, seq: int | None = None) -> bytes:
    """One message of a server-sent stream."""
    number = b"id: %d\n" % seq if seq is not None else b""
    return b"%sevent: %s\ndata: %s\n\n" % (number, event.encode(), data)


class Reader:
    """One screen or terminal that listens.

    `say` writes to its connection, past everything that a whole answer goes through, and tells how many bytes have not
    gone yet; `hang_up` ends the connection.
    """

    def __init__(self, only: str, say: Callable[[bytes], int], hang_up: Callable[[], None]) -> None:
        self.only = only
        self.over = asyncio.Event()
        self._say = say
        self._hang_up = hang_up
        self._listening = False
        self._waiting: list[bytes] = []
        self._held = 0  # bytes of it

    def put(self, kind: str, data: bytes) -> None:
        """Keep a message for it, unless it asked for another kind."""
        if self.only and kind not in (self.only, "beat", "gap"):
            return
        self._waiting.append(data)
        self._held += len(data)
        if self._held > BEHIND and not self._listening:  # it does not even take what it has missed
            self._send_away()

    def begin(self) -> None:
        """It has what it missed: from now on it gets what comes."""
        self._listening = True
        self.take()

    def take(self) -> None:
        """Give it what waits for it."""
        if not self._listening or not self._waiting or self.over.is_set():
            return
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._held = 0
        if self._say(data) > BEHIND:
            self._send_away()

    def _send_away(self) -> None:
        self.over.set()
        self._hang_up()  # whoever does not read would not read the end either


class Stream:
    """Tells all readers what happens."""

    def __init__(self, daemon: Daemon, picture: Callable[[], bytes], turns: Turns) -> None:
        self._daemon = daemon
        self._turns = turns
        self._picture = picture
        self.readers: set[Reader] = set()
        self._loop = asyncio.get_running_loop()
        self._drawing: asyncio.TimerHandle | None = None
        self._serving: asyncio.TimerHandle | None = None
        self._drawn_at = 0.0
        self._closing = False
        self._stop = daemon.listen(self._happened)
        self._beating = asyncio.create_task(self._beat(), name="beat")

    async def close(self) -> None:
        """Send all readers away."""
        self._closing = True
        self._stop()
        self._beating.cancel()
        for handle in (self._drawing, self._serving):
            if handle:
                handle.cancel()
        for reader in self.readers:
            reader.over.set()

    def _happened(self, ts: str, events: list[Entry]) -> None:
        if not self.readers:
            return
        for event in events:
            made = encode(event_json(event.seq, ts, event.kind, event.clause, event.data))
            self._tell("journal", message("journal", made, event.seq))
        self.draw()

    def draw(self) -> None:
        """Send the picture soon: with what happens meanwhile, and after the shortest time between two."""
        if self._drawing is None and not self._closing:
            pause_s = max(PICTURE_S, len(self.readers) / PICTURES_PER_S)
            at = max(self._loop.time() + GATHER_S, self._drawn_at + pause_s)
            self._drawing = self._loop.call_at(at, self._turns.add, self._draw)

    def _draw(self) -> None:
        self._drawing, self._drawn_at = None, self._loop.time()
        if self.readers:
            self._tell("table", message("table", self._picture()))

    def _tell(self, kind: str, data: bytes) -> None:
        for reader in self.readers:
            reader.put(kind, data)
        if self._serving is None and not self._closing:
            pause_s = max(GATHER_S, len(self.readers) / PIECES_PER_S)
            self._serving = self._loop.call_later(pause_s, self._serve_all)

    def _serve_all(self) -> None:
        self._serving = None
        readers = list(self.readers)
        for first in range(0, len(readers), AT_ONCE):
            self._turns.add(partial(_serve, readers[first : first + AT_ONCE]))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            if self.readers:
                now = {"now_ms": self._daemon.now_ms, "ts": timestamp(datetime.now(UTC))}
                self._tell("beat", message("beat", encode(now)))

    async def read(
        self,
        reader: Reader,
        missed: Callable[[int], Awaitable[list[bytes]]],
        tell: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """Serve one reader until it is over: what it missed up to the event where it begins to listen, the picture, and
        everything from then on. Where that is, is looked up here and not before: the first step may come long after
        the request. `tell` waits for a reader that is slow.
        """
        self.readers.add(reader)
        upto = self._daemon.live.state.seq if self._daemon.live else 0
        try:
            await tell(b"retry: 1000\n\n")
            for data in await missed(upto):
                await tell(data)
            if reader.only != "journal":
                await tell(message("table", self._picture()))
            reader.begin()
            if not self._closing:
                await reader.over.wait()
        finally:
            self.readers.discard(reader)


def _serve(readers: list[Reader]) -> None:
    for reader in readers:
        reader.take()


class Live(Response):
    """The answer to whoever listens: begun like any other, and then written straight to the connection."""

    media_type = "text/event-stream"

    def __init__(self, stream: Stream, only: str, missed: Callable[[int], Awaitable[list[bytes]]]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]  # nobody knows it
        self._stream = stream
        self._only = only
        self._missed = missed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it until one side has enough."""

        async def tell(data: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        async def leave() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            reader.over.set()

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            reader = Reader(self._only, scope["say"], scope["hang_up"])
            leaving = asyncio.create_task(leave(), name="leaving")
            try:
                await self._stream.read(reader, self._missed, tell)
            finally:
                leaving.cancel()
        await tell(b"", more=False)
