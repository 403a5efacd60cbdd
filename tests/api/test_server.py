"""The screen's port: opened by the daemon itself, or by systemd for it."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import socket
from collections.abc import Iterator

import pytest

from controller.api import server

FIRST = 500  # far from what the test run has open


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """The address of a socket passed to this process in systemd's way, after one of another kind."""
    with socket.create_server(("127.0.0.1", 0)) as page, socket.socket(socket.AF_UNIX) as other:
        given = [fcntl.fcntl(sock.fileno(), fcntl.F_DUPFD, FIRST) for sock in (other, page)]
        assert given == [FIRST, FIRST + 1]
        monkeypatch.setattr(server, "FIRST_SYSTEMD_FD", FIRST)
        monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
        monkeypatch.setenv("LISTEN_FDS", "2")
        host, port = page.getsockname()
        yield host, port
        for number in given:
            os.close(number)


def test_a_port_that_systemd_has_opened_is_taken(address: tuple[str, int]) -> None:
    taken = server.tcp_socket(*address)
    assert (taken.fileno(), taken.getsockname()) == (FIRST + 1, address)
    assert not taken.get_inheritable()
    taken.detach()


def test_what_was_meant_for_another_process_is_left_alone(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LISTEN_PID", str(os.getpid() + 1))
    with pytest.raises(OSError, match="Address already in use; is another shoed running"):
        server.tcp_socket(*address)


def test_another_port_is_opened(address: tuple[str, int]) -> None:
    with server.tcp_socket("127.0.0.1", 0) as own:
        assert own.getsockname() != address
        assert own.fileno() not in (FIRST, FIRST + 1)


def test_a_sandbox_that_forbids_ports_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr(socket, "socket", forbidden)
    with pytest.raises(OSError, match=r"127\.0\.0\.1:8053: .* set this address in shoed\.socket"):
        server.tcp_socket("127.0.0.1", 8053)


def test_a_small_answer_is_sent_at_once() -> None:
    """Otherwise the kernel holds it back until the last one was acknowledged: 40 ms for every tap."""

    async def undelayed() -> int:
        with server.tcp_socket("127.0.0.1", 0) as sock:
            found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

            def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                transport_socket = writer.get_extra_info("socket")
                found.set_result(transport_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                writer.close()

            async with await asyncio.start_server(accepted, sock=sock):
                _, writer = await asyncio.open_connection(*sock.getsockname())
                writer.close()
                return await found

    assert asyncio.run(undelayed()) == 1
