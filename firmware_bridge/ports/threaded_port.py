"""A port on top of a library that only has blocking calls, such as pyusb: two threads make them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from firmware_bridge.ports.transport import DEFAULT_SETTINGS, OnBytes, OnLost, PortLost, loss_from, overflow

JOIN_LIMIT_S = 1.0  # how long closing waits for a port's threads; several times their longest blocking call
FINAL_WRITE_MAX = 256  # bytes still sent when closing: enough for a RESET, not for a backlog
FINAL_WRITE_S = 0.2  # how long closing waits for that


class ThreadedPort:
    """A port whose library only has blocking calls: one thread reads, one writes.

    After a short time-out `read` returns b"" and `write` the number of bytes accepted, which may be 0; both raise when
    the device is gone. `interrupt` makes a blocked call return. The last thread to end calls `release`, because
    freeing a device during a call could crash the library.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], bytes],
        write: Callable[[bytes], int],
        release: Callable[[], None],
        on_bytes: OnBytes,
        on_lost: OnLost,
        *,
        judge: Callable[[Exception, str], PortLost] = loss_from,
        interrupt: Callable[[], None] = lambda: None,
        backlog_limit: int = DEFAULT_SETTINGS.backlog_limit,
    ) -> None:
        self.name = name
        self.notes: tuple[str, ...] = ()
        self._read, self._write, self._release = read, write, release
        self._judge, self._interrupt = judge, interrupt
        self._on_bytes, self._on_lost = on_bytes, on_lost
        self._backlog_limit = backlog_limit
        self._loop = asyncio.get_running_loop()
        self._change = threading.Condition()  # guards the following attributes
        self._backlog = bytearray()
        self._ending = False  # the threads must end
        self._leaving = False  # because of close(), not because of a loss
        self._running = 2
        self._closed = False  # only used on the loop: no callbacks after this
        self._threads = [
            threading.Thread(target=self._run, args=(step, at_the_end), name=f"{name} {verb}", daemon=True)
            for step, at_the_end, verb in (
                (self._read_once, lambda: None, "read"),
                (self._write_once, self._write_last, "write"),
            )
        ]
        for thread in self._threads:
            thread.start()

    def write(self, data: bytes) -> None:
        with self._change:
            if self._ending:
                return
            self._backlog += data
            waiting = len(self._backlog)
            if waiting > self._backlog_limit:
                self._end(overflow(self.name, waiting))
            self._change.notify_all()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with self._change:
            self._leaving = not self._ending
            self._ending = True
            self._change.notify_all()
        self._threads[1].join(FINAL_WRITE_S)
        self._interrupt()
        for thread in self._threads:
            thread.join(JOIN_LIMIT_S)

    def _end(self, loss: PortLost) -> None:
        """Called with the lock held, from any thread; only the first loss is reported."""
        if self._ending:
            return
        self._ending = True
        self._change.notify_all()
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._report, loss)

    def _report(self, loss: PortLost) -> None:
        if not self._closed:
            self._on_lost(loss)

    def _deliver(self, data: bytes) -> None:
        if not self._closed:
            self._on_bytes(data)

    def _run(self, step: Callable[[], None], at_the_end: Callable[[], None]) -> None:
        try:
            while not self._ending:
                step()
            at_the_end()
        except Exception as error:  # whatever the library raises, the port is unusable now
            with self._change:
                self._end(self._judge(error, self.name))
        with self._change:
            self._running -= 1
            last = self._running == 0
        if last:
            self._release()

    def _read_once(self) -> None:
        data = self._read()
        if data:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._deliver, data)

    def _write_once(self) -> None:
        with self._change:
            while not self._backlog and not self._ending:
                self._change.wait()
            chunk = bytes(self._backlog[:4096])
        if not self._ending:
            taken = self._write(chunk)
            with self._change:
                del self._backlog[:taken]

    def _write_last(self) -> None:
        with self._change:
            chunk = bytes(self._backlog)
        if chunk and self._leaving and len(chunk) <= FINAL_WRITE_MAX:
            self._write(chunk)
