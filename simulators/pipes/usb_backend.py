"""USB devices in software: a pyusb backend, so that the real pyusb code runs without hardware.

Give a `SoftwareUsb` to pyusb as its backend and plug `SoftwareUsbDevice`s into it. pyusb calls from several
threads, so each device keeps one lock.
"""

from __future__ import annotations

import array
import errno
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NoReturn

import usb.backend
import usb.core

ENDPOINT_IN, ENDPOINT_OUT = 0x81, 0x01
BULK = 2
VENDOR_CLASS = 0xFF
ENGLISH = 0x0409
GET_DESCRIPTOR, STRING_DESCRIPTOR = 0x06, 0x03
FROM_HOST_LIMIT = 16384  # bytes that the device buffers before it makes the host wait


def _fail(code: int) -> NoReturn:
    kind = usb.core.USBTimeoutError if code == errno.ETIMEDOUT else usb.core.USBError
    raise kind(os.strerror(code), None, code)


@dataclass(frozen=True)
class SoftwareInterface:
    """One interface with the (address, attributes) of its endpoints."""

    number: int = 0
    interface_class: int = VENDOR_CLASS
    endpoints: tuple[tuple[int, int], ...] = ((ENDPOINT_IN, BULK), (ENDPOINT_OUT, BULK))


@dataclass(eq=False)
class SoftwareUsbDevice:
    """A device of one configuration whose bulk endpoints are a byte pipe.

    The device's side calls send(), take() and the plugs; `on_change` is called, in any thread and with no lock
    held, when bytes came from the host or the host took or left the interface.
    """

    vendor: int = 0x1209
    product: int = 0x5D0E
    serial: str | None = "SIM-1"
    product_name: str = "Simulated device"
    interfaces: tuple[SoftwareInterface, ...] = (SoftwareInterface(),)
    kernel_driver: bool = False  # a kernel driver sits on every interface
    configured: bool = True
    on_change: Callable[[], None] = lambda: None
    plugged: bool = True
    calls: list[str] = field(default_factory=list)  # what the host did, for tests: "claim 0", "attach 0" ...

    def __post_init__(self) -> None:
        self.lock = threading.Condition()
        self.address = 0  # the bus assigns a new one each time it is plugged in
        self.plugging = 0  # handles from before it was last plugged in are dead
        self.driver_on = {i.number for i in self.interfaces} if self.kernel_driver else set()
        self.claimed: dict[int, _Handle] = {}
        self.claims = 0  # how often the host has taken an interface
        self.stalled: set[int] = set()
        self.to_host = bytearray()
        self.from_host = bytearray()

    @property
    def attached(self) -> bool:
        """The host has taken an interface, so bytes can flow."""
        with self.lock:
            return self.plugged and bool(self.claimed)

    def send(self, data: bytes) -> None:
        """Bytes for the host; lost while the interface is not claimed."""
        with self.lock:
            if self.plugged and self.claimed:
                self.to_host += data
                self.lock.notify_all()

    def take(self) -> bytes:
        """Bytes that the host has written."""
        with self.lock:
            data = bytes(self.from_host)
            self.from_host.clear()
            self.lock.notify_all()
        return data

    def stall(self, endpoint: int) -> None:
        """Refuse transfers on this endpoint (EPIPE) until the host clears the halt."""
        with self.lock:
            self.stalled.add(endpoint)
            self.lock.notify_all()

    def unplug(self) -> None:
        """Pull the cable: anything the host does or is doing with it fails with ENODEV."""
        with self.lock:
            self.plugged = False
            self.plugging += 1
            self.claimed.clear()
            self.stalled.clear()
            self.to_host.clear()
            self.from_host.clear()
            self.driver_on = {i.number for i in self.interfaces} if self.kernel_driver else set()
            self.lock.notify_all()
        self.on_change()

    def plug(self) -> None:
        """Plug the cable in again; the bus gives the device a new address."""
        with self.lock:
            self.plugged = True
            self.address = 0

    @property
    def strings(self) -> dict[int, str]:
        """The string descriptors by index."""
        return {1: "Dragonshoe simulator", 2: self.product_name} | ({3: self.serial} if self.serial is not None else {})


def string_descriptor(device: SoftwareUsbDevice, index: int) -> bytes | None:
    """The bytes of a string descriptor; number 0 lists the languages. None if there is no such string."""
    strings = device.strings
    if index and index not in strings:
        return None
    text = strings[index].encode("utf-16-le") if index else ENGLISH.to_bytes(2, "little")
    return bytes((len(text) + 2, STRING_DESCRIPTOR)) + text


class _Handle:
    """An opened device, valid until it is unplugged."""

    def __init__(self, device: SoftwareUsbDevice) -> None:
        self.device = device
        self.plugging = device.plugging

    def check(self) -> SoftwareUsbDevice:
        if not self.device.plugged or self.plugging != self.device.plugging:
            _fail(errno.ENODEV)
        return self.device


class SoftwareUsb(usb.backend.IBackend):  # type: ignore[misc]  # pyusb has no types
    """The bus. Methods and their arguments are those of pyusb's IBackend."""

    def __init__(self, *devices: SoftwareUsbDevice) -> None:
        self.devices: list[SoftwareUsbDevice] = list(devices)
        self.refusal: int | None = None  # an errno with which every opening is refused, such as EACCES
        self._addresses = itertools.count(2)

    # ---- descriptors ----

    def enumerate_devices(self) -> Iterator[SoftwareUsbDevice]:
        for device in list(self.devices):
            with device.lock:
                if not device.plugged:
                    continue
                device.address = device.address or next(self._addresses)
            yield device

    def get_device_descriptor(self, dev: SoftwareUsbDevice) -> SimpleNamespace:
        return SimpleNamespace(
            bLength=18,
            bDescriptorType=1,
            bcdUSB=0x0200,
            bDeviceClass=0,
            bDeviceSubClass=0,
            bDeviceProtocol=0,
            bMaxPacketSize0=64,
            idVendor=dev.vendor,
            idProduct=dev.product,
            bcdDevice=0x0100,
            iManufacturer=1,
            iProduct=2,
            iSerialNumber=0 if dev.serial is None else 3,
            bNumConfigurations=1,
            address=dev.address,
            bus=1,
            port_number=1,
            port_numbers=(1,),
            speed=2,
        )

    def get_configuration_descriptor(self, dev: SoftwareUsbDevice, config: int) -> SimpleNamespace:
        if config != 0:
            raise IndexError(f"no configuration {config}")
        return SimpleNamespace(
            bLength=9,
            bDescriptorType=2,
            wTotalLength=9 + sum(9 + 7 * len(i.endpoints) for i in dev.interfaces),
            bNumInterfaces=len(dev.interfaces),
            bConfigurationValue=1,
            iConfiguration=0,
            bmAttributes=0x80,
            bMaxPower=50,
            extra_descriptors=[],
        )

    def get_interface_descriptor(self, dev: SoftwareUsbDevice, intf: int, alt: int, config: int) -> SimpleNamespace:
        if alt != 0:  # pyusb counts the alternate settings up until this is raised
            raise IndexError(f"no alternate setting {alt}")
        interface = dev.interfaces[intf]
        return SimpleNamespace(
            bLength=9,
            bDescriptorType=4,
            bInterfaceNumber=interface.number,
            bAlternateSetting=0,
            bNumEndpoints=len(interface.endpoints),
            bInterfaceClass=interface.interface_class,
            bInterfaceSubClass=0,
            bInterfaceProtocol=0,
            iInterface=0,
            extra_descriptors=[],
        )

    def get_endpoint_descriptor(
        self, dev: SoftwareUsbDevice, ep: int, intf: int, alt: int, config: int
    ) -> SimpleNamespace:
        address, attributes = dev.interfaces[intf].endpoints[ep]
        return SimpleNamespace(
            bLength=7,
            bDescriptorType=5,
            bEndpointAddress=address,
            bmAttributes=attributes,
            wMaxPacketSize=64,
            bInterval=0,
            bRefresh=0,
            bSynchAddress=0,
            extra_descriptors=[],
        )

    # ---- opening and taking ----

    def open_device(self, dev: SoftwareUsbDevice) -> _Handle:
        if self.refusal is not None:
            _fail(self.refusal)
        handle = _Handle(dev)
        handle.check()
        return handle

    def close_device(self, dev_handle: _Handle) -> None:
        device = dev_handle.device
        with device.lock:
            held = [number for number, handle in device.claimed.items() if handle is dev_handle]
            for number in held:
                del device.claimed[number]
        if held:
            device.on_change()

    def set_configuration(self, dev_handle: _Handle, config_value: int) -> None:
        with dev_handle.device.lock:
            device = dev_handle.check()
            if device.driver_on or device.claimed:
                _fail(errno.EBUSY)
            device.configured = config_value == 1

    def get_configuration(self, dev_handle: _Handle) -> int:
        with dev_handle.device.lock:
            return 1 if dev_handle.check().configured else 0

    def set_interface_altsetting(self, dev_handle: _Handle, intf: int, altsetting: int) -> None:
        with dev_handle.device.lock:
            dev_handle.check()
            if altsetting != 0:
                _fail(errno.ENOENT)

    def claim_interface(self, dev_handle: _Handle, intf: int) -> None:
        device = dev_handle.device
        with device.lock:
            dev_handle.check()
            if intf in device.driver_on or device.claimed.get(intf, dev_handle) is not dev_handle:
                _fail(errno.EBUSY)
            device.claimed[intf] = dev_handle
            device.claims += 1
            device.calls.append(f"claim {intf}")
            device.to_host.clear()
            device.from_host.clear()
        device.on_change()

    def release_interface(self, dev_handle: _Handle, intf: int) -> None:
        device = dev_handle.device
        with device.lock:
            dev_handle.check()
            if device.claimed.get(intf) is not dev_handle:
                _fail(errno.ENOENT)
            del device.claimed[intf]
            device.calls.append(f"release {intf}")
        device.on_change()

    def is_kernel_driver_active(self, dev_handle: _Handle, intf: int) -> bool:
        with dev_handle.device.lock:
            return intf in dev_handle.check().driver_on

    def detach_kernel_driver(self, dev_handle: _Handle, intf: int) -> None:
        with dev_handle.device.lock:
            device = dev_handle.check()
            if intf not in device.driver_on:
                _fail(errno.ENOENT)
            device.driver_on.discard(intf)
            device.calls.append(f"detach {intf}")

    def attach_kernel_driver(self, dev_handle: _Handle, intf: int) -> None:
        with dev_handle.device.lock:
            device = dev_handle.check()
            if intf in device.claimed:
                _fail(errno.EBUSY)
            device.driver_on.add(intf)
            device.calls.append(f"attach {intf}")

    def reset_device(self, dev_handle: _Handle) -> None:
        with dev_handle.device.lock:
            device = dev_handle.check()
            device.to_host.clear()
            device.from_host.clear()
            device.stalled.clear()

    def clear_halt(self, dev_handle: _Handle, ep: int) -> None:
        with dev_handle.device.lock:
            dev_handle.check().stalled.discard(ep)

    # ---- transfers ----

    def bulk_write(self, dev_handle: _Handle, ep: int, intf: int, data: array.array[int], timeout: int) -> int:
        device = dev_handle.device
        with device.lock:
            self._wait(dev_handle, ep, intf, lambda: len(device.from_host) < FROM_HOST_LIMIT, timeout)
            taken = data.tobytes()[: FROM_HOST_LIMIT - len(device.from_host)]
            device.from_host += taken
            device.lock.notify_all()
        device.on_change()
        return len(taken)

    def bulk_read(self, dev_handle: _Handle, ep: int, intf: int, buff: array.array[int], timeout: int) -> int:
        device = dev_handle.device
        with device.lock:
            self._wait(dev_handle, ep, intf, lambda: bool(device.to_host), timeout)
            chunk = bytes(device.to_host[: len(buff)])
            del device.to_host[: len(chunk)]
        buff[: len(chunk)] = array.array("B", chunk)
        return len(chunk)

    def ctrl_transfer(
        self,
        dev_handle: _Handle,
        bmRequestType: int,
        bRequest: int,
        wValue: int,
        wIndex: int,
        data: array.array[int],
        timeout: int,
    ) -> int:
        with dev_handle.device.lock:
            device = dev_handle.check()
        asked = bRequest == GET_DESCRIPTOR and wValue >> 8 == STRING_DESCRIPTOR
        text = string_descriptor(device, wValue & 0xFF) if asked else None
        if text is None:
            _fail(errno.EPIPE)  # a device answers an unknown request with a stall
        answer = text[: len(data)]
        data[: len(answer)] = array.array("B", answer)
        return len(answer)

    def _wait(self, handle: _Handle, ep: int, intf: int, ready: Callable[[], bool], timeout_ms: int) -> None:
        """With the lock held, wait for the device as a transfer does; raises what the transfer would."""
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            device = handle.check()
            if device.claimed.get(intf) is not handle:
                _fail(errno.ENOENT)
            if ep in device.stalled:
                _fail(errno.EPIPE)
            if ready():
                return
            left = deadline - time.monotonic()
            if left <= 0:
                _fail(errno.ETIMEDOUT)
            device.lock.wait(left)
