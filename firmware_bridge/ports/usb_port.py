"""A USB device with one bulk endpoint in each direction, through pyusb.

A kernel driver bound to the interface is detached while the port is open, and reattached afterwards.
"""

from __future__ import annotations

import array
import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import usb.core
import usb.util

from firmware_bridge.ports.threaded_port import ThreadedPort
from firmware_bridge.ports.transport import (
    OnBytes,
    OnLost,
    PortAbsent,
    PortBusy,
    PortError,
    PortLossReason,
    PortLost,
    PortSettings,
    PortUnsuitable,
    Transport,
    UsbAddress,
    denied,
    holder_of,
    loss_from,
    open_in_thread,
)

READ_SIZE = 4096  # a multiple of every bulk packet size (64, 512, 1024), so that a packet never overflows the buffer
BLOCK_MS = 50  # the longest that closing waits for a pending read or write
VENDOR_CLASS = 0xFF
LISTED_MAX = 5

# pyusb has no type hints: devices and their descriptors are Any here.


@dataclass(frozen=True, slots=True)
class _Pipe:
    """A claimed interface, with what is needed to use and to release it."""

    device: Any
    interface: int
    endpoint_in: int
    endpoint_out: int
    driver_detached: bool

    def read_into(self, buffer: array.array[int]) -> bytes:
        try:
            count = self.device.read(self.endpoint_in, buffer, BLOCK_MS)
        except usb.core.USBTimeoutError:
            return b""
        return buffer[:count].tobytes()

    def write(self, data: bytes) -> int:
        try:
            return int(self.device.write(self.endpoint_out, data, BLOCK_MS))
        except usb.core.USBTimeoutError:
            return 0

    def release(self) -> None:
        _release(self.device, self.interface, self.driver_detached)


async def open_usb(address: UsbAddress, on_bytes: OnBytes, on_lost: OnLost, settings: PortSettings) -> Transport:
    """Find the device, claim its bulk interface and start the port; raises PortError."""
    name = str(address)
    pipe = await open_in_thread(partial(_open, address, settings), _Pipe.release, name)
    buffer = usb.util.create_buffer(READ_SIZE)
    return ThreadedPort(
        name,
        partial(pipe.read_into, buffer),
        pipe.write,
        pipe.release,
        on_bytes,
        on_lost,
        judge=_judge,
        backlog_limit=settings.backlog_limit,
    )


def _judge(error: Exception, name: str) -> PortLost:
    if isinstance(error, OSError) and error.errno == errno.EPIPE:  # on USB this is not a hang-up
        return PortLost(PortLossReason.FAILED, f"{name}: the device rejected the transfer (stalled endpoint)")
    return loss_from(error, name)


def _open(address: UsbAddress, settings: PortSettings) -> _Pipe:
    try:
        device = _find(address, settings)
    except usb.core.NoBackendError:
        raise PortUnsuitable(f"{address}: libusb is not installed; run `sudo apt install libusb-1.0-0`") from None
    except usb.core.USBError as error:
        raise PortUnsuitable(f"{address}: the USB bus cannot be read ({error})") from None
    try:
        return _claim(device, address, settings)
    except BaseException as error:
        usb.util.dispose_resources(device)
        if isinstance(error, usb.core.USBError):
            raise _explain(error, device, address) from None
        raise


# ---- which device ----


def _find(address: UsbAddress, settings: PortSettings) -> Any:
    everything = list(usb.core.find(find_all=True, backend=settings.usb_backend))
    kind = [d for d in everything if (d.idVendor, d.idProduct) == (address.vendor, address.product)]
    serials = {id(d): _serial_of(d, address) for d in kind}
    fitting = [d for d in kind if address.serial in (None, serials[id(d)])]
    if len(fitting) == 1:
        for other in kind:
            if other is not fitting[0]:
                usb.util.dispose_resources(other)
        return fitting[0]
    for other in kind:
        usb.util.dispose_resources(other)
    if fitting:
        raise PortUnsuitable(
            f"{address}: {len(fitting)} such devices are plugged in ({_listed(serials.values())}); "
            f"select one by its serial number, as in {address}:SERIAL"
        )
    if kind:
        raise PortAbsent(f"{address}: not plugged in; other devices of this type: {_listed(serials.values())}")
    near = [f"usb:{d.idVendor:04x}:{d.idProduct:04x}" for d in everything if d.idVendor == address.vendor]
    others = f"other devices of this vendor: {_listed(near)}" if near else "no other device of this vendor was found"
    raise PortAbsent(f"{address}: not plugged in; {others}; check the cable and the device's power")


def _listed(names: Iterable[str | None]) -> str:
    shown = sorted(name if name is not None else "one without a serial number" for name in names)
    rest = len(shown) - LISTED_MAX
    return ", ".join(shown[:LISTED_MAX]) + (f" and {rest} more" if rest > 0 else "")


def _serial_of(device: Any, address: UsbAddress) -> str | None:
    # Not device.serial_number: if permission is denied, it reports a missing language instead.
    if not device.iSerialNumber:
        return None
    try:
        languages = usb.util.get_langids(device)
        text = usb.util.get_string(device, device.iSerialNumber, languages[0]) if languages else None
    except usb.core.USBError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise _explain(error, device, address) from None
        return None  # just unplugged, or its serial number is unreadable: not the device asked for
    return None if text is None else str(text)


# ---- its interface ----


def _claim(device: Any, address: UsbAddress, settings: PortSettings) -> _Pipe:
    try:
        configuration = device.get_active_configuration()
    except usb.core.USBError as error:
        if error.errno is not None:
            raise
        device.set_configuration()  # an error of pyusb itself has no errno: no configuration is set yet
        configuration = device.get_active_configuration()
    interface, endpoint_in, endpoint_out = _choose_interface(configuration, address, settings)
    number = int(interface.bInterfaceNumber)
    detached = False
    try:
        detached = _detach_driver(device, number)
        usb.util.claim_interface(device, number)
        if interface.bAlternateSetting:
            interface.set_altsetting()
    except BaseException:
        _release(device, number, detached)
        raise
    return _Pipe(device, number, endpoint_in, endpoint_out, detached)


def _choose_interface(configuration: Any, address: UsbAddress, settings: PortSettings) -> tuple[Any, int, int]:
    """The interface with one bulk endpoint in each direction, preferably a vendor-specific one."""
    choices = []
    for interface in configuration:
        if settings.usb_interface not in (None, interface.bInterfaceNumber):
            continue
        bulk = [e for e in interface if usb.util.endpoint_type(e.bmAttributes) == usb.util.ENDPOINT_TYPE_BULK]
        ins = _pick(bulk, usb.util.ENDPOINT_IN, settings.usb_in)
        outs = _pick(bulk, usb.util.ENDPOINT_OUT, settings.usb_out)
        if len(ins) == len(outs) == 1:
            choices.append((interface, ins[0], outs[0]))
    if not choices:
        which = "" if settings.usb_interface is None else f" {settings.usb_interface}"
        raise PortUnsuitable(
            f"{address}: no interface{which} with one bulk endpoint in each direction; is it the right device?"
        )
    return min(choices, key=lambda c: (c[0].bInterfaceClass != VENDOR_CLASS, c[0].bInterfaceNumber))


def _pick(endpoints: list[Any], direction: int, wanted: int | None) -> list[int]:
    found = [int(e.bEndpointAddress) for e in endpoints]
    return [a for a in found if usb.util.endpoint_direction(a) == direction and wanted in (None, a)]


def _detach_driver(device: Any, number: int) -> bool:
    try:
        active = device.is_kernel_driver_active(number)
    except (NotImplementedError, usb.core.USBError) as error:
        if getattr(error, "errno", None) in (errno.ENODEV, errno.EACCES):
            raise
        return False  # not supported on this system: claiming the interface will show
    if active:
        device.detach_kernel_driver(number)
    return bool(active)


def _release(device: Any, number: int, driver_detached: bool) -> None:
    """Undo _claim(); on an unplugged device every step fails, which is fine."""
    steps: list[Callable[[], None]] = [partial(usb.util.release_interface, device, number)]
    if driver_detached:
        steps.append(partial(device.attach_kernel_driver, number))
    steps.append(partial(usb.util.dispose_resources, device))
    for step in steps:
        with contextlib.suppress(usb.core.USBError):
            step()


def _explain(error: OSError, device: Any, address: UsbAddress) -> PortError:
    node = f"/dev/bus/usb/{device.bus or 0:03d}/{device.address or 0:03d}"
    if error.errno in (errno.ENODEV, errno.ENOENT, errno.EIO):
        return PortAbsent(f"{address}: was unplugged while being opened")
    if error.errno == errno.EBUSY:
        return PortBusy(f"{address}: held{holder_of(node) or ' by another program'}; stop that first")
    if error.errno in (errno.EACCES, errno.EPERM):
        return denied(str(address), node, error.errno)
    reason = error.strerror or (os.strerror(error.errno) if error.errno else "no reason given")
    return PortUnsuitable(f"{address}: unusable ({reason})")
