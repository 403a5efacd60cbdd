"""Mechanical defects in what a device does with its cards, and in what it refuses."""

from __future__ import annotations

from typing import Any

from firmware_bridge.wire.messages import (
    AnyCommand,
    Capability,
    Command,
    Cycle,
    CycleDone,
    Deliver,
    DeviceRole,
    Dispense,
    Eject,
    EventMessage,
    Indicate,
    Mode,
    Outcome,
    Reason,
    SelfTest,
    Shuffle,
    StackPresented,
)
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware.defect_lists import mechanical

SHOE, SHUFFLER = DeviceRole.SHOE, DeviceRole.SHUFFLER
DECK, HELD, INFEED, OUTPUT = (Spot(CardPlace[name]) for name in ("SHOE", "HELD", "INFEED", "OUTPUT"))
FLOOR = Spot(CardPlace.FLOOR)
ONE_DECK = 53


class _MovesBack(Firmware):
    """At the end of one kind of cycle, before it is reported, moves cards in the wrong way."""

    cycle: Cycle

    def _move_back(self) -> None:
        raise NotImplementedError

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is CycleDone and fields["cycle"] is self.cycle:
            self._move_back()
        super().report(what, **fields)


@mechanical(SHUFFLER, "sequence.deliver")
class NeverDelivers(Firmware):
    """Accepts Deliver, but its cycle never ends."""

    def _act(self, command: AnyCommand) -> None:
        if isinstance(command, Deliver):
            self.effects += 1
            self.mechanics.mode, self.mechanics.doing = Mode.WORKING, command
        else:
            super()._act(command)


@mechanical(SHOE, "sequence.release")
class ReleasesNothing(_MovesBack):
    """Reports a Release, but the held stack stays where it is."""

    cycle = Cycle.RELEASE

    def _move_back(self) -> None:
        self.mechanics.cards.move_all(self.mechanics.exit, HELD)


@mechanical(SHOE, "sequence.eject")
class EjectsAllButTheHeld(_MovesBack):
    """Ejects the cards of the shoe, but leaves the held stack."""

    cycle = Cycle.EJECT

    def _act(self, command: AnyCommand) -> None:
        if isinstance(command, Eject):
            self.mechanics.cards.move_all(HELD, FLOOR)
        super()._act(command)

    def _move_back(self) -> None:
        self.mechanics.cards.move_all(FLOOR, HELD)


@mechanical(SHUFFLER, "sequence.shuffle")
class ShufflesNothing(_MovesBack):
    """Reports a Shuffle, but the deck stays in the infeed."""

    cycle = Cycle.SHUFFLE

    def _move_back(self) -> None:
        self.mechanics.cards.move_all(OUTPUT, INFEED)


@mechanical(SHOE, "sequence.self_test")
class SpendsACardOnItsTest(_MovesBack):
    """Moves a card to the exit during a self-test."""

    cycle = Cycle.SELF_TEST

    def _move_back(self) -> None:
        self.mechanics.cards.move_top(1, DECK, self.mechanics.exit)


@mechanical(SHOE, "sequence.hold")
class IgnoresHold(Firmware):
    """Dispenses to the exit what should be held."""

    def _act(self, command: AnyCommand) -> None:
        if isinstance(command, Dispense):
            command.hold = False
        super()._act(command)


@mechanical(SHOE, "sequence.dispense")
class DealsOneLess(Firmware):
    """Dispenses one card too few, and says COMPLETE."""

    def _act(self, command: AnyCommand) -> None:
        if isinstance(command, Dispense) and command.cards > 1:
            command.cards -= 1
        super()._act(command)


@mechanical(SHOE, "sequence.dispense")
class DealsOneMore(Firmware):
    """Dispenses one card too many, and reports the number requested."""

    _dealing = 0

    def _act(self, command: AnyCommand) -> None:
        if isinstance(command, Dispense):
            self._dealing = command.id
            command.cards += 1
        super()._act(command)

    def report(self, what: type[EventMessage], **fields: Any) -> None:
        if what in (StackPresented, CycleDone) and fields["command"] == self._dealing and fields["cards"] > 0:
            fields["cards"] -= 1
        super().report(what, **fields)


# --- refusals -------------------------------------------------------------------------------------------------------


@mechanical(SHOE, "sequence.light_while_busy")
class TooBusyForLights(Firmware):
    """Refuses Indicate with BUSY while a cycle runs."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        return Reason.BUSY if isinstance(command, Indicate) and self.mechanics.doing else super()._hindrance(command)


class _MovesOntoCards(Firmware):
    """Starts one kind of cycle although cards are in its way at the exit."""

    onto: type[Command]

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        return None if hindrance is Reason.EXIT_OCCUPIED and isinstance(command, self.onto) else hindrance


@mechanical(SHUFFLER, "hands.exit_occupied")
class EjectsOntoCards(_MovesOntoCards):
    """Starts an Eject although cards are at the exit."""

    onto = Eject


@mechanical(SHUFFLER, "hands.exit_occupied", lacks={Capability.FEEDS_SHOE})
class DeliversOntoCards(_MovesOntoCards):
    """Starts a Deliver although cards are at the exit."""

    onto = Deliver


@mechanical(SHUFFLER, "hands.output_occupied")
class ShufflesOntoCards(Firmware):
    """Starts a Shuffle although shuffled cards are in the output."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        return None if hindrance is Reason.OUTPUT_OCCUPIED else hindrance


@mechanical(SHOE, "refusal.cards_first")
class LooksAtTheExitFirst(Firmware):
    """Says EXIT_OCCUPIED before it checks whether there are enough cards."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        occupied = self.mechanics.cards.count(self.mechanics.exit) > 0
        return Reason.EXIT_OCCUPIED if hindrance is Reason.NO_CARDS and occupied else hindrance


class _LooksAtItselfLast(Firmware):
    """Checks the reasons of the command itself before one of the device."""

    too_late: Reason

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        if hindrance is not self.too_late or isinstance(command, SelfTest):
            return hindrance
        return self.mechanics._hindrance(command) or hindrance


@mechanical(SHOE, "refusal.locked_first")
class LooksAtTheLockLast(_LooksAtItselfLast):
    """Says BAD_ARGUMENT or NO_CARDS where it should say LOCKED."""

    too_late = Reason.LOCKED


@mechanical(SHOE, "refusal.busy_first")
class LooksAtItsCycleLast(_LooksAtItselfLast):
    """Says BAD_ARGUMENT or NO_CARDS where it should say BUSY."""

    too_late = Reason.BUSY


@mechanical(SHOE, "refusal.held")
class HoldsTwoStacks(Firmware):
    """Holds a second stack on top of the first."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        again = isinstance(command, Dispense) and command.hold and hindrance is Reason.EXIT_OCCUPIED
        return None if again else hindrance


@mechanical(SHOE, "cards.no_cards")
class KnowsOneDeckOnly(Firmware):
    """Refuses a Dispense of more than 53 cards with BAD_ARGUMENT."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        many = isinstance(command, Dispense) and command.cards > ONE_DECK
        return Reason.BAD_ARGUMENT if many and hindrance is Reason.NO_CARDS else hindrance


# --- what no message can show -----------------------------------------------------------------------------------------


@mechanical(SHUFFLER, "")
class LeavesTheOrder(Firmware):
    """Moves the deck through the shuffler without changing its order."""

    def _act(self, command: AnyCommand) -> None:
        cards = self.mechanics.cards
        self._order = list(cards.pile(INFEED)) if isinstance(command, Shuffle) else []
        super()._act(command)

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is CycleDone and fields["cycle"] is Cycle.SHUFFLE and fields["outcome"] is Outcome.COMPLETE:
            self.mechanics.cards.reorder(OUTPUT, self._order)
        super().report(what, **fields)


@mechanical(SHOE, "", gains={Capability.RECOGNISES})
class DealsFromTheBottom(Firmware):
    """Dispenses the bottom card of the deck first."""

    def _act(self, command: AnyCommand) -> None:
        if isinstance(command, Dispense):
            cards = self.mechanics.cards
            cards.reorder(DECK, list(reversed(cards.pile(DECK))))
        super()._act(command)


@mechanical(SHOE, "")
class StaysDark(Firmware):
    """Accepts Indicate, but shows nothing."""

    def _act(self, command: AnyCommand) -> None:
        super()._act(command)
        self.indication = None
