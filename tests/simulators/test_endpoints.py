"""A pure device on real pipes, seen from the host through the real ports."""

from __future__ import annotations

import asyncio
import math
import os
import random
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_bridge.ports.transport import PortError, PortSettings
from simulators.pipes.endpoints import Driver, Endpoint, PtyEndpoint, TcpEndpoint, UsbEndpoint
from simulators.pipes.usb_backend import SoftwareUsb
from tests.support.port_listener import LIMIT_S, PortListener


class Echo:
    """Sends back what it gets, and what its alarm says when the time has come."""

    def __init__(self) -> None:
        self.deadline = math.inf
        self.plugged = True
        self.in_session = True
        self.out = bytearray()
        self.log: list[str] = []
        self.ticks: list[float] = []
        self.period = 0.0
        self.news = asyncio.Event()

    def attached(self, now: float) -> None:
        self.log.append("attached")
        self.news.set()

    def detached(self, now: float) -> None:
        self.log.append("detached")
        self.news.set()

    def receive(self, data: bytes, now: float) -> None:
        self.out += data

    def tick(self, now: float) -> None:
        assert now >= self.deadline
        self.ticks.append(now)
        self.deadline = now + self.period if self.period else math.inf
        self.plugged = True
        self.out += b"tick"
        self.news.set()

    def take_output(self) -> bytes:
        data = bytes(self.out)
        self.out.clear()
        return data

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not condition():
                self.news.clear()
                await self.news.wait()


class Host(PortListener):
    """The host's end."""

    def __init__(self, bus: SoftwareUsb | None = None) -> None:
        super().__init__(PortSettings(usb_backend=bus, backlog_limit=1 << 21))


def make(kind: str, device: Echo, tmp_path: Path) -> tuple[Endpoint, Host]:
    if kind == "pty":
        return PtyEndpoint(device, tmp_path / "run" / "shuffler"), Host()
    if kind == "tcp":
        return TcpEndpoint(device), Host()
    bus = SoftwareUsb()
    return UsbEndpoint(device, bus, serial="SIM"), Host(bus)


every_kind = pytest.mark.parametrize("kind", ["pty", "tcp", "usb"])


@every_kind
def test_bytes_and_ticks_reach_the_host(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        device = Echo()
        endpoint, host = make(kind, device, tmp_path)
        await endpoint.start()
        port = await host.open(endpoint.address)
        await device.until(lambda: "attached" in device.log)
        sent = random.Random(11).randbytes(200_000)
        port.write(sent)
        await host.until(lambda: host.data == sent)
        host.data.clear()
        device.deadline = endpoint.driver.now() + 0.001
        endpoint.poke()
        await host.until(lambda: host.data == b"tick")
        port.close()
        await endpoint.close()
        await endpoint.close()
        assert device.log == ["attached", "detached"]
        assert host.losses == []

    asyncio.run(work())


@every_kind
def test_pulling_the_cable_is_seen_and_putting_it_back_works(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        device = Echo()
        endpoint, host = make(kind, device, tmp_path)
        await endpoint.start()
        port = await host.open(endpoint.address)
        await device.until(lambda: "attached" in device.log)
        device.plugged = False
        endpoint.poke()
        await host.until(lambda: host.losses)
        port.close()
        assert device.log == ["attached", "detached"]
        with pytest.raises(PortError):
            await host.open(endpoint.address)
        device.deadline = endpoint.driver.now() + 0.001  # whose tick plugs it in: time passes for it all the same
        endpoint.poke()
        await device.until(lambda: device.ticks)
        port = await host.open(endpoint.address)
        port.write(b"back")
        await host.until(lambda: host.data.endswith(b"back"))
        assert len(host.losses) == 1
        port.close()
        await endpoint.close()

    asyncio.run(work())


@every_kind
def test_a_device_that_starts_unplugged_is_not_there(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        device = Echo()
        device.plugged = False
        endpoint, host = make(kind, device, tmp_path)
        await endpoint.start()
        with pytest.raises(PortError):
            await host.open(endpoint.address if kind != "tcp" else "socket://127.0.0.1:1")
        await endpoint.close()
        assert device.log == []

    asyncio.run(work())


@pytest.mark.parametrize("kind", ["tcp", "usb"])
def test_the_device_sees_the_host_come_and_go(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        device = Echo()
        endpoint, host = make(kind, device, tmp_path)
        await endpoint.start()
        for times in (1, 2):
            port = await host.open(endpoint.address)
            await device.until(lambda times=times: device.log.count("attached") == times)  # type: ignore[misc]
            port.close()
            await device.until(lambda times=times: device.log.count("detached") == times)  # type: ignore[misc]
        device.out += b"nobody hears this"
        endpoint.poke()
        port = await host.open(endpoint.address)
        port.write(b"x")
        await host.until(lambda: host.data == b"x")
        port.close()
        await endpoint.close()

    asyncio.run(work())


# ---- the pty ----


def test_a_stale_link_is_replaced_and_removed_in_the_end(tmp_path: Path) -> None:
    link = tmp_path / "shuffler"
    link.symlink_to("/dev/pts/nonexistent")

    async def work() -> None:
        endpoint = PtyEndpoint(Echo(), link)
        await endpoint.start()
        assert endpoint.address == str(link)
        assert os.readlink(link).startswith("/dev/pts/")
        await endpoint.close()
        assert not link.is_symlink()

    asyncio.run(work())


def test_a_file_in_the_links_place_is_left_alone(tmp_path: Path) -> None:
    link = tmp_path / "shuffler"
    link.write_text("precious")

    async def work() -> None:
        endpoint = PtyEndpoint(Echo(), link)
        with pytest.raises(FileExistsError, match="remove it first"):
            await endpoint.start()

    asyncio.run(work())
    assert link.read_text() == "precious"


def test_another_ones_link_is_not_removed(tmp_path: Path) -> None:
    async def work() -> None:
        first, second = PtyEndpoint(Echo(), tmp_path / "shoe"), PtyEndpoint(Echo(), tmp_path / "shoe")
        await first.start()
        await second.start()
        await first.close()
        assert (tmp_path / "shoe").is_symlink()
        await second.close()

    asyncio.run(work())


def test_a_pty_without_link_and_without_host_does_not_spin() -> None:
    async def work() -> None:
        device = Echo()
        endpoint, host = PtyEndpoint(device), Host()
        await endpoint.start()
        for _ in range(2):  # the host comes, goes, and comes again
            port = await host.open(endpoint.address)
            port.write(b"x")
            await host.until(lambda: host.data == b"x")
            host.data.clear()
            port.close()
        assert device.log == ["attached"]
        await endpoint.close()

    asyncio.run(work())


def test_output_that_nobody_reads_is_bounded() -> None:
    async def work() -> None:
        device = Echo()
        endpoint = PtyEndpoint(device)
        await endpoint.start()
        for _ in range(8):
            device.out += bytes(1 << 19)
            endpoint.poke()
        assert endpoint._pipe is not None
        assert len(endpoint._pipe._backlog) <= 1 << 20
        await endpoint.close()

    asyncio.run(work())


# ---- TCP ----


def test_a_second_client_is_turned_away() -> None:
    async def work() -> None:
        device = Echo()
        endpoint, first, second = TcpEndpoint(device), Host(), Host()
        await endpoint.start()
        port = await first.open(endpoint.address)
        await device.until(lambda: device.log)
        other = await second.open(endpoint.address)
        await second.until(lambda: second.losses)
        other.close()
        port.write(b"still here")
        await first.until(lambda: first.data == b"still here")
        port.close()
        await endpoint.close()
        assert first.losses == []

    asyncio.run(work())


def test_a_second_client_takes_the_place_of_one_without_a_session() -> None:
    """As of a host that lost its power: nothing has closed its connection."""

    async def work() -> None:
        device = Echo()
        device.in_session = False
        endpoint, first, second = TcpEndpoint(device), Host(), Host()
        await endpoint.start()
        dead = await first.open(endpoint.address)
        await device.until(lambda: device.log)
        port = await second.open(endpoint.address)
        await device.until(lambda: device.log.count("attached") == 2)
        port.write(b"here")
        await second.until(lambda: second.data == b"here")
        for open_port in (dead, port):
            open_port.close()
        await endpoint.close()
        assert second.losses == []

    asyncio.run(work())


def test_a_taken_port_is_an_error_at_the_start() -> None:
    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            endpoint = TcpEndpoint(Echo(), port=taken.getsockname()[1])
            with pytest.raises(OSError, match=r"[Aa]ddress"):
                await endpoint.start()
            await endpoint.close()

    asyncio.run(work())


# ---- time ----


class NoPipe:
    """Takes everything and does nothing."""

    def plug_in(self) -> None:
        pass

    def pull_out(self) -> None:
        pass

    def send(self, data: bytes) -> None:
        pass


def test_device_time_runs_faster() -> None:
    async def work() -> None:
        host_time = 100.0
        driver = Driver(Echo(), NoPipe(), speed=60.0, clock=lambda: host_time)
        assert driver.now() == 100.0
        host_time = 102.0
        assert driver.now() == 220.0

    asyncio.run(work())


def test_an_hour_passes_in_a_moment() -> None:
    async def work() -> None:
        device = Echo()
        driver = Driver(device, NoPipe(), speed=1e6)
        device.period = 600.0
        device.deadline = driver.now() + device.period
        driver.poke()
        await device.until(lambda: len(device.ticks) >= 6)
        driver.stop()

    asyncio.run(work())


def test_a_deadline_that_moves_away_costs_no_new_timer() -> None:
    async def work() -> None:
        device = Echo()
        driver = Driver(device, NoPipe())
        device.deadline = driver.now() + 1000
        driver.poke()
        timer = driver._timer
        for later in (2000, 3000):
            device.deadline = driver.now() + later
            driver.poke()
        assert driver._timer is timer
        device.deadline = driver.now() + 500
        driver.poke()
        assert driver._timer is not timer
        driver.stop()
        assert device.ticks == []

    asyncio.run(work())
