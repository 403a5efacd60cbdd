"""Serial ports over real ptys, real TCP and pyserial's own RFC 2217 server side."""

from __future__ import annotations

import array
import asyncio
import contextlib
import errno
import fcntl
import grp
import os
import pty
import random
import socket
import struct
import termios
import threading
import time
import tty
from collections.abc import Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import serial
import serial.rfc2217
from pytest_mock import MockerFixture
from serial.urlhandler import protocol_loop

from firmware_bridge.ports import serial_port, transport
from firmware_bridge.ports.serial_port import FdPort
from firmware_bridge.ports.transport import (
    PortAbsent,
    PortBusy,
    PortDenied,
    PortError,
    PortLossReason,
    PortSettings,
    PortUnsuitable,
    SerialAddress,
    UsbAddress,
    open_port,
    parse_address,
)
from tests.support.port_listener import LIMIT_S, PortListener, threads

MODEM_LINE_REQUESTS = {termios.TIOCMSET, termios.TIOCMBIS, termios.TIOCMBIC}


class Pty:
    """A pty whose far end the test plays."""

    def __init__(self) -> None:
        self.far, self.near = pty.openpty()
        tty.setraw(self.near)
        self.path = os.ttyname(self.near)

    def hang_up(self) -> None:
        for fd in (self.far, self.near):
            with contextlib.suppress(OSError):
                os.close(fd)


@pytest.fixture
def line() -> Iterator[Pty]:
    made = Pty()
    yield made
    made.hang_up()


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work, debug=False)


async def turn_loop(times: int = 50) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


# ---- addresses ----


def test_addresses_are_read() -> None:
    assert parse_address("/dev/ttyUSB0") == SerialAddress("path", "/dev/ttyUSB0")
    assert parse_address("build/run/shuffler") == SerialAddress("path", "build/run/shuffler")
    assert parse_address("socket://box:4001") == SerialAddress("socket", "socket://box:4001", "box", 4001)
    assert parse_address("socket://[::1]:4001") == SerialAddress("socket", "socket://[::1]:4001", "::1", 4001)
    url = "rfc2217://box:4001?ign_set_control"
    assert parse_address(url) == SerialAddress("rfc2217", url, "box", 4001)
    assert parse_address("hwgrep://A50285BI") == SerialAddress("hwgrep", "A50285BI")
    assert parse_address("usb:1209:5D0E") == UsbAddress(0x1209, 0x5D0E, None)
    assert parse_address("usb:1209:5d0e:SH:0042") == UsbAddress(0x1209, 0x5D0E, "SH:0042")


@pytest.mark.parametrize("text", ["usb:1209:5d0e", "usb:0001:00ff:A 1", "/dev/x", "hwgrep://x", "socket://h:1"])
def test_an_address_prints_as_it_is_written(text: str) -> None:
    assert str(parse_address(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ttyUSB0",
        "COM3",
        "usb:",
        "usb:1209",
        "usb:120:5d0e",
        "usb:xxxx:5d0e",
        "usb:1209:5d0e:",
        "socket://box",
        "socket://box:0",
        "socket://box:99999",
        "socket://:4001",
        "socket://box:4001/path",
        "socket://user@box:4001",
        "socket://box:4001?logging=debug",
        "rfc2217://box:4001?logging=debug",
        "socket://[::1:4001",
        "hwgrep://",
        "hwgrep://(",
        "loop://",
        "spy:///dev/ttyUSB0",
        "/dev/tty\0USB0",
    ],
)
def test_a_wrong_address_is_one_clear_line(text: str) -> None:
    with pytest.raises(PortUnsuitable) as caught:
        parse_address(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 20


def test_a_wrong_address_says_what_is_allowed() -> None:
    with pytest.raises(PortUnsuitable, match=r"/dev/ttyUSB0.*usb:1209:5d0e"):
        parse_address("ttyUSB0")


# ---- a tty ----


def test_chunks_go_both_ways(line: Pty) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost)
        assert port.name == line.path
        for chunk in (b"\x00\x03\x04\x11\x13\r\n\xff", b"cards", bytes(range(256))):
            heard.data.clear()
            os.write(line.far, chunk)
            await heard.until(partial(heard.data.__eq__, chunk))
            port.write(chunk)
            assert os.read(line.far, 4096) == chunk
        port.close()
        assert heard.losses == []

    run(work())


def test_a_big_write_is_finished_in_order(line: Pty) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost, PortSettings(backlog_limit=1 << 21))
        sent = random.Random(7).randbytes(1 << 20)
        port.write(sent[:700_000])
        port.write(sent[700_000:])  # while the first part still waits
        got = await asyncio.to_thread(read_exactly, line.far, len(sent))
        assert got == sent
        port.write(b"small again")
        assert await asyncio.to_thread(read_exactly, line.far, 11) == b"small again"
        port.close()
        assert heard.losses == []

    run(work())


def read_exactly(fd: int, size: int) -> bytes:
    got = bytearray()
    while len(got) < size:
        got += os.read(fd, 65536)
    return bytes(got)


def test_a_device_that_takes_nothing_is_declared_lost(line: Pty) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost)
        port.write(bytes(1 << 20))
        assert heard.losses == []  # not inside write()
        await heard.until(lambda: heard.losses)
        port.write(b"more")
        await turn_loop()
        assert [loss.reason for loss in heard.losses] == [PortLossReason.OVERFLOWED]
        assert "accepts no data" in heard.losses[0].detail
        port.close()

    run(work())


def test_a_hang_up_is_told_once_and_does_not_spin(line: Pty, mocker: MockerFixture) -> None:
    readable = mocker.spy(FdPort, "_readable")

    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost)
        line.hang_up()
        await heard.until(lambda: heard.losses)
        await turn_loop()
        assert readable.call_count == 1
        assert [loss.reason for loss in heard.losses] == [PortLossReason.HUNG_UP]
        port.write(b"into the void")
        await turn_loop()
        assert len(heard.losses) == 1
        port.close()
        port.close()

    run(work())


def test_a_hang_up_found_by_writing_is_told_once(line: Pty) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost)
        line.hang_up()
        port.write(b"x")  # before the loop had a chance to see the hang-up
        port.write(b"y")
        assert heard.losses == []
        await heard.until(lambda: heard.losses)
        await turn_loop()
        assert [loss.reason for loss in heard.losses] == [PortLossReason.VANISHED]
        port.close()

    run(work())


def test_a_hang_up_while_a_write_waits_is_told_once(line: Pty) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost, PortSettings(backlog_limit=1 << 21))
        port.write(bytes(1 << 20))
        await turn_loop()
        assert heard.losses == []
        line.hang_up()
        await heard.until(lambda: heard.losses)
        await turn_loop()
        assert len(heard.losses) == 1
        port.close()

    run(work())


def test_a_loss_gives_the_descriptor_back_before_close(line: Pty) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost)
        line.hang_up()
        await heard.until(lambda: heard.losses)
        assert open_descriptors(line.path) == 0
        port.close()

    run(work())


def open_descriptors(path: str) -> int:
    count = 0
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            count += os.readlink(f"/proc/self/fd/{fd}") in (path, f"{path} (deleted)")
    return count


@pytest.mark.parametrize("happens", ["bytes", "hang-up", "failed write", "overflow"])
def test_close_is_silent(line: Pty, happens: str) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost)
        if happens == "bytes":
            os.write(line.far, b"late")
        elif happens == "overflow":
            port.write(bytes(1 << 20))
        else:
            line.hang_up()
            if happens == "failed write":
                port.write(b"x")
        port.close()
        port.write(b"after")
        await turn_loop()
        assert (bytes(heard.data), heard.losses) == (b"", [])

    run(work())


def test_waking_without_bytes_is_not_a_hang_up(line: Pty) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(line.path, heard.on_bytes, heard.on_lost)
        assert isinstance(port, FdPort)
        port._readable()  # as when another program took the bytes between the waking and the reading
        assert heard.losses == []
        port.close()

    run(work())


def ioctls(mocker: MockerFixture) -> list[int]:
    """The requests of every ioctl from now on."""
    requests: list[int] = []
    real = fcntl.ioctl

    def noted(fd: Any, request: int, *rest: Any) -> Any:
        requests.append(request)
        return real(fd, request, *rest)

    mocker.patch("fcntl.ioctl", side_effect=noted)
    return requests


def open_and_close(address: str, settings: PortSettings) -> tuple[str, ...]:
    notes: list[str] = []

    async def work() -> None:
        heard = PortListener()
        port = await open_port(address, heard.on_bytes, heard.on_lost, settings)
        notes.extend(port.notes)
        port.close()

    run(work())
    return tuple(notes)


def test_dtr_and_rts_are_left_alone(line: Pty, mocker: MockerFixture) -> None:
    requests = ioctls(mocker)
    open_and_close(line.path, PortSettings())
    assert requests  # the spy sees what pyserial does
    assert not MODEM_LINE_REQUESTS & set(requests)


@pytest.mark.parametrize(
    ("settings", "request_made"),
    [
        (PortSettings(dtr=True), termios.TIOCMBIS),
        (PortSettings(dtr=False), termios.TIOCMBIC),
        (PortSettings(rts=True), termios.TIOCMBIS),
        (PortSettings(rts=False), termios.TIOCMBIC),
    ],
)
def test_dtr_and_rts_are_set_when_asked(
    line: Pty, mocker: MockerFixture, settings: PortSettings, request_made: int
) -> None:
    requests = ioctls(mocker)
    open_and_close(line.path, settings)
    assert [r for r in requests if r in MODEM_LINE_REQUESTS] == [request_made]


@pytest.mark.parametrize(("dtr", "kept"), [(None, False), (True, True)])
def test_closing_drops_dtr_only_when_it_is_ours(line: Pty, dtr: bool | None, kept: bool) -> None:
    attributes = termios.tcgetattr(line.near)
    attributes[2] |= termios.HUPCL
    termios.tcsetattr(line.near, termios.TCSANOW, attributes)
    open_and_close(line.path, PortSettings(dtr=dtr))
    assert bool(termios.tcgetattr(line.near)[2] & termios.HUPCL) is kept


def test_an_odd_speed_survives(line: Pty) -> None:
    open_and_close(line.path, PortSettings(baud=250_000))
    settings = array.array("i", [0] * 64)
    fcntl.ioctl(line.near, 0x802C542A, settings)  # TCGETS2
    assert settings[10] == 250_000


def test_an_impossible_speed_is_refused(line: Pty) -> None:
    with pytest.raises(PortUnsuitable, match="baud"):
        open_and_close(line.path, PortSettings(baud=-1))
    assert open_descriptors(line.path) == 1  # only the test's own


def test_what_a_pty_cannot_do_is_noted_and_no_more(line: Pty) -> None:
    assert any("low-latency" in note for note in open_and_close(line.path, PortSettings()))
    assert open_and_close(line.path, PortSettings(low_latency=False)) == ()


def test_other_programs_are_kept_out_of_a_real_tty(line: Pty, mocker: MockerFixture) -> None:
    mocker.patch.object(serial_port, "_is_pty", return_value=False)
    requests = ioctls(mocker)
    open_and_close(line.path, PortSettings())
    assert requests.index(termios.TIOCEXCL) < requests.index(termios.TIOCNXCL)


def test_a_pty_is_not_marked_exclusive(line: Pty, mocker: MockerFixture) -> None:
    requests = ioctls(mocker)
    open_and_close(line.path, PortSettings())
    assert termios.TIOCEXCL not in requests


def test_a_second_opener_is_told_who_holds_the_port(line: Pty) -> None:
    async def work() -> None:
        heard = PortListener()
        first = await open_port(line.path, heard.on_bytes, heard.on_lost)
        with pytest.raises(PortBusy, match=rf"held by .+ \(pid {os.getpid()}\)"):
            await open_port(line.path, heard.on_bytes, heard.on_lost)
        os.write(line.far, b"still mine")
        await heard.until(lambda: heard.data == b"still mine")
        first.close()
        second = await open_port(line.path, heard.on_bytes, heard.on_lost)
        second.close()

    run(work())


def refused(address: str, settings: PortSettings = transport.DEFAULT_SETTINGS) -> PortError:
    """Try to open, and return the error."""
    with pytest.raises(PortError) as caught:
        open_and_close(address, settings)
    assert "\n" not in str(caught.value)
    return caught.value


def test_what_is_not_there_is_absent(tmp_path: Path) -> None:
    error = refused(str(tmp_path / "ttyUSB9"))
    assert isinstance(error, PortAbsent)
    assert "ttyUSB9" in str(error)
    assert "cable" in str(error)


def test_what_is_no_serial_port_is_unsuitable(tmp_path: Path) -> None:
    assert isinstance(refused("/dev/null"), PortUnsuitable)
    assert isinstance(refused(str(tmp_path)), PortUnsuitable)


def test_a_busy_device_without_a_known_holder(line: Pty, mocker: MockerFixture) -> None:
    mocker.patch("os.open", side_effect=OSError(errno.EBUSY, "Device or resource busy"))
    error = refused(line.path)
    assert isinstance(error, PortBusy)
    assert "held" in str(error)


def test_a_denied_device_says_how_to_mend_it(tmp_path: Path, mocker: MockerFixture) -> None:
    node = tmp_path / "ttyUSB0"
    node.touch()
    node.chmod(0o660)
    group = next(g for g in grp.getgrall() if g.gr_gid != 0) if os.geteuid() == 0 else grp.getgrgid(os.getegid())
    try:
        os.chown(node, -1, group.gr_gid)
    except PermissionError:  # root in a container without CAP_CHOWN
        pytest.skip("may not give a file to another group here")
    mocker.patch("os.open", side_effect=PermissionError(errno.EACCES, "Permission denied"))
    error = refused(str(node))
    assert isinstance(error, PortDenied)
    assert f"sudo usermod -aG {group.gr_name} " in str(error)


def test_a_device_closed_to_every_group_needs_the_udev_rules(tmp_path: Path, mocker: MockerFixture) -> None:
    node = tmp_path / "ttyUSB0"
    node.touch(0o600)
    mocker.patch("os.open", side_effect=PermissionError(errno.EACCES, "Permission denied"))
    assert "udev rules" in str(refused(str(node)))


def test_a_sandbox_is_named_as_the_cause(line: Pty, mocker: MockerFixture) -> None:
    mocker.patch("os.open", side_effect=PermissionError(errno.EPERM, "Operation not permitted"))
    error = refused(line.path)
    assert isinstance(error, PortDenied)
    assert "DeviceAllow=" in str(error)


def test_a_port_is_found_by_pattern(line: Pty, mocker: MockerFixture) -> None:
    info = mocker.Mock(device=line.path, description="FT232R")
    grep = mocker.patch("serial.tools.list_ports.grep", return_value=[info])
    mocker.patch("serial.tools.list_ports.comports", return_value=[info])
    open_and_close("hwgrep://A50285BI", PortSettings())
    grep.assert_called_once_with("A50285BI")
    grep.return_value = []
    assert isinstance(refused("hwgrep://A50285BI"), PortAbsent)
    assert "FT232R" in str(refused("hwgrep://A50285BI"))
    grep.return_value = [info, info]
    assert isinstance(refused("hwgrep://A50285BI"), PortUnsuitable)


def test_an_opening_that_is_given_up_is_undone(line: Pty, mocker: MockerFixture) -> None:
    begun, go_on, opened = threading.Event(), threading.Event(), threading.Event()
    real = serial_port._open_tty

    def slow(*args: Any) -> Any:
        begun.set()
        assert go_on.wait(LIMIT_S)
        port = real(*args)
        opened.set()
        return port

    mocker.patch.object(serial_port, "_open_tty", side_effect=slow)

    async def work() -> None:
        heard = PortListener()
        opening = asyncio.create_task(open_port(line.path, heard.on_bytes, heard.on_lost))
        assert await asyncio.to_thread(begun.wait, LIMIT_S)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert opening.cancelled()
        go_on.set()

    run(work())
    assert opened.wait(LIMIT_S)
    end = time.monotonic() + LIMIT_S
    while open_descriptors(line.path) > 1:  # one is the test's own
        assert time.monotonic() < end, "the port is still open"


def test_an_opening_that_hangs_is_given_up(line: Pty, mocker: MockerFixture) -> None:
    go_on = threading.Event()
    mocker.patch.object(transport, "OPEN_LIMIT_S", 0.01)
    mocker.patch.object(serial_port, "_open_tty", side_effect=lambda *_: go_on.wait(LIMIT_S) and 1 / 0)

    async def work() -> None:
        heard = PortListener()
        with pytest.raises(PortUnsuitable, match="did not answer"):
            await open_port(line.path, heard.on_bytes, heard.on_lost)
        go_on.set()

    run(work())


# ---- TCP ----


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(LIMIT_S)
        yield listener


def url(listener: socket.socket, scheme: str = "socket") -> str:
    return f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"


def test_bytes_go_both_ways_over_tcp(server: socket.socket) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(url(server), heard.on_bytes, heard.on_lost, PortSettings(backlog_limit=1 << 22))
        peer, _ = server.accept()
        with peer:
            peer.sendall(b"hello first")
            await heard.until(lambda: heard.data == b"hello first")
            sent = random.Random(8).randbytes(1 << 22)
            port.write(sent)
            assert await asyncio.to_thread(read_exactly, peer.fileno(), len(sent)) == sent
            port.close()
            assert peer.recv(1) == b""
        assert heard.losses == []

    run(work())


def test_a_tcp_peer_that_closes_is_a_hang_up(server: socket.socket, mocker: MockerFixture) -> None:
    readable = mocker.spy(FdPort, "_readable")

    async def work() -> None:
        heard = PortListener()
        port = await open_port(url(server), heard.on_bytes, heard.on_lost)
        server.accept()[0].close()
        await heard.until(lambda: heard.losses)
        await turn_loop()
        assert [loss.reason for loss in heard.losses] == [PortLossReason.HUNG_UP]
        assert readable.call_count == 1
        port.close()

    run(work())


def test_a_tcp_peer_that_resets_is_a_hang_up(server: socket.socket) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(url(server), heard.on_bytes, heard.on_lost)
        peer, _ = server.accept()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        await heard.until(lambda: heard.losses)
        assert [loss.reason for loss in heard.losses] == [PortLossReason.HUNG_UP]
        port.close()

    run(work())


def test_nobody_listens() -> None:
    with socket.socket() as taken:  # bound and not listening: the port stays closed while we try
        taken.bind(("127.0.0.1", 0))
        for scheme in ("socket", "rfc2217"):
            error = refused(url(taken, scheme))
            assert isinstance(error, PortUnsuitable)
            assert "refused" in str(error).lower()


def test_a_name_that_nobody_knows(mocker: MockerFixture) -> None:
    unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    mocker.patch("socket.getaddrinfo", side_effect=unknown)
    for scheme in ("socket", "rfc2217"):
        error = refused(f"{scheme}://shoe.invalid:4001")
        assert isinstance(error, PortUnsuitable)
        assert "not known" in str(error)


def test_a_box_that_does_not_answer_is_given_up(mocker: MockerFixture) -> None:
    mocker.patch.object(serial_port, "OPEN_LIMIT_S", 0.05)
    with socket.socket() as full, contextlib.ExitStack() as fillers:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):  # more than the queue holds: the next connection gets no answer at all
            filler = fillers.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        error = refused(url(full))
    assert isinstance(error, PortUnsuitable)
    assert "did not answer" in str(error)


# ---- RFC 2217 ----


class TerminalServer:
    """pyserial's own server side of RFC 2217, in a thread, with an echo behind it."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.behind = protocol_loop.Serial("loop://", timeout=0)
        self.peer: socket.socket | None = None
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def write(self, data: bytes) -> None:
        assert self.peer is not None
        self.peer.sendall(data)

    def _serve(self) -> None:
        self.peer, _ = self.listener.accept()
        manager = serial.rfc2217.PortManager(self.behind, self)  # type: ignore[arg-type]
        with contextlib.suppress(OSError):
            while data := self.peer.recv(4096):
                payload = b"".join(manager.filter(data))
                if payload:
                    self.peer.sendall(b"".join(manager.escape(payload)))

    def drop(self) -> None:
        assert self.peer is not None
        self.peer.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.thread.join(LIMIT_S)
        if self.peer is not None:
            self.peer.close()
        self.behind.close()


# pyserial 3.5 still calls setDaemon() and setName().
rfc2217 = pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")


@pytest.fixture
def terminal_server(server: socket.socket) -> Iterator[TerminalServer]:
    made = TerminalServer(server)
    yield made
    made.close()


@rfc2217
def test_bytes_go_both_ways_over_rfc2217(server: socket.socket, terminal_server: TerminalServer) -> None:
    async def work() -> None:
        heard = PortListener()
        address = url(server, "rfc2217")
        port = await open_port(address, heard.on_bytes, heard.on_lost, PortSettings(baud=57600))
        assert port.name == address
        assert terminal_server.behind.baudrate == 57600
        sent = bytes(range(256)) * 40  # with 0xff, which telnet doubles
        port.write(sent)
        await heard.until(lambda: heard.data == sent)
        port.close()
        port.write(b"after")
        await turn_loop()
        assert heard.losses == []

    before = threads()
    run(work())
    terminal_server.close()
    assert threads() <= before


@rfc2217
def test_an_rfc2217_server_that_goes_is_a_hang_up(server: socket.socket, terminal_server: TerminalServer) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(url(server, "rfc2217"), heard.on_bytes, heard.on_lost)
        terminal_server.drop()
        await heard.until(lambda: heard.losses)
        port.write(b"into the void")
        port.close()
        await turn_loop()
        assert [loss.reason for loss in heard.losses] == [PortLossReason.HUNG_UP]

    run(work())


@rfc2217
def test_telnet_nonsense_is_a_hang_up_and_no_traceback(server: socket.socket, terminal_server: TerminalServer) -> None:
    async def work() -> None:
        heard = PortListener()
        port = await open_port(url(server, "rfc2217"), heard.on_bytes, heard.on_lost)
        terminal_server.write(b"\xff\xf0")  # the end of an option that never began; pyserial raises in its thread
        await heard.until(lambda: heard.losses)
        port.close()
        assert [loss.reason for loss in heard.losses] == [PortLossReason.HUNG_UP]

    run(work())  # an exception in a thread would be a warning, and so an error


@rfc2217
def test_dtr_and_rts_are_left_alone_over_rfc2217(
    server: socket.socket, terminal_server: TerminalServer, mocker: MockerFixture
) -> None:
    dtr = mocker.spy(protocol_loop.Serial, "_update_dtr_state")
    rts = mocker.spy(protocol_loop.Serial, "_update_rts_state")
    open_and_close(url(server, "rfc2217"), PortSettings())
    assert (dtr.call_count, rts.call_count) == (0, 0)


@rfc2217
def test_dtr_is_set_over_rfc2217_when_asked(
    server: socket.socket, terminal_server: TerminalServer, mocker: MockerFixture
) -> None:
    dtr = mocker.spy(protocol_loop.Serial, "_update_dtr_state")
    open_and_close(url(server, "rfc2217"), PortSettings(dtr=False))
    assert dtr.call_count == 1
    assert terminal_server.behind.dtr is False


@rfc2217
def test_a_plain_tcp_box_does_not_pass_for_rfc2217(server: socket.socket) -> None:
    def answer_nothing() -> None:
        peer, _ = server.accept()
        with peer:
            while peer.recv(4096):
                pass

    thread = threading.Thread(target=answer_nothing)
    thread.start()
    error = refused(url(server, "rfc2217") + "?timeout=0.2")
    thread.join(LIMIT_S)
    assert isinstance(error, PortUnsuitable)
    assert "socket://" in str(error)
