"""Dragon Poker's hands (chapter 6) and paytables (chapter 12).

The house chooses one of the paytables A and B for the ante bonus and for the three card bonus.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

GOLD = "gold dragon"
HAND_SIZE = 3


class Rank(IntEnum):
    """The ranks of the cards, lowest first. All dragons have the same rank."""

    RABBIT = 0
    MONKEY = 1
    PANDA = 2
    TIGER = 3
    PHOENIX = 4
    DRAGON = 5


class Category(IntEnum):
    """What a hand is, lowest first."""

    HIGH_CARD = 0
    PAIR = 1
    TRIPS = 2


class RankedHand(NamedTuple):
    """A hand that compares as the rules rank it: first the category, then rank by rank. Equal hands tie."""

    category: Category
    ranks: tuple[Rank, ...]  # of the trips; of the pair and the third card; or of all three, highest first


_PLURALS = {Rank.PHOENIX: "phoenix"}  # of the ranks whose plural has no s


def rank_of(kind: str) -> Rank:
    """The rank of a kind of card, such as `red dragon`."""
    return Rank[kind.split()[-1].upper()]


def best_hand(kinds: Sequence[str]) -> RankedHand:
    """The highest hand that these three cards form. The gold dragon stands for whatever makes it highest."""
    ranks = [rank_of(kind) for kind in kinds if kind != GOLD]
    if GOLD not in kinds:
        return _ranked(ranks)
    return max(_ranked([*ranks, wild]) for wild in Rank)


def _ranked(ranks: Sequence[Rank]) -> RankedHand:
    high, middle, low = sorted(ranks, reverse=True)
    if high == low:
        return RankedHand(Category.TRIPS, (high,))
    if high == middle:
        return RankedHand(Category.PAIR, (high, low))
    if middle == low:
        return RankedHand(Category.PAIR, (low, high))
    return RankedHand(Category.HIGH_CARD, (high, middle, low))


def hand_name(hand: RankedHand, ranks: int = 1) -> str:
    """A hand in words: "pair of tigers". With more of its ranks: "pair of tigers with a panda"."""
    character = hand.ranks[0].name.lower()
    several = _PLURALS.get(hand.ranks[0], f"{character}s")
    names = {
        Category.TRIPS: f"three {several}",
        Category.PAIR: f"pair of {several}",
        Category.HIGH_CARD: f"{character} high",
    }
    others = " and ".join(f"a {rank.name.lower()}" for rank in hand.ranks[1:ranks])
    return f"{names[hand.category]} with {others}" if others else names[hand.category]


# --- paytables --------------------------------------------------------------------------------------------------------


class PayLine(NamedTuple):
    """A line of a paytable: paid for this category with this rank or better, unless a line above is."""

    outcome: str
    category: Category
    rank: Rank
    pays: int

    def matches(self, hand: RankedHand) -> bool:
        """Whether a hand is good enough for this line."""
        return (hand.category, hand.ranks[0]) >= (self.category, self.rank)


_THREE_DRAGONS = "three dragons", Category.TRIPS, Rank.DRAGON
_THREE_PHOENIX = "three phoenix", Category.TRIPS, Rank.PHOENIX
_THREE_TIGERS = "three tigers", Category.TRIPS, Rank.TIGER
_TRIPS = "trips", Category.TRIPS, Rank.RABBIT
_TWO_DRAGONS = "pair of dragons", Category.PAIR, Rank.DRAGON
_TWO_PHOENIX = "pair of phoenix", Category.PAIR, Rank.PHOENIX
_TWO_TIGERS = "pair of tigers", Category.PAIR, Rank.TIGER
_PANDAS_OR_BETTER = "pair of pandas or better", Category.PAIR, Rank.PANDA
_WINNING_HAND = "winning hand", Category.HIGH_CARD, Rank.RABBIT

Paytable = tuple[PayLine, ...]

ANTE_BONUS: dict[str, Paytable] = {
    "A": (
        PayLine(*_THREE_DRAGONS, 30),
        PayLine(*_THREE_PHOENIX, 10),
        PayLine(*_TRIPS, 6),
        PayLine(*_TWO_DRAGONS, 2),
        PayLine(*_TWO_PHOENIX, 1),
        PayLine(*_WINNING_HAND, 0),
    ),
    "B": (
        PayLine(*_THREE_DRAGONS, 30),
        PayLine(*_TRIPS, 4),
        PayLine(*_PANDAS_OR_BETTER, 1),
        PayLine(*_WINNING_HAND, 0),
    ),
}


def _three_card_bonus(three_tigers: int) -> Paytable:
    return (
        PayLine(*_THREE_DRAGONS, 40),
        PayLine(*_THREE_PHOENIX, 30),
        PayLine(*_THREE_TIGERS, three_tigers),
        PayLine(*_TRIPS, 10),
        PayLine(*_TWO_DRAGONS, 4),
        PayLine(*_TWO_PHOENIX, 2),
        PayLine(*_TWO_TIGERS, 1),
    )


THREE_CARD_BONUS: dict[str, Paytable] = {"A": _three_card_bonus(15), "B": _three_card_bonus(20)}

DRAGON_WAGER: dict[str, dict[str, int]] = {
    "A": {
        "three red dragons": 1000,
        "three blue dragons": 1000,
        "three dragons with the gold dragon": 200,
        "three dragons": 60,
        "pair of dragons": 7,
        "gold dragon": 5,
    }
}


def pay_line(paytable: Paytable, hand: RankedHand) -> PayLine | None:
    """The line that a hand is paid by; None if it is not paid."""
    return next((line for line in paytable if line.matches(hand)), None)


def dragons(kinds: Sequence[str]) -> str:
    """The outcome of the dragon wager, which counts the dragon cards in a hand; empty if it loses.

    The gold dragon counts as a dragon here, never as another character.
    """
    found = sorted(kind for kind in kinds if rank_of(kind) is Rank.DRAGON)
    if len(found) == HAND_SIZE:
        if GOLD in found:
            return "three dragons with the gold dragon"
        return f"three {found[0]}s" if len(set(found)) == 1 else "three dragons"
    if len(found) == 2:
        return "pair of dragons"
    return "gold dragon" if GOLD in found else ""
