"""Simulated devices in a virtual machine: the bytes of usbredir both ways, and the endpoints over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import random
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from simulators.pipes.qemu import QemuEndpoint, QemuSerialEndpoint, QemuUsbEndpoint
from simulators.pipes.usb_backend import ENDPOINT_IN, ENDPOINT_OUT, SoftwareUsb, SoftwareUsbDevice
from simulators.pipes.usbredir import TO_HOST_LIMIT, Type, UsbRedir, UsbRedirCapability, UsbRedirError
from simulators.shoesim import cli
from tests.simulators.test_endpoints import Echo
from tests.support.port_listener import LIMIT_S

EVERYTHING = 0b1111_1110  # what QEMU 7.2 says it knows, without streams
NOTHING = 0
Packet = tuple[int, int, bytes]  # type, id, body


class Machine:
    """The machine's end: writes packets, and reads those that come."""

    def __init__(self, bits: int = EVERYTHING) -> None:
        self.bits = bits
        self.long_ids = False
        self._input = bytearray()

    def packet(self, kind: int, id_: int = 0, body: bytes = b"") -> bytes:
        return struct.pack("<IIQ" if self.long_ids else "<III", kind, len(body), id_) + body

    def hello(self) -> bytes:
        return self.packet(Type.HELLO, 0, b"a machine".ljust(64, b"\0") + struct.pack("<I", self.bits))

    def read(self, id_: int, size: int) -> bytes:
        return self.packet(Type.BULK, id_, self.bulk(ENDPOINT_IN, size))

    def write(self, id_: int, data: bytes) -> bytes:
        return self.packet(Type.BULK, id_, self.bulk(ENDPOINT_OUT, len(data)) + data)

    def bulk(self, endpoint: int, length: int, status: int = 0) -> bytes:
        header = struct.pack("<BBHI", endpoint, status, length & 0xFFFF, 0)
        return header + (struct.pack("<H", length >> 16) if self.bits >> UsbRedirCapability.LONG_BULK & 1 else b"")

    def hear(self, data: bytes) -> list[Packet]:
        self._input += data
        packets: list[Packet] = []
        while True:
            header = struct.Struct("<IIQ" if self.long_ids else "<III")
            if len(self._input) < header.size:
                return packets
            kind, length, id_ = header.unpack_from(self._input)
            if len(self._input) < header.size + length:
                return packets
            packets.append((kind, id_, bytes(self._input[header.size : header.size + length])))
            del self._input[: header.size + length]
            if kind == Type.HELLO:
                self.long_ids = bool(self.bits >> UsbRedirCapability.LONG_IDS & 1)


class Pair:
    """A device and the machine it is plugged into, with nothing between them."""

    def __init__(self, bits: int = EVERYTHING, *, configured: bool = True, one_by_one: bool = False) -> None:
        self.redir = UsbRedir(SoftwareUsbDevice(serial="SH-1", product_name="Shoe"))
        self.machine = Machine(bits)
        self.one_by_one = one_by_one
        self.greeting = self.machine.hear(self.redir.take_output())
        hello = Machine(bits).hello()  # sent before the other's came, so always with a short id
        self.connecting = self.say(hello)
        if configured:
            self.say(self.machine.packet(Type.SET_CONFIGURATION, 1, b"\1"))

    def say(self, data: bytes) -> list[Packet]:
        for chunk in (bytes([byte]) for byte in data) if self.one_by_one else (data,):
            self.redir.receive(chunk)
        return self.machine.hear(self.redir.take_output())

    def send(self, data: bytes) -> list[Packet]:
        self.redir.send(data)
        return self.machine.hear(self.redir.take_output())


# ---- the protocol ----


def test_the_greeting_is_as_the_protocol_has_it() -> None:
    output = UsbRedir(SoftwareUsbDevice()).take_output()
    assert output[:12] == bytes.fromhex("00000000 44000000 00000000")  # hello, 68 bytes, no id
    assert output[12:76].rstrip(b"\0") == b"dragonshoe simulator"
    assert output[76:] == bytes.fromhex("72000000")  # version, packet size, long ids, long bulk


@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_device_is_told_after_its_interfaces_and_endpoints(one_by_one: bool) -> None:
    pair = Pair(configured=False, one_by_one=one_by_one)
    (kind, _, interfaces), (kind2, _, ends), (kind3, _, connect) = pair.connecting
    assert (kind, kind2, kind3) == (Type.INTERFACE_INFO, Type.EP_INFO, Type.DEVICE_CONNECT)
    assert interfaces[:5] == bytes.fromhex("01000000 00")
    assert interfaces[36] == 0xFF  # the class of the first interface: the vendor's own
    assert len(interfaces) == 4 + 4 * 32
    kinds, sizes = ends[:32], struct.unpack("<32H", ends[96:])
    assert {slot: kind for slot, kind in enumerate(kinds) if kind != 255} == {0: 0, 1: 2, 16: 0, 17: 2}
    assert (sizes[1], sizes[17]) == (64, 64)
    assert connect == bytes.fromhex("01 000000 0912 0e5d 0001")


def test_a_machine_of_the_first_version_gets_short_packets() -> None:
    pair = Pair(NOTHING)
    assert [len(body) for _, _, body in pair.connecting] == [132, 96, 8]
    assert pair.say(pair.machine.write(7, b"abc")) == [(Type.BULK, 7, bytes.fromhex("01 00 0300 00000000"))]
    assert pair.redir.take() == b"abc"


def test_setting_the_configuration_tells_the_endpoints_again_and_then_the_status() -> None:
    pair = Pair(configured=False)
    packets = pair.say(pair.machine.packet(Type.SET_CONFIGURATION, 9, b"\1"))
    assert [kind for kind, _, _ in packets] == [Type.INTERFACE_INFO, Type.EP_INFO, Type.CONFIGURATION_STATUS]
    assert packets[-1] == (Type.CONFIGURATION_STATUS, 9, b"\0\1")
    assert pair.redir.configured
    assert pair.say(pair.machine.packet(Type.GET_CONFIGURATION, 10)) == [(Type.CONFIGURATION_STATUS, 10, b"\0\1")]
    assert pair.say(pair.machine.packet(Type.SET_CONFIGURATION, 11, b"\5"))[-1][2] == b"\4\0"
    assert not pair.redir.configured


def test_alternate_settings() -> None:
    pair = Pair()
    assert pair.say(pair.machine.packet(Type.SET_ALT_SETTING, 3, b"\0\0")) == [(Type.ALT_SETTING_STATUS, 3, b"\0\0\0")]
    assert pair.say(pair.machine.packet(Type.SET_ALT_SETTING, 4, b"\0\1")) == [(Type.ALT_SETTING_STATUS, 4, b"\4\0\0")]
    assert pair.say(pair.machine.packet(Type.GET_ALT_SETTING, 5, b"\0")) == [(Type.ALT_SETTING_STATUS, 5, b"\0\0\0")]


def asked(pair: Pair, value: int, length: int, request: int = 6, kind: int = 0x80) -> tuple[int, bytes]:
    """The status and the bytes with which a control request is answered."""
    body = struct.pack("<BBBBHHH", kind & 0x80, request, kind, 0, value, 0, length)
    ((answer, id_, reply),) = pair.say(pair.machine.packet(Type.CONTROL, 21, body))
    assert (answer, id_) == (Type.CONTROL, 21)
    assert reply[8:10] == struct.pack("<H", len(reply) - 10 if kind & 0x80 else length)
    return reply[3], reply[10:]


def test_descriptors_are_those_of_the_software_bus() -> None:
    pair = Pair(configured=False)
    status, device = asked(pair, 0x0100, 64)
    assert (status, device.hex(" ")) == (0, "12 01 00 02 00 00 00 40 09 12 0e 5d 00 01 01 02 03 01")
    status, configuration = asked(pair, 0x0200, 255)
    assert status == 0
    whole = SoftwareUsb().get_configuration_descriptor(SoftwareUsbDevice(), 0).wTotalLength
    assert len(configuration) == whole == 32
    assert configuration[9:].hex(" ") == (
        "09 04 00 00 02 ff 00 00 00 07 05 81 02 40 00 00 07 05 01 02 40 00 00"  # interface, in, out
    )
    assert asked(pair, 0x0200, 9)[1] == configuration[:9]
    assert asked(pair, 0x0300, 255)[1] == b"\x04\x03\x09\x04"
    assert asked(pair, 0x0302, 255)[1][2:].decode("utf-16-le") == "Shoe"
    assert asked(pair, 0x0303, 255)[1][2:].decode("utf-16-le") == "SH-1"


def test_what_a_device_does_not_know_is_a_stall() -> None:
    pair = Pair()
    assert asked(pair, 0x0309, 255) == (4, b"")  # no such string
    assert asked(pair, 0x0600, 10) == (4, b"")  # the descriptor of high-speed devices
    assert asked(pair, 0, 0, request=0x42, kind=0x40) == (4, b"")  # a vendor's request
    assert asked(pair, 0, 0, request=1, kind=0x02) == (0, b"")  # clearing a halt
    assert asked(pair, 0, 2, request=0) == (0, b"\0\0")


def test_a_read_waits_for_bytes_and_gets_no_more_than_it_asked_for() -> None:
    pair = Pair()
    assert pair.say(pair.machine.read(31, 4)) == []
    assert pair.send(b"abcdef") == [(Type.BULK, 31, pair.machine.bulk(ENDPOINT_IN, 4) + b"abcd")]
    assert pair.say(pair.machine.read(32, 64)) == [(Type.BULK, 32, pair.machine.bulk(ENDPOINT_IN, 2) + b"ef")]


def test_a_read_that_is_given_up_is_answered_and_its_bytes_stay_for_the_next() -> None:
    pair = Pair()
    pair.say(pair.machine.read(41, 64))
    cancelled = [(Type.BULK, 41, pair.machine.bulk(ENDPOINT_IN, 0, status=1))]
    assert pair.say(pair.machine.packet(Type.CANCEL_DATA, 41)) == cancelled
    assert pair.send(b"later") == []
    # The other order: the answer was under way when the machine gave up, so the machine throws it away.
    assert pair.say(pair.machine.read(42, 64)) == [(Type.BULK, 42, pair.machine.bulk(ENDPOINT_IN, 5) + b"later")]
    assert pair.say(pair.machine.packet(Type.CANCEL_DATA, 42)) == []
    assert pair.send(b" on") == []
    assert pair.say(pair.machine.read(43, 64)) == [(Type.BULK, 43, pair.machine.bulk(ENDPOINT_IN, 8) + b"later on")]
    assert pair.say(pair.machine.packet(Type.CANCEL_DATA, 99)) == []


def test_bytes_flow_only_while_the_kernel_uses_the_device() -> None:
    pair = Pair(configured=False)
    assert pair.say(pair.machine.read(1, 64)) == [(Type.BULK, 1, pair.machine.bulk(ENDPOINT_IN, 0, status=2))]
    pair.send(b"to nobody")
    pair.say(pair.machine.packet(Type.SET_CONFIGURATION, 2, b"\1"))
    assert pair.say(pair.machine.read(3, 64)) == []
    pair.say(pair.machine.packet(Type.RESET))
    assert not pair.redir.configured
    pair.say(pair.machine.packet(Type.SET_CONFIGURATION, 4, b"\1"))
    assert pair.redir.configurations == 2
    assert pair.send(b"x") == []  # the read from before the reset is over


def test_a_machine_that_does_not_read_loses_bytes_and_not_memory() -> None:
    pair = Pair()
    for _ in range(3):
        pair.send(bytes(TO_HOST_LIMIT))
    ((_, _, body),) = pair.say(pair.machine.read(1, 1 << 20))
    assert len(body) - 10 == TO_HOST_LIMIT


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<III", Type.RESET, 0, 0),
        struct.pack("<III", Type.HELLO, 3, 0) + b"abc",
        struct.pack("<III", Type.HELLO, 1 << 30, 0),
        b"GET / HTTP/1.1\r\n\r\n",
        Machine().hello() + struct.pack("<IIQ", Type.SET_CONFIGURATION, 0, 0),
        Machine().hello() + struct.pack("<IIQ", Type.BULK, 3, 0) + b"abc",
        Machine().hello() + struct.pack("<IIQ", Type.CONTROL, 3, 0) + b"abc",
    ],
)
def test_what_is_not_usbredir_is_said_in_one_line(data: bytes) -> None:
    with pytest.raises(UsbRedirError) as caught:
        UsbRedir(SoftwareUsbDevice()).receive(data)
    assert "\n" not in str(caught.value)


def test_any_bytes_after_the_greeting_give_packets_or_the_one_error() -> None:
    rng = random.Random(5)
    for _ in range(300):
        redir = UsbRedir(SoftwareUsbDevice())
        redir.receive(Machine().hello())
        with contextlib.suppress(UsbRedirError):
            for _ in range(20):
                body = rng.randbytes(rng.randrange(24))
                redir.receive(struct.pack("<IIQ", rng.choice([*Type, 77]), len(body), rng.randrange(5)) + body)
                redir.send(b"device")


# ---- the endpoints ----


class Listening:
    """QEMU's socket for one device."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plugged = asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(LIMIT_S):
            return await self.plugged.get()


@contextlib.asynccontextmanager
async def listening(path: Path) -> AsyncIterator[Listening]:
    place = Listening(path)

    async def plugged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place.plugged.put_nowait((reader, writer))

    server = await asyncio.start_unix_server(plugged, path)
    try:
        yield place
    finally:
        server.close()


async def read(reader: asyncio.StreamReader, size: int) -> bytes:
    async with asyncio.timeout(LIMIT_S):
        return await reader.readexactly(size)


@contextlib.asynccontextmanager
async def running(endpoint: QemuEndpoint) -> AsyncIterator[None]:
    await endpoint.start()
    try:
        yield
    finally:
        await endpoint.close()


def test_a_serial_device_is_there_when_the_machine_is_switched_on_and_again_after_a_power_cut(tmp_path: Path) -> None:
    async def work() -> None:
        device = Echo()
        path = tmp_path / "c"
        async with running(QemuSerialEndpoint(device, path)):
            assert device.log == []
            for _ in range(2):
                async with listening(path) as machine:
                    reader, writer = await machine.accept()
                    await device.until(lambda: device.log[-1:] == ["attached"])
                    writer.write(b"hello")
                    assert await read(reader, 5) == b"hello"
                    writer.close()
                await device.until(lambda: device.log[-1] == "detached")
                path.unlink(missing_ok=True)  # Python 3.13 removes the socket with its server
        assert device.log == ["attached", "detached"] * 2

    asyncio.run(work())


def test_pulling_a_serial_device_ends_the_connection_and_putting_it_back_makes_a_new_one(tmp_path: Path) -> None:
    async def work() -> None:
        device = Echo()
        endpoint = QemuSerialEndpoint(device, tmp_path / "c")
        async with listening(tmp_path / "c") as machine, running(endpoint):
            reader, writer = await machine.accept()
            device.plugged = False
            endpoint.poke()
            async with asyncio.timeout(LIMIT_S):
                assert await reader.read() == b""
            writer.close()
            device.plugged = True
            endpoint.poke()
            (await machine.accept())[1].close()

    asyncio.run(work())


def test_a_usb_device_is_attached_when_the_kernel_sets_it_up_and_bytes_go_both_ways(tmp_path: Path) -> None:
    async def work() -> None:
        device = Echo()
        endpoint = QemuUsbEndpoint(device, tmp_path / "c", SoftwareUsbDevice())
        machine = Machine()
        packets: list[Packet] = []

        async def until(kind: int) -> Packet:
            async with asyncio.timeout(LIMIT_S):
                while True:
                    while packets:
                        packet = packets.pop(0)
                        if packet[0] == kind:
                            return packet
                    data = await reader.read(4096)
                    assert data
                    packets.extend(machine.hear(data))

        async with listening(tmp_path / "c") as place, running(endpoint):
            reader, writer = await place.accept()
            writer.write(Machine().hello())
            await until(Type.DEVICE_CONNECT)
            assert device.log == []
            writer.write(machine.packet(Type.SET_CONFIGURATION, 1, b"\1"))
            await until(Type.CONFIGURATION_STATUS)
            assert device.log == ["attached"]
            writer.write(machine.read(2, 64) + machine.write(3, b"ping"))
            answers = [await until(Type.BULK), await until(Type.BULK)]
            assert sorted(answers) == [
                (Type.BULK, 2, machine.bulk(ENDPOINT_IN, 4) + b"ping"),
                (Type.BULK, 3, machine.bulk(ENDPOINT_OUT, 4)),
            ]
            writer.write(machine.packet(Type.RESET) + machine.packet(Type.SET_CONFIGURATION, 4, b"\1"))
            await until(Type.CONFIGURATION_STATUS)
            assert device.log == ["attached", "detached", "attached"]
            writer.write(struct.pack("<IIQ", Type.BULK, 1 << 30, 0))  # nonsense: the plug is pulled
            await device.until(lambda: device.log[-1] == "detached")
            (await place.accept())[1].close()  # and put in again
            writer.close()

    asyncio.run(work())


@pytest.mark.parametrize("place", ["qemu-serial", "qemu-serial:", "tcp:5", "moon:/x", "serial:/x"])
def test_a_place_that_is_none_is_wrong_usage(place: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", "--dir", str(tmp_path), "--shoe", place])
    assert result.exit_code == 2
    assert "unknown place" in result.output
