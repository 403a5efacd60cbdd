"""The golden vectors of docs/protocol-vectors.json: bytes and meaning, checked in both directions.

The file is frozen: a maker of devices tests against it. When one of these fails, the wire has changed.
"""

from __future__ import annotations

import enum
import json
import random
import struct
import typing
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firmware_bridge.wire import messages, packet
from firmware_bridge.wire.frame import MAX_BODY, BadFrame, FrameDecoder, encode_frame
from firmware_bridge.wire.link import Link
from firmware_bridge.wire.messages import (
    ALL_MESSAGES,
    VERSION,
    AskCards,
    AskStatus,
    BadMessage,
    Capability,
    DeviceRole,
    Dispense,
    EventMessage,
    Message,
    decode_from_device,
    decode_from_host,
    message_number,
)
from firmware_bridge.wire.packet import Packet, PacketType, pack, parse_packet
from firmware_bridge.wire.session import EventMark, HostSession
from simulators.devices.cards import CardPlace, Cards, Spot
from simulators.devices.firmware import Firmware, Nameplate
from simulators.devices.shoe import ShoeMechanics
from simulators.pipes.wires import VirtualLine
from tests.support.virtual_link import DEVICE_BOOT, HOST_BOOT
from tests.support.wire_strategies import of_host

FILE = Path(__file__).parents[2] / "docs" / "protocol-vectors.json"
VECTORS: list[dict[str, Any]] = json.loads(FILE.read_text())
KINDS = {kind.__name__: kind for kind in ALL_MESSAGES}
PACKET_FIELDS = {
    "OPEN": ("session", "boot", "window", "security"),
    "OPENED": ("session", "boot", "window", "security"),
    "DATA": ("session", "seq", "ack"),
    "ACK": ("session", "seq", "ack"),
    "NAK": ("session", "seq", "ack"),
    "RESET": ("session", "boot", "reason"),
}


def layer(name: str, *, needs: str = "") -> pytest.MarkDecorator:
    """The test for every vector of a layer whose meaning has this entry."""
    chosen = [v for v in VECTORS if v["layer"] == name and (not needs or needs in v["meaning"])]
    assert chosen, f"no vectors of layer {name} with {needs}"
    return pytest.mark.parametrize("vector", chosen, ids=lambda v: v["name"])


# --- meaning ↔ our types --------------------------------------------------------------------------------------------


def meaning_of(message: Message) -> dict[str, Any]:
    """A message as the file has it: names for the numbers of lists, hex for bytes."""

    def plain(field: str, value: Any) -> Any:
        if isinstance(value, enum.Enum):
            return value.name
        if field == "capabilities":
            return [Capability(number).name for number in value]
        return value.hex() if isinstance(value, bytes) else value

    fields = {name: plain(name, getattr(message, name)) for name in message.__struct_fields__}
    sender = "host" if of_host(message) else "device"
    return {
        "message": type(message).__name__,
        "number": message_number(type(message)),
        "from": sender,
        "fields": fields,
    }


def message_of(meaning: dict[str, Any]) -> Message:
    """The message that a meaning in the file describes."""
    kind = KINDS[meaning["message"]]
    hints = typing.get_type_hints(kind)

    def typed(field: str, value: Any) -> Any:
        if field == "capabilities":
            return [Capability[name] for name in value]
        if isinstance(hints[field], type) and issubclass(hints[field], enum.Enum):
            return hints[field][value]
        return bytes.fromhex(value) if hints[field] is bytes else value

    return kind(**{field: typed(field, value) for field, value in meaning["fields"].items()})


def read(data: bytes, sender: str) -> Message:
    """The message that the other side reads."""
    return decode_from_host(data) if sender == "host" else decode_from_device(data)


def meaning_of_packet(body: bytes) -> dict[str, Any]:
    """A packet as the file has it."""
    found = parse_packet(body)
    assert found is not None
    meaning: dict[str, Any] = {"type": found.type.name}
    meaning |= {field: getattr(found, field) for field in PACKET_FIELDS[found.type.name]}
    return meaning | ({"message": found.message.hex()} if found.type is PacketType.DATA else {})


def packet_of(meaning: dict[str, Any]) -> Packet:
    """The packet that a meaning in the file describes."""
    fields = {field: meaning[field] for field in PACKET_FIELDS[meaning["type"]]}
    return Packet(PacketType[meaning["type"]], message=bytes.fromhex(meaning.get("message", "")), **fields)


# --- frames ---------------------------------------------------------------------------------------------------------


@layer("frame", needs="body")
def test_whole_frames(vector: dict[str, Any]) -> None:
    data, meaning = bytes.fromhex(vector["hex"]), vector["meaning"]
    body = bytes.fromhex(meaning["body"])
    assert FrameDecoder().feed(data) == [body]
    assert encode_frame(body) == data
    assert zlib.crc32(body) == int(meaning["crc32"], 16)


@layer("frame", needs="flaw")
def test_bad_frames(vector: dict[str, Any]) -> None:
    (found,) = FrameDecoder().feed(bytes.fromhex(vector["hex"]))
    assert isinstance(found, BadFrame)
    meaning = vector["meaning"]
    assert (found.flaw.name, found.expected, found.got) == (meaning["flaw"], meaning["expected"], meaning["got"])


def test_the_check_value_of_the_crc() -> None:
    (vector,) = [v for v in VECTORS if v["name"] == "frame: CRC check value"]
    data = bytes.fromhex(vector["hex"])
    assert data == b"\x0e123456789" + struct.pack("<I", 0xCBF43926) + b"\0"


def test_the_longest_body_is_there_and_one_more_byte_is_not_sent() -> None:
    longest = max(len(v["meaning"]["body"]) // 2 for v in VECTORS if v["layer"] == "frame" and "body" in v["meaning"])
    assert longest == MAX_BODY
    with pytest.raises(ValueError, match="bytes"):
        encode_frame(bytes(longest + 1))


# --- packets --------------------------------------------------------------------------------------------------------


@layer("packet", needs="type")
def test_packets(vector: dict[str, Any]) -> None:
    body = bytes.fromhex(vector["hex"])
    assert meaning_of_packet(body) == vector["meaning"]
    assert pack(packet_of(vector["meaning"])) == body


@layer("packet", needs="dropped")
def test_packets_that_a_device_drops(vector: dict[str, Any]) -> None:
    device = Link(opens=False, boot=DEVICE_BOOT)
    assert device.receive(encode_frame(bytes.fromhex(vector["hex"])), 1.0) == []
    assert device.counters.unknown_packets == 1
    answer = vector["meaning"].get("answer")
    assert device.take_output() == (encode_frame(bytes.fromhex(answer)) if answer else b"")


def test_every_packet_type_and_reset_reason_is_there() -> None:
    meanings = [v["meaning"] for v in VECTORS if v["layer"] == "packet" and "type" in v["meaning"]]
    kept = {PacketType.SECURE_HANDSHAKE, PacketType.SECURE_DATA}
    assert {m["type"] for m in meanings} == {kind.name for kind in PacketType if kind not in kept}
    assert {m["reason"] for m in meanings if m["type"] == "RESET"} == set(packet.ResetReason)
    assert max(len(m["message"]) // 2 for m in meanings if m["type"] == "DATA") == packet.MAX_MESSAGE


# --- messages -------------------------------------------------------------------------------------------------------


@layer("message", needs="fields")
def test_messages(vector: dict[str, Any]) -> None:
    data, meaning = bytes.fromhex(vector["hex"]), vector["meaning"]
    found = read(data, meaning["from"])
    assert meaning_of(found) == {name: value for name, value in meaning.items() if name != "only_read"}
    if not meaning.get("only_read"):
        assert message_of(meaning).encode() == data


@layer("message", needs="unreadable")
def test_messages_that_cannot_be_read(vector: dict[str, Any]) -> None:
    meaning = vector["meaning"]
    with pytest.raises(BadMessage) as caught:
        read(bytes.fromhex(vector["hex"]), meaning["from"])
    assert (caught.value.number, caught.value.id) == (meaning["number"], meaning["id"])


def test_every_field_of_a_vector_is_explained_to_makers_of_devices() -> None:
    page = (FILE.parent / "device-maker.md").read_text().partition("## The vectors")[2]
    own = {"type", "session", "boot", "window", "security", "seq", "ack", "reason"}  # of packets, in protocol.md
    fields = {name for vector in json.loads(FILE.read_text()) for name in (*vector, *vector["meaning"])}
    assert {name for name in fields - own if f"`{name}`" not in page} == set()


def test_vectors_that_only_show_an_encoding_say_so() -> None:
    """A maker must not conclude from them what a device reports when: that is in the conversation."""
    marked = [v["name"] for v in VECTORS if v.get("encoding_only")]
    assert marked == [v["name"] for v in VECTORS if v["layer"] == "message" and "fields" in v["meaning"]]


def test_every_message_number_is_there_with_all_its_fields() -> None:
    meanings = [v["meaning"] for v in VECTORS if v["layer"] == "message" and "fields" in v["meaning"]]
    assert {m["number"] for m in meanings} == {message_number(kind) for kind in ALL_MESSAGES}
    for kind in ALL_MESSAGES:
        names = [field.name for field in msgspec.structs.fields(kind)]
        for m in meanings:
            assert m["message"] != kind.__name__ or list(m["fields"]) == names


def test_every_number_of_every_list_is_there() -> None:
    """So that no number of a list can be changed without a vector that fails."""
    named: set[tuple[str, str]] = set()
    for meaning in (v["meaning"] for v in VECTORS if v["layer"] == "message" and "fields" in v["meaning"]):
        hints = typing.get_type_hints(KINDS[meaning["message"]])
        for field, value in meaning["fields"].items():
            named |= {("Capability", name) for name in value} if field == "capabilities" else set()
            named |= {(getattr(hints[field], "__name__", ""), value)} if isinstance(value, str) else set()
    lists = [kind for kind in vars(messages).values() if isinstance(kind, type) and issubclass(kind, enum.IntEnum)]
    for kind in lists:
        for member in kind:
            assert member.name == "UNKNOWN" or (kind.__name__, member.name) in named, f"{kind.__name__} {member.name}"


# --- a whole conversation -------------------------------------------------------------------------------------------

Frame = tuple[int, str, bytes]  # milliseconds, direction, bytes


class SteadyShoe(ShoeMechanics):
    """A shoe whose times are those of the conversation, whatever the simulator's become."""

    card_s = 0.15
    present_s = 0.3


def _frames(data: bytes) -> list[bytes]:
    """The frames of some output, each with the spare zeros before it."""
    found, rest = [], b""
    for run in data.split(b"\0")[:-1]:
        rest += run + b"\0"
        if run:
            found.append(rest)
            rest = b""
    assert not rest
    return found


def converse() -> list[Frame]:
    """A shoe is greeted, reports its events, deals one stack that is taken, is asked for status and cards, and left."""
    cards = Cards(["red"])
    capabilities = frozenset({Capability.COUNTS, Capability.RECOGNISES, Capability.HOLDS_STACK})
    shoe = SteadyShoe(cards, capabilities, random.Random(0))
    plate = Nameplate(DeviceRole.SHOE, "SE-0001", "Simulated Shoe", capabilities)
    device = Firmware(plate, shoe, DEVICE_BOOT, 0.0)
    device.start(messages.PowerCause.POWER, memory_kept=False, now=0.0)
    shoe.load(Spot(CardPlace.TABLE, 0))
    host = HostSession(host_boot=HOST_BOOT, software="vectors")
    log: list[Frame] = []

    class Device(Wrapped):
        direction, end = "device to host", device

    class Host(Wrapped):
        direction, end = "host to device", host

    line = VirtualLine(Host(log), Device(log), now=1.0)
    for end in (line.host, line.device):
        setattr(end, "line", line)  # noqa: B010 - the log takes its times from it

    def happened(happening: Any, now: float) -> None:
        if isinstance(happening, EventMessage):
            host.stored(EventMark(host.boot, happening.number), now)

    line.on_happening = happened
    host.connect(line.now)
    line.rest(0.5)
    host.send(Dispense(101, DEVICE_BOOT, 3), line.now)
    line.rest(1.0)
    device.now = line.now
    shoe.take_exit(Spot(CardPlace.HAND, 1))
    line.rest(0.5)
    host.ask(AskStatus(7), line.now)
    line.rest(0.5)
    host.ask(AskCards(8, 101), line.now)
    line.rest(0.5)
    host.close(line.now)
    line.rest(0.1)
    cards.check()
    return log


class Wrapped:
    """One end of the conversation: writes down what it sends."""

    direction: str
    end: Any
    line: VirtualLine

    def __init__(self, log: list[Frame]) -> None:
        self.log = log

    @property
    def deadline(self) -> float:
        return float(self.end.deadline)

    def tick(self, now: float) -> Any:
        return self.end.tick(now)

    def receive(self, data: bytes, now: float) -> Any:
        return self.end.receive(data, now)

    def take_output(self) -> bytes:
        data: bytes = self.end.take_output() if hasattr(self.end, "take_output") else self.end.link.take_output()
        self.log += [(round(self.line.now * 1000), self.direction, frame) for frame in _frames(data)]
        return data


def meaning_of_frame(direction: str, data: bytes) -> dict[str, Any]:
    """A frame of the conversation as the file has it."""
    (body,) = FrameDecoder().feed(data)
    assert isinstance(body, bytes)
    meaning = meaning_of_packet(body)
    if "message" in meaning:
        meaning["message"] = meaning_of(read(bytes.fromhex(meaning["message"]), direction.split()[0]))
    return meaning


CONVERSATION = [v for v in VECTORS if v["layer"] == "conversation"]


@layer("conversation")
def test_each_frame_of_the_conversation_means_what_it_says(vector: dict[str, Any]) -> None:
    data, meaning = bytes.fromhex(vector["hex"]), vector["meaning"]
    assert meaning_of_frame(vector["direction"], data) == meaning
    if "message" in meaning:
        meaning = meaning | {"message": message_of(meaning["message"]).encode().hex()}
    assert encode_frame(pack(packet_of(meaning))) == data.lstrip(b"\0")


def test_host_and_device_hold_the_conversation_byte_for_byte() -> None:
    expected = [(v["at_ms"], v["direction"], bytes.fromhex(v["hex"])) for v in CONVERSATION]
    assert converse() == expected


def test_the_conversation_has_what_a_maker_needs_to_see() -> None:
    said = [v["meaning"].get("message", {}).get("message", v["meaning"]["type"]) for v in CONVERSATION]
    story = ["OPEN", "OPENED", "Hello", "Welcome", "PowerUp", "EventsStored", "Dispense", "Done"]
    story += ["StackPresented", "CycleDone", "StackTaken", "AskStatus", "Status", "AskCards", "CardKinds", "RESET"]
    at = -1
    for step in story:
        at = said.index(step, at + 1)
    hello = next(v["meaning"]["message"] for v in CONVERSATION if "Hello" in json.dumps(v["meaning"]))
    assert hello["fields"]["version_max"] == VERSION
