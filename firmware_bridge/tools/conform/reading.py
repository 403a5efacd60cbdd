"""How the points read messages of the device: strictly what they check, leniently everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from firmware_bridge.wire.messages import (
    MAX_ID,
    BadMessage,
    Capability,
    Command,
    Deliver,
    Dispense,
    MalformedEvent,
    Message,
    Mode,
    Reason,
    Refused,
    Shuffle,
    StackCommand,
    Status,
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


def explains(status: Status, command: Command, reason: Reason) -> bool:
    """Whether Status confirms this reason to refuse a cycle. Without a sensor it cannot contradict it."""
    shown = {
        Reason.BUSY: status.mode is Mode.WORKING,
        Reason.JAMMED: status.mode is Mode.JAMMED,
        Reason.FAILED: status.mode is Mode.FAILED,
        Reason.LOCKED: status.locked,
        Reason.DOOR_OPEN: status.door_open,
        Reason.NO_CARDS: _too_few(status, command),
        Reason.EXIT_OCCUPIED: _in_the_way(status, command),
        Reason.OUTPUT_OCCUPIED: status.inside_cards != 0 or status.output_cards != 0,
        Reason.NOTHING_HELD: status.held_cards <= 0,
        Reason.EVENTS_FULL: status.events_kept > 0,
    }
    return shown.get(reason, reason is Reason.NOT_ABLE)


def _too_few(status: Status, command: Command) -> bool:
    if isinstance(command, StackCommand):
        return status.inside_cards < command.cards
    if isinstance(command, Shuffle | Deliver):
        return (status.infeed_cards if isinstance(command, Shuffle) else status.output_cards) <= 0
    return max(status.infeed_cards, status.inside_cards, status.output_cards, status.held_cards) <= 0


def _in_the_way(status: Status, command: Command) -> bool:
    """Cards at the exit, or a stack that is held. What is in the shoe that a shuffler feeds is not in its Status."""
    held = isinstance(command, Dispense) and command.hold
    return isinstance(command, Deliver) or (status.held_cards if held else status.exit_cards) != 0


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
