"""A device on the USB of a virtual machine: the far end of QEMU's `usb-redir`, in the usbredir protocol.

Pure: bytes from the machine go in, bytes for it come out. The machine's kernel sees an ordinary USB device, with the
same descriptors as on the software bus of usb_backend.py.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from types import SimpleNamespace

from simulators.pipes.usb_backend import (
    ENDPOINT_IN,
    ENDPOINT_OUT,
    GET_DESCRIPTOR,
    STRING_DESCRIPTOR,
    SoftwareUsb,
    SoftwareUsbDevice,
    string_descriptor,
)

NAME = b"dragonshoe simulator"
# A device's buffer for a machine that does not read; what does not fit is lost, as in a real one.
TO_HOST_LIMIT = 16384
LONGEST_PACKET = 1 << 20  # far above anything sent to a device like this: more is not usbredir

SHORT_HEADER = struct.Struct("<III")  # type, length, id: until both sides have said that they know long ids
LONG_HEADER = struct.Struct("<IIQ")
CONTROL = struct.Struct("<BBBBHHH")  # endpoint, request, kind of request, status, value, index, length
BULK_HEADER = struct.Struct("<BBHI")  # endpoint, status, length, stream
BULK_LONG_HEADER = struct.Struct("<BBHIH")  # and the upper half of the length
HELLO_NAME_SIZE = 64
SLOTS = 32  # the tables of interfaces and endpoints always have this many rows
NO_ENDPOINT = 255

FULL_SPEED = 1
DEVICE_DESCRIPTOR, CONFIGURATION_DESCRIPTOR = 0x01, 0x02
GET_STATUS, CLEAR_FEATURE = 0x00, 0x01
TO_THE_HOST = 0x80


class Type(IntEnum):
    """The packets used here."""

    HELLO = 0
    DEVICE_CONNECT = 1
    DEVICE_DISCONNECT = 2
    RESET = 3
    INTERFACE_INFO = 4
    EP_INFO = 5
    SET_CONFIGURATION = 6
    GET_CONFIGURATION = 7
    CONFIGURATION_STATUS = 8
    SET_ALT_SETTING = 9
    GET_ALT_SETTING = 10
    ALT_SETTING_STATUS = 11
    CANCEL_DATA = 21
    CONTROL = 100
    BULK = 101


class UsbRedirStatus(IntEnum):
    """How a transfer ended."""

    SUCCESS = 0
    CANCELLED = 1
    INVALID = 2
    STALL = 4


class UsbRedirCapability(IntEnum):
    """What a side knows beyond the first version; a feature is used when both know it. The value is a bit number."""

    DEVICE_VERSION = 1
    MAX_PACKET_SIZE = 4
    LONG_IDS = 5
    LONG_BULK = 6


OURS = frozenset(UsbRedirCapability)


class UsbRedirError(Exception):
    """The other side does not speak usbredir; the text is one line for a person."""


class UsbRedir:
    """A device while it is plugged in: begins with the greeting, ends when the connection does."""

    def __init__(self, device: SoftwareUsbDevice) -> None:
        self.configured = False  # the machine's kernel uses the device: bytes can flow
        self.configurations = 0  # how often it has begun to
        self._device = device
        self._descriptors = SoftwareUsb(device)
        self._input = bytearray()
        self._output = bytearray()
        self._shared: frozenset[UsbRedirCapability] = frozenset()
        self._greeted = False
        self._to_host = bytearray()
        self._from_host = bytearray()
        self._reads: deque[tuple[int, int]] = deque()  # id and size of the reads that wait for bytes
        self._last_read: tuple[int, bytes] = (-1, b"")
        self._doing: dict[int, Callable[[int, bytes], None]] = {
            Type.RESET: self._reset,
            Type.SET_CONFIGURATION: self._set_configuration,
            Type.GET_CONFIGURATION: lambda id_, _: self._send_configuration(id_),
            Type.SET_ALT_SETTING: self._set_alt_setting,
            Type.GET_ALT_SETTING: lambda id_, body: self._send_alt_setting(id_, body[0], UsbRedirStatus.SUCCESS),
            Type.CANCEL_DATA: self._cancel,
            Type.CONTROL: self._control,
            Type.BULK: self._bulk,
        }
        bits = sum(1 << capability for capability in OURS)
        self._write(Type.HELLO, 0, NAME.ljust(HELLO_NAME_SIZE, b"\0") + struct.pack("<I", bits))

    # ---- the device's side ----

    def send(self, data: bytes) -> None:
        """Bytes for the machine; lost while its kernel does not use the device, or when the buffer is full."""
        if self.configured:
            self._to_host += data[: TO_HOST_LIMIT - len(self._to_host)]
            self._answer_reads()

    def take(self) -> bytes:
        """Bytes that the machine has written."""
        data = bytes(self._from_host)
        self._from_host.clear()
        return data

    # ---- the connection's side ----

    def receive(self, data: bytes) -> None:
        """Bytes of the protocol; raises UsbRedirError."""
        self._input += data
        while (packet := self._next_packet()) is not None:
            kind, id_, body = packet
            if not self._greeted:
                self._hello(kind, body)
            elif kind in self._doing:  # requests that do not apply to a device like this are ignored
                try:
                    self._doing[kind](id_, body)
                except (struct.error, IndexError):
                    raise UsbRedirError(f"a usbredir packet of type {kind} is too short") from None

    def take_output(self) -> bytes:
        """Bytes of the protocol for the machine."""
        data = bytes(self._output)
        self._output.clear()
        return data

    def _next_packet(self) -> tuple[int, int, bytes] | None:
        header = self._header
        if len(self._input) < header.size:
            return None
        kind, length, id_ = header.unpack_from(self._input)
        if length > LONGEST_PACKET:
            raise UsbRedirError(f"a packet of {length} bytes: this is not usbredir")
        end = header.size + length
        if len(self._input) < end:
            return None
        body = bytes(self._input[header.size : end])
        del self._input[:end]
        return kind, id_, body

    @property
    def _header(self) -> struct.Struct:
        return LONG_HEADER if UsbRedirCapability.LONG_IDS in self._shared else SHORT_HEADER

    def _write(self, kind: Type, id_: int, body: bytes = b"") -> None:
        self._output += self._header.pack(kind, len(body), id_) + body

    def _hello(self, kind: int, body: bytes) -> None:
        if kind != Type.HELLO or len(body) < HELLO_NAME_SIZE:
            raise UsbRedirError("no greeting came: this is not usbredir")
        words = body[HELLO_NAME_SIZE : HELLO_NAME_SIZE + 4].ljust(4, b"\0")
        bits = int.from_bytes(words, "little")
        self._shared = frozenset(capability for capability in OURS if bits >> capability & 1)
        self._greeted = True
        self._send_interfaces()
        about = self._descriptors.get_device_descriptor(self._device)
        connect = struct.pack(
            "<BBBBHH",
            FULL_SPEED,
            about.bDeviceClass,
            about.bDeviceSubClass,
            about.bDeviceProtocol,
            about.idVendor,
            about.idProduct,
        )
        if UsbRedirCapability.DEVICE_VERSION in self._shared:
            connect += struct.pack("<H", about.bcdDevice)
        self._write(Type.DEVICE_CONNECT, 0, connect)

    # ---- configuration ----

    def _send_interfaces(self) -> None:
        numbers, classes = bytearray(SLOTS), bytearray(SLOTS)
        kinds, interfaces, sizes = bytearray([NO_ENDPOINT] * SLOTS), bytearray(SLOTS), [0] * SLOTS
        kinds[_slot(0x00)] = kinds[_slot(0x80)] = 0  # control
        for row, interface in enumerate(self._device.interfaces):
            numbers[row], classes[row] = interface.number, interface.interface_class
            for index in range(len(interface.endpoints)):
                end = self._descriptors.get_endpoint_descriptor(self._device, index, row, 0, 0)
                slot = _slot(end.bEndpointAddress)
                kinds[slot], interfaces[slot], sizes[slot] = end.bmAttributes & 3, interface.number, end.wMaxPacketSize
        nothing = bytes(SLOTS)
        count = struct.pack("<I", len(self._device.interfaces))
        self._write(Type.INTERFACE_INFO, 0, count + numbers + classes + nothing + nothing)
        ends = bytes(kinds) + nothing + interfaces  # between them the intervals, which bulk does not have
        if UsbRedirCapability.MAX_PACKET_SIZE in self._shared:
            ends += struct.pack(f"<{SLOTS}H", *sizes)
        self._write(Type.EP_INFO, 0, ends)

    def _reset(self, id_: int, body: bytes) -> None:
        self.configured = False
        self._forget()

    def _set_configuration(self, id_: int, body: bytes) -> None:
        self.configured = body[0] == self._descriptors.get_configuration_descriptor(self._device, 0).bConfigurationValue
        self.configurations += self.configured
        self._forget()
        self._send_interfaces()
        self._send_configuration(
            id_, UsbRedirStatus.SUCCESS if self.configured or body[0] == 0 else UsbRedirStatus.STALL
        )

    def _send_configuration(self, id_: int, status: UsbRedirStatus = UsbRedirStatus.SUCCESS) -> None:
        self._write(Type.CONFIGURATION_STATUS, id_, bytes((status, int(self.configured))))

    def _set_alt_setting(self, id_: int, body: bytes) -> None:
        interface, setting = body[0], body[1]
        self._send_alt_setting(id_, interface, UsbRedirStatus.STALL if setting else UsbRedirStatus.SUCCESS)

    def _send_alt_setting(self, id_: int, interface: int, status: UsbRedirStatus) -> None:
        self._write(Type.ALT_SETTING_STATUS, id_, bytes((status, interface, 0)))

    def _forget(self) -> None:
        self._reads.clear()
        self._last_read = (-1, b"")
        self._to_host.clear()
        self._from_host.clear()

    # ---- transfers ----

    def _control(self, id_: int, body: bytes) -> None:
        endpoint, request, kind, _, value, index, length = CONTROL.unpack_from(body)
        answer = self._asked(request, value)
        status = UsbRedirStatus.STALL if answer is None else UsbRedirStatus.SUCCESS
        answer = (answer or b"")[:length] if kind & TO_THE_HOST else b""
        size = len(answer) if kind & TO_THE_HOST else length
        self._write(Type.CONTROL, id_, CONTROL.pack(endpoint, request, kind, status, value, index, size) + answer)

    def _asked(self, request: int, value: int) -> bytes | None:
        """What a control request is answered with; None is a stall."""
        kind, index = value >> 8, value & 0xFF
        if request == CLEAR_FEATURE:
            return b""
        if request == GET_STATUS:
            return bytes(2)
        if request != GET_DESCRIPTOR:
            return None
        if kind == DEVICE_DESCRIPTOR:
            return _device_bytes(self._descriptors.get_device_descriptor(self._device))
        if kind == CONFIGURATION_DESCRIPTOR and index == 0:
            return self._configuration_bytes()
        if kind == STRING_DESCRIPTOR:
            return string_descriptor(self._device, index)
        return None

    def _configuration_bytes(self) -> bytes:
        about, device = self._descriptors, self._device
        whole = about.get_configuration_descriptor(device, 0)
        parts = [
            struct.pack(
                "<BBHBBBBB",
                whole.bLength,
                whole.bDescriptorType,
                whole.wTotalLength,
                whole.bNumInterfaces,
                whole.bConfigurationValue,
                whole.iConfiguration,
                whole.bmAttributes,
                whole.bMaxPower,
            )
        ]
        for row, interface in enumerate(device.interfaces):
            parts.append(_interface_bytes(about.get_interface_descriptor(device, row, 0, 0)))
            parts += [
                _endpoint_bytes(about.get_endpoint_descriptor(device, index, row, 0, 0))
                for index in range(len(interface.endpoints))
            ]
        return b"".join(parts)

    @property
    def _bulk_header(self) -> struct.Struct:
        return BULK_LONG_HEADER if UsbRedirCapability.LONG_BULK in self._shared else BULK_HEADER

    def _bulk(self, id_: int, body: bytes) -> None:
        header = self._bulk_header
        endpoint, _, length, _, *upper = header.unpack_from(body)
        length += upper[0] << 16 if upper else 0
        if not self.configured or endpoint not in (ENDPOINT_IN, ENDPOINT_OUT):
            self._send_bulk(id_, endpoint, UsbRedirStatus.INVALID, 0)
        elif endpoint == ENDPOINT_IN:
            self._reads.append((id_, length))
            self._answer_reads()
        else:
            self._from_host += body[header.size :]
            self._send_bulk(id_, endpoint, UsbRedirStatus.SUCCESS, length)

    def _send_bulk(self, id_: int, endpoint: int, status: UsbRedirStatus, length: int, data: bytes = b"") -> None:
        upper = (length >> 16,) if UsbRedirCapability.LONG_BULK in self._shared else ()
        header = self._bulk_header.pack(endpoint, status, length & 0xFFFF, 0, *upper)
        self._write(Type.BULK, id_, header + data)

    def _answer_reads(self) -> None:
        while self._reads and self._to_host:
            id_, size = self._reads.popleft()
            chunk = bytes(self._to_host[:size])
            del self._to_host[:size]
            self._last_read = (id_, chunk)
            self._send_bulk(id_, ENDPOINT_IN, UsbRedirStatus.SUCCESS, len(chunk), chunk)

    def _cancel(self, id_: int, body: bytes) -> None:
        for read in self._reads:
            if read[0] == id_:
                self._reads.remove(read)
                self._send_bulk(id_, ENDPOINT_IN, UsbRedirStatus.CANCELLED, 0)
                return
        # The machine gave up on a read whose answer was under way, and throws that answer away when it comes. On a
        # real bus those bytes would still be in the device.
        if self._last_read[0] == id_:
            self._to_host[:0] = self._last_read[1]
            self._last_read = (-1, b"")
            self._answer_reads()


def _slot(address: int) -> int:
    """The row of an endpoint: those to the device first, then those to the host."""
    return (address & 0x80) >> 3 | address & 0x0F


def _device_bytes(d: SimpleNamespace) -> bytes:
    return struct.pack(
        "<BBHBBBBHHHBBBB",
        d.bLength,
        d.bDescriptorType,
        d.bcdUSB,
        d.bDeviceClass,
        d.bDeviceSubClass,
        d.bDeviceProtocol,
        d.bMaxPacketSize0,
        d.idVendor,
        d.idProduct,
        d.bcdDevice,
        d.iManufacturer,
        d.iProduct,
        d.iSerialNumber,
        d.bNumConfigurations,
    )


def _interface_bytes(d: SimpleNamespace) -> bytes:
    return bytes(
        (
            d.bLength,
            d.bDescriptorType,
            d.bInterfaceNumber,
            d.bAlternateSetting,
            d.bNumEndpoints,
            d.bInterfaceClass,
            d.bInterfaceSubClass,
            d.bInterfaceProtocol,
            d.iInterface,
        )
    )


def _endpoint_bytes(d: SimpleNamespace) -> bytes:
    return struct.pack(
        "<BBBBHB", d.bLength, d.bDescriptorType, d.bEndpointAddress, d.bmAttributes, d.wMaxPacketSize, d.bInterval
    )
