"""The mechanics of a simulated shuffler: infeed, shelves, output, and an exit to the dealer."""

# mypyc
from __future__ import annotations

import random
from collections.abc import Callable
from typing import ClassVar, Final

from firmware_bridge.wire.messages import (
    AnyCommand,
    Capability,
    Deliver,
    DeviceRole,
    Eject,
    Place,
    Reason,
    Shuffle,
)
from firmware_bridge.wire.sequences import Course
from simulators.devices.cards import BOTTOM, CardPlace, Cards, Spot
from simulators.devices.faults import FaultName
from simulators.devices.mechanics import COMPLETE, FLOOR, CycleSteps, Mechanics, after
from simulators.devices.shuffling import Shelf
from simulators.devices.shuffling import ShuffleModel as Shuffling

INFEED: Final = Spot(CardPlace.INFEED)
OUTPUT: Final = Spot(CardPlace.OUTPUT)
SHOE: Final = Spot(CardPlace.SHOE)


class ShufflerMechanics(Mechanics):
    """Shuffles the cards in the infeed, and delivers them into the shoe or out to the dealer."""

    role: ClassVar[DeviceRole] = DeviceRole.SHUFFLER
    exit: ClassVar[Spot] = Spot(CardPlace.EXIT, 1)
    card_s: ClassVar[float] = 0.3
    gather_s: ClassVar[float] = 2.0
    deliver_s: ClassVar[float] = 3.0

    def __init__(
        self, cards: Cards, capabilities: frozenset[Capability], rng: random.Random, way: Shuffling | None = None
    ) -> None:
        super().__init__(cards, capabilities, rng)
        self.way: Shuffling = way or Shelf(shelves=10, passes=3)
        self.works_at = (INFEED, *(Spot(CardPlace.SHELVES, shelf) for shelf in range(self.way.shelves)), OUTPUT)
        self.feeds = SHOE  # with FEEDS_SHOE: where it delivers to; a manual shoe stands elsewhere
        self.fed_shoe: Callable[[], None] = lambda: None  # with FEEDS_SHOE: triggers the shoe's sensor

    def load(self, source: Spot) -> None:
        """A person puts a deck into the infeed."""
        self.put_in(source, INFEED, Place.INFEED)

    def sensed(self) -> dict[str, int]:
        """What the sensors see."""
        return {
            "infeed_cards": self.cards.count(INFEED),
            "inside_cards": self._on_shelves(),
            "output_cards": self.cards.count(OUTPUT),
            "exit_cards": self.cards.count(self.exit),
            "held_cards": 0,
        }

    def _on_shelves(self) -> int:
        return sum(self.cards.count(spot) for spot in self.cards.spots(CardPlace.SHELVES))

    def _stuck(self) -> Spot:
        return INFEED if self.cards.count(INFEED) else OUTPUT

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        exit_occupied = self.cards.count(self.exit) > 0
        if isinstance(command, Shuffle):
            if not self.cards.count(INFEED):
                return Reason.NO_CARDS
            if self.cards.count(OUTPUT) or self._on_shelves():
                return Reason.OUTPUT_OCCUPIED
        elif isinstance(command, Deliver):
            if not self.cards.count(OUTPUT):
                return Reason.NO_CARDS
            if self.can(Capability.FEEDS_SHOE) and self.cards.count(self.feeds):
                return Reason.EXIT_OCCUPIED
            if not self.can(Capability.FEEDS_SHOE) and exit_occupied:
                return Reason.EXIT_OCCUPIED
        elif isinstance(command, Eject):
            if not (self.cards.count(INFEED) or self.cards.count(OUTPUT) or self._on_shelves()):
                return Reason.NO_CARDS
            if exit_occupied:
                return Reason.EXIT_OCCUPIED
        return None

    def _cycle(self, command: AnyCommand) -> CycleSteps:
        if isinstance(command, Shuffle):
            return self._shuffle(command)
        if isinstance(command, Deliver):
            return self._deliver(command)
        return self._eject(command)

    def _shuffle(self, command: Shuffle) -> CycleSteps:
        cards = self.cards
        if self._begins_with(FaultName.EXTRA_CARD):
            self._spare_gets_in(INFEED)
        if self._begins_with(FaultName.FACE_UP):
            cards.flip(self.rng.choice(cards.pile(INFEED)))
        for more in range(self.way.passes - 1, -1, -1):
            for shelf, at in self.way.plan(cards.count(INFEED), self.rng):
                yield self.card_s
                if not cards.count(INFEED):
                    break
                if self._goes_wrong(FaultName.SHORT_FEED):
                    continue
                if self._goes_wrong(FaultName.MISSING_CARD):
                    cards.move_bottom(1, INFEED, FLOOR)
                    continue
                if self._goes_wrong(FaultName.FACE_UP):
                    cards.flip(cards.pile(INFEED)[-1])
                feed = 2 if self._goes_wrong(FaultName.DOUBLE_FEED) and cards.count(INFEED) > 1 else 1
                spot = Spot(CardPlace.SHELVES, shelf)
                self.cards_moved += len(cards.move_bottom(feed, INFEED, spot, min(at, cards.count(spot))))
                if self._goes_wrong(FaultName.EXTRA_CARD):
                    self._spare_gets_in(spot)
            self._still = True
            yield self.gather_s
            for shelf in range(self.way.shelves):
                cards.move_all(Spot(CardPlace.SHELVES, shelf), INFEED if more else OUTPUT, BOTTOM)
        return self._shuffled(command)

    def _shuffled(self, command: Shuffle) -> tuple[Course, int]:
        cards = self.cards
        seen = cards.pile(OUTPUT)
        if self.can(Capability.RECOGNISES):
            self._seen(seen, Place.OUTPUT)
        counted = self._counted(len(seen)) if self.can(Capability.COUNTS) else -1
        return (Course.INCOMPLETE if cards.count(INFEED) else COMPLETE), counted

    def _undisturbed_end(self, command: AnyCommand, now: float) -> float | None:
        if not isinstance(command, Shuffle):
            return None
        number = self.cards.count(INFEED)
        for _ in range(self.way.passes):
            now = after(now, self.card_s, number) + self.gather_s
        return now

    def _whole_cycle(self, command: AnyCommand) -> tuple[Course, int]:
        assert isinstance(command, Shuffle)
        cards = self.cards
        pile = cards.pile(INFEED)
        cards.reorder(INFEED, self.way(pile, self.rng))
        cards.move_all(INFEED, OUTPUT)
        self.cards_moved += len(pile) * self.way.passes
        return self._shuffled(command)

    def _deliver(self, command: Deliver) -> CycleSteps:
        yield self.deliver_s
        into_shoe = self.can(Capability.FEEDS_SHOE)
        moved = len(self.cards.move_all(OUTPUT, self.feeds if into_shoe else self.exit))
        self.cards_moved += moved
        counted = self._counted(moved) if self.can(Capability.COUNTS) else -1
        if into_shoe and self.feeds == SHOE:
            self.fed_shoe()
        elif not into_shoe:
            self._present(command, dealt=False)
        return COMPLETE, counted

    def _eject(self, command: AnyCommand) -> CycleSteps:
        yield self.deliver_s
        moved = 0
        for spot in [INFEED, *self.cards.spots(CardPlace.SHELVES), OUTPUT]:
            moved += len(self.cards.move_all(spot, self.exit))
        self.cards_moved += moved
        counted = self._counted(moved) if self.can(Capability.COUNTS) else -1
        self._present(command, dealt=False)
        return COMPLETE, counted
