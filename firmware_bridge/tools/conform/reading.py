"""How the points read what a device says: strictly where they judge it, leniently everywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from firmware_bridge.wire.messages import MAX_ID, BadMessage, Capability, Message, decode_from_device, describe_message

WORDS = 80  # characters of a message in a failure's text
WELCOME, UNWELCOME, DONE, REFUSED, NO_ANSWER, IDENTITY, STATUS, COUNTERS = 2, 3, 5, 6, 7, 8, 9, 10
POWER_UP, DOOR = 64, 71

_plain = msgspec.msgpack.Decoder(list[Any])
_parts = msgspec.msgpack.Decoder(list[msgspec.Raw])
_anything = msgspec.msgpack.Decoder(Any)


class Failed(Exception):
    """The device did not do what the protocol asks; the text says what was expected and what came."""


class Skipped(Exception):
    """The point cannot be tested on this device as it is; the text says why."""


@dataclass(frozen=True)
class Greeting:
    """What a Welcome says, read without judging it: one field out of bounds must not fail every point."""

    message: bytes
    fields: list[Any]
    boot: int  # of OPENED

    def can(self, capability: Capability) -> bool:
        """Whether the device says it can do this."""
        told = self.fields[9] if len(self.fields) > 9 else []
        return isinstance(told, list) and capability in told

    @property
    def role(self) -> int:
        """What the device is, by its number."""
        return integer(self.fields, 3, 0)

    @property
    def first_event(self) -> int:
        """The oldest event the device keeps, or the next one to come."""
        return integer(self.fields, 10, 1)

    @property
    def last_command(self) -> int:
        """The highest command id the device has seen."""
        return integer(self.fields, 11, 0)


def fields_of(message: bytes) -> list[Any]:
    """The elements of a message, none where it is no array."""
    try:
        return _plain.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def integer(fields: list[Any], at: int, otherwise: int) -> int:
    """The element at this place, where it is a number that an id or an event can have."""
    value = fields[at] if len(fields) > at else otherwise
    return value if type(value) is int and 0 <= value <= MAX_ID else otherwise


def kind_of(message: bytes) -> int:
    """Which message it is, by its number."""
    return integer(fields_of(message), 0, 0)


def number_of(message: bytes) -> int:
    """The number of an event, the id of a command, the ref of a question, also where another field is no good."""
    try:
        return integer([_anything.decode(part) for part in _parts.decode(message)[:2]], 1, 0)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def time_of(event: bytes) -> int:
    """When an event happened, in the device's milliseconds."""
    return integer(fields_of(event), 2, 0)


def read(message: bytes) -> Message:
    """A message within the bounds of the protocol; anything else fails the point."""
    try:
        return decode_from_device(message)
    except BadMessage as bad:
        raise Failed(f"message {bad.number} cannot be read: {bad} ({message[:24].hex(' ')})") from None


def in_words(message: bytes) -> str:
    """A message for a failure's text."""
    try:
        words = describe_message(decode_from_device(message))
    except BadMessage:
        words = f"bytes {message.hex(' ')}"
    return words if len(words) <= WORDS else words[: WORDS - 1] + "…"


def longer(message: Message, extra: tuple[object, ...]) -> bytes:
    """A message with elements of a later version behind its own."""
    data = message.encode()
    return msgspec.msgpack.encode([*fields_of(data), *extra]) if extra else data
