"""Devices take precedence over screens and clients, however many there are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from controller.api.event_stream import READERS_PER_TURN, Reader, Stream
from controller.api.fair_queue import FairQueue
from controller.api.server import api_server, unix_socket
from tests.api.test_event_stream import QuietDaemon
from tests.fuzz.asked import Asked

CROWD = 40
ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIMIT_S = 120.0  # generous: only a hang runs into it


class Device:
    """A file descriptor in the loop, like a device's port: after `send`, `received` is called."""

    def __init__(self, received: Callable[[], None]) -> None:
        self._near, self._far = os.pipe()
        self._received = received
        asyncio.get_running_loop().add_reader(self._near, self._readable)

    def send(self) -> None:
        os.write(self._far, b"!")

    def _readable(self) -> None:
        os.read(self._near, 1)
        self._received()

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._near)
        os.close(self._near)
        os.close(self._far)


@contextlib.contextmanager
def device(received: Callable[[], None]) -> Iterator[Device]:
    made = Device(received)
    try:
        yield made
    finally:
        made.close()


async def served(app: ASGIApp, folder: Path) -> tuple[Path, Callable[[], Awaitable[None]]]:
    """Serve an application on a Unix socket; returns its path and the function that stops it."""
    server = api_server(app, FairQueue())
    path = folder / "control.sock"
    serving = asyncio.create_task(server.serve([unix_socket(path)]))
    await server.listening.wait()

    async def stop() -> None:
        server.should_exit = True
        await serving

    return path, stop


def test_a_device_is_heard_among_many_requests(tmp_path: Path) -> None:
    """All requests have arrived before the server processes the first; with the first, a device sends something."""
    begun = 0
    begun_before = []

    async def play() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal begun
            begun += 1
            if begun == CROWD + 1:
                shoe.send()
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        path, stop = await served(app, tmp_path)
        clients = [await asyncio.open_unix_connection(path) for _ in range(CROWD)]
        for reader, writer in clients:  # a connection is accepted once it is answered
            writer.write(ASK)
            await reader.readuntil(b"\r\n\r\n")
        with device(lambda: begun_before.append(begun)) as shoe:
            for _, writer in clients:
                writer.write(ASK)
            for reader, _ in clients:
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
        for _, writer in clients:
            writer.close()
        await stop()

    asyncio.run(asyncio.wait_for(play(), LIMIT_S))
    assert begun == 2 * CROWD
    assert begun_before[0] <= CROWD + 3


def test_requests_in_a_row_on_one_connection_are_all_answered(tmp_path: Path) -> None:
    """Also if the client then closes its side of the connection."""

    async def play() -> int:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        path, stop = await served(app, tmp_path)
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(ASK * 20)
        for _ in range(20):
            await reader.readuntil(b"\r\n\r\n")
        writer.write(ASK)
        writer.get_extra_info("socket").shutdown(socket.SHUT_WR)
        answered = (await reader.read()).count(b"204")
        writer.close()
        await stop()
        return answered

    assert asyncio.run(asyncio.wait_for(play(), LIMIT_S)) == 1


def test_a_device_is_heard_among_many_screens() -> None:
    """When the first screen has been written to, a device sends something."""
    written = 0
    written_before = []

    async def play() -> None:
        daemon = QuietDaemon()
        stream = Stream(daemon, lambda: b"{}", FairQueue())  # type: ignore[arg-type]
        everybody = asyncio.Event()

        def write(data: bytes) -> int:
            nonlocal written
            written += 1
            if written == 1:
                shoe.send()
            if written == CROWD:
                everybody.set()
            return 0

        async def missed(upto: int) -> list[bytes]:
            return []

        async def send(data: bytes) -> None:
            pass

        screens = [
            asyncio.create_task(stream.read(Reader("journal", write, lambda: None), missed, send)) for _ in range(CROWD)
        ]
        await asyncio.sleep(0)
        with device(lambda: written_before.append(written)) as shoe:
            daemon.happens()
            await everybody.wait()
            await asyncio.sleep(0)
        await stream.close()
        await asyncio.gather(*screens)

    asyncio.run(asyncio.wait_for(play(), LIMIT_S))
    assert written_before[0] <= 2 * READERS_PER_TURN


def test_an_answer_is_made_in_pieces() -> None:
    """The loop turns before the view is made, and before it is sent."""
    asked = Asked()

    async def play() -> list[int]:
        return [await turns_of(asked, path) for path in ("/nothing", "/api/v1/table")]

    try:
        refused, answered = asked._runner.run(play())
    finally:
        asked.close()
    assert answered >= refused + 4


async def turns_of(asked: Asked, path: str) -> int:
    """How often the loop turns during a request."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    assert (await asked._ask("GET", path, [], b""))[0] in (200, 404)
    counting.cancel()
    return turns


def test_the_loop_goes_round_while_all_actions_are_tried() -> None:
    """This response takes the longest of all."""
    asked = Asked()
    try:
        turns = asked._runner.run(turns_of(asked, "/api/v1/actions"))
        found = json.loads(asked.ask("GET", "/api/v1/actions", [], b"")[1])
    finally:
        asked.close()
    assert turns >= len(found["actions"])
