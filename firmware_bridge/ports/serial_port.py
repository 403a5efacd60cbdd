"""Serial ports through pyserial: a tty, a TCP adapter that forwards raw bytes, or an RFC 2217 terminal server.

The event loop reads and writes the descriptors of ttys and TCP connections itself. RFC 2217 needs pyserial's own
protocol code, which blocks and therefore runs in threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import queue
import socket
import termios
import threading
from collections.abc import Callable
from functools import partial

import serial
import serial.rfc2217
from serial.tools import list_ports

from firmware_bridge.ports.threaded_port import ThreadedPort
from firmware_bridge.ports.transport import (
    OPEN_LIMIT_S,
    OnBytes,
    OnLost,
    PortAbsent,
    PortBusy,
    PortError,
    PortLost,
    PortSettings,
    PortUnsuitable,
    SerialAddress,
    Transport,
    denied,
    holder_of,
    loss_from,
    open_in_thread,
    overflow,
)

READ_SIZE = 4096
# Closing a tty waits until its output is sent. A last short frame may go out (22 ms at 115200 baud); more than
# this is discarded, because it would block the loop.
DRAIN_LIMIT = 256
RFC2217_READ_S = 0.1
PTY_MAJORS = range(136, 144)  # Unix98 pty slaves


async def open_serial(address: SerialAddress, on_bytes: OnBytes, on_lost: OnLost, settings: PortSettings) -> Transport:
    """Open a serial port of any kind; raises PortError."""
    name = str(address)
    if address.scheme == "socket":
        connection = await _connect(address)
        return FdPort(name, connection.fileno(), connection.close, on_bytes, on_lost, settings.backlog_limit)
    if address.scheme == "rfc2217":
        remote = await open_in_thread(partial(_open_rfc2217, address, settings), _Rfc2217.close, name)
        return _run_rfc2217(remote, name, on_bytes, on_lost, settings)
    tty, notes = await open_in_thread(
        partial(_open_tty, address, settings), lambda opened: _close_tty(opened[0], settings), name
    )
    release = partial(_close_tty, tty, settings)
    return FdPort(name, tty.fileno(), release, on_bytes, on_lost, settings.backlog_limit, notes)


class FdPort:
    """A port on a non-blocking descriptor, read and written by the event loop."""

    def __init__(
        self,
        name: str,
        fd: int,
        release: Callable[[], None],
        on_bytes: OnBytes,
        on_lost: OnLost,
        backlog_limit: int,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.notes = notes
        self._fd = fd
        self._release = release
        self._on_bytes = on_bytes
        self._on_lost = on_lost
        self._backlog_limit = backlog_limit
        self._backlog = bytearray()
        self._over = False  # lost or closed: the descriptor has been released
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._readable)

    def write(self, data: bytes) -> None:
        if self._over or not data:
            return
        if self._backlog:
            self._backlog += data
        else:
            try:
                sent = os.write(self._fd, data)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                self._lose_later(loss_from(error, self.name))
                return
            if sent == len(data):
                return
            self._backlog += data[sent:]
            self._loop.add_writer(self._fd, self._writable)
        if len(self._backlog) > self._backlog_limit:
            self._lose_later(overflow(self.name, len(self._backlog)))

    def close(self) -> None:
        self._closed = True
        self._release_once()

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(loss_from(error, self.name))
            return
        if data:
            self._on_bytes(data)
        else:
            self._lose(loss_from(EOFError("end of data"), self.name))

    def _writable(self) -> None:
        try:
            sent = os.write(self._fd, self._backlog)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(loss_from(error, self.name))
            return
        del self._backlog[:sent]
        if not self._backlog:
            self._loop.remove_writer(self._fd)

    def _release_once(self) -> None:
        # At once, not only on close(): a reader left on a hung-up descriptor uses all of a CPU, and as long as
        # /dev/ttyUSB0 is open, the replugged cable becomes ttyUSB1.
        if self._over:
            return
        self._over = True
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        self._backlog.clear()
        self._release()

    def _lose(self, loss: PortLost) -> None:
        self._release_once()
        if not self._closed:
            self._on_lost(loss)

    def _lose_later(self, loss: PortLost) -> None:
        """Report a loss detected in write() from the loop, because the caller may be in the middle of something."""
        self._release_once()
        self._loop.call_soon(self._lose, loss)


# ---- a tty ----


class _KeepControlLines:
    """Keeps pyserial from raising DTR and RTS when it opens the port, if these flags are set."""

    leave_dtr = False
    leave_rts = False

    def _update_dtr_state(self) -> None:
        if not self.leave_dtr:
            super()._update_dtr_state()  # type: ignore[misc]

    def _update_rts_state(self) -> None:
        if not self.leave_rts:
            super()._update_rts_state()  # type: ignore[misc]


class _Tty(_KeepControlLines, serial.Serial):
    pass


def _set_lines(port: _Tty | _Rfc2217, settings: PortSettings) -> None:
    port.baudrate = settings.baud
    port.rtscts = settings.rtscts
    port.leave_dtr, port.leave_rts = settings.dtr is None, settings.rts is None
    if settings.dtr is not None:
        port.dtr = settings.dtr
    if settings.rts is not None:
        port.rts = settings.rts


def _open_tty(address: SerialAddress, settings: PortSettings) -> tuple[_Tty, tuple[str, ...]]:
    path = address.target if address.scheme == "path" else _find_by_pattern(address.target)
    tty = _Tty(exclusive=True)
    try:
        _set_lines(tty, settings)
        tty.port = path
        tty.open()
    except (ValueError, OverflowError, termios.error) as error:
        raise PortUnsuitable(f"{path}: the port does not take {settings.baud} baud ({error})") from None
    except OSError as error:  # serial.SerialException is one
        raise _explain(path, error) from None
    try:
        return tty, _tune(tty, settings)
    except (OSError, termios.error) as error:
        tty.close()
        raise PortAbsent(f"{path}: the device vanished while it was opened ({error})") from None


def _tune(tty: _Tty, settings: PortSettings) -> tuple[str, ...]:
    """Apply settings that pyserial does not, and return notes about those that failed."""
    fd = tty.fileno()
    attributes = termios.tcgetattr(fd)
    # With VMIN 0, which pyserial sets, "no data yet" and "hung up" would both read as b"".
    attributes[6][termios.VMIN] = 1
    if settings.dtr is None:
        attributes[2] &= ~termios.HUPCL  # otherwise closing drops DTR and opening raises it again: a reset
    termios.tcsetattr(fd, termios.TCSANOW, attributes)
    notes = []
    # pyserial's lock is advisory; TIOCEXCL excludes everyone but root. Not on a pty: its other end keeps it open,
    # so the flag would outlive a killed daemon and lock out the next one.
    if not _is_pty(fd):
        try:
            fcntl.ioctl(fd, termios.TIOCEXCL)
        except OSError as error:
            notes.append(f"no exclusive access: {error}")
    if settings.low_latency:
        try:
            tty.set_low_latency_mode(True)
        except (ValueError, NotImplementedError) as error:
            notes.append(f"no low-latency mode: {error}")
    return tuple(notes)


def _is_pty(fd: int) -> bool:
    return os.major(os.fstat(fd).st_rdev) in PTY_MAJORS


def _close_tty(tty: _Tty, settings: PortSettings) -> None:
    fd = tty.fileno()
    with contextlib.suppress(OSError, termios.error):  # all of this fails on an unplugged device
        if settings.rtscts or tty.out_waiting > DRAIN_LIMIT:
            termios.tcflush(fd, termios.TCOFLUSH)
        fcntl.ioctl(fd, termios.TIOCNXCL)
    with contextlib.suppress(OSError):
        tty.close()


def _find_by_pattern(pattern: str) -> str:
    found = sorted(info.device for info in list_ports.grep(pattern))
    if not found:
        raise PortAbsent(f"hwgrep://{pattern}: no serial port matches; {_ports_here()}")
    if len(found) > 1:
        raise PortUnsuitable(f"hwgrep://{pattern}: {', '.join(found)} all match; use a serial number to select one")
    return found[0]


def _ports_here() -> str:
    ports = sorted(
        info.device if info.description in ("n/a", None) else f"{info.device} ({info.description})"
        for info in list_ports.comports()
    )
    return f"serial ports here: {', '.join(ports) or 'none'}"


def _explain(path: str, error: OSError) -> PortError:
    """Turn an error of pyserial into one line that a technician can act on."""
    code = error.errno
    if code is None and isinstance(error.__context__, termios.error):
        # Only tcgetattr raises this: the node opens, but is not a terminal (ENOTTY) or has no hardware (EIO).
        return PortUnsuitable(f"{path} is not a working serial port ({error}); check the path")
    if code in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return PortAbsent(f"{path}: not found; check the cable and the device's power; {_ports_here()}")
    if code in (errno.EBUSY, errno.EAGAIN):
        return PortBusy(f"{path}: held{holder_of(path) or ' by another program'}; stop that first")
    if code in (errno.EACCES, errno.EPERM):
        return denied(path, path, code)
    return PortUnsuitable(f"{path}: cannot be opened as a serial port ({error})")


# ---- the network ----


async def _connect(address: SerialAddress) -> socket.socket:
    # Not with pyserial's socket:// class: it discards the first bytes from the device, hides why a connection
    # failed, and sleeps 0.3 s when closing.
    loop = asyncio.get_running_loop()
    failure: OSError | None = None
    try:
        async with asyncio.timeout(OPEN_LIMIT_S):
            found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
            for family, kind, protocol, _, where in found:
                connection = socket.socket(family, kind, protocol)
                try:
                    connection.setblocking(False)
                    await loop.sock_connect(connection, where)
                    _keep_alive(connection)
                except OSError as error:
                    connection.close()
                    failure = error
                except BaseException:
                    connection.close()
                    raise
                else:
                    return connection
    except TimeoutError:
        raise PortUnsuitable(f"{address}: did not answer within {OPEN_LIMIT_S:.0f} s") from None
    except OSError as error:  # socket.gaierror: unknown host name
        failure = error
    raise _unreachable(address, failure)


def _unreachable(address: SerialAddress, error: OSError | None) -> PortUnsuitable:
    if error is None:
        reason = "no address found"
    elif error.errno is None or isinstance(error, socket.gaierror):  # its numbers are not errno values
        reason = error.strerror or str(error)
    else:
        reason = os.strerror(error.errno)
    return PortUnsuitable(f"{address}: {reason}; check the address, the network cable and the adapter's power")


def _keep_alive(connection: socket.socket) -> None:
    """Send small frames without delay, and detect an adapter that lost its power even if nothing is sent to it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 10_000)


class _Rfc2217(_KeepControlLines, serial.rfc2217.Serial):
    """pyserial's RFC 2217 client, changed to close promptly and without errors."""

    _socket: socket.socket | None
    _thread: threading.Thread | None
    _read_buffer: queue.Queue[bytes | None]

    def close(self) -> None:
        # pyserial's own close() leaves the socket open if shutdown fails, and sleeps 0.3 s.
        self.is_open = False
        self.hang_up()
        if self._socket is not None:
            self._socket.close()
        if self._thread is not None:
            self._thread.join(OPEN_LIMIT_S)
            self._thread = None

    def hang_up(self) -> None:
        """Make every blocked call on the socket return."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _telnet_read_loop(self) -> None:
        # Invalid telnet data raises here; as an end of data it becomes a lost port, not a traceback.
        try:
            super()._telnet_read_loop()  # type: ignore[misc]
        except Exception:
            self._read_buffer.put(None)


def _open_rfc2217(address: SerialAddress, settings: PortSettings) -> _Rfc2217:
    remote = _Rfc2217(timeout=RFC2217_READ_S)
    _set_lines(remote, settings)
    try:
        remote.port = address.target
        remote.open()
    except (OSError, ValueError) as error:
        cause = error.__context__
        if isinstance(cause, OSError):
            raise _unreachable(address, cause) from None
        raise PortUnsuitable(
            f"{address}: the server answers, but does not speak RFC 2217; try socket:// instead"
        ) from None
    except BaseException:
        remote.close()
        raise
    return remote


def _run_rfc2217(remote: _Rfc2217, name: str, on_bytes: OnBytes, on_lost: OnLost, settings: PortSettings) -> Transport:
    def read() -> bytes:
        try:
            first = remote.read(1)
            return first + remote.read(remote.in_waiting) if first else first
        except serial.SerialException as error:
            raise EOFError(error) from None

    def write(data: bytes) -> int:
        try:
            return remote.write(data) or 0
        except serial.SerialException as error:
            raise EOFError(error) from None

    return ThreadedPort(
        name,
        read,
        write,
        remote.close,
        on_bytes,
        on_lost,
        interrupt=remote.hang_up,
        backlog_limit=settings.backlog_limit,
    )
