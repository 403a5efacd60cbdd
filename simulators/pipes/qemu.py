"""Puts simulated devices into a virtual machine of QEMU, as serial adaptors or as USB devices.

QEMU listens on a Unix socket for each device. Connecting plugs the device in, closing pulls it out. While the machine
is off the cable stays plugged in: the device is there as soon as QEMU listens.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from abc import abstractmethod
from pathlib import Path

import click

from simulators.pipes.endpoints import Clock, Endpoint, FdPipe, PureDevice
from simulators.pipes.usb_backend import SoftwareUsbDevice
from simulators.pipes.usbredir import UsbRedir, UsbRedirError

LOOK_AGAIN_S = 0.05  # how often to look for a machine that is off
# The kernel's minimum: a real adaptor holds a few hundred bytes for a machine that does not read, not 200 kB.
SOCKET_BUFFER = 1
NOBODY_LISTENS = (errno.ENOENT, errno.ECONNREFUSED, errno.EAGAIN)


class QemuEndpoint(Endpoint):
    """A device on a socket on which QEMU listens."""

    def __init__(self, device: PureDevice, path: Path, *, speed: float = 1.0, clock: Clock | None = None) -> None:
        super().__init__(device, speed, clock)
        self._path = path
        self._socket: socket.socket | None = None
        self._pipe: FdPipe | None = None
        self._again: asyncio.TimerHandle | None = None

    def plug_in(self) -> None:
        self._again = None
        link = socket.socket(socket.AF_UNIX)
        link.setblocking(False)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER)
        try:
            link.connect(str(self._path))
        except OSError as error:
            link.close()
            if error.errno not in NOBODY_LISTENS:
                raise
            self._look_again()
            return
        self._socket = link
        self._pipe = FdPipe(link.fileno(), self._heard, self._machine_gone)
        self._connected()

    def pull_out(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _look_again(self) -> None:
        self._again = asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._try_again)

    def _try_again(self) -> None:
        try:
            self.plug_in()
        except OSError:  # reported at the start; here the socket's folder is gone for a while
            self._look_again()

    def _machine_gone(self) -> None:
        self.pull_out()
        self.driver.go_down()
        self._look_again()

    def _put(self, data: bytes) -> None:
        if self._pipe is not None and data:
            self._pipe.send(data)

    @abstractmethod
    def _connected(self) -> None:
        """The machine is using the device."""

    @abstractmethod
    def _heard(self, data: bytes) -> None:
        """Bytes came from QEMU."""


class QemuSerialEndpoint(QemuEndpoint):
    """A device behind the serial adaptor that QEMU's `usb-serial` plays: the bytes pass unchanged."""

    @property
    def address(self) -> str:
        return f"qemu-serial:{self._path}"

    def send(self, data: bytes) -> None:
        self._put(data)

    def _connected(self) -> None:
        self.driver.come_up()

    def _heard(self, data: bytes) -> None:
        self.driver.feed(data)


class QemuUsbEndpoint(QemuEndpoint):
    """A USB device of its own, through QEMU's `usb-redir`.

    As in life, the device learns that the machine's kernel has set it up, and not which program uses it.
    """

    def __init__(
        self,
        device: PureDevice,
        path: Path,
        usb: SoftwareUsbDevice,
        *,
        speed: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(device, path, speed=speed, clock=clock)
        self._usb = usb
        self._redir: UsbRedir | None = None

    @property
    def address(self) -> str:
        return f"qemu-usb:{self._path}"

    def send(self, data: bytes) -> None:
        if self._redir is not None:
            self._redir.send(data)
            self._put(self._redir.take_output())

    def _connected(self) -> None:
        self._redir = UsbRedir(self._usb)
        self._put(self._redir.take_output())

    def _heard(self, data: bytes) -> None:
        redir = self._redir
        assert redir is not None
        before = redir.configurations
        try:
            redir.receive(data)
        except UsbRedirError as error:
            click.echo(f"{self.address}: {error}", err=True)
            self._machine_gone()
            return
        self._put(redir.take_output())
        if redir.configurations != before or not redir.configured:
            self.driver.go_down()
        if redir.configured:
            self.driver.come_up()
            self.driver.feed(redir.take())
