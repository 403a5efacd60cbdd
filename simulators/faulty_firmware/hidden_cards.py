"""Defects in what a device reveals about hidden cards, and about those that are dealt face up."""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_bridge.wire.messages import (
    AskCards,
    Capability,
    CardKinds,
    CardsShown,
    CycleDone,
    DeviceRole,
    EventMessage,
    Message,
    NoAnswer,
    Place,
    Reason,
    StackPresented,
    StackTaken,
    message_number,
)
from simulators.devices.cards import Spot
from simulators.devices.firmware import Firmware
from simulators.devices.shoe import HELD, SHOE
from simulators.faulty_firmware.defect_lists import fails, mechanical

SHOE_ROLE, RECOGNISES = DeviceRole.SHOE, Capability.RECOGNISES


def kinds_at(firmware: Firmware, *spots: Spot) -> list[int]:
    """The kinds of the cards there."""
    return [int(card.kind) for spot in spots for card in firmware.mechanics.cards.pile(spot)]


@fails("cards.hidden")
class NamesCardsTooEarly(Firmware):
    """Answers which cards a stack has before anybody has taken it."""

    def _cards(self, question: AskCards) -> Message:
        answer = super()._cards(question)
        if not isinstance(answer, NoAnswer) or answer.reason is not Reason.NOT_TAKEN:
            return answer
        return CardKinds(question.ref, question.command, kinds_at(self, self.mechanics.exit, HELD))


@fails("question.cards")
class NamesCardsOfAnyCommand(Firmware):
    """Answers with the next card if it does not know the command."""

    def _cards(self, question: AskCards) -> Message:
        answer = super()._cards(question)
        if isinstance(answer, NoAnswer) and answer.reason is Reason.NOT_TAKEN:
            return answer
        return CardKinds(question.ref, question.command, kinds_at(self, SHOE)[:1])


@fails("event.elements")
class TellsKindsUnasked(Firmware):
    """Adds the kinds of the cards to its events about them, as if this were a field of a later version."""

    telling = frozenset(message_number(kind) for kind in (StackPresented, StackTaken, CycleDone))

    def _send_event(self, number: int, event: bytes) -> None:
        fields = msgspec.msgpack.decode(event)
        if fields[0] in self.telling:
            event = msgspec.msgpack.encode([*fields, kinds_at(self, self.mechanics.exit, HELD)])
        super()._send_event(number, event)


# --- cards that are dealt face up -----------------------------------------------------------------------------------


@mechanical(SHOE_ROLE, "cards.face_up", gains={RECOGNISES})
class HidesFaceUpCards(Firmware):
    """Does not report the cards of a DispenseFaceUp."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is not CardsShown:
            super().report(what, **fields)


@mechanical(SHOE_ROLE, "cards.face_up", gains={RECOGNISES})
class ShowsCardsLate(Firmware):
    """Reports the cards of a DispenseFaceUp when they are taken."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._late: list[dict[str, object]] = []

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is CardsShown:
            self._late.append(fields)
            return
        super().report(what, **fields)
        if what is StackTaken:
            while self._late:
                super().report(CardsShown, **self._late.pop())


@mechanical(SHOE_ROLE, "cards.face_up", gains={RECOGNISES})
class MisreadsFaceUpCards(Firmware):
    """Reports the cards of a DispenseFaceUp as others than they are."""

    def report(self, what: type[EventMessage], **fields: Any) -> None:
        if what is CardsShown:
            fields["kinds"] = [kind + 1 for kind in fields["kinds"]]
        super().report(what, **fields)


@mechanical(SHOE_ROLE, "sequence.dispense", gains={RECOGNISES})
class ShowsEveryStack(Firmware):
    """Reports the cards of a Dispense as if they were dealt face up."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is StackPresented and fields["place"] is Place.EXIT:
            super().report(
                CardsShown, command=fields["command"], place=Place.EXIT, kinds=kinds_at(self, self.mechanics.exit)
            )
        super().report(what, **fields)
