"""How the points read messages of the device: strictly what they check, leniently everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from firmware_bridge.wire.messages import (
    MAX_ID,
    BadMessage,
    Capability,
    MalformedEvent,
    Message,
    Reason,
    Refused,
    decode_from_device,
    describe_message,
)

WORDS = 80  # most characters of a message in the text of a failure
WELCOME, UNWELCOME, DONE, REFUSED, NO_ANSWER, IDENTITY, STATUS, COUNTERS, CARD_KINDS = 2, 3, 5, 6, 7, 8, 9, 10, 11
POWER_UP, DOOR = 64, 71
NO_EVENTS = ": no events can be made without moving cards"  # without LOCKS

_plain = msgspec.msgpack.Decoder(list[Any])
_parts = msgspec.msgpack.Decoder(list[msgspec.Raw])
_anything = msgspec.msgpack.Decoder(Any)


class Failed(Exception):
    """The device violated the protocol; the text says what was expected and what was received."""


class Skipped(Exception):
    """The point cannot be tested on this device in its current state; the text says why."""


@dataclass(frozen=True)
class Greeting:
    """A Welcome, read without checking it: one field out of bounds must not fail every point."""

    message: bytes
    fields: list[Any]
    boot: int  # of OPENED

    @property
    def capabilities(self) -> list[int]:
        """What the device says it can do."""
        listed = self.fields[9] if len(self.fields) > 9 else []
        return listed if isinstance(listed, list) else []

    def can(self, capability: Capability) -> bool:
        """Whether the device says it can do this."""
        return capability in self.capabilities

    def require(self, capability: Capability, consequence: str = "") -> None:
        """Skip the point if the device lacks this capability."""
        if not self.can(capability):
            raise Skipped(f"the device has no {capability.name}{consequence}")

    @property
    def role(self) -> int:
        """The number of the device's role."""
        return integer(self.fields, 3, 0)

    @property
    def first_event(self) -> int:
        """The oldest event the device keeps, or the number of the next one."""
        return integer(self.fields, 10, 1)

    @property
    def last_command(self) -> int:
        """The highest command id the device has seen."""
        return integer(self.fields, 11, 0)


def fields_of(message: bytes) -> list[Any]:
    """The elements of a message; empty if it is not an array."""
    try:
        return _plain.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def integer(fields: list[Any], at: int, otherwise: int) -> int:
    """The element at this index if it is a valid id or event number, else `otherwise`."""
    value = fields[at] if len(fields) > at else otherwise
    return value if type(value) is int and 0 <= value <= MAX_ID else otherwise


def kind_of(message: bytes) -> int:
    """The message number."""
    return integer(fields_of(message), 0, 0)


def number_of(message: bytes) -> int:
    """The number of an event, id of a command or ref of a question, even if another field is invalid."""
    try:
        return integer([_anything.decode(part) for part in _parts.decode(message)[:2]], 1, 0)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def time_of(event: bytes) -> int:
    """When an event happened, in the device's milliseconds."""
    return integer(fields_of(event), 2, 0)


def read(message: bytes) -> Message:
    """Decode a message; one that violates the protocol fails the point."""
    try:
        found = decode_from_device(message)
    except BadMessage as bad:
        raise Failed(f"message {bad.number} cannot be read: {bad} ({message[:24].hex(' ')})") from None
    if isinstance(found, MalformedEvent):
        raise Failed(f"message {found.message_number} cannot be read: {found.problem} ({message[:24].hex(' ')})")
    return found


def must_be_refused(answer: bytes, reason: Reason, why: str) -> None:
    """Fail the point unless a command was refused for this reason."""
    message = read(answer)
    if not isinstance(message, Refused) or message.reason is not reason:
        raise Failed(f"{why}: expected Refused {reason.name}, got {describe_message(message)}")


def in_words(message: bytes) -> str:
    """A message in words, for the text of a failure."""
    try:
        words = describe_message(decode_from_device(message))
    except BadMessage:
        words = f"bytes {message.hex(' ')}"
    return words if len(words) <= WORDS else words[: WORDS - 1] + "…"


def longer(message: Message, extra: tuple[object, ...]) -> bytes:
    """A message with elements of a later version appended."""
    data = message.encode()
    return msgspec.msgpack.encode([*fields_of(data), *extra]) if extra else data
