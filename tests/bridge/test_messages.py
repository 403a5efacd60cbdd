"""Messages: each survives the way over the wire, later versions can be read, and no bytes can break the reader."""

import re
import typing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge.wire.frame import FrameDecoder, encode_frame
from firmware_bridge.wire.messages import (
    ALL_MESSAGES,
    COMMANDS,
    EVENTS,
    LARGEST_PACK,
    MOST_KINDS,
    QUESTIONS,
    VENDOR_COMMANDS,
    VENDOR_EVENTS,
    VENDOR_QUESTIONS,
    AnyCommand,
    AnyQuestion,
    BadMessage,
    CardKinds,
    CardsCounted,
    CardsShown,
    DeviceRole,
    Dispense,
    DispenseFaceUp,
    EventsStored,
    Hello,
    KnownEvent,
    MalformedEvent,
    Message,
    Place,
    Reason,
    Refused,
    UnknownEvent,
    Welcome,
    decode_from_device,
    decode_from_host,
    describe_message,
    message_number,
)
from firmware_bridge.wire.packet import MAX_MESSAGE, Packet, PacketType, pack, parse_packet
from tests.support.wire_strategies import CUTS, MESSAGES, chop, messages_of, of_host


def decoded(message: Message, data: bytes) -> Message:
    """What the side that this message is for reads."""
    return decode_from_host(data) if of_host(message) else decode_from_device(data)


def read_by_both(data: bytes) -> list[Message | BadMessage]:
    """What a device and a host make of the same bytes; any other exception goes through."""
    found: list[Message | BadMessage] = []
    for decode in (decode_from_host, decode_from_device):
        try:
            found.append(decode(data))
        except BadMessage as bad:
            found.append(bad)
    return found


@given(st.lists(MESSAGES, max_size=4), CUTS)
def test_messages_survive_encode_frame_chop_merge_decode(messages: list[Message], cuts: list[int]) -> None:
    stream = b""
    for seq, message in enumerate(messages):
        stream += encode_frame(pack(Packet(PacketType.DATA, 7, seq=seq, ack=0, message=message.encode())))
    decoder = FrameDecoder()
    came: list[Message] = []
    for piece in chop(stream, cuts):
        for body in decoder.feed(piece):
            assert isinstance(body, bytes)
            packet = parse_packet(body)
            assert packet is not None
            assert packet.seq == len(came)
            came.append(decoded(messages[len(came)], packet.message))
    assert came == messages
    assert [type(message) for message in came] == [type(message) for message in messages]


@pytest.mark.parametrize("kind", ALL_MESSAGES)
@given(data=st.data())
@settings(max_examples=10)
def test_every_type_comes_back_and_can_be_told(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages_of(kind))
    assert decoded(message, message.encode()) == message
    assert describe_message(message).startswith(kind.__name__)


@pytest.mark.parametrize("kind", ALL_MESSAGES)
@given(data=st.data())
@settings(max_examples=10)
def test_fields_of_a_later_version_are_passed_over(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages_of(kind))
    longer = [*msgspec.msgpack.decode(message.encode()), "new", [1, {"a": 2}]]
    assert decoded(message, msgspec.msgpack.encode(longer)) == message


@given(st.binary(max_size=MAX_MESSAGE))
@settings(max_examples=500)
def test_soup_is_a_message_or_a_bad_message(soup: bytes) -> None:
    for found in read_by_both(soup):
        if isinstance(found, BadMessage):
            assert found.number >= 0
            assert found.id >= 0


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.binary(max_size=9)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.integers(0, 9), inner, max_size=3),
    max_leaves=6,
)


@given(st.integers(0, 100), st.lists(PLAIN, max_size=16))
@settings(max_examples=200)
def test_any_array_with_a_number_is_a_message_or_a_bad_message(number: int, fields: list[typing.Any]) -> None:
    data = msgspec.msgpack.encode([number, *fields])
    for found in read_by_both(data):
        if isinstance(found, BadMessage):
            assert found.number == number


@pytest.mark.parametrize(
    "data",
    [
        b"\x96\x01\x01\x01\x00\x00\xa2\xff\xfe",  # a text that is not UTF-8, in a message we know
        b"\x92\x0c\xa2\xff\xfe",  # and in one that we do not know
        b"\x92\x0c\x81\xa1\xff\x01",  # and as the key of a map
        b"\x92\x0c\x81\x80\x01",  # a map as the key of a map
        b"\x92\x0c\xc7\x0c\xff" + b"\xff" * 12,  # a time that never was
        b"\x93\x04\x01" + b"\x91" * 221,  # arrays in arrays
        b"\xdd\xff\xff\xff\xff\x41\x01",  # an array of four thousand million elements
        b"",
    ],
    ids=["utf-8", "unknown utf-8", "key utf-8", "map key", "time", "deep", "huge", "empty"],
)
def test_nasty_bytes_are_bad_messages(data: bytes) -> None:
    with pytest.raises(BadMessage):
        decode_from_host(data)
    with pytest.raises(BadMessage):
        decode_from_device(data)


def test_deep_arrays_on_a_deep_stack_are_a_bad_message() -> None:
    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
        else:
            with pytest.raises(BadMessage):
                decode_from_host(b"\x93\x04\x01" + b"\x91" * 221)

    descend(750)


def test_what_can_still_be_read_of_a_bad_message_is_told() -> None:
    unreadable_text = b"\x95\x19\x07\x01\x01\xa1\xff"  # Indicate 7 with a text that is not UTF-8
    with pytest.raises(BadMessage) as caught:
        decode_from_host(unreadable_text)
    assert (caught.value.number, caught.value.id) == (25, 7)


@pytest.mark.parametrize("number", [n for n in EVENTS if n not in {message_number(kind) for kind in ALL_MESSAGES}])
def test_an_event_of_a_later_version_keeps_its_number(number: int) -> None:
    data = msgspec.msgpack.encode([number, 12, 3456, "something new"])
    assert decode_from_device(data) == UnknownEvent(12, 3456, number, data)


def test_a_growing_list_takes_numbers_that_are_not_known() -> None:
    assert decode_from_device(msgspec.msgpack.encode([6, 1, 200])) == Refused(1, Reason.UNKNOWN)
    assert decode_from_device(msgspec.msgpack.encode([6, 1, 2**40])) == Refused(1, Reason.UNKNOWN)
    welcome = [2, 1, 9, 77, "", "", "", "", b"", []]
    assert getattr(decode_from_device(msgspec.msgpack.encode(welcome)), "role") is DeviceRole.UNKNOWN  # noqa: B009


@pytest.mark.parametrize(
    "fields",
    [
        [18, 1, 1, 65536],
        [18, 1, 1, -2],
        [18, -1, 1, 9],
        [18, 2**53, 1, 9],
        [18, 1, 2**32, 9],
        [1, 1, 1, 0, 2**53],
        [1, 1, 1, 0, 0, "x" * 25],
        [49, 2**53],
    ],
)
def test_values_beyond_their_bounds_are_bad(fields: list[typing.Any]) -> None:
    with pytest.raises(BadMessage):
        decode_from_host(msgspec.msgpack.encode(fields))


WELCOME = [2, 1, 9, 2, "maker", "model", "serial", "1.0", b"", [1], 1, 0]


def with_field(index: int, value: object) -> list[object]:
    """A Welcome in which one element is another."""
    return [*WELCOME[:index], value, *WELCOME[index + 1 :]]


@pytest.mark.parametrize(
    "fields",
    [
        with_field(8, bytes(31)),
        with_field(8, bytes(33)),
        with_field(9, [256]),
        with_field(10, 0),
        with_field(10, 2**53),
        with_field(11, 2**53),
        [5, 2**53],
        [8, 7, *WELCOME[3:8], bytes(31), []],
    ],
)
def test_values_of_a_device_beyond_their_bounds_are_bad(fields: list[object]) -> None:
    with pytest.raises(BadMessage):
        decode_from_device(msgspec.msgpack.encode(fields))


@pytest.mark.parametrize("fields", [WELCOME, with_field(8, bytes(32)), with_field(10, 2**53 - 1), WELCOME[:10]])
def test_values_at_their_bounds_are_read(fields: list[object]) -> None:
    assert isinstance(decode_from_device(msgspec.msgpack.encode(fields)), Welcome)


def test_a_pack_of_ten_decks_can_be_counted() -> None:
    event = decode_from_device(msgspec.msgpack.encode([65, 1, 1, 9, 3, 520, [10] * 52]))
    assert isinstance(event, CardsCounted)
    assert event.cards == 520


# 2^53-1 in every other field of a message, so that its list has the least room.
MOST = 2**53 - 1
ONE_FOR_EACH_KIND = [1] * 59 + [128, 128, 128, 77]


@pytest.mark.parametrize(
    "fullest",
    [
        CardKinds(MOST, MOST, [65_535] * MOST_KINDS),
        CardsShown(MOST, MOST, MOST, Place.EXIT, [255] * MOST_KINDS),
        CardsCounted(MOST, MOST, MOST, Place.OUTPUT, LARGEST_PACK, [*ONE_FOR_EACH_KIND, 0]),
    ],
    ids=lambda message: type(message).__name__,
)
def test_the_longest_list_of_kinds_fits_into_a_message(fullest: CardKinds | CardsShown | CardsCounted) -> None:
    assert len(fullest.kinds) == MOST_KINDS
    assert len(fullest.encode()) <= MAX_MESSAGE
    assert decode_from_device(fullest.encode()) == fullest


def test_a_list_of_more_than_64_kinds_cannot_be_read() -> None:
    longer = [0] * (MOST_KINDS + 1)
    for message in ([65, 1, 1, 9, 3, 520, longer], [75, 1, 1, 9, 5, longer]):
        assert isinstance(decode_from_device(msgspec.msgpack.encode(message)), MalformedEvent)
    with pytest.raises(BadMessage):
        decode_from_device(msgspec.msgpack.encode([11, 1, 9, longer]))


def test_an_old_device_refuses_to_deal_face_up_instead_of_dealing_in_silence() -> None:
    """It is a command of its own: a field at the end of Dispense would be ignored."""
    known = msgspec.msgpack.decode(DispenseFaceUp(5, 9, 4).encode())
    assert known == [26, 5, 9, 4]
    assert known[0] != msgspec.msgpack.decode(Dispense(5, 9, 4).encode())[0]


def test_optional_fields_may_be_missing() -> None:
    assert decode_from_host(b"\x93\x01\x01\x01") == Hello(1, 1, 0, 0, "")
    assert decode_from_host(b"\x94\x12\x05\x09\x04") == Dispense(5, 9, 4, False)
    assert decode_from_host(b"\x92\x04\xd3" + (77).to_bytes(8, "big")) == EventsStored(77)  # a longer form of 77


def test_numbers_are_unique_and_in_their_ranges() -> None:
    numbers = [message_number(kind) for kind in ALL_MESSAGES]
    assert len(set(numbers)) == len(numbers)
    for union, numbers_of_it in ((AnyCommand, COMMANDS), (AnyQuestion, QUESTIONS), (KnownEvent, EVENTS)):
        for kind in typing.get_args(union):
            assert message_number(kind) in numbers_of_it
            assert kind in ALL_MESSAGES


def test_the_ranges_of_numbers_are_those_that_the_protocol_names() -> None:
    page = (Path(__file__).parents[2] / "docs/protocol.md").read_text()
    rows = re.findall(r"^\| (\d+) to (\d+) \| (commands|questions|events)\b.*\| (\d+) to (\d+) \|$", page, re.MULTILINE)
    named = {what: (range(int(a), int(b) + 1), range(int(c), int(d) + 1)) for a, b, what, c, d in rows}
    assert named == {
        "commands": (COMMANDS, VENDOR_COMMANDS),
        "questions": (QUESTIONS, VENDOR_QUESTIONS),
        "events": (EVENTS, VENDOR_EVENTS),
    }
    taken = {message_number(kind) for kind in ALL_MESSAGES}
    assert not taken & {*VENDOR_COMMANDS, *VENDOR_QUESTIONS, *VENDOR_EVENTS}
