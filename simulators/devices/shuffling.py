"""How a shuffler mixes cards: as a plan of single placements, or all at once, with the same result.

A pass takes cards one after another from the bottom of the deck and puts each on a shelf, as its plan says;
then the shelves are gathered into one pile, shelf 0 on top. A simulated shuffler makes a pass card by card:

    for shelf, at in shuffle.plan(n, rng):
        cards.move_bottom(1, infeed, Spot(Place.SHELVES, shelf), at)
    for shelf in range(shuffle.shelves):
        cards.move_all(Spot(Place.SHELVES, shelf), output, BOTTOM)

and may stop anywhere between two cards, as a jam does.
"""

# mypyc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import ClassVar, Protocol, TypeVar

from simulators.devices.cards import BOTTOM, TOP

T = TypeVar("T")


# Where one card goes: the shelf, and where in the pile there (an index from the top, or BOTTOM). A bare
# tuple, because one is made for every card of every shuffle.
Placement = tuple[int, int]


class ShuffleModel(Protocol):
    """A way of shuffling. `passes` times, a plan for the whole deck is drawn and carried out."""

    @property
    def shelves(self) -> int: ...

    @property
    def passes(self) -> int: ...

    def plan(self, n: int, rng: Random) -> list[Placement]:
        """Draw the placements of one pass of n cards, in the order in which the cards are taken."""

    def __call__(self, cards: Sequence[T], rng: Random) -> list[T]:
        """Make every pass at once: return the shuffled cards, index 0 on top, and leave `cards` unchanged."""


def follow(plan: list[Placement], cards: Sequence[T], shelves: int) -> list[T]:
    """Make one pass at once: place the cards by a plan that has one placement for each, and gather them."""
    piles: list[list[T]] = [[] for _ in range(shelves)]
    for card, (shelf, at) in zip(reversed(cards), plan, strict=True):
        pile = piles[shelf]
        pile.insert(len(pile) if at == BOTTOM else at, card)
    return [card for pile in piles for card in pile]


@dataclass(frozen=True)
class Uniform:
    """Every order equally likely: each card goes to a random index of one single pile."""

    shelves: ClassVar[int] = 1
    passes: ClassVar[int] = 1

    def plan(self, n: int, rng: Random) -> list[Placement]:
        # With `there` cards in the pile, a card has there + 1 gaps to go to.
        return [(0, rng.randrange(there + 1)) for there in range(n)]

    def __call__(self, cards: Sequence[T], rng: Random) -> list[T]:
        return follow(self.plan(len(cards), rng), cards, self.shelves)


@dataclass(frozen=True)
class Shelf:
    """The shelf shuffler of "Analysis of casino shelf shuffling machines" (Diaconis, Fulman, Holmes, 2013).

    Each card goes to a random shelf, on top of or under the cards there with equal chance. One pass of ten
    shelves is far from uniform; a pass of a shelves and one of b together equal one pass of 2ab shelves.
    """

    # The paper gathers the shelves in random order. The shelf of each card is uniform, so gathering them in
    # fixed order gives the same law.

    shelves: int = 10
    passes: int = 1

    def __post_init__(self) -> None:
        if self.shelves < 1 or self.passes < 1:
            raise ValueError(f"a shelf shuffler has at least one shelf and one pass, not {self}")

    @cached_property
    def _openings(self) -> list[Placement]:
        return [(shelf, at) for shelf in range(self.shelves) for at in (TOP, BOTTOM)]

    def plan(self, n: int, rng: Random) -> list[Placement]:
        return rng.choices(self._openings, k=n)

    def __call__(self, cards: Sequence[T], rng: Random) -> list[T]:
        # The result of a plan and `follow`, without a step of Python for every detail: what goes on top of a shelf is
        # kept in one list, what goes under it in another.
        shuffled = list(cards)
        draw, openings = rng.random, 2 * self.shelves
        for _ in range(self.passes):
            halves: list[list[T]] = [[] for _ in range(openings)]  # top and bottom of each
            for card in reversed(shuffled):
                halves[int(draw() * openings)].append(card)  # the draw of rng.choices
            shuffled.clear()
            for top, bottom in zip(halves[::2], halves[1::2], strict=True):
                top.reverse()
                shuffled += top
                shuffled += bottom
        return shuffled
