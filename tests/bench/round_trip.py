"""A command and its answer over a pty, and what it costs the host's processor."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import statistics
import subprocess
import sys
import time
import tty
from collections.abc import Callable, Iterator

import serial

from firmware_bridge.connection import Connection
from firmware_bridge.wire.messages import Indicate, Light
from firmware_bridge.wire.session import HostSession, Ready
from tests.bench.measure import Row, interleave

ROUNDS = 101
TRIPS = 50  # in each round, of which the median counts: short, so that all run under the same conditions
PAYLOAD = bytes(range(1, 29))  # as long as a command's frame


@contextlib.contextmanager
def peer(kind: str) -> Iterator[str]:
    """A pty with this peer on its other end; gives the path of ours."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.peers", kind, str(master)], pass_fds=[master])
    os.close(master)
    try:
        yield os.ttyname(slave)
    finally:
        process.kill()
        process.wait()
        os.close(slave)


class Timed:
    """Collects, for one contender, the median round trip and the processor time of each round."""

    def __init__(self, trip: Callable[[], None]) -> None:
        self._trip = trip
        self.cpu_us: list[float] = []

    def __call__(self) -> float:
        times = []
        cpu = time.process_time()
        for _ in range(TRIPS):
            start = time.perf_counter()
            self._trip()
            times.append(time.perf_counter() - start)
        self.cpu_us.append((time.process_time() - cpu) / TRIPS * 1e6)
        return statistics.median(times) * 1e6


def bare(path: str) -> Timed:
    """os.write and os.read: what the kernel alone costs."""
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)

    def trip() -> None:
        os.write(fd, PAYLOAD)
        os.read(fd, 4096)

    return Timed(trip)


def pyserial(path: str) -> Timed:
    """pyserial's write and read, as in its own examples."""
    port = serial.Serial(path, timeout=5)

    def trip() -> None:
        port.write(PAYLOAD)
        port.read(len(PAYLOAD))

    return Timed(trip)


class InLoop(Timed):
    """The same for a contender that lives in asyncio: a whole round runs inside the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, round_of: Callable[[], asyncio.Future[list[float]]]) -> None:
        super().__init__(lambda: None)
        self._loop, self._round_of = loop, round_of

    def __call__(self) -> float:
        cpu = time.process_time()
        times = self._loop.run_until_complete(self._round_of())
        self.cpu_us.append((time.process_time() - cpu) / TRIPS * 1e6)
        return statistics.median(times) * 1e6


def ours(path: str, loop: asyncio.AbstractEventLoop, stack: contextlib.ExitStack) -> InLoop:
    """Session on link on frame, through asyncio: a command until its answer is here."""

    async def connect() -> Connection:
        ready = asyncio.Event()
        connection = Connection(
            path, HostSession(host_boot=7), on_happening=lambda one: ready.set() if isinstance(one, Ready) else None
        )
        running.append(asyncio.ensure_future(connection.run()))
        await ready.wait()
        return connection

    async def close() -> None:
        connection.close()
        await running[0]

    running: list[asyncio.Future[None]] = []
    connection = loop.run_until_complete(connect())
    stack.callback(lambda: loop.run_until_complete(close()))
    last = 0

    def run() -> asyncio.Future[list[float]]:
        """Each answer brings the next command, as in the daemon: no task is woken between the two."""
        times: list[float] = []
        finished: asyncio.Future[list[float]] = loop.create_future()
        start = 0.0

        def give() -> None:
            nonlocal last, start
            last += 1
            start = time.perf_counter()
            connection.give(Indicate(last, connection.session.boot, Light.GREEN, "bets"))

        def answered(happening: object) -> None:
            times.append(time.perf_counter() - start)
            if len(times) < TRIPS:
                give()
            else:
                finished.set_result(times)

        connection.on_happening = answered
        give()
        return finished

    return InLoop(loop, run)


def pymodbus(path: str, loop: asyncio.AbstractEventLoop, stack: contextlib.ExitStack) -> InLoop:
    """pymodbus' asyncio client reads one register by RTU."""
    from pymodbus.client import AsyncModbusSerialClient

    async def connect() -> AsyncModbusSerialClient:
        client = AsyncModbusSerialClient(path, baudrate=115200)
        await client.connect()
        for _ in range(100):  # its server needs a moment to start
            with contextlib.suppress(Exception):
                await client.read_holding_registers(1, count=1, device_id=1)
                return client
        raise RuntimeError("the pymodbus server does not answer")

    client = loop.run_until_complete(connect())
    stack.callback(client.close)

    async def run() -> list[float]:
        times = []
        for _ in range(TRIPS):
            start = time.perf_counter()
            answer = await client.read_holding_registers(1, count=1, device_id=1)
            times.append(time.perf_counter() - start)
            assert answer.registers == [17]
        return times

    return InLoop(loop, lambda: asyncio.ensure_future(run(), loop=loop))


def measure(host_core: int, peer_core: int) -> tuple[dict[str, float], dict[str, float]]:
    """Round trips and the host's processor time, in microseconds, with host and peers each kept on a core."""
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {peer_core})  # the peers inherit it
    try:
        with contextlib.ExitStack() as stack:
            loop = asyncio.new_event_loop()
            stack.callback(loop.close)
            paths = {kind: stack.enter_context(peer(kind)) for kind in ("echo", "device", "modbus")}
            second_echo = stack.enter_context(peer("echo"))
            os.sched_setaffinity(0, {host_core})
            contenders: dict[str, Timed] = {
                "bare": bare(paths["echo"]),
                "pyserial": pyserial(second_echo),
                "ours": ours(paths["device"], loop, stack),
                "pymodbus": pymodbus(paths["modbus"], loop, stack),
            }
            for contender in contenders.values():
                contender()  # warm up
                contender.cpu_us.clear()
            figures = interleave(contenders, ROUNDS)
            return figures, {name: statistics.median(contender.cpu_us) for name, contender in contenders.items()}
    finally:
        os.sched_setaffinity(0, everywhere)


def rows() -> list[Row]:
    """Ours against the others: first as on a table, where the device has a processor of its own, then on one core."""
    cores = sorted(os.sched_getaffinity(0))
    trips, cpu = measure(cores[0], cores[-1])
    shared, _ = measure(cores[0], cores[0])
    trip, on_one = "command round trip over a pty", "the same, host and device on one core"
    spent = "host processor time of a command"
    return [
        Row(trip, "us", trips["ours"], trips["bare"], "os.read/os.write echo"),
        Row(trip, "us", trips["ours"], trips["pyserial"], "bare pyserial echo", "<= 2"),
        Row(trip, "us", trips["ours"], trips["pymodbus"], "pymodbus RTU, one register", "<= 0.5"),
        Row(on_one, "us", shared["ours"], shared["pyserial"], "bare pyserial echo"),
        Row(on_one, "us", shared["ours"], shared["pymodbus"], "pymodbus RTU, one register"),
        Row(spent, "us", cpu["ours"], cpu["pyserial"], "bare pyserial echo"),
        Row(spent, "us", cpu["ours"], cpu["pymodbus"], "pymodbus RTU, one register"),
    ]
