"""The two doors of the API: a Unix socket, where the kernel names who comes, and HTTP on loopback for the screen."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from controller.access import Peer

_UCRED = struct.Struct("3i")
FIRST_HANDED_OVER = 3  # where systemd puts the sockets that it has opened for a service (sd_listen_fds(3))


class PeerProtocol(H11Protocol):
    """HTTP/1.1 that tells the application who is at the other end of a Unix socket, as `peer`."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has come in."""
        super().connection_made(transport)  # type: ignore[arg-type]
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family == socket.AF_UNIX:
            _, uid, gid = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
            self.app = _with_peer(self.app, Peer(uid, gid))


def _with_peer(app: Any, peer: Peer) -> ASGIApp:
    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        scope["peer"] = peer
        await app(scope, receive, send)

    return named


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


def door(app: ASGIApp) -> Door:
    """A server for the application; it listens where `serve` is told to."""
    return Door(
        uvicorn.Config(
            app,
            http=PeerProtocol,
            ws="none",
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
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
