"""Ports, the byte streams to devices: their interface, addresses, settings and errors.

serial_port.py and usb_port.py implement the two kinds of port; open_port() chooses by the address.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import errno
import grp
import os
import pwd
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar
from urllib.parse import parse_qsl, urlsplit

OPEN_LIMIT_S = 5.0  # time limit for opening: a dead network adapter must not block the table for longer

ALLOWED = (
    "expected an address such as /dev/ttyUSB0, socket://192.168.1.20:4001, rfc2217://192.168.1.20:4001, "
    "hwgrep://SERIALNUMBER, usb:1209:5d0e or usb:1209:5d0e:SERIAL"
)


class PortError(Exception):
    """A port could not be opened; the text is one line for the user."""


class PortAbsent(PortError):
    """Nothing is plugged in there."""


class PortBusy(PortError):
    """Another program holds the port."""


class PortDenied(PortError):
    """The device exists, but this user may not open it."""


class PortUnsuitable(PortError):
    """The address, the device or the configuration of this machine does not allow a connection."""


class PortLossReason(enum.Enum):
    """Why an open port ended."""

    VANISHED = "vanished"
    HUNG_UP = "hung up"
    OVERFLOWED = "overflowed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PortLost:
    """Reported once when an open port fails."""

    reason: PortLossReason
    detail: str


OnBytes = Callable[[bytes], None]
OnLost = Callable[[PortLost], None]


class Transport(Protocol):
    """An open port. Callbacks run on the event loop, on_lost at most once, and none after close()."""

    name: str
    notes: tuple[str, ...]  # settings that could not be applied: worth a log line, but not a failure

    def write(self, data: bytes) -> None:
        """Send without blocking. Data written after a loss or after close() is dropped."""

    def close(self) -> None:
        """Release the device; may be called repeatedly, and after a loss."""


@dataclass(frozen=True, slots=True)
class PortSettings:
    """How to open a port; settings for another kind of port are ignored."""

    baud: int = 115200
    rtscts: bool = False
    dtr: bool | None = None  # None leaves the line unchanged: on many boards DTR or RTS is wired to reset
    rts: bool | None = None
    low_latency: bool = True
    backlog_limit: int = 65536  # most bytes queued for the device; 5.7 s at 115200 baud
    usb_interface: int | None = None  # None: taken from the descriptors
    usb_in: int | None = None  # endpoint addresses, such as 0x81 and 0x01
    usb_out: int | None = None
    usb_backend: object | None = None  # None: libusb


DEFAULT_SETTINGS = PortSettings()


@dataclass(frozen=True, slots=True)
class SerialAddress:
    """A serial port: a path, a search pattern (hwgrep), or a network adapter."""

    scheme: Literal["path", "hwgrep", "socket", "rfc2217"]
    target: str  # the path, the pattern, or the whole URL
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        return f"hwgrep://{self.target}" if self.scheme == "hwgrep" else self.target


@dataclass(frozen=True, slots=True)
class UsbAddress:
    """A USB device by vendor, product and, if several are plugged in, serial number."""

    vendor: int
    product: int
    serial: str | None = None

    def __str__(self) -> str:
        text = f"usb:{self.vendor:04x}:{self.product:04x}"
        return text if self.serial is None else f"{text}:{self.serial}"


USB_PATTERN = re.compile(r"usb:([0-9a-f]{4}):([0-9a-f]{4})(?::(.+))?", re.IGNORECASE)
# Without `logging`: with that option pyserial would reconfigure the logging of the whole program.
RFC2217_OPTIONS = {"ign_set_control", "poll_modem", "timeout"}


def parse_address(text: str) -> SerialAddress | UsbAddress:
    """Parse a port address as a user writes it; raises PortUnsuitable, which lists the forms allowed."""
    if text.lower().startswith("usb:"):
        match = USB_PATTERN.fullmatch(text)
        if match is None:
            raise PortUnsuitable(f"{text!r}: vendor and product are four hex digits each; {ALLOWED}")
        return UsbAddress(int(match[1], 16), int(match[2], 16), match[3])
    if "://" in text:
        return _parse_url(text)
    if "/" in text and "\0" not in text:
        return SerialAddress("path", text)
    raise PortUnsuitable(f"{text!r} is not a port address; {ALLOWED}")


def _parse_url(text: str) -> SerialAddress:
    scheme, _, rest = text.partition("://")
    scheme = scheme.lower()
    if scheme == "hwgrep":
        try:
            re.compile(rest)
        except (re.error, OverflowError, RecursionError) as error:
            raise PortUnsuitable(f"{text!r}: not a valid pattern: {error}") from None
        if not rest:
            raise PortUnsuitable(f"{text!r}: the pattern is empty; {ALLOWED}")
        return SerialAddress("hwgrep", rest)
    if scheme not in ("socket", "rfc2217"):
        raise PortUnsuitable(f"{text!r}: {scheme}:// ports are not supported; {ALLOWED}")
    try:
        parts = urlsplit(text)
        host, port, options = parts.hostname, parts.port, {name for name, _ in parse_qsl(parts.query, True)}
        (host or "").encode("idna")  # resolving the name would fail with the same error later
    except ValueError as error:
        raise PortUnsuitable(f"{text!r}: {error}; {ALLOWED}") from None
    if not host or not port or parts.path not in ("", "/") or parts.username is not None:
        raise PortUnsuitable(f"{text!r}: a network address needs a host and a port number; {ALLOWED}")
    unknown = options - (RFC2217_OPTIONS if scheme == "rfc2217" else set())
    if unknown:
        raise PortUnsuitable(f"{text!r}: unknown option {', '.join(sorted(unknown))}")
    return SerialAddress("socket" if scheme == "socket" else "rfc2217", text, host, port)


async def open_port(
    address: str, on_bytes: OnBytes, on_lost: OnLost, settings: PortSettings = DEFAULT_SETTINGS
) -> Transport:
    """Open the port at this address within a time limit and without blocking the loop; raises PortError."""
    where = parse_address(address)
    # Imported here, so that a table with only serial devices does not load the USB library, and vice versa.
    if isinstance(where, UsbAddress):
        from firmware_bridge.ports.usb_port import open_usb

        return await open_usb(where, on_bytes, on_lost, settings)
    from firmware_bridge.ports.serial_port import open_serial

    return await open_serial(where, on_bytes, on_lost, settings)


# ---- shared by both kinds of port ----

NewPort = TypeVar("NewPort")
_OPENING = ThreadPoolExecutor(8, "port")  # its own threads: other blocking work does not delay a reconnection


async def open_in_thread(opener: Callable[[], NewPort], undo: Callable[[NewPort], None], name: str) -> NewPort:
    """Run a blocking opener in a thread; if it finishes after the time limit or a cancellation, undo it."""
    work = _OPENING.submit(opener)

    def undo_late(done: Future[NewPort]) -> None:
        # Whether the loop still runs or not. In a thread of its own, because undoing may block.
        if not done.cancelled() and done.exception() is None:
            threading.Thread(target=undo, args=(done.result(),), name=f"{name} undo").start()

    try:
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(work)), OPEN_LIMIT_S)
    except TimeoutError:
        work.add_done_callback(undo_late)
        raise PortUnsuitable(f"{name}: did not answer within {OPEN_LIMIT_S:.0f} s") from None
    except asyncio.CancelledError:
        work.add_done_callback(undo_late)
        raise


def loss_from(error: Exception, name: str) -> PortLost:
    """Turn an error while reading or writing into a loss of the port."""
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.ENODEV, errno.EIO, errno.ENXIO):
        return PortLost(PortLossReason.VANISHED, f"{name}: the device vanished ({os.strerror(code)})")
    if isinstance(error, EOFError) or code in (errno.EPIPE, errno.ECONNRESET):
        return PortLost(PortLossReason.HUNG_UP, f"{name}: the other end hung up ({error})")
    return PortLost(PortLossReason.FAILED, f"{name}: {error}")


def overflow(name: str, waiting: int) -> PortLost:
    """The loss of a port whose device accepts no data."""
    return PortLost(PortLossReason.OVERFLOWED, f"{name}: the device accepts no data; {waiting} bytes are waiting")


def denied(name: str, node: str, code: int | None) -> PortDenied:
    """Explain who owns the device node and how to give this user access."""
    if code == errno.EPERM:  # not file permissions, but DevicePolicy= of a systemd unit
        return PortDenied(
            f"{name}: the service's sandbox blocks {node}; add it to DeviceAllow=, "
            "and restart the service once the driver is loaded"
        )
    try:
        status = os.stat(node)
        group = grp.getgrgid(status.st_gid).gr_name
        user = pwd.getpwuid(os.geteuid()).pw_name
    except (OSError, KeyError):
        return PortDenied(f"{name}: permission denied on {node}; ask the administrator of this machine")
    owned = f"{name}: user {user} may not open {node}, which belongs to group {group}"
    if status.st_gid != 0 and status.st_mode & 0o060 == 0o060:
        return PortDenied(f"{owned}; run `sudo usermod -aG {group} {user}`, then log in again")
    return PortDenied(
        f"{owned} but is not accessible to it; install the udev rules of this package, then replug the device"
    )


def holder_of(node: str) -> str:
    """The process that has this device node locked or open, as ` by NAME (pid N)`; empty if none is found."""
    with contextlib.suppress(OSError):
        status = os.stat(node)
        inode = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        with open("/proc/locks", encoding="ascii") as locks:
            for line in locks:  # for example `1: FLOCK  ADVISORY  WRITE 3844 00:1a:3 0 EOF`
                fields = line.split()
                if fields[1] == "FLOCK" and fields[5] == inode:
                    return _name_process(fields[4])
        device = os.path.realpath(node)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            # Other users' processes are not readable, and any process may end meanwhile.
            with contextlib.suppress(OSError):
                fds = [] if pid == str(os.getpid()) else os.listdir(f"/proc/{pid}/fd")
                if any(os.readlink(f"/proc/{pid}/fd/{fd}") == device for fd in fds):
                    return _name_process(pid)
    return ""


def _name_process(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as comm:
            return f" by {comm.read().strip()} (pid {pid})"
    except OSError:
        return f" by pid {pid}"
