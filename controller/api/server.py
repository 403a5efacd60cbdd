"""The two doors of the API: a Unix socket, where the kernel names who comes, and HTTP on loopback for the screen."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from controller.api.fair_queue import Turns
from controller.daemon.people import Peer

_UCRED = struct.Struct("3i")
MOST_OPEN = 128  # connections at one door: the table needs files too, and a process may have about a thousand open
BACKLOG = 64  # that wait to come in; they are let in together
FIRST_HANDED_OVER = 3  # where systemd puts the sockets that it has opened for a service (sd_listen_fds(3))


class PeerProtocol(H11Protocol):
    """HTTP/1.1 that tells the application who is at the other end of a Unix socket, as `peer`; how to write to them at
    once, as `say`; and how to be rid of them, as `hang_up`: a connection that nobody reads from cannot be closed in
    any politer way.

    What has come is looked at when it is the connection's turn; until then no more is read from it.
    """

    def __init__(self, *, turns: Turns, **given: Any) -> None:
        super().__init__(**given)
        self._turns = turns

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has come in."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self.came, self.leaves = self.loop.time(), False
        self._make_room()
        more: dict[str, object] = {"say": self._say, "hang_up": transport.abort}
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family == socket.AF_UNIX:
            _, uid, gid = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
            more["peer"] = Peer(uid, gid)
        self.app = _with(self.app, more)

    def _say(self, data: bytes) -> int:
        """Write a piece of an answer that has begun and has no length; tells how many bytes have not gone yet."""
        if not self.transport.is_closing():
            in_chunks = self.scope["http_version"] == "1.1"
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data) if in_chunks else data)
        return self.transport.get_write_buffer_size()

    def handle_events(self) -> None:
        """Wait for a turn, if something has come."""
        if self.conn.trailing_data[0]:
            self.flow.pause_reading()
            self._turns.add(self._take_turn)

    def _take_turn(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()
            super().handle_events()

    def _make_room(self) -> None:
        """Where too many are in, whoever came first goes; those who wait for no answer before those who do."""
        others = [one for one in self.connections if isinstance(one, PeerProtocol) and one is not self]
        staying = [one for one in others if not one.leaves]
        if len(staying) >= MOST_OPEN:
            goes = min(staying, key=lambda one: (one.waits, one.came))
            goes.leaves = True
            goes.transport.abort()

    @property
    def waits(self) -> bool:
        """Whether an answer is under way."""
        return self.cycle is not None and not self.cycle.response_complete


def _with(app: Any, more: dict[str, object]) -> ASGIApp:
    """The application, told more of every request."""

    async def told(scope: Scope, receive: Receive, send: Send) -> None:
        scope.update(more)
        await app(scope, receive, send)

    return told


class Door(uvicorn.Server):
    """One listening socket. Signals are the daemon's own business."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.open = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self.open.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def door(app: ASGIApp, turns: Turns) -> Door:
    """A server for the application; it listens where `serve` is told to."""
    return Door(
        uvicorn.Config(
            app,
            http=partial(PeerProtocol, turns=turns),  # type: ignore[arg-type]
            ws="none",
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            h11_max_incomplete_event_size=16384,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,
        )
    )


def unix_socket(path: Path) -> socket.socket:
    """Listen at this path; OSError if another daemon does already."""
    with socket.socket(socket.AF_UNIX) as other:
        if other.connect_ex(str(path)) == 0:
            raise OSError(f"{path}: another shoed answers here; end that one first")
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.bind(str(path))
        os.chmod(path, 0o666)  # whoever comes is named by the kernel, and has a role or none
    except OSError as error:
        sock.close()
        raise OSError(f"{path}: {error.strerror}") from None
    return sock


def tcp_socket(host: str, port: int) -> socket.socket:
    """Listen at this address of the machine itself."""
    given = _handed_over(host, port)
    if given:
        return given
    try:
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        if error.errno != errno.EAFNOSUPPORT:
            raise
        raise OSError(f"{host}:{port}: the service may open no port; name this one in shoed.socket") from None
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise OSError(f"{host}:{port}: {error.strerror}; is another shoed running?") from None
    return sock


def _handed_over(host: str, port: int) -> socket.socket | None:
    """The socket that systemd has opened at this address for this process, if it has."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    for number in range(int(os.environ.get("LISTEN_FDS", "0"))):
        sock = socket.socket(fileno=FIRST_HANDED_OVER + number)
        if sock.family in (socket.AF_INET, socket.AF_INET6) and sock.getsockname()[:2] == (host, port):
            sock.set_inheritable(False)
            return sock
        sock.detach()  # not ours to close
    return None
