"""Events: numbered by the device, which keeps each one until the host has stored it."""

from __future__ import annotations

import msgspec

from firmware_bridge.wire.messages.base import Message
from firmware_bridge.wire.messages.enums import ButtonName, Cycle, DoorState, FaultCode, Outcome, Place, PowerCause
from firmware_bridge.wire.messages.fields import (
    CardCount,
    CardKind,
    EventNumber,
    Id,
    Kinds,
    Milliseconds,
    ShownKinds,
    Text,
)


class EventMessage(Message):
    """Base of the events. `number` counts from 1 in each boot without gaps; `at_ms` is the device's uptime."""

    number: EventNumber
    at_ms: Milliseconds


class CardsEvent(EventMessage):
    """Base of the events about cards at a place. `command` is the id of the command that moved them, 0 for none."""

    command: Id
    place: Place


class PowerUp(EventMessage, tag=64):
    """The device started. Event 1 of every boot; sent again, with memory_kept, if the memory survived a power loss."""

    cause: PowerCause
    memory_kept: bool


class CardsCounted(CardsEvent, tag=65):
    """The device counted cards. `kinds` has the count of each kind of card, if the device recognises cards."""

    cards: CardCount
    kinds: Kinds = msgspec.field(default_factory=list)


class CycleDone(EventMessage, tag=66):
    """A cycle has ended."""

    command: Id
    cycle: Cycle
    outcome: Outcome
    cards: CardCount  # moved by the cycle, -1 where the device does not count
    duration_ms: Milliseconds


class StackPresented(CardsEvent, tag=67):
    """A stack is at the place, ready to be taken; at HELD it stays inside."""

    cards: CardCount


class StackTaken(CardsEvent, tag=68):
    """The cards at the place were taken. Which cards they are is answered by `CardKinds`, when the host asks."""

    cards: CardCount


class CardFaceUp(CardsEvent, tag=69):
    """A card was seen face up."""

    kind: CardKind = -1


class Jam(CardsEvent, tag=70):
    """Cards are stuck. The device stops until a person removes the jam and ClearJam is given."""


class Door(EventMessage, tag=71):
    """A door was opened or closed, or its lock changed."""

    state: DoorState


class Button(EventMessage, tag=72):
    """A button was pressed."""

    button: ButtonName


class Fault(EventMessage, tag=73):
    """A part is broken."""

    code: FaultCode
    text: Text = ""


class CardsPresent(EventMessage, tag=74):
    """Cards were put in at a place, or all of them were taken out."""

    place: Place
    present: bool


class CardsShown(CardsEvent, tag=75):
    """The kinds of the cards that a DispenseFaceUp brings out, in the order in which they came; -1: not recognised."""

    kinds: ShownKinds


class UnknownEvent(EventMessage, tag=0):
    """An event of a later version or of a maker: its number counts, its content is passed on unread.

    Only the host makes these; nobody sends message 0.
    """

    message_number: int = 0
    content: bytes = b""


class MalformedEvent(UnknownEvent, tag=-1):
    """An event of this version with fields that cannot be read: its number counts, its content is passed on unread."""

    problem: str = ""


KnownEvent = (
    PowerUp
    | CardsCounted
    | CycleDone
    | StackPresented
    | StackTaken
    | CardFaceUp
    | Jam
    | Door
    | Button
    | Fault
    | CardsPresent
    | CardsShown
)
AnyEvent = KnownEvent | UnknownEvent | MalformedEvent
