"""The probe: names what is on a port, or what it is not, and leaves no trace on the device."""

from __future__ import annotations

import asyncio
import os
import pty
import random
import tty
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import serial

from firmware_bridge.drivers.angel_eye.recognise import BAUD, QUESTION
from firmware_bridge.drivers.angel_eye.telegram import (
    Acknowledged,
    BadBytes,
    CommandTelegram,
    NotAcknowledged,
    ReportTelegram,
    TelegramFlaw,
    TelegramReader,
    encode,
)
from firmware_bridge.ports.discovery import usb_devices
from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortAbsent, PortBusy, PortSettings, PortUnsuitable
from firmware_bridge.tools.probe import (
    FoundDevice,
    FoundForeign,
    Mute,
    NotOurs,
    OtherVersion,
    Probed,
    ReceivedBytes,
    Unruly,
    guess,
    probe,
)
from firmware_bridge.wire.frame import encode_frame
from firmware_bridge.wire.link import LinkState
from firmware_bridge.wire.messages import ButtonName, Capability, DeviceRole, Done, decode_from_host
from firmware_bridge.wire.packet import Packet, PacketType, ResetReason, pack
from simulators.devices.faults import FaultName
from simulators.devices.firmware import Firmware
from simulators.pipes.usb_backend import SoftwareUsb
from tests.support.plugged import Plugged, stranger
from tests.support.virtual_link import packets

SHORT_S = 0.4
NMEA = b"47,W,1,08,0.9,545.4,M\r\n$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n$GPGSA,A\r\n"


def probed(address: str, settings: PortSettings = DEFAULT_SETTINGS, within_s: float = 10.0) -> Probed:
    return asyncio.run(probe(address, settings, within_s))


def probed_stranger(answer: Callable[[bytes], bytes], within_s: float = SHORT_S) -> Probed:
    with stranger(answer) as path:
        return probed(path, within_s=within_s)


def answers(answer: Callable[[Packet], bytes]) -> Callable[[bytes], bytes]:
    """A device that answers each whole frame, which is enough where frames come whole."""
    return lambda data: b"".join(answer(packet) for packet in packets(data))


class AngelEye:
    """An Angel Eye at the other end: it accepts whole commands, and refuses those with a wrong checksum."""

    def __init__(self) -> None:
        self.reader = TelegramReader()
        self.carried_out: list[CommandTelegram] = []

    def __call__(self, heard: bytes) -> bytes:
        answers = b""
        for one in self.reader.feed(heard):
            if isinstance(one, CommandTelegram):
                self.carried_out.append(one)
                answers += encode(Acknowledged())
            elif isinstance(one, BadBytes) and one.flaw is TelegramFlaw.CHECKSUM:
                answers += encode(NotAcknowledged(0x02))
        return answers


# --- a device -------------------------------------------------------------------------------------------------------


def test_a_device_is_found(tmp_path: Path) -> None:
    plugged = Plugged(tmp_path)
    try:
        found = probed(plugged.shuffler)
        assert isinstance(found, FoundDevice)
        assert found.identity.role is DeviceRole.SHUFFLER
        assert found.identity.serial == "SH-0001"
        assert Capability.FEEDS_SHOE in found.identity.capabilities
        firmware = plugged.table.shuffler.firmware
        assert firmware is not None
        assert (found.boot, found.version, found.first_event) == (firmware.boot, 1, 1)
        assert found.status.events_kept == 1
        assert found.counters.effects == 0
        assert found.round_trip is not None
        assert isinstance(probed(plugged.shoe), FoundDevice)
    finally:
        plugged.close()


def test_a_probe_takes_no_event_and_says_goodbye(tmp_path: Path) -> None:
    plugged = Plugged(tmp_path)
    try:
        first = probed(plugged.shoe)
        second = probed(plugged.shoe)
        assert isinstance(first, FoundDevice)
        assert isinstance(second, FoundDevice)
        assert first.first_event == second.first_event == 1
        assert first.status.events_kept == second.status.events_kept == 1
        assert second.counters.effects == 0
        plugged.until(lambda table: table.shoe.firmware and table.shoe.firmware.link.state is LinkState.CLOSED)
    finally:
        plugged.close()


def test_a_device_whose_first_events_are_stored_already_is_found(tmp_path: Path) -> None:
    plugged = Plugged(tmp_path)
    try:

        def store(number: int) -> None:
            firmware = plugged.table.shoe.firmware
            assert firmware is not None
            plugged.do(lambda table, now: firmware._forget_events(number))

        plugged.do(lambda table, now: table.shoe.press(ButtonName.GREEN, now))
        store(1)
        found = probed(plugged.shoe)
        assert isinstance(found, FoundDevice)
        assert found.first_event == 2
        store(2)
        found = probed(plugged.shoe)
        assert isinstance(found, FoundDevice)
        assert found.first_event is None
        assert found.status.events_kept == 0
    finally:
        plugged.close()


def test_only_what_moves_no_card_is_sent(tmp_path: Path) -> None:
    heard = bytearray()

    class Listening(Firmware):
        def receive(self, data: bytes, now: float) -> None:
            heard.extend(data)
            super().receive(data, now)

    plugged = Plugged(tmp_path, build=Listening)
    try:
        assert isinstance(probed(plugged.shoe), FoundDevice)
        plugged.until(lambda table: packets(bytes(heard))[-1].type is PacketType.RESET)
    finally:
        plugged.close()
    sent = packets(bytes(heard))
    names = {type(decode_from_host(packet.message)).__name__ for packet in sent if packet.message}
    assert names == {"Hello", "AskStatus", "AskCounters"}
    assert sent[-1].type is PacketType.RESET
    assert sent[-1].reason == ResetReason.GOODBYE


def test_a_device_on_usb_is_found(tmp_path: Path) -> None:
    bus = SoftwareUsb()
    plugged = Plugged(tmp_path, usb=bus)
    try:
        assert plugged.shoe == "usb:1209:5d0e:shoe"
        found = probed(plugged.shoe, PortSettings(usb_backend=bus))
        assert isinstance(found, FoundDevice)
        assert found.identity.role is DeviceRole.SHOE
    finally:
        plugged.close()


# --- another version, and devices that break the protocol -------------------------------------------------------------


def test_another_version_of_the_messages_is_named(tmp_path: Path) -> None:
    def build(plate: Any, *more: Any) -> Firmware:
        return Firmware(replace(plate, versions=(3, 5)), *more)

    plugged = Plugged(tmp_path, build=build)
    try:
        result = probed(plugged.shoe)
    finally:
        plugged.close()
    assert result == OtherVersion("messages", (3, 5), 1)
    assert str(result) == "a device that speaks version 3 to 5 of the messages, this shoectl speaks 1"


def test_another_version_of_the_link_is_named() -> None:
    def refuses(packet: Packet) -> bytes:
        return encode_frame(pack(Packet(PacketType.RESET, packet.session, boot=9, reason=ResetReason.OTHER_VERSION)))

    assert probed_stranger(answers(refuses), 10.0) == OtherVersion("link", None, 1)
    assert probed_stranger(lambda heard: encode_frame(b"\x21\x07\x00abcd")) == OtherVersion("link", (2, 2), 1)


def opened(packet: Packet) -> bytes:
    if packet.type is PacketType.OPEN:
        return encode_frame(pack(Packet(PacketType.OPENED, packet.session, boot=9, window=8)))
    return b""


def test_a_device_that_does_not_greet_is_unruly() -> None:
    result = probed_stranger(answers(opened))
    assert isinstance(result, Unruly)
    assert "opened a link, but did not greet us" in str(result)


def test_a_link_that_opens_and_ends_in_the_same_bytes() -> None:
    def restarts(packet: Packet) -> bytes:
        return opened(packet) + encode_frame(pack(Packet(PacketType.RESET, 0, boot=10, reason=1)))

    result = probed_stranger(answers(restarts), 10.0)
    assert isinstance(result, Unruly)
    assert "restarted 4 times" in str(result)


def test_a_device_that_restarts_when_its_port_is_opened_is_found(tmp_path: Path) -> None:
    class Restarting(Firmware):
        lives = 0

        def receive(self, data: bytes, now: float) -> None:
            super().receive(data, now)
            if self._greeted and Restarting.lives == 0:
                Restarting.lives += 1
                plugged.table.shoe.inject(FaultName.REBOOT, now)

    plugged = Plugged(tmp_path, build=Restarting)
    try:
        found = probed(plugged.shoe)
        assert isinstance(found, FoundDevice)
        assert plugged.table.shoe.firmware is not None
        assert found.boot == plugged.table.shoe.firmware.boot
        assert found.first_event == 1
        assert Restarting.lives == 1
    finally:
        plugged.close()


def test_a_device_that_answers_nonsense_is_unruly() -> None:
    def nonsense(packet: Packet) -> bytes:
        if packet.type is PacketType.DATA:
            return encode_frame(pack(Packet(PacketType.DATA, packet.session, ack=1, message=Done(7).encode())))
        return opened(packet)

    result = probed_stranger(answers(nonsense), 10.0)
    assert isinstance(result, Unruly)
    assert "Done arrived before Welcome" in str(result)


# --- not a device -------------------------------------------------------------------------------------------------


def test_lines_of_text_are_named() -> None:
    result = probed_stranger(lambda heard: NMEA)
    assert isinstance(result, NotOurs)
    assert result.bytes >= len(NMEA)
    assert "lines of text: '$GPGGA,123519,4807" in str(result)


def test_an_angel_eye_is_recognised_without_a_command_that_it_could_carry_out() -> None:
    shoe = AngelEye()
    found = probed_stranger(shoe)
    assert found == FoundForeign("Angel Eye II-EX", BAUD, "it refuses damaged commands because of their checksum")
    assert shoe.carried_out == []


def test_an_angel_eye_that_reports_is_recognised_by_what_it_reports() -> None:
    card = encode(ReportTelegram(ord("1"), b"D\x80\xb1"))
    found = probed_stranger(lambda heard: card if QUESTION in heard else b"")
    assert str(found) == "an Angel Eye II-EX at 4800 baud: it sends reports that only such a shoe sends"


def test_one_refusal_is_not_enough_for_an_angel_eye() -> None:
    """Two bytes of noise may look like one."""
    asked: list[bytes] = []

    def answer(heard: bytes) -> bytes:
        if QUESTION not in heard:
            return b""
        asked.append(heard)
        return b"\x15\x02" if len(asked) == 1 else b""

    assert probed_stranger(answer) == Mute(SHORT_S)
    assert len(asked) == 2


def test_a_device_that_refuses_everything_with_another_code_is_no_angel_eye() -> None:
    found = probed_stranger(lambda heard: b"\x15\x21" if heard else b"")
    assert isinstance(found, NotOurs)


def test_a_mute_port_is_named() -> None:
    assert probed_stranger(lambda heard: b"") == Mute(SHORT_S)


def test_random_bytes_are_named() -> None:
    rng = random.Random(5)
    result = probed_stranger(lambda heard: rng.randbytes(200))
    assert isinstance(result, NotOurs)
    assert "looks like another protocol, noise" in str(result)


def test_an_echo_is_named() -> None:
    result = probed_stranger(lambda heard: heard)
    assert isinstance(result, NotOurs)
    assert "our own bytes come back" in str(result)


def test_another_host_is_named() -> None:
    other = encode_frame(pack(Packet(PacketType.OPEN, 99, boot=77, window=8)))
    result = probed_stranger(lambda heard: other)
    assert isinstance(result, NotOurs)
    assert "two computers" in str(result)


def test_guesses() -> None:
    assert "wrong baud rate" in guess(bytes([0x00, 0xF8, 0x80, 0xFE, 0xE0, 0x00, 0xFF, 0x3C]))
    assert guess(b"login: ") == "looks like lines of text: 'login: '"
    assert "\x1b" not in guess(b"hello there, this is text\r\n" * 9 + b"\x1b[2J")
    frame = bytearray(encode_frame(pack(Packet(PacketType.ACK, 7, seq=1, ack=300))))
    frame[2] ^= 0x40
    seen = ReceivedBytes()
    seen.add(bytes(frame))
    assert "damaged" in str(seen.verdict(1.0))
    for size in range(1, 40):
        assert guess(random.Random(size).randbytes(size))


# --- ports that cannot be opened --------------------------------------------------------------------------------------


def test_a_wrong_path_and_what_is_no_port(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a tty")
    assert isinstance(probed(str(tmp_path / "nothing")), PortAbsent)
    assert isinstance(probed(str(file)), PortUnsuitable)
    assert isinstance(probed("nonsense"), PortUnsuitable)


def test_a_busy_port_is_named(tmp_path: Path) -> None:
    plugged = Plugged(tmp_path)
    try:
        with serial.Serial(plugged.shoe, exclusive=True):
            result = probed(plugged.shoe)
        assert isinstance(result, PortBusy)
        assert f"(pid {os.getpid()})" in str(result)
    finally:
        plugged.close()


def test_a_port_that_goes_away_while_probed() -> None:
    far, near = pty.openpty()
    tty.setraw(near)

    async def unplugged_by_the_first_byte() -> Probed:
        def hang_up() -> None:
            loop.remove_reader(far)
            os.close(near)
            os.close(far)

        loop = asyncio.get_running_loop()
        loop.add_reader(far, hang_up)
        return await probe(os.ttyname(near), within_s=10.0)

    result = asyncio.run(unplugged_by_the_first_byte())
    assert isinstance(result, PortAbsent)
    assert "while being probed" in str(result)


# --- the list of USB devices ------------------------------------------------------------------------------------------


def usb_tree(folder: Path, name: str, endpoints: dict[str, str], interface_class: str = "ff", **about: str) -> None:
    """A device as the kernel shows it."""
    device = folder / name
    interface = device / f"{name}:1.0"
    interface.mkdir(parents=True)
    (interface / "bInterfaceClass").write_text(f"{interface_class}\n")
    for number, (direction, kind) in enumerate(endpoints.items()):
        end = interface / f"ep_0{number}"
        end.mkdir()
        (end / "direction").write_text(f"{direction}\n")
        (end / "type").write_text(f"{kind}\n")
    values = {"idVendor": "1209", "idProduct": "5d0e", "busnum": "1", "devnum": "4", **about}
    for key, value in values.items():
        (device / key).write_text(f"{value}\n")


def test_usb_devices_with_a_pipe_are_listed(tmp_path: Path) -> None:
    bulk = {"in": "Bulk", "out": "Bulk"}
    usb_tree(tmp_path, "1-1", bulk, manufacturer="Maker", product="Shuffler", serial="SH-7")
    usb_tree(tmp_path, "1-2", bulk, devnum="5")
    usb_tree(tmp_path, "1-3", bulk, interface_class="08", devnum="6")  # a stick
    usb_tree(tmp_path, "1-4", {"in": "Interrupt"}, devnum="7")
    usb_tree(tmp_path, "1-5", bulk, idVendor="zz")  # going away
    node = tmp_path / "nodes" / "001" / "004"
    node.parent.mkdir(parents=True)
    node.touch()
    one, two = usb_devices(tmp_path, tmp_path / "nodes")
    assert (one.address, one.description, one.serial) == ("usb:1209:5d0e:SH-7", "Maker Shuffler", "SH-7")
    assert one.may_open
    assert two.address == "usb:1209:5d0e"
    assert not two.may_open
    assert usb_devices(tmp_path / "nowhere") == []
