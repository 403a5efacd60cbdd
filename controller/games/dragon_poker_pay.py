"""Dragon Poker's hands (chapter 6), paytables (chapter 12), and the exact odds of every bet.

The house chooses one of the paytables A and B for the ante bonus and for the three card bonus.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from enum import IntEnum
from fractions import Fraction
from typing import NamedTuple

from controller.games.dragon_poker import DRAGON_POKER
from controller.games.odds import BetOdds, bet_odds

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


# --- odds -------------------------------------------------------------------------------------------------------------

Copies = tuple[int, ...]  # how many cards there are of each kind
FOLD, LOSE, TIE = "fold", "lose", "tie"
FORFEITED, LOST = -2, -3  # antes: ante and ante bonus; these and the play wager
EVEN_MONEY = 2  # ante and play wager both pay 1 to 1


def odds() -> list[BetOdds]:
    """The odds of every bet by every paytable. The main bet is played as well as possible."""
    main = [_main_bet(name, paytable) for name, paytable in ANTE_BONUS.items()]
    bonus = [_three_card_odds(name, paytable) for name, paytable in THREE_CARD_BONUS.items()]
    return [*main, *bonus, *(_dragon_odds(name, pays) for name, pays in DRAGON_WAGER.items())]


def _hands(copies: Copies) -> Iterator[tuple[tuple[str, ...], int]]:
    """Every hand by its kinds, and in how many ways these cards give it."""
    for found in itertools.combinations_with_replacement(range(len(copies)), HAND_SIZE):
        ways = math.prod(math.comb(copies[kind], found.count(kind)) for kind in set(found))
        if ways:
            yield tuple(DRAGON_POKER.kinds[kind] for kind in found), ways


@functools.cache
def _against_dealer() -> list[tuple[RankedHand, int, int, int, int]]:
    """For every hand: its rank, its ways, and how many of the dealer's hands it beats, ties and loses to."""
    found = []
    ranked = functools.cache(best_hand)
    for mine, ways in _hands(DRAGON_POKER.copies):
        left = [number - mine.count(kind) for kind, number in zip(DRAGON_POKER.kinds, DRAGON_POKER.copies, strict=True)]
        results = [0, 0, 0]
        for theirs, number in _hands(tuple(left)):
            results[_sign(ranked(mine), ranked(theirs))] += number
        found.append((ranked(mine), ways, results[1], results[0], results[-1]))
    return found


def _sign(mine: RankedHand, theirs: RankedHand) -> int:
    return (mine > theirs) - (mine < theirs)


def _main_bet(name: str, paytable: Paytable) -> BetOdds:
    """Ante, ante bonus and play wager. A hand is played if that loses less on average than folding it."""
    wins = {line.outcome: line.pays + EVEN_MONEY for line in paytable}
    ways = dict.fromkeys([*wins, TIE, LOSE, FOLD], 0)
    for hand, number, beaten, tied, lost in _against_dealer():
        line = pay_line(paytable, hand)
        assert line is not None  # the last line is for any winning hand
        deals = beaten + tied + lost
        if Fraction(beaten * wins[line.outcome] + lost * LOST, deals) <= FORFEITED:
            ways[FOLD] += number * deals
            continue
        ways[line.outcome] += number * beaten
        ways[TIE] += number * tied
        ways[LOSE] += number * lost
    return bet_odds("ante, ante bonus and play", name, ways, wins | {TIE: 0, LOSE: LOST, FOLD: FORFEITED}, "the ante")


def _three_card_odds(name: str, paytable: Paytable) -> BetOdds:
    ways = dict.fromkeys([*(line.outcome for line in paytable), LOSE], 0)
    for kinds, number in _hands(DRAGON_POKER.copies):
        line = pay_line(paytable, best_hand(kinds))
        ways[line.outcome if line else LOSE] += number
    return bet_odds("three card bonus", name, ways, {line.outcome: line.pays for line in paytable})


def _dragon_odds(name: str, pays: dict[str, int]) -> BetOdds:
    ways = dict.fromkeys([*pays, LOSE], 0)
    for kinds, number in _hands(DRAGON_POKER.copies):
        ways[dragons(kinds) or LOSE] += number
    return bet_odds("dragon wager", name, ways, pays)
