"""Wakes tasks that wait for a device to be plugged in, and determines the pauses between attempts to connect.

udev reports new devices at once; on a machine without it, the list of ports is compared once a second.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serial.tools import list_ports

UDEV_CONTROL = Path("/run/udev/control")  # exists while udevd runs; without udevd its monitor reports nothing
USB_DEVICES = Path("/sys/bus/usb/devices")
SUBSYSTEMS = ("tty", "usb")


class Backoff:
    """Pauses between attempts, each twice as long as the last, up to a cap. Not random: there is only one host."""

    def __init__(self, first_s: float = 0.1, cap_s: float = 5.0) -> None:
        self.first_s = first_s
        self.cap_s = cap_s
        self._next_s = first_s

    def next(self) -> float:
        """The length of the next pause."""
        pause = min(self._next_s, self.cap_s)
        self._next_s = min(pause * 2, self.cap_s)
        return pause

    def reset(self) -> None:
        """The attempt succeeded: start again with the first pause."""
        self._next_s = self.first_s


def list_devices() -> frozenset[str]:
    """Names of all serial ports and USB devices; a device that is plugged in again gets a new name."""
    names = {info.device for info in list_ports.comports()}
    try:
        present = os.listdir(USB_DEVICES)
    except OSError:  # no USB on this machine
        present = []
    for name in present:
        try:
            # The kernel increments devnum each time, so quickly unplugging and replugging is detected too.
            names.add(f"{name}#{(USB_DEVICES / name / 'devnum').read_text().strip()}")
        except OSError:  # an interface, which has no number, or a device that was just unplugged
            continue
    return frozenset(names)


class Hotplug:
    """Notifies any number of waiting tasks when something is plugged in."""

    def __init__(
        self,
        poll_s: float = 1.0,
        lister: Callable[[], frozenset[str]] = list_devices,
        udev_control: Path = UDEV_CONTROL,
    ) -> None:
        self.count = 0  # devices plugged in so far; see wait()
        self._poll_s = poll_s
        self._lister = lister
        self._udev_control = udev_control
        self._monitor: Any = None  # pyudev has no types
        self._polling: asyncio.Task[None] | None = None
        self._waiters: set[asyncio.Future[bool]] = set()
        self._wanted = asyncio.Event()  # a task is waiting: poll only then

    @property
    def source(self) -> str:
        """How new devices are detected, for the log."""
        return "udev" if self._monitor is not None else "polling" if self._polling is not None else "closed"

    async def start(self) -> None:
        """Start listening."""
        if self.source != "closed":
            return
        if self._udev_control.exists():
            self._monitor = _open_monitor()
        if self._monitor is not None:
            asyncio.get_running_loop().add_reader(self._monitor.fileno(), self._udev_readable)
        else:
            present = await asyncio.to_thread(self._lister)
            self._polling = asyncio.create_task(self._poll(present), name="hotplug polling")

    async def close(self) -> None:
        """Stop listening; waiting tasks get False."""
        if self._monitor is not None:
            asyncio.get_running_loop().remove_reader(self._monitor.fileno())
            self._monitor = None
        if self._polling is not None:
            polling, self._polling = self._polling, None
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)
        self._wake(False)

    async def wait(self, timeout_s: float, since: int | None = None) -> bool:
        """Return True as soon as something is plugged in, or False after `timeout_s`.

        `since` is an earlier `count`, for example from before a failed attempt to open. If the count has changed,
        True is returned at once, so a device plugged in between the attempt and the wait is not missed.
        """
        if since is not None and since != self.count:
            return True
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_later(timeout_s, _settle, waiter, False)
        self._waiters.add(waiter)
        self._wanted.set()
        try:
            return await waiter
        finally:
            timer.cancel()
            self._waiters.discard(waiter)
            if not self._waiters:
                self._wanted.clear()

    def _plugged(self) -> None:
        self.count += 1
        self._wake(True)

    def _wake(self, answer: bool) -> None:
        for waiter in self._waiters:
            _settle(waiter, answer)

    def _udev_readable(self) -> None:
        plugged = False
        try:
            while (device := self._monitor.poll(timeout=0)) is not None:
                plugged |= device.action == "add"
        except OSError:  # ENOBUFS: some events were dropped, and one may have been a new device
            plugged = True
        if plugged:
            self._plugged()

    async def _poll(self, present: frozenset[str]) -> None:
        while True:
            await self._wanted.wait()
            now = await asyncio.to_thread(self._lister)
            if now - present:
                self._plugged()
            present = now
            await asyncio.sleep(self._poll_s)


def _settle(waiter: asyncio.Future[bool], answer: bool) -> None:
    if not waiter.done():
        waiter.set_result(answer)


def _open_monitor() -> Any:
    """A started udev monitor, or None if libudev is missing or a sandbox forbids netlink."""
    try:
        import pyudev

        monitor = pyudev.Monitor.from_netlink(pyudev.Context())
        for subsystem in SUBSYSTEMS:
            monitor.filter_by(subsystem)
        monitor.start()
    except (ImportError, OSError):
        return None
    return monitor
