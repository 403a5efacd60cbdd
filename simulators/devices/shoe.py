"""The mechanics of a simulated dealing shoe: it forms stacks, presents them one by one, and can hold one back."""

# mypyc
from __future__ import annotations

import random
from typing import ClassVar, Final

from firmware_bridge.wire.messages import (
    MOST_KINDS,
    AnyCommand,
    Capability,
    CardsPresent,
    CardsShown,
    DeviceRole,
    Dispense,
    DispenseFaceUp,
    Eject,
    Place,
    Reason,
    Release,
    StackCommand,
)
from firmware_bridge.wire.sequences import Course, SequenceStep, Work
from simulators.devices.cards import TOP, CardPlace, Cards, Spot
from simulators.devices.faults import FaultName
from simulators.devices.mechanics import COMPLETE, FLOOR, CycleSteps, Mechanics, after

SHOE: Final = Spot(CardPlace.SHOE)
HELD: Final = Spot(CardPlace.HELD)
EXIT: Final = Spot(CardPlace.EXIT, 0)
_WIRE_PLACE: Final = {HELD: Place.HELD, EXIT: Place.EXIT}  # how the host names these spots


def _holds(command: AnyCommand) -> bool:
    """Whether this command forms a stack that stays inside."""
    return isinstance(command, Dispense) and command.hold


class ShoeMechanics(Mechanics):
    """Feeds cards from the top of the deck in the shoe to the exit, stack by stack."""

    role: ClassVar[DeviceRole] = DeviceRole.SHOE
    exit: ClassVar[Spot] = EXIT
    card_s: ClassVar[float] = 0.15
    present_s: ClassVar[float] = 0.3
    eject_s: ClassVar[float] = 2.0

    def __init__(self, cards: Cards, capabilities: frozenset[Capability], rng: random.Random) -> None:
        super().__init__(cards, capabilities, rng)
        self.works_at = (SHOE, HELD, self.exit)
        self._held_by = 0  # the command whose cards are held

    def load(self, source: Spot) -> None:
        """A person puts a deck into the shoe."""
        self.put_in(source, SHOE, Place.SHOE)

    def was_fed(self) -> None:
        """The shuffler has put a deck in."""
        self.report(CardsPresent, place=Place.SHOE, present=True)

    def sensed(self) -> dict[str, int]:
        """What the sensors see."""
        return {
            "infeed_cards": 0,
            "inside_cards": self.cards.count(SHOE),
            "output_cards": 0,
            "exit_cards": self.cards.count(self.exit),
            "held_cards": self.cards.count(HELD),
        }

    def not_taken(self, command: int) -> bool:
        """Its cards are moving, held, or at the exit."""
        if self.doing and self.doing.id == command:
            return isinstance(self.doing, StackCommand | Release)
        if command == self._held_by and self.cards.count(HELD):
            return True
        return command == self._dealt_by != 0 and self.cards.count(self.exit) > 0

    def power_lost(self, *, memory_kept: bool = False) -> None:
        """Cards that are held stay there; without its memory it does not know which command they belong to."""
        super().power_lost(memory_kept=memory_kept)
        if not memory_kept:
            self._held_by = 0

    def _stuck(self) -> Spot:
        return SHOE if self.cards.count(SHOE) else HELD

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        exit_occupied = self.cards.count(self.exit) > 0
        if isinstance(command, StackCommand):
            hold = _holds(command)
            if not 1 <= command.cards <= command.most_cards:
                return Reason.BAD_ARGUMENT
            if hold and not self.can(Capability.HOLDS_STACK):
                return Reason.NOT_ABLE
            if self.cards.count(SHOE) < command.cards:
                return Reason.NO_CARDS
            if self.cards.count(HELD) if hold else exit_occupied:
                return Reason.EXIT_OCCUPIED
        elif isinstance(command, Release):
            if not self.cards.count(HELD):
                return Reason.NOTHING_HELD
            if exit_occupied:
                return Reason.EXIT_OCCUPIED
        elif isinstance(command, Eject):
            if not self.cards.count(SHOE) and not self.cards.count(HELD):
                return Reason.NO_CARDS
            if exit_occupied:
                return Reason.EXIT_OCCUPIED
        return None

    def _cycle(self, command: AnyCommand) -> CycleSteps:
        if isinstance(command, StackCommand):
            return self._dispense(command)
        if isinstance(command, Release):
            return self._release(command)
        return self._eject(command)

    def _dispense(self, command: Dispense | DispenseFaceUp) -> CycleSteps:
        cards = self.cards
        target = HELD if _holds(command) else self.exit
        if target is not HELD:  # if the cycle does not finish, these are its cards, but not a stack
            self._presented_by, self._dealt_by = command.id, 0
        if self._begins_with(FaultName.EXTRA_CARD):
            self._spare_gets_in(SHOE)
        if self._begins_with(FaultName.FACE_UP):
            cards.flip(cards.pile(SHOE)[0])
        for _ in range(command.cards):
            yield self.card_s
            if self._goes_wrong(FaultName.SHORT_FEED):
                continue
            if self._goes_wrong(FaultName.EXTRA_CARD):
                self._spare_gets_in(SHOE)
            if cards.count(SHOE) and self._goes_wrong(FaultName.FACE_UP):
                cards.flip(cards.pile(SHOE)[0])
            feed = min(2 if self._goes_wrong(FaultName.DOUBLE_FEED) else 1, cards.count(SHOE))
            missing = self._goes_wrong(FaultName.MISSING_CARD)
            self._moved(cards.move_top(feed, SHOE, FLOOR if missing else target, TOP), _WIRE_PLACE[target])
        self._still = True
        yield self.present_s
        return self._dispensed(command, target)

    def _dispensed(self, command: Dispense | DispenseFaceUp, target: Spot) -> tuple[Course, int]:
        counted = self._counted(self.cards.count(target))
        self._presented(command, target, dealt=True)
        return (COMPLETE if counted == command.cards else Course.INCOMPLETE), counted

    def _undisturbed_end(self, command: AnyCommand, now: float) -> float | None:
        if not isinstance(command, StackCommand):
            return None
        if any(card.face_up for card in self.cards.pile(SHOE)[: command.cards]):  # reported as soon as it is seen
            return None
        return after(now, self.card_s, command.cards) + self.present_s

    def _whole_cycle(self, command: AnyCommand) -> tuple[Course, int]:
        assert isinstance(command, StackCommand)
        target = HELD if _holds(command) else self.exit
        self.cards_moved += len(self.cards.deal(command.cards, SHOE, target))
        return self._dispensed(command, target)

    def _release(self, command: AnyCommand) -> CycleSteps:
        yield self.present_s
        self.cards.move_all(HELD, self.exit)
        counted = self._counted(self.cards.count(self.exit))
        self._presented(command, self.exit, dealt=True)
        return COMPLETE, counted

    def _eject(self, command: AnyCommand) -> CycleSteps:
        yield self.eject_s
        moved = len(self.cards.move_all(SHOE, self.exit)) + len(self.cards.move_all(HELD, self.exit))
        self.cards_moved += moved
        counted = self._counted(moved) if self.can(Capability.COUNTS) else -1
        self._presented(command, self.exit, dealt=False)
        return COMPLETE, counted

    def _presented(self, command: AnyCommand, target: Spot, *, dealt: bool) -> None:
        if target is HELD:
            self._held_by = command.id
        else:
            self._present(command, dealt)

    def _tell(self, step: SequenceStep, work: Work, command: AnyCommand, cards: int, now: float) -> None:
        if step.event is not CardsShown:
            super()._tell(step, work, command, cards, now)
            return
        # The cards are not flipped: one that is face up in the simulation lay the wrong way round in the deck.
        came = self.cards.pile(self.exit)[::-1]
        kinds = [int(card.kind) for card in came[:MOST_KINDS]]
        self.report(CardsShown, command=command.id, place=step.place, kinds=kinds)
