"""Waiting for a device to be plugged in, with and without udev."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from pytest_mock import MockerFixture

from firmware_bridge.ports import hotplug
from firmware_bridge.ports.hotplug import Backoff, Hotplug

LONG_S = 20.0  # generous: only a hang runs into it
NOWHERE = Path("/nonexistent/udev")


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(2 * LONG_S):
            await work

    asyncio.run(limited())


class Desk:
    """A list of what is plugged in, which changes after this many looks at it."""

    def __init__(self, *stages: set[str]) -> None:
        self.stages = [frozenset(stage) for stage in stages]
        self.looks = 0

    def __call__(self) -> frozenset[str]:
        self.looks += 1
        return self.stages[min(self.looks, len(self.stages)) - 1]


def test_backoff_doubles_up_to_its_cap_and_starts_again() -> None:
    backoff = Backoff()
    assert [backoff.next() for _ in range(8)] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])
    backoff.reset()
    assert backoff.next() == pytest.approx(0.1)
    assert [Backoff(first_s=9, cap_s=2).next() for _ in range(2)] == [2, 2]


def test_polling_wakes_on_a_new_device() -> None:
    async def work() -> None:
        desk = Desk({"a"}, {"a"}, {"a", "b"})
        watch = Hotplug(poll_s=0.001, lister=desk, udev_control=NOWHERE)
        await watch.start()
        assert watch.source == "polling"
        assert await watch.wait(LONG_S)
        assert watch.count == 1
        await watch.close()
        assert watch.source == "closed"

    run(work())


def test_every_waiter_wakes() -> None:
    async def work() -> None:
        watch = Hotplug(poll_s=0.001, lister=Desk(set(), set(), {"b"}), udev_control=NOWHERE)
        await watch.start()
        first, second = await asyncio.gather(watch.wait(LONG_S), watch.wait(LONG_S))
        assert (first, second) == (True, True)
        await watch.close()

    run(work())


def test_removal_alone_does_not_wake() -> None:
    async def work() -> None:
        watch = Hotplug(poll_s=0.001, lister=Desk({"a", "b"}, {"a"}), udev_control=NOWHERE)
        await watch.start()
        assert not await watch.wait(0.02)
        assert watch.count == 0
        await watch.close()

    run(work())


def test_a_plugging_between_the_attempt_and_the_wait_is_not_missed() -> None:
    async def work() -> None:
        watch = Hotplug(poll_s=0.001, lister=Desk(set(), {"a"}), udev_control=NOWHERE)
        await watch.start()
        before = watch.count
        assert await watch.wait(LONG_S)  # somebody else waited, and we were trying to open meanwhile
        assert await watch.wait(LONG_S, since=before)
        assert not await watch.wait(0.001, since=watch.count)
        await watch.close()

    run(work())


def test_nobody_waits_and_nothing_is_polled() -> None:
    async def work() -> None:
        desk = Desk(set())
        watch = Hotplug(poll_s=0.0, lister=desk, udev_control=NOWHERE)
        await watch.start()
        for _ in range(100):
            await asyncio.sleep(0)
        assert desk.looks == 1
        await watch.close()

    run(work())


def test_closing_ends_the_wait() -> None:
    async def work() -> None:
        watch = Hotplug(lister=Desk(set()), udev_control=NOWHERE)
        await watch.start()
        waiting = asyncio.create_task(watch.wait(LONG_S))
        await asyncio.sleep(0)
        await watch.close()
        await watch.close()
        assert await waiting is False

    run(work())


def test_the_default_lister_sees_ports_and_usb_devices(tmp_path: Path, mocker: MockerFixture) -> None:
    mocker.patch("serial.tools.list_ports.comports", return_value=[mocker.Mock(device="/dev/ttyUSB0")])
    for name in ("1-1", "1-1:1.0"):
        (tmp_path / name).mkdir()
    (tmp_path / "1-1" / "devnum").write_text("4\n")
    mocker.patch.object(hotplug, "USB_DEVICES", tmp_path)
    assert hotplug.list_devices() == {"/dev/ttyUSB0", "1-1#4"}
    mocker.patch.object(hotplug, "USB_DEVICES", tmp_path / "none")
    assert hotplug.list_devices() == {"/dev/ttyUSB0"}


# ---- udev ----


class FakeMonitor:
    """Stands for pyudev's monitor where no udevd runs: events come through a pipe."""

    def __init__(self, mocker: MockerFixture) -> None:
        self.mocker = mocker
        self.out, self.into = os.pipe()
        os.set_blocking(self.out, False)
        self.subsystems: list[str] = []

    def filter_by(self, subsystem: str) -> None:
        self.subsystems.append(subsystem)

    def start(self) -> None:
        pass

    def fileno(self) -> int:
        return self.out

    def poll(self, timeout: float) -> Any:
        assert timeout == 0
        try:
            action = os.read(self.out, 6).decode().strip()
        except BlockingIOError:
            return None
        if action == "broken":
            raise OSError(105, "No buffer space available")
        return self.mocker.Mock(action=action)

    def say(self, action: str) -> None:
        os.write(self.into, action.ljust(6).encode())

    def close(self) -> None:
        os.close(self.out)
        os.close(self.into)


@pytest.mark.parametrize(("actions", "plugged"), [(["remove", "add"], True), (["broken"], True), (["remove"], False)])
def test_udev_events_wake(tmp_path: Path, mocker: MockerFixture, actions: list[str], plugged: bool) -> None:
    monitor = FakeMonitor(mocker)
    mocker.patch("pyudev.Context")
    mocker.patch("pyudev.Monitor.from_netlink", return_value=monitor)

    async def work() -> None:
        watch = Hotplug(lister=Desk(set()), udev_control=tmp_path)
        await watch.start()
        assert watch.source == "udev"
        assert monitor.subsystems == ["tty", "usb"]
        waiting = asyncio.create_task(watch.wait(LONG_S if plugged else 0.02))
        await asyncio.sleep(0)
        for action in actions:
            monitor.say(action)
        assert await waiting is plugged
        await watch.close()

    run(work())
    monitor.close()


def test_the_real_pyudev_monitor_starts_and_stops(tmp_path: Path) -> None:
    pyudev = pytest.importorskip("pyudev")
    try:
        pyudev.Context()
    except ImportError:
        pytest.skip("no libudev")

    async def work() -> None:
        watch = Hotplug(lister=Desk(set()), udev_control=tmp_path)
        await watch.start()
        assert watch.source == "udev"
        assert await watch.wait(0.001) in (False, True)
        await watch.close()

    run(work())


@pytest.mark.parametrize("trouble", ["no pyudev", "no libudev", "no netlink"])
def test_without_udev_it_polls(tmp_path: Path, mocker: MockerFixture, trouble: str) -> None:
    if trouble == "no pyudev":
        mocker.patch.dict(sys.modules, {"pyudev": None})
    elif trouble == "no libudev":
        mocker.patch("pyudev.Context", side_effect=ImportError("No library named udev"))
    else:
        mocker.patch("pyudev.Monitor.from_netlink", side_effect=OSError("Could not create udev monitor"))

    async def work() -> None:
        watch = Hotplug(poll_s=0.001, lister=Desk(set(), {"a"}), udev_control=tmp_path)
        await watch.start()
        assert watch.source == "polling"
        assert await watch.wait(LONG_S)
        await watch.close()

    run(work())
