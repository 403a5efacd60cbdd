"""USB ports: the real pyusb code over a USB bus in software."""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Coroutine
from typing import Any

import pytest
import usb.core
import usb.util
from pytest_mock import MockerFixture

from firmware_bridge.ports.transport import (
    PortAbsent,
    PortBusy,
    PortDenied,
    PortError,
    PortLossReason,
    PortSettings,
    PortUnsuitable,
    Transport,
    open_port,
)
from simulators.pipes.usb_backend import (
    BULK,
    ENDPOINT_IN,
    ENDPOINT_OUT,
    SoftwareInterface,
    SoftwareUsb,
    SoftwareUsbDevice,
)
from tests.support.port_listener import LIMIT_S, PortListener, threads

ADDRESS = "usb:1209:5d0e"


class Host(PortListener):
    """The host's end of a software USB bus."""

    async def open_on(self, bus: SoftwareUsb, address: str = ADDRESS, **settings: Any) -> Transport:
        return await open_port(address, self.on_bytes, self.on_lost, PortSettings(usb_backend=bus, **settings))


def run(work: Coroutine[Any, Any, None]) -> None:
    before = threads()
    asyncio.run(work)
    assert threads() <= before


def refused(bus: SoftwareUsb, address: str = ADDRESS, **settings: Any) -> PortError:
    async def work() -> None:
        await Host().open_on(bus, address, **settings)

    with pytest.raises(PortError) as caught:
        run(work())
    assert "\n" not in str(caught.value)
    return caught.value


def collect(device: SoftwareUsbDevice, size: int) -> bytes:
    """Read like a device, in the thread that calls."""
    got = bytearray()
    with device.lock:
        while len(got) < size:
            got += device.take()
            if len(got) < size:
                assert device.lock.wait_for(lambda: device.from_host, LIMIT_S)
    return bytes(got)


def echo_on_change(device: SoftwareUsbDevice) -> None:
    device.on_change = lambda: device.send(device.take())


# ---- the bus itself, as pyusb sees it ----


def test_pyusb_reads_the_strings() -> None:
    bus = SoftwareUsb(SoftwareUsbDevice(serial="SH-0042", product_name="Shuffler"))
    device = usb.core.find(backend=bus, idVendor=0x1209)
    assert (device.serial_number, device.product) == ("SH-0042", "Shuffler")
    assert usb.core.find(backend=bus, idVendor=0x1210) is None
    usb.util.dispose_resources(device)


def test_pyusb_sees_time_outs_stalls_and_unplugging() -> None:
    software = SoftwareUsbDevice()
    device = usb.core.find(backend=SoftwareUsb(software))
    with pytest.raises(usb.core.USBTimeoutError) as caught:
        device.read(ENDPOINT_IN, 64, 1)
    assert caught.value.errno == errno.ETIMEDOUT
    software.stall(ENDPOINT_IN)
    with pytest.raises(usb.core.USBError) as caught:
        device.read(ENDPOINT_IN, 64, 1)
    assert caught.value.errno == errno.EPIPE
    device.clear_halt(ENDPOINT_IN)
    software.send(b"abc")
    assert device.read(ENDPOINT_IN, 64, 1).tobytes() == b"abc"
    software.unplug()
    software.plug()
    with pytest.raises(usb.core.USBError) as caught:  # the handle is of the plugging before
        device.write(ENDPOINT_OUT, b"x", 1)
    assert caught.value.errno == errno.ENODEV
    usb.util.dispose_resources(device)


# ---- opening ----


def test_bytes_go_both_ways() -> None:
    async def work() -> None:
        device = SoftwareUsbDevice()
        echo_on_change(device)
        heard = Host()
        port = await heard.open_on(SoftwareUsb(device))
        assert port.name == ADDRESS
        sent = random.Random(9).randbytes(50_000)
        port.write(sent[:10])
        port.write(sent[10:])
        await heard.until(lambda: heard.data == sent)
        port.close()
        port.close()
        port.write(b"after")
        assert device.calls == ["claim 0", "release 0"]
        assert heard.losses == []

    run(work())


def test_the_serial_number_picks_the_device() -> None:
    async def work() -> None:
        first, second = SoftwareUsbDevice(serial="A"), SoftwareUsbDevice(serial="B")
        port = await Host().open_on(SoftwareUsb(first, second), f"{ADDRESS}:B")
        assert (first.attached, second.attached) == (False, True)
        port.close()

    run(work())


def test_a_device_without_serial_number_is_found_without_one() -> None:
    async def work() -> None:
        port = await Host().open_on(SoftwareUsb(SoftwareUsbDevice(serial=None)))
        port.close()

    run(work())


def test_an_unconfigured_device_is_configured() -> None:
    async def work() -> None:
        device = SoftwareUsbDevice(configured=False)
        port = await Host().open_on(SoftwareUsb(device))
        assert device.configured
        port.close()

    run(work())


def test_a_wrong_serial_number_says_which_are_there() -> None:
    error = refused(SoftwareUsb(SoftwareUsbDevice(serial="B"), SoftwareUsbDevice(serial="A")), f"{ADDRESS}:C")
    assert isinstance(error, PortAbsent)
    assert str(error) == f"{ADDRESS}:C: not plugged in; other devices of this type: A, B"


def test_a_wrong_product_says_what_is_near() -> None:
    error = refused(SoftwareUsb(SoftwareUsbDevice(product=0x0001), SoftwareUsbDevice(vendor=0x0403)))
    assert isinstance(error, PortAbsent)
    assert "usb:1209:0001" in str(error)
    assert "0403" not in str(error)


def test_an_empty_bus_says_so() -> None:
    assert "check the cable" in str(refused(SoftwareUsb()))
    assert isinstance(refused(SoftwareUsb(SoftwareUsbDevice(plugged=False))), PortAbsent)


def test_two_devices_and_no_serial_number_are_not_guessed_at() -> None:
    error = refused(SoftwareUsb(SoftwareUsbDevice(serial="A"), SoftwareUsbDevice(serial="B")))
    assert isinstance(error, PortUnsuitable)
    assert "A, B" in str(error)


def test_no_libusb_names_the_package(mocker: MockerFixture) -> None:
    for library in ("libusb1", "libusb0", "openusb"):
        mocker.patch(f"usb.backend.{library}.get_backend", return_value=None)

    async def work() -> None:
        await open_port(ADDRESS, print, print)

    with pytest.raises(PortUnsuitable, match=r"apt install libusb-1\.0-0"):
        run(work())


def test_a_denied_device_says_what_to_do() -> None:
    bus = SoftwareUsb(SoftwareUsbDevice())
    bus.refusal = errno.EACCES
    error = refused(bus)
    assert isinstance(error, PortDenied)
    assert "/dev/bus/usb/001/002" in str(error)


def test_an_unplugging_while_opening_is_absence() -> None:
    bus = SoftwareUsb(SoftwareUsbDevice(serial=None))
    bus.refusal = errno.ENODEV
    assert isinstance(refused(bus), PortAbsent)


def test_a_device_in_use_is_busy() -> None:
    async def work() -> None:
        bus = SoftwareUsb(SoftwareUsbDevice())
        port = await Host().open_on(bus)
        with pytest.raises(PortBusy):
            await Host().open_on(bus)
        port.close()
        again = await Host().open_on(bus)
        again.close()

    run(work())


HID = SoftwareInterface(0, 0x03, ((0x83, 3),))
STORAGE = SoftwareInterface(1, 0x08, ((0x82, BULK), (0x02, BULK)))
VENDOR = SoftwareInterface(2)
TWIN = SoftwareInterface(3, 0xFF, ((0x84, BULK), (0x85, BULK), (0x04, BULK)))


@pytest.mark.parametrize(
    ("interfaces", "settings", "chosen"),
    [
        ((HID, STORAGE, VENDOR), {}, 2),  # the vendor's own class is preferred
        ((HID, STORAGE), {}, 1),
        ((HID, STORAGE, VENDOR), {"usb_interface": 1}, 1),
        ((VENDOR, TWIN), {"usb_in": 0x85, "usb_out": 0x04}, 3),
    ],
)
def test_the_interface_is_chosen(
    interfaces: tuple[SoftwareInterface, ...], settings: dict[str, Any], chosen: int
) -> None:
    async def work() -> None:
        device = SoftwareUsbDevice(interfaces=interfaces)
        port = await Host().open_on(SoftwareUsb(device), **settings)
        assert device.calls == [f"claim {chosen}"]
        port.close()

    run(work())


def test_a_device_without_bulk_endpoints_is_unsuitable() -> None:
    assert isinstance(refused(SoftwareUsb(SoftwareUsbDevice(interfaces=(HID,)))), PortUnsuitable)
    assert "interface 7" in str(refused(SoftwareUsb(SoftwareUsbDevice()), usb_interface=7))
    assert isinstance(refused(SoftwareUsb(SoftwareUsbDevice(interfaces=(TWIN,)))), PortUnsuitable)


# ---- the kernel's driver ----


def test_the_kernel_driver_steps_aside_and_comes_back() -> None:
    async def work() -> None:
        device = SoftwareUsbDevice(kernel_driver=True)
        port = await Host().open_on(SoftwareUsb(device))
        assert device.driver_on == set()
        port.close()
        assert device.calls == ["detach 0", "claim 0", "release 0", "attach 0"]
        assert device.driver_on == {0}

    run(work())


def test_the_kernel_driver_comes_back_when_opening_fails_half_way(mocker: MockerFixture) -> None:
    device = SoftwareUsbDevice(kernel_driver=True)
    bus = SoftwareUsb(device)
    mocker.patch.object(bus, "claim_interface", side_effect=usb.core.USBError("busy", None, errno.EBUSY))
    assert isinstance(refused(bus), PortBusy)
    assert device.calls == ["detach 0", "attach 0"]


# ---- losing it ----


def test_unplugging_in_the_middle_of_a_read_is_told_once() -> None:
    async def work() -> None:
        device = SoftwareUsbDevice(kernel_driver=True)
        heard = Host()
        port = await heard.open_on(SoftwareUsb(device))
        device.send(b"last words")
        await heard.until(lambda: heard.data)
        device.unplug()
        await heard.until(lambda: heard.losses)
        port.write(b"into the void")
        port.close()
        assert [loss.reason for loss in heard.losses] == [PortLossReason.VANISHED]

    run(work())


def test_a_device_plugged_in_again_is_opened_again() -> None:
    async def work() -> None:
        device = SoftwareUsbDevice()
        bus = SoftwareUsb(device)
        heard = Host()
        port = await heard.open_on(bus)
        device.unplug()
        await heard.until(lambda: heard.losses)
        port.close()
        device.plug()
        port = await heard.open_on(bus)
        device.send(b"back")
        await heard.until(lambda: heard.data == b"back")
        port.close()

    run(work())


@pytest.mark.parametrize("endpoint", [ENDPOINT_IN, ENDPOINT_OUT])
def test_a_stall_is_a_failure(endpoint: int) -> None:
    async def work() -> None:
        device = SoftwareUsbDevice()
        heard = Host()
        port = await heard.open_on(SoftwareUsb(device))
        device.stall(endpoint)
        port.write(b"x")
        await heard.until(lambda: heard.losses)
        port.close()
        assert [loss.reason for loss in heard.losses] == [PortLossReason.FAILED]
        assert device.calls == ["claim 0", "release 0"]

    run(work())


def test_a_device_that_takes_nothing_is_declared_lost() -> None:
    async def work() -> None:
        heard = Host()
        port = await heard.open_on(SoftwareUsb(SoftwareUsbDevice()))
        port.write(bytes(1 << 20))
        assert heard.losses == []
        await heard.until(lambda: heard.losses)
        port.close()
        assert [loss.reason for loss in heard.losses] == [PortLossReason.OVERFLOWED]

    run(work())


def test_a_slow_device_gets_all_in_order() -> None:
    async def work() -> None:
        device = SoftwareUsbDevice()
        heard = Host()
        port = await heard.open_on(SoftwareUsb(device), backlog_limit=1 << 21)
        sent = random.Random(10).randbytes(1 << 20)
        port.write(sent)
        assert await asyncio.to_thread(collect, device, len(sent)) == sent
        port.close()
        assert heard.losses == []

    run(work())


@pytest.mark.parametrize("happens", ["bytes", "unplug", "overflow"])
def test_close_is_silent(happens: str) -> None:
    async def work() -> None:
        device = SoftwareUsbDevice()
        heard = Host()
        port = await heard.open_on(SoftwareUsb(device))
        if happens == "bytes":
            device.send(b"late")
        elif happens == "unplug":
            device.unplug()
        else:
            port.write(bytes(1 << 20))
        port.close()
        for _ in range(50):
            await asyncio.sleep(0)
        assert (bytes(heard.data), heard.losses) == (b"", [])

    run(work())
