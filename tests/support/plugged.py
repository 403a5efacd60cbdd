"""Simulated and foreign devices on ptys, each run by a thread, for tests of commands."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from firmware_bridge.wire.link import LinkTiming
from simulators.devices.device import SimulatedTable
from simulators.pipes.endpoints import Endpoint, PtyEndpoint, TcpEndpoint, UsbEndpoint
from simulators.pipes.usb_backend import SoftwareUsb

LIMIT_S = 120.0  # generous: only a hang runs into it

Result = TypeVar("Result")


class Plugged:
    """A simulated shuffler and shoe on ptys with stable names, on a software USB bus, or on TCP."""

    def __init__(
        self,
        folder: Path,
        *,
        seed: int = 1,
        speed: float = 1.0,
        usb: SoftwareUsb | None = None,
        tcp: bool = False,
        **more: Any,
    ):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="simulated devices")
        self._thread.start()
        self._endpoints: list[Endpoint] = []
        self._in_loop(lambda: self._build(folder, seed, speed, usb, tcp, more))
        for endpoint in self._endpoints:
            asyncio.run_coroutine_threadsafe(endpoint.start(), self._loop).result(LIMIT_S)
        self.shuffler, self.shoe = (endpoint.address for endpoint in self._endpoints)

    def _build(
        self, folder: Path, seed: int, speed: float, usb: SoftwareUsb | None, tcp: bool, more: dict[str, Any]
    ) -> None:
        # Only the devices' clock runs fast: the link's times are stretched accordingly.
        timing = LinkTiming().scaled(speed)
        self.table = SimulatedTable(seed, timing=timing, now=self._loop.time(), **more)
        for name, device in (("shuffler", self.table.shuffler), ("shoe", self.table.shoe)):
            if tcp:
                self._endpoints.append(TcpEndpoint(device, speed=speed))
            elif usb is None:
                self._endpoints.append(PtyEndpoint(device, folder / name, speed=speed))
            else:
                self._endpoints.append(UsbEndpoint(device, usb, serial=name, speed=speed))

    def do(self, work: Callable[[SimulatedTable, float], Result]) -> Result:
        """Call `work` with the table and the devices' time."""

        def done() -> Result:
            result = work(self.table, self._endpoints[0].driver.now())
            for endpoint in self._endpoints:
                endpoint.poke()
            return result

        return self._in_loop(done)

    def until(self, holds: Callable[[SimulatedTable], object]) -> None:
        """Wait until the devices have received what was sent."""
        end = time.monotonic() + LIMIT_S
        while not self.do(lambda table, now: holds(table)):
            assert time.monotonic() < end, "the condition never became true"
            time.sleep(0.005)

    def _in_loop(self, work: Callable[[], Result]) -> Result:
        async def call() -> Result:
            return work()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(LIMIT_S)

    def close(self) -> None:
        """Unplug all devices."""
        for endpoint in self._endpoints:
            asyncio.run_coroutine_threadsafe(endpoint.close(), self._loop).result(LIMIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT_S)
        self._loop.close()


@contextlib.contextmanager
def stranger(answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """A pty with a foreign device that replies with `answer(received)`; yields its path."""
    far, near = pty.openpty()
    tty.setraw(near)

    def talk() -> None:
        with contextlib.suppress(OSError):  # the other side has closed
            while True:
                reply = answer(os.read(far, 4096))
                if reply:
                    os.write(far, reply)

    thread = threading.Thread(target=talk, name="stranger")
    thread.start()
    try:
        yield os.ttyname(near)
    finally:
        os.close(near)
        thread.join(LIMIT_S)
        os.close(far)
