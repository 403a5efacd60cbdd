"""Defects in what a device reveals about hidden cards."""

from __future__ import annotations

import msgspec

from firmware_bridge.wire.messages import (
    AskCards,
    CardKinds,
    CycleDone,
    Message,
    NoAnswer,
    Reason,
    StackPresented,
    StackTaken,
    message_number,
)
from simulators.devices.cards import Spot
from simulators.devices.firmware import Firmware
from simulators.devices.shoe import HELD, SHOE
from simulators.faulty_firmware.defect_lists import fails


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
