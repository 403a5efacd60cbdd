"""Puts a simulated device, which is pure, onto a real pipe: a pty, a TCP port, or a software USB bus.

The device knows only bytes and time. The `Driver` gives it both and watches its cable; an endpoint is the pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import os
import socket
import tty
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from simulators.pipes.usb_backend import SoftwareUsb, SoftwareUsbDevice

READ_SIZE = 4096
# A device keeps sending when the host does not read; what does not fit is lost, as on a real wire.
BACKLOG_LIMIT = 1 << 20

Clock = Callable[[], float]


class PureDevice(Protocol):
    """A simulated device without I/O, clock or threads of its own."""

    @property
    def deadline(self) -> float:
        """The device's time at which tick() is wanted; math.inf if never."""

    @property
    def plugged(self) -> bool:
        """False while the cable is unplugged."""

    @property
    def in_session(self) -> bool:
        """Whether a host has a link session open."""

    def attached(self, now: float) -> None:
        """The pipe is up."""

    def detached(self, now: float) -> None:
        """The pipe is gone."""

    def receive(self, data: bytes, now: float) -> None:
        """Bytes from the host."""

    def tick(self, now: float) -> None:
        """The deadline has been reached."""

    def take_output(self) -> bytes:
        """Bytes for the host since the last call."""


class Pipe(Protocol):
    """What the Driver needs from an endpoint."""

    def plug_in(self) -> None:
        """The cable goes in."""

    def pull_out(self) -> None:
        """The cable comes out, so that the host really sees it."""

    def send(self, data: bytes) -> None:
        """Bytes for the host."""


class Driver:
    """Feeds one device with bytes and time, passes its output on, and moves its cable."""

    def __init__(self, device: PureDevice, pipe: Pipe, speed: float = 1.0, clock: Clock | None = None) -> None:
        self.device = device
        self._pipe = pipe
        self._speed = speed
        self._loop = asyncio.get_running_loop()
        self._clock = clock or self._loop.time
        self._start = self._clock()
        self._in = False  # the cable, as the pipe has it
        self._up = False  # the host is at the other end
        self._timer: asyncio.TimerHandle | None = None

    def now(self) -> float:
        """The device's time, which may run faster than ours."""
        return self._start + (self._clock() - self._start) * self._speed

    def poke(self) -> None:
        """Update the device now: run what is due, send what it has, move its cable."""
        now = self.now()
        if self.device.deadline <= now:
            self.device.tick(now)
        self._settle()

    def feed(self, data: bytes) -> None:
        """Bytes have come from the host."""
        if self._up:
            self.device.receive(data, self.now())
            self.poke()

    def come_up(self) -> None:
        """The host is connected."""
        if not self._up:
            self._up = True
            self.device.attached(self.now())
            self.poke()

    def go_down(self) -> None:
        """The host is gone."""
        if self._up:
            self._up = False
            self.device.detached(self.now())
            self.poke()

    def stop(self) -> None:
        """Pull the cable for good."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._in:
            self._in = False
            self._pipe.pull_out()
        if self._up:
            self._up = False
            self.device.detached(self.now())

    def _settle(self) -> None:
        output = self.device.take_output()
        if output and self._up:
            self._pipe.send(output)
        plugged = self.device.plugged
        if plugged != self._in:
            self._in = plugged
            if plugged:
                self._pipe.plug_in()  # calls come_up() when the host is connected, perhaps at once
            else:
                self._pipe.pull_out()
                self.go_down()
        self._arm()

    def _arm(self) -> None:
        # One timer, moved only when the deadline comes nearer: a deadline that keeps moving away, as resend
        # timers do, costs nothing; the timer then fires once too early and is set again.
        deadline = self.device.deadline
        if deadline == math.inf:
            return
        when = self._loop.time() + max(deadline - self.now(), 0.0) / self._speed
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._due)

    def _due(self) -> None:
        self._timer = None
        self.poke()


class Endpoint(ABC):
    """A device on a pipe. `address` is what to give to open_port()."""

    def __init__(self, device: PureDevice, speed: float = 1.0, clock: Clock | None = None) -> None:
        self.device = device
        self._speed = speed
        self._clock = clock
        self._driver: Driver | None = None

    @property
    def driver(self) -> Driver:
        """The running driver."""
        if self._driver is None:
            raise RuntimeError("the endpoint is not started")
        return self._driver

    @property
    @abstractmethod
    def address(self) -> str:
        """What to give to open_port()."""

    async def start(self) -> None:
        """Start; the cable is plugged in if the device says so."""
        if self._driver is None:
            self._driver = Driver(self.device, self, self._speed, self._clock)
            try:
                self._driver.poke()
            except OSError:  # the port is taken, the link's folder is not ours ...
                await self.close()
                raise

    async def close(self) -> None:
        """Pull the cable and stop; may be called again."""
        if self._driver is not None:
            self._driver.stop()
            self._driver = None

    def poke(self) -> None:
        """Somebody changed the device by hand: show the effect now."""
        if self._driver is not None:
            self._driver.poke()

    @abstractmethod
    def plug_in(self) -> None:
        """The cable goes in."""

    @abstractmethod
    def pull_out(self) -> None:
        """The cable comes out, so that the host really sees it."""

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Bytes for the host."""


class FdPipe:
    """The device's end of a non-blocking descriptor."""

    def __init__(self, fd: int, on_bytes: Callable[[bytes], None], on_gone: Callable[[], None]) -> None:
        self._fd = fd
        self._on_bytes = on_bytes
        self._on_gone = on_gone
        self._backlog = bytearray()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._readable)

    def close(self) -> None:
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)

    def send(self, data: bytes) -> None:
        if not self._backlog:
            data = data[self._write(data) :]
            if data:
                self._loop.add_writer(self._fd, self._writable)
        self._backlog += data[: BACKLOG_LIMIT - len(self._backlog)]

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:  # the host is gone: the reader will report it
            return len(data)

    def _writable(self) -> None:
        del self._backlog[: self._write(self._backlog)]
        if not self._backlog:
            self._loop.remove_writer(self._fd)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._on_bytes(data)
        else:
            self.close()
            self._on_gone()


class PtyEndpoint(Endpoint):
    """A device on a pty, with a symbolic link to it under a name that stays."""

    def __init__(
        self, device: PureDevice, link: Path | None = None, *, speed: float = 1.0, clock: Clock | None = None
    ) -> None:
        super().__init__(device, speed, clock)
        self._link = link
        self._path = ""
        self._fds: tuple[int, ...] = ()
        self._pipe: FdPipe | None = None

    @property
    def address(self) -> str:
        if self._link is None:
            return self._path
        return str(self._link if "/" in str(self._link) else self._link.absolute())

    def plug_in(self) -> None:
        # The host's side is held open here too: with nobody at it, reading ours would fail endlessly.
        ours, theirs = self._fds = os.openpty()
        tty.setraw(theirs)
        os.set_blocking(ours, False)
        self._path = os.ttyname(theirs)
        if self._link is not None:
            _point(self._link, self._path)
        self._pipe = FdPipe(ours, self.driver.feed, self.driver.go_down)
        self.driver.come_up()

    def pull_out(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        for fd in self._fds:
            os.close(fd)
        self._fds = ()
        if self._link is not None:
            with contextlib.suppress(OSError):  # gone already, or somebody's own file
                if os.readlink(self._link) == self._path:
                    self._link.unlink()

    def send(self, data: bytes) -> None:
        if self._pipe is not None:
            self._pipe.send(data)


def _point(link: Path, target: str) -> None:
    """Create or move a symbolic link in one step; any other file is left alone."""
    if link.exists() and not link.is_symlink():
        raise FileExistsError(f"{link} is not a link to a simulated device; remove it first")
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


class TcpEndpoint(Endpoint):
    """A device behind a TCP port, for one host at a time."""

    def __init__(
        self,
        device: PureDevice,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        speed: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(device, speed, clock)
        self._host = host
        self._port = port  # 0 until we listen for the first time, then always the one we got
        self._listener: socket.socket | None = None
        self._client: socket.socket | None = None
        self._pipe: FdPipe | None = None

    @property
    def address(self) -> str:
        return f"socket://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}"

    def plug_in(self) -> None:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        self._listener = socket.create_server((self._host, self._port), family=family)
        self._listener.setblocking(False)
        self._port = self._listener.getsockname()[1]
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def pull_out(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        self._drop_client()

    def send(self, data: bytes) -> None:
        if self._pipe is not None:
            self._pipe.send(data)

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            client, _ = self._listener.accept()
        except OSError:  # it is gone again
            return
        if self._client is not None:
            if self.driver.device.in_session:
                client.close()
                return
            self._gone()  # its host has died silently
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client = client
        self._pipe = FdPipe(client.fileno(), self.driver.feed, self._gone)
        self.driver.come_up()

    def _gone(self) -> None:
        self._drop_client()
        self.driver.go_down()

    def _drop_client(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._client is not None:
            self._client.close()
            self._client = None


class UsbEndpoint(Endpoint):
    """A device on a software USB bus; the host must be given the same bus as its `usb_backend`."""

    _numbers = itertools.count(1)

    def __init__(
        self,
        device: PureDevice,
        bus: SoftwareUsb,
        vendor: int = 0x1209,
        product: int = 0x5D0E,
        serial: str | None = None,
        *,
        speed: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(device, speed, clock)
        self._bus = bus
        serial = serial if serial is not None else f"SIM-{next(self._numbers)}"
        self._usb = SoftwareUsbDevice(vendor, product, serial, plugged=False)
        self._claim = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def address(self) -> str:
        return f"usb:{self._usb.vendor:04x}:{self._usb.product:04x}:{self._usb.serial}"

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._usb.on_change = self._changed
        self._bus.devices.append(self._usb)
        await super().start()

    async def close(self) -> None:
        await super().close()
        if self._usb in self._bus.devices:
            self._bus.devices.remove(self._usb)

    def plug_in(self) -> None:
        self._usb.plug()

    def pull_out(self) -> None:
        self._usb.unplug()

    def send(self, data: bytes) -> None:
        self._usb.send(data)

    def _changed(self) -> None:
        """In a thread of the host's USB library."""
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # the loop is closed: the simulation is over
            self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        if self._driver is None:
            return
        if self._usb.claims != self._claim:  # it has been gone and come back since we looked
            self._claim = self._usb.claims
            self._driver.go_down()
        attached = self._usb.attached
        if attached:
            self._driver.come_up()
        data = self._usb.take()  # what the host sent before it left has arrived too
        if data:
            self._driver.feed(data)
        if not attached:
            self._driver.go_down()
