"""Poker hands of five cards, and front hands of three: how they rank, and what a dealer calls them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from controller.games.standard_cards import KINDS, RANKS, rank_of, suit_of

HAND_CARDS: Final = 5
FRONT_CARDS: Final = 3
ACE: Final = 14
RANK_VALUES: Final[dict[str, int]] = dict(zip(RANKS, (ACE, *range(2, ACE)), strict=True))
RANK_NAMES: Final = {value: rank for rank, value in RANK_VALUES.items()}
_PACK: Final = frozenset(KINDS)


class PokerCategory(IntEnum):
    """What a hand is, lowest first."""

    HIGH_CARD = 0
    PAIR = 1
    TWO_PAIRS = 2
    THREE_OF_A_KIND = 3
    STRAIGHT = 4
    FLUSH = 5
    FULL_HOUSE = 6
    FOUR_OF_A_KIND = 7
    STRAIGHT_FLUSH = 8
    ROYAL_FLUSH = 9

    @property
    def label(self) -> str:
        """Its name in words: "full house"."""
        return self.name.lower().replace("_", " ")


class PokerHand(NamedTuple):
    """A hand that compares as the rules rank it: first the category, then rank by rank. Equal hands tie.

    A front hand compares with a hand of five cards in the same way. If all ranks of the front hand are equal to the
    first ranks of the other, the hand of five is higher: a kicker beats no kicker. So a pair of sixes with a king in
    front is lower than a pair of sixes with king, four and two, and higher than one with queen, jack and ten.
    """

    category: PokerCategory
    ranks: tuple[int, ...]  # those that there are most of first, then the highest; of a straight only the top card


_BY_COPIES: Final = {  # how many cards there are of each rank, the most first
    (4, 1): PokerCategory.FOUR_OF_A_KIND,
    (3, 2): PokerCategory.FULL_HOUSE,
    (3, 1, 1): PokerCategory.THREE_OF_A_KIND,
    (2, 2, 1): PokerCategory.TWO_PAIRS,
    (2, 1, 1, 1): PokerCategory.PAIR,
    (1, 1, 1, 1, 1): PokerCategory.HIGH_CARD,
    (3,): PokerCategory.THREE_OF_A_KIND,
    (2, 1): PokerCategory.PAIR,
    (1, 1, 1): PokerCategory.HIGH_CARD,
}

_NAMES: Final = {  # `one` and `many` are the ranks by name
    PokerCategory.HIGH_CARD: "{one[0]} high",
    PokerCategory.PAIR: "pair of {many[0]}",
    PokerCategory.TWO_PAIRS: "two pairs, {many[0]} and {many[1]}",
    PokerCategory.THREE_OF_A_KIND: "three of a kind, {many[0]}",
    PokerCategory.STRAIGHT: "straight, {one[0]} high",
    PokerCategory.FLUSH: "flush, {one[0]} high",
    PokerCategory.FULL_HOUSE: "full house, {many[0]} over {many[1]}",
    PokerCategory.FOUR_OF_A_KIND: "four of a kind, {many[0]}",
    PokerCategory.STRAIGHT_FLUSH: "straight flush, {one[0]} high",
    PokerCategory.ROYAL_FLUSH: "royal flush",
}


def five_card_hand(kinds: Sequence[str]) -> PokerHand:
    """The rank of a back or middle hand. ValueError: these are not five different cards."""
    hand = _by_copies(kinds, HAND_CARDS)
    if hand.category is not PokerCategory.HIGH_CARD:
        return hand
    suited = len({suit_of(kind) for kind in kinds}) == 1
    top = straight_top([rank_of(kind) for kind in kinds])
    if not top:
        return PokerHand(PokerCategory.FLUSH, hand.ranks) if suited else hand
    if not suited:
        return PokerHand(PokerCategory.STRAIGHT, (top,))
    return PokerHand(PokerCategory.ROYAL_FLUSH if top == ACE else PokerCategory.STRAIGHT_FLUSH, (top,))


def front_hand(kinds: Sequence[str]) -> PokerHand:
    """The rank of a front hand, where straights and flushes do not count. ValueError: not three different cards."""
    return _by_copies(kinds, FRONT_CARDS)


def straight_top(ranks: Sequence[str]) -> int:
    """The top card of consecutive ranks, however many; 0 if they are not. An ace is low or high, never in between."""
    for ace in (ACE, 1):
        values = sorted(ace if rank == "ace" else RANK_VALUES[rank] for rank in ranks)
        if values == list(range(values[0], values[0] + len(values))):
            return values[-1]
    return 0


def hand_name(hand: PokerHand, kickers: bool = False) -> str:
    """A hand in words: "full house, aces over kings". The kickers are named on request."""
    one = [RANK_NAMES[rank] for rank in hand.ranks]
    many = [f"{name}es" if name == "six" else f"{name}s" for name in one]
    name = _NAMES[hand.category].format(one=one, many=many)
    others = one[2 if hand.category in (PokerCategory.TWO_PAIRS, PokerCategory.FULL_HOUSE) else 1 :]
    return f"{name} with {', '.join(others)}" if kickers and others else name


def _by_copies(kinds: Sequence[str], cards: int) -> PokerHand:
    if len(kinds) != cards or len(set(kinds)) != cards or not set(kinds) <= _PACK:
        raise ValueError(f"{', '.join(kinds) or 'no cards'}: expected {cards} different cards of the standard pack")
    copies = Counter(RANK_VALUES[rank_of(kind)] for kind in kinds)
    ranks = sorted(copies, key=lambda rank: (copies[rank], rank), reverse=True)
    return PokerHand(_BY_COPIES[tuple(copies[rank] for rank in ranks)], tuple(ranks))
