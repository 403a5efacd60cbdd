"""Streams live events to any number of screens: each message is encoded once and sent to all of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from functools import partial

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from controller.api.clients import STREAMS, ApiClient
from controller.api.encoding import encode
from controller.api.event_text import event_json
from controller.api.fair_queue import FairQueue
from controller.api.requests import ApiError
from controller.core.events.event import Entry
from controller.daemon.daemon import Daemon
from controller.journal import timestamp

BEAT_S = 2.0
VIEW_S = 0.05  # least time between two views of the table
VIEWS_PER_S = 200  # for all readers together: the more readers, the fewer views for each
GATHER_S = 0.02  # events within this time are sent to a reader in one write
WRITES_PER_S = 1000  # for all readers together: the more readers, the longer events are gathered
READERS_PER_TURN = 4  # readers served in one turn of the loop
MAX_UNSENT = 1 << 18  # bytes that a slow reader may be behind before it is disconnected; it reconnects and resumes


def message(event: str, data: bytes, seq: int | None = None) -> bytes:
    """One message of a server-sent stream."""
    number = b"id: %d\n" % seq if seq is not None else b""
    return b"%sevent: %s\ndata: %s\n\n" % (number, event.encode(), data)


class Reader:
    """One screen or terminal that reads the stream.

    `write` writes to its connection directly, past the layers that a whole response goes through, and returns how many
    bytes are still unsent; `abort` drops the connection.
    """

    def __init__(
        self,
        only: str,
        write: Callable[[bytes], int],
        abort: Callable[[], None],
        may_read: Callable[[], bool] = lambda: True,
    ) -> None:
        self.only = only
        self.may_read = may_read  # everything; a bystander gets only what is open to all
        self.ended = asyncio.Event()
        self._write = write
        self._abort = abort
        self._live = False
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    def put(self, kind: str, data: bytes) -> None:
        """Queue a message, unless the reader asked for another kind, or may not read it."""
        if self.only and kind not in (self.only, "beat", "gap"):
            return
        if kind == "journal" and not self.may_read():
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > MAX_UNSENT and not self._live:  # it is not even reading what it has missed
            self._disconnect()

    def go_live(self) -> None:
        """Start sending queued messages: the reader has everything that it had missed."""
        self._live = True
        self.flush()

    def flush(self) -> None:
        """Send the queued messages."""
        if not self._live or not self._waiting or self.ended.is_set():
            return
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        if self._write(data) > MAX_UNSENT:
            self._disconnect()

    def _disconnect(self) -> None:
        self.ended.set()
        self._abort()  # a client that does not read would not read the end of the response either


class Stream:
    """Sends events, views of the table and a beat to all readers."""

    def __init__(
        self,
        daemon: Daemon,
        view: Callable[[], bytes],
        queue: FairQueue,
        open_view: Callable[[], bytes] = lambda: b"{}",
    ) -> None:
        self._daemon = daemon
        self._open_view = open_view
        self._streams: Counter[ApiClient] = Counter()
        self._queue = queue
        self._view = view
        self.readers: set[Reader] = set()
        self._loop = asyncio.get_running_loop()
        self._view_timer: asyncio.TimerHandle | None = None
        self._flush_timer: asyncio.TimerHandle | None = None
        self._viewed_at = 0.0
        self._closing = False
        self._stop = daemon.listen(self._happened)
        self._beating = asyncio.create_task(self._beat(), name="beat")

    @contextlib.contextmanager
    def share(self, client: ApiClient) -> Iterator[None]:
        """Take one of the streams that this client may have at a time; ApiError 429 if none is left."""
        if self._streams[client] >= STREAMS[client.kind]:
            text = "this client has too many streams open"
            raise ApiError(429, "too_many_streams", text, "close one of them", retry_after_ms=5000)
        self._streams[client] += 1
        try:
            yield
        finally:
            self._streams[client] -= 1
            self._streams += Counter()  # forget clients that have none

    async def close(self) -> None:
        """End the stream for all readers."""
        self._closing = True
        self._stop()
        self._beating.cancel()
        for handle in (self._view_timer, self._flush_timer):
            if handle:
                handle.cancel()
        for reader in self.readers:
            reader.ended.set()

    def _happened(self, ts: str, events: list[Entry]) -> None:
        if not self.readers:
            return
        for event in events:
            made = encode(event_json(event.seq, ts, event.kind, event.clause, event.data))
            self._send("journal", message("journal", made, event.seq))
        self.send_view_soon()

    def send_view_soon(self) -> None:
        """Send a view of the table soon, together with what else happens until then."""
        if self._view_timer is None and not self._closing:
            pause_s = max(VIEW_S, len(self.readers) / VIEWS_PER_S)
            at = max(self._loop.time() + GATHER_S, self._viewed_at + pause_s)
            self._view_timer = self._loop.call_at(at, self._queue.add, self._send_view)

    def send_view_now(self) -> None:
        """Send a view and what has happened at once: a person waits to see the effect of an action."""
        if self._view_timer:
            self._view_timer.cancel()
        if not self._closing:
            self._send_view()
            self._flush_all()

    def _send_view(self) -> None:
        self._view_timer, self._viewed_at = None, self._loop.time()
        of_all = {reader for reader in self.readers if not reader.may_read()}
        if len(of_all) < len(self.readers):
            self._send("table", message("table", self._view()), self.readers - of_all)
        if of_all:
            self._send("table", message("table", self._open_view()), of_all)

    def _send(self, kind: str, data: bytes, readers: set[Reader] | None = None) -> None:
        for reader in self.readers if readers is None else readers:
            reader.put(kind, data)
        if self._flush_timer is None and not self._closing:
            pause_s = max(GATHER_S, len(self.readers) / WRITES_PER_S)
            self._flush_timer = self._loop.call_later(pause_s, self._flush_all)

    def _flush_all(self) -> None:
        if self._flush_timer:
            self._flush_timer.cancel()
            self._flush_timer = None
        readers = list(self.readers)
        for first in range(0, len(readers), READERS_PER_TURN):
            self._queue.add(partial(_flush, readers[first : first + READERS_PER_TURN]))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            if self.readers:
                now = {"now_ms": self._daemon.now_ms, "ts": timestamp(datetime.now(UTC))}
                self._send("beat", message("beat", encode(now)))

    async def read(
        self,
        reader: Reader,
        missed: Callable[[int], Awaitable[list[bytes]]],
        send: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """Serve one reader until it ends: the events it missed, a view of the table, then everything that happens.

        The last missed event is determined here and not by the caller: this may run long after the request came in.
        `send` waits for a slow reader.
        """
        self.readers.add(reader)
        upto = self._daemon.live.state.seq if self._daemon.live else 0
        try:
            await send(b"retry: 1000\n\n")
            for data in await missed(upto) if reader.may_read() else ():
                await send(data)
            if reader.only != "journal":
                await send(message("table", self._view() if reader.may_read() else self._open_view()))
            reader.go_live()
            if not self._closing:
                await reader.ended.wait()
        finally:
            self.readers.discard(reader)


def _flush(readers: list[Reader]) -> None:
    for reader in readers:
        reader.flush()


class StreamResponse(Response):
    """The response to a reader: started like any other, then written directly to the connection."""

    media_type = "text/event-stream"

    def __init__(
        self,
        stream: Stream,
        only: str,
        missed: Callable[[int], Awaitable[list[bytes]]],
        may_read: Callable[[], bool],
        share: contextlib.ExitStack,
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]  # the stream has no end
        self._stream = stream
        self._only = only
        self._missed = missed
        self._may_read = may_read
        self._share = share  # of the client's streams, until this one has ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the reader until either side ends the stream."""

        async def send_part(data: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        async def wait_for_disconnect() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            reader.ended.set()

        with self._share:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                reader = Reader(self._only, scope["write"], scope["abort"], self._may_read)
                disconnect = asyncio.create_task(wait_for_disconnect(), name="disconnect")
                try:
                    await self._stream.read(reader, self._missed, send_part)
                finally:
                    disconnect.cancel()
            await send_part(b"", more=False)
