"""The base of all events, and `Entry`: an event with its number and clauses in the journal.

A kind of event is one struct: its fields, its sentence and its actor. Everything that shows or describes events
derives from these structs: the lines on the screen and in the log, the API's schema, the tables in docs/journal.md.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

import msgspec

from controller.core.ledger import Move


class Actor(StrEnum):
    """Who or what causes an event."""

    PERSON = "person"
    DEVICE = "device"
    TABLE = "table"  # the rules, without anybody acting
    HOST = "host"  # the computer that runs the table


class Cause(msgspec.Struct, frozen=True):
    """The device's event that led to this event. Once this is stored, the device may forget its own."""

    device: str
    number: int


class Event(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Base of all events. The fields are stored, except those that have their default value."""

    kind: ClassVar[str] = ""  # the name under which it is stored: noun.verb
    actor: ClassVar[Actor] = Actor.TABLE
    seen_by_devices: ClassVar[bool] = False  # whether a device may report it instead of a person

    at_ms: int = -1  # on the table's clock; set when the event is emitted
    of: Cause | None = None
    origin: str = ""  # where it was reported, if a person did it: at the screen, the socket, or by a device

    def sentence(self) -> str:
        """What happened, as one English sentence."""
        raise NotImplementedError


class PersonEvent(Event):
    """Base of the events that a person causes."""

    actor = Actor.PERSON

    who: str


class DeviceFact(Event):
    """Base of what a device did or what happened to it."""

    actor = Actor.DEVICE

    device: str


class StackFormed(DeviceFact):
    """Base of what the shoe does with a stack that it has formed for a hand."""

    round: int
    target: str
    deck: str
    cards: int
    moves: list[Move]


class UnreadableEvent(ValueError):
    """A stored event that this version does not know, or whose fields it cannot read."""


class Entry(msgspec.Struct):
    """An event with its number in the journal and the clauses that it cites."""

    seq: int
    clause: tuple[str, ...]
    event: Event
    ts: str = ""  # when it was stored, if it was read from a journal

    @property
    def kind(self) -> str:
        """The kind of the event, as stored."""
        return self.event.kind

    @property
    def data(self) -> dict[str, Any]:
        """The fields of the event as plain JSON values, as stored."""
        found: dict[str, Any] = msgspec.to_builtins(self.event)
        return found
