"""Decodes bytes into messages: what each side reads, and what can be salvaged from unreadable bytes."""

from __future__ import annotations

from typing import get_args

import msgspec

from firmware_bridge.wire.messages.base import Message, message_number
from firmware_bridge.wire.messages.commands import AnyCommand, Done, Refused
from firmware_bridge.wire.messages.events import KnownEvent, MalformedEvent, UnknownEvent
from firmware_bridge.wire.messages.fields import EVENTS, MAX_ID
from firmware_bridge.wire.messages.handshake import EventsStored, Hello, Unwelcome, Welcome
from firmware_bridge.wire.messages.questions import AnyQuestion, CardKinds, Counters, Identity, NoAnswer, Status

AnyAnswer = Done | Refused | NoAnswer | Identity | Status | Counters | CardKinds
FromHost = Hello | EventsStored | AnyCommand | AnyQuestion
_KnownFromDevice = Welcome | Unwelcome | AnyAnswer | KnownEvent
FromDevice = _KnownFromDevice | UnknownEvent | MalformedEvent

_from_host: msgspec.msgpack.Decoder[FromHost] = msgspec.msgpack.Decoder(FromHost)
_from_device: msgspec.msgpack.Decoder[FromDevice] = msgspec.msgpack.Decoder(_KnownFromDevice)
_elements = msgspec.msgpack.Decoder(list[msgspec.Raw])  # split, without decoding the elements
_integer = msgspec.msgpack.Decoder(int)

# What the decoders raise for bytes that are not a message, including invalid UTF-8 and endlessly nested arrays.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class BadMessage(Exception):
    """Bytes that are not a message. `number` and `id` are 0 where they could not be read either; `has_id` tells
    an id of 0 from a missing one."""

    def __init__(self, text: str, number: int | None = None, id: int | None = None) -> None:
        super().__init__(text)
        self.number = number or 0
        self.id = id or 0
        self.has_id = id is not None


def decode_from_host(data: bytes) -> FromHost:
    """Read a message as a device does; BadMessage says what could still be read."""
    try:
        return _from_host.decode(data)
    except _UNREADABLE as error:
        raise _bad_message(data, error) from None


def decode_from_device(data: bytes) -> FromDevice:
    """Read a message as the host does. An event whose number can be read is never lost: see `_unread_event`."""
    try:
        return _from_device.decode(data)
    except _UNREADABLE as error:
        bad = _bad_message(data, error)
        if bad.number in EVENTS and bad.id > 0:
            return _unread_event(data, bad)
        raise bad from None


def _unread_event(data: bytes, bad: BadMessage) -> UnknownEvent | MalformedEvent:
    """An event of a later version or of a maker, or one of this version with fields that cannot be read."""
    at_ms = _small_int(data, 2) or 0
    if bad.number in _KNOWN_NUMBERS:
        return MalformedEvent(bad.id, at_ms, bad.number, data, problem=str(bad))
    return UnknownEvent(bad.id, at_ms, bad.number, data)


def _bad_message(data: bytes, error: Exception) -> BadMessage:
    return BadMessage(str(error), number=_small_int(data, 0), id=_small_int(data, 1))


def _small_int(data: bytes, index: int) -> int | None:
    """The non-negative integer at this index of the array, or None."""
    try:
        value = _integer.decode(_elements.decode(data)[index])
    except (*_UNREADABLE, IndexError):
        return None
    return value if 0 <= value <= MAX_ID else None


ALL_MESSAGES: tuple[type[Message], ...] = tuple(
    sorted((*get_args(FromHost), *get_args(_KnownFromDevice)), key=message_number)
)
_KNOWN_NUMBERS = frozenset(message_number(kind) for kind in ALL_MESSAGES)
