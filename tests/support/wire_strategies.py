"""Hypothesis strategies for wire content: valid messages, random packets and bytes, and streams cut into pieces."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterable
from enum import IntEnum

import msgspec
from hypothesis import strategies as st

from firmware_bridge.wire.messages import ALL_MESSAGES, COMMANDS, EVENTS, QUESTIONS, Message, message_number
from firmware_bridge.wire.packet import MAX_MESSAGE, Packet, PacketType, pack

# Any bytes, bytes with a meaning in frames or packets, and runs that are too long for a frame.
RANDOM_BYTES = st.one_of(
    st.binary(max_size=600),
    st.lists(st.sampled_from(b"\x00\x01\x02\x05\x10\x12\xfe\xff"), max_size=600).map(bytes),
    st.builds(lambda byte, length: bytes([byte]) * length, st.integers(1, 255), st.integers(250, 600)),
)


def _values(of: typing.Any) -> st.SearchStrategy[typing.Any]:
    """The values of a message field of this type."""
    bounds: dict[str, typing.Any] = {}
    if typing.get_origin(of) is typing.Annotated:
        of, *metas = typing.get_args(of)
        for meta in metas:
            assert isinstance(meta, msgspec.Meta)
            bounds.update(
                {name: value for name in ("ge", "le", "max_length") if (value := getattr(meta, name)) is not None}
            )
    if of is bool:
        return st.booleans()
    if of is int:
        return st.integers(bounds.get("ge", -(2**63)), bounds.get("le", 2**63 - 1))
    if of is str:
        return st.text(max_size=bounds["max_length"])
    if of is bytes:
        return st.sampled_from([b"", bytes(range(bounds["max_length"]))])  # the only field is a digest
    if typing.get_origin(of) is list:
        return st.lists(_values(*typing.get_args(of)), max_size=bounds["max_length"])
    assert issubclass(of, IntEnum), f"no strategy for {of}"
    return st.sampled_from(of)


def messages_of(kind: type[Message]) -> st.SearchStrategy[Message]:
    """Any message of one type that fits into a packet."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {field.name: _values(hints[field.name]) for field in msgspec.structs.fields(kind)}
    return st.builds(kind, **fields).filter(lambda message: len(message.encode()) <= MAX_MESSAGE)


MESSAGES = st.sampled_from(ALL_MESSAGES).flatmap(messages_of)


def of_host(message: Message) -> bool:
    """Whether the host sends this message, not the device."""
    number = message_number(type(message))
    return number in COMMANDS or number in QUESTIONS or type(message).__name__ in ("Hello", "EventsStored")


def is_event(message: Message) -> bool:
    """Whether it is an event."""
    return message_number(type(message)) in EVENTS


def chop(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """The bytes, cut at these positions."""
    borders = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in itertools.pairwise(borders)]


CUTS = st.lists(st.integers(0, 2**16), max_size=12)


def packets_of(session: int) -> st.SearchStrategy[bytes]:
    """Frame bodies: packets of this and other sessions with any fields, and random bytes."""
    small, word, long = st.integers(0, 0xFF), st.integers(0, 0xFFFF) | st.integers(0, 9), st.integers(0, 2**32 - 1)
    return st.binary(min_size=1, max_size=250) | st.builds(
        Packet,
        type=st.sampled_from(PacketType),
        session=st.just(session) | word,
        boot=long,
        window=small,
        security=small,
        seq=word,
        ack=word,
        reason=small,
        message=st.binary(max_size=60) | MESSAGES.map(lambda message: message.encode()),
    ).map(pack)
