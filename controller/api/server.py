"""Listens for API requests: on a Unix socket, where the kernel identifies the user, and by HTTP on loopback for the
screen.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from controller.api.fair_queue import FairQueue
from controller.api.peers import Peer

_UCRED = struct.Struct("3i")
MAX_CONNECTIONS = 128  # per listening socket: a process may have about 1,000 files open, and the table needs some
BACKLOG = 64  # connections that wait to be accepted; they are accepted together
FIRST_SYSTEMD_FD = 3  # where systemd passes the sockets that it has opened for a service (sd_listen_fds(3))


class PeerProtocol(H11Protocol):
    """HTTP/1.1 that adds to the scope of every request: `peer`, the user at the other end of a Unix socket; `write`,
    which writes to the connection at once; `abort`, which drops it: a connection whose client does not read cannot be
    closed in any other way; and `protect`, which says whether the connection must stay when there are too many.

    Received data is processed when it is the connection's turn; until then nothing more is read from it.
    """

    def __init__(self, *, queue: FairQueue, **given: Any) -> None:
        super().__init__(**given)
        self._queue = queue

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept a connection; drop another where there are too many."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self.opened_at, self.dropped, self.protected = self.loop.time(), False, False
        self._make_room()
        more: dict[str, object] = {"write": self._write, "abort": transport.abort, "protect": self._protect}
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family == socket.AF_UNIX:
            _, uid, gid = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
            more["peer"] = Peer(uid, gid)
        self.app = _with_scope(self.app, more)

    def _write(self, data: bytes) -> int:
        """Write part of a response of unknown length that has begun; returns how many bytes are still unsent."""
        if not self.transport.is_closing():
            chunked = self.scope["http_version"] == "1.1"
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
        return self.transport.get_write_buffer_size()

    def handle_events(self) -> None:
        """Wait for a turn if data has arrived."""
        if self.conn.trailing_data[0]:
            self.flow.pause_reading()
            self._queue.add(self._take_turn)

    def _take_turn(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()
            super().handle_events()

    def _protect(self, protected: bool) -> None:
        self.protected = protected

    def _make_room(self) -> None:
        """Drop the oldest connection where there are too many, preferably one that has no response under way.

        A protected one that has a response under way stays: if all are so, the new connection is dropped.
        """
        others = [one for one in self.connections if isinstance(one, PeerProtocol) and one is not self]
        staying = [one for one in others if not one.dropped]
        if len(staying) >= MAX_CONNECTIONS:
            oldest = min(staying, key=lambda one: (one.responding, one.protected, one.opened_at))
            if oldest.responding and oldest.protected:
                oldest = self
            oldest.dropped = True
            oldest.transport.abort()

    @property
    def responding(self) -> bool:
        """Whether a response is under way."""
        return self.cycle is not None and not self.cycle.response_complete


def _with_scope(app: Any, more: dict[str, object]) -> ASGIApp:
    """The application, with more values in the scope of every request."""

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        scope.update(more)
        await app(scope, receive, send)

    return called


class ApiServer(uvicorn.Server):
    """Serves the API on one listening socket. The daemon handles signals itself."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, and set `listening`."""
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def api_server(app: ASGIApp, queue: FairQueue) -> ApiServer:
    """A server for the application; its `serve` takes the listening sockets."""
    return ApiServer(
        uvicorn.Config(
            app,
            http=partial(PeerProtocol, queue=queue),  # type: ignore[arg-type]
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
    """A socket at this path. OSError if another daemon listens there, or if it is the path of another file."""
    with socket.socket(socket.AF_UNIX) as other:
        if other.connect_ex(str(path)) == 0:
            raise OSError(f"{path}: another shoed is already running; stop it first")
    remove_socket(path)
    if os.path.lexists(path):
        raise OSError(f"{path}: this file exists and is not a socket; move it, or change control.socket")
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.bind(str(path))
        os.chmod(path, 0o666)  # open to all: the kernel identifies the user, whose groups decide
    except OSError as error:
        sock.close()
        raise OSError(f"{path}: {error.strerror}") from None
    return sock


def remove_socket(path: Path) -> None:
    """Remove the socket at this path. Any other file stays: a wrong path must not cost anybody a file."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()


def tcp_socket(host: str, port: int) -> socket.socket:
    """A socket at this loopback address."""
    passed = _from_systemd(host, port)
    if passed:
        return passed
    try:
        # asyncio switches off the kernel's waiting for more data only if the socket names its protocol.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        if error.errno != errno.EAFNOSUPPORT:
            raise
        raise OSError(
            f"{host}:{port}: the service is not allowed to open ports; set this address in shoed.socket"
        ) from None
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise OSError(f"{host}:{port}: {error.strerror}; is another shoed running?") from None
    return sock


def _from_systemd(host: str, port: int) -> socket.socket | None:
    """The socket that systemd has opened at this address for this process, if any."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    for number in range(int(os.environ.get("LISTEN_FDS", "0"))):
        sock = socket.socket(fileno=FIRST_SYSTEMD_FD + number)
        if sock.family in (socket.AF_INET, socket.AF_INET6) and sock.getsockname()[:2] == (host, port):
            sock.set_inheritable(False)
            return sock
        sock.detach()  # not ours to close
    return None
