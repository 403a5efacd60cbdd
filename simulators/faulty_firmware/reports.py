"""Mechanical defects in what a device reports about its cycles: events, Status and Counters."""

from __future__ import annotations

from typing import Any

import msgspec

from firmware_bridge.wire.messages import (
    AnyQuestion,
    Capability,
    CardFaceUp,
    CardsCounted,
    Counters,
    Cycle,
    CycleDone,
    DeviceRole,
    EventMessage,
    Message,
    Place,
    StackPresented,
    StackTaken,
    Status,
    message_number,
)
from simulators.devices.cards import Card, CardPlace, Spot
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware.defect_lists import mechanical

SHOE, SHUFFLER = DeviceRole.SHOE, DeviceRole.SHUFFLER
RECOGNISES = Capability.RECOGNISES
OUTPUT, HELD = Spot(CardPlace.OUTPUT), Spot(CardPlace.HELD)


# --- secrets --------------------------------------------------------------------------------------------------------


@mechanical(SHUFFLER, "sequence.shuffle", gains={RECOGNISES})
class TellsTheOrder(Firmware):
    """Sends the order of the shuffled deck as the kinds of CardsCounted."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is CardsCounted:
            fields["kinds"] = [int(card.kind) for card in self.mechanics.cards.pile(OUTPUT)]
        super().report(what, **fields)


class _AddsKinds(Firmware):
    """Sends an event with the kinds of its cards as element 7."""

    event: type[EventMessage]

    def _send(self, message: bytes) -> None:
        fields = msgspec.msgpack.decode(message)
        if fields[0] == message_number(self.event) and self._adds(fields):
            message = msgspec.msgpack.encode([*fields[:6], [0] * fields[5]])
        super()._send(message)

    def _adds(self, fields: list[Any]) -> bool:
        return True


@mechanical(SHOE, "sequence.dispense", gains={RECOGNISES})
class TellsTheStack(_AddsKinds):
    """Sends the kinds of the cards in StackPresented, before anybody has taken them."""

    event = StackPresented


@mechanical(SHOE, "hands.take", gains={RECOGNISES})
class TellsTheStub(_AddsKinds):
    """Sends the kinds of ejected cards in StackTaken, although they were never dealt."""

    event = StackTaken
    _ejected = 0

    def report(self, what: type[EventMessage], **fields: Any) -> None:
        if what is CycleDone and fields["cycle"] is Cycle.EJECT:
            self._ejected = fields["command"]
        super().report(what, **fields)

    def _adds(self, fields: list[Any]) -> bool:
        return bool(fields[3] == self._ejected)


@mechanical(SHOE, "sequence.dispense", gains={RECOGNISES})
class ReadsOutEveryCard(Firmware):
    """Reports every card that it dispenses as CardFaceUp."""

    def report(self, what: type[EventMessage], **fields: Any) -> None:
        if what is StackPresented:
            for card in self._stack(fields["place"])[:3]:
                super().report(CardFaceUp, command=fields["command"], place=fields["place"], kind=int(card.kind))
        super().report(what, **fields)

    def _stack(self, place: Place) -> list[Card]:
        return list(self.mechanics.cards.pile(HELD if place is Place.HELD else self.mechanics.exit))


# --- events ---------------------------------------------------------------------------------------------------------


class _Changes(Firmware):
    """Reports one type of event with another value in a field."""

    event: type[EventMessage] = CycleDone
    field: str

    def _changed(self, value: Any) -> object:
        raise NotImplementedError

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is self.event:
            fields[self.field] = self._changed(fields[self.field])
        super().report(what, **fields)


class _Omits(Firmware):
    """Does not report one type of event."""

    event: type[EventMessage]

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is not self.event or not self._omits(fields):
            super().report(what, **fields)

    def _omits(self, fields: dict[str, object]) -> bool:
        return True


@mechanical(SHUFFLER, "sequence.shuffle")
class CountsInSecret(_Omits):
    """Has COUNTS, but sends no CardsCounted after a Shuffle."""

    event = CardsCounted


@mechanical(SHUFFLER, "sequence.eject")
class EjectsInSecret(_Omits):
    """Sends no StackPresented after an Eject."""

    event = StackPresented


@mechanical(SHUFFLER, "sequence.deliver", lacks={Capability.FEEDS_SHOE})
class DeliversInTheWrongOrder(Firmware):
    """Sends CycleDone before StackPresented."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: list[dict[str, object]] = []

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is StackPresented:
            self._waiting.append(fields)
            return
        super().report(what, **fields)
        if what is CycleDone:
            while self._waiting:
                super().report(StackPresented, **self._waiting.pop())


@mechanical(SHOE, "sequence.self_test")
class NamesAnotherCycle(_Changes):
    """Sends the number of another cycle in CycleDone."""

    field = "cycle"

    def _changed(self, value: Any) -> object:
        return Cycle.SHUFFLE


@mechanical(SHOE, "sequence.dispense")
class NamesAnotherPlace(_Changes):
    """Says that a stack at the exit is in the shoe."""

    event = StackPresented
    field = "place"

    def _changed(self, value: Any) -> object:
        return Place.SHOE if value is Place.EXIT else value


@mechanical(SHOE, "sequence.dispense")
class EndsWithoutCards(_Changes):
    """Sends 0 as the cards of every CycleDone."""

    field = "cards"

    def _changed(self, value: Any) -> object:
        return 0


@mechanical(SHOE, "sequence.self_test")
class TimesInSeconds(_Changes):
    """Sends the duration of a cycle in seconds."""

    field = "duration_ms"

    def _changed(self, value: Any) -> object:
        return int(value) // 1000


@mechanical(SHOE, "sequence.self_test")
class EndsTwice(Firmware):
    """Sends CycleDone twice, as two events."""

    def report(self, what: type[EventMessage], **fields: object) -> None:
        super().report(what, **fields)
        if what is CycleDone:
            super().report(what, **fields)


@mechanical(SHOE, "sequence.self_test")
class DatesInSeconds(Firmware):
    """Sends at_ms in seconds."""

    _dating = False

    def report(self, what: type[EventMessage], **fields: object) -> None:
        self._dating = True
        super().report(what, **fields)
        self._dating = False

    def _uptime_ms(self) -> int:
        uptime_ms = super()._uptime_ms()
        return uptime_ms // 1000 if self._dating else uptime_ms


@mechanical(SHOE, "question.clock")
class LivesInSeconds(Firmware):
    """Counts its whole uptime in seconds."""

    def _uptime_ms(self) -> int:
        return super()._uptime_ms() // 1000


# --- Status and Counters ----------------------------------------------------------------------------------------------


class _ClaimsInStatus(Firmware):
    """Always says the same in one field of Status."""

    claim: tuple[str, Any]

    def _answer(self, question: AnyQuestion) -> Message:
        answer = super()._answer(question)
        if isinstance(answer, Status):
            setattr(answer, *self.claim)
        return answer


@mechanical(SHOE, "sequence.eject")
class NeverRunsOut(_ClaimsInStatus):
    """Always says that 53 cards are inside."""

    claim = ("inside_cards", 53)


@mechanical(SHOE, "sequence.self_test")
class RemembersNoCycle(_ClaimsInStatus):
    """Always says 0 as last_cycle."""

    claim = ("last_cycle", 0)


@mechanical(SHOE, "sequence.lock")
class HidesItsLock(_ClaimsInStatus):
    """Always says that it is not locked."""

    claim = ("locked", False)


@mechanical(SHOE, "sequence.events_kept")
class ClaimsNoEvents(_ClaimsInStatus):
    """Always says that it keeps no events."""

    claim = ("events_kept", 0)


@mechanical(SHOE, "sequence.hold")
class CountsHeldStacks(Firmware):
    """Counts a stack that it holds among those at the exit."""

    _held = 0

    def report(self, what: type[EventMessage], **fields: object) -> None:
        self._held += what is StackPresented and fields["place"] is Place.HELD
        super().report(what, **fields)

    def _answer(self, question: AnyQuestion) -> Message:
        answer = super()._answer(question)
        if isinstance(answer, Counters):
            answer.stacks += self._held
        return answer
