"""The Chinese deck of Dragon Poker: its kinds of cards, the hands that win with them, and what a pack must contain.

The rules name cards by letters, which stand for:

- F1 to F5: feng shui 1 to 5
- E, S, W, N alone: the east, south, west and north wind
- GD: the green dragon, the only dragon that the rules mention
- B, C, S with a digit 1 to 9: the suits bamboo, circle and script. So S is the south wind, and S4 is script 4.

The rules say neither which cards a pack has nor how many of each. A `pack` is therefore configuration: a number of
copies for each kind.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

FENG_SHUI: Final = tuple(f"feng shui {number}" for number in range(1, 6))
WINDS: Final = ("east wind", "south wind", "west wind", "north wind")
GREEN_DRAGON: Final = "green dragon"
SUITS: Final = ("bamboo", "circle", "script")
RANKS: Final = range(1, 10)
SUIT_CARDS: Final = tuple(f"{suit} {rank}" for suit in SUITS for rank in RANKS)
KINDS: Final = (*FENG_SHUI, *WINDS, GREEN_DRAGON, *SUIT_CARDS)

# An example, not the game's pack, which its rules do not describe. These are the 52 cards of the "Chinese poker deck"
# in US patent application 2006/0181026, which has the same cards as the rules and reads their letters as above.
EXAMPLE_PACK: Final[Mapping[str, int]] = {
    **dict.fromkeys(FENG_SHUI, 1),
    **dict.fromkeys((*WINDS, GREEN_DRAGON), 4),
    **dict.fromkeys(SUIT_CARDS, 1),
}

HAND_SIZE: Final = 6
FEWEST_PLAYERS, MOST_PLAYERS = 2, 4
MOST_EXCHANGED: Final = 3  # cards in one exchange

# Four hands, and three exchanges of three cards. With a smaller stock, what one player discards would be shuffled and
# dealt to the next player almost at once.
FEWEST_CARDS: Final = MOST_PLAYERS * HAND_SIZE + 3 * MOST_EXCHANGED


# --- winning hands ----------------------------------------------------------------------------------------------------


class WinningClass(IntEnum):
    """The class of a winning hand, lowest first."""

    HONOURS = 0
    TRIPLET_AND_SEQUENCE = 1
    TWO_ALIKE = 2
    ONE_SUIT = 3
    SIX_IN_A_ROW = 4
    ALL_FENG_SHUI = 5


CLASS_NAMES: Final[dict[WinningClass, str]] = {
    WinningClass.HONOURS: "class 0: a feng shui card, the green dragon and the four winds",
    WinningClass.TRIPLET_AND_SEQUENCE: "class 1: a triplet and a sequence",
    WinningClass.TWO_ALIKE: "class 2: two triplets or two sequences",
    WinningClass.ONE_SUIT: "class 3: two sequences of one suit, not in a row",
    WinningClass.SIX_IN_A_ROW: "class 4: six cards of one suit in a row",
    WinningClass.ALL_FENG_SHUI: "class 5: all five feng shui cards",
}

SEQUENCE_SIZE: Final = 3
LOWEST_RANKS: Final = RANKS[: 1 - SEQUENCE_SIZE]  # those with which a sequence can begin

# Three identical cards, or any three feng shui cards: the rules give F1 F2 F4 as an example of a triplet.
TRIPLETS: Final = (
    *((kind,) * 3 for kind in KINDS if kind not in FENG_SHUI),
    *itertools.combinations_with_replacement(FENG_SHUI, 3),
)


@functools.cache
def winning_hands() -> Mapping[tuple[str, ...], WinningClass]:
    """Every hand of six cards that wins, with its kinds sorted, and the highest class that it forms."""
    found: dict[tuple[str, ...], WinningClass] = {}
    for kinds, winning in _readings():
        hand = tuple(sorted(kinds))
        found[hand] = max(winning, found.get(hand, winning))
    return found


def _readings() -> Iterator[tuple[tuple[str, ...], WinningClass]]:
    """Every way to form each class. A hand that can be read in several ways appears several times."""
    for card in FENG_SHUI:
        yield (card, GREEN_DRAGON, *WINDS), WinningClass.HONOURS
    for kind in KINDS:
        yield (*FENG_SHUI, kind), WinningClass.ALL_FENG_SHUI  # the rules name five cards: the sixth can be any
    for first, second in itertools.combinations_with_replacement(TRIPLETS, 2):
        yield (*first, *second), WinningClass.TWO_ALIKE
    sequences = list(itertools.product(SUITS, LOWEST_RANKS))
    for triplet, (suit, low) in itertools.product(TRIPLETS, sequences):
        yield (*triplet, *_sequence(suit, low)), WinningClass.TRIPLET_AND_SEQUENCE
    for (suit, low), (other, high) in itertools.combinations_with_replacement(sequences, 2):
        yield (*_sequence(suit, low), *_sequence(other, high)), _class_of_sequences(suit == other, high - low)


def _sequence(suit: str, low: int) -> tuple[str, ...]:
    return tuple(f"{suit} {rank}" for rank in range(low, low + SEQUENCE_SIZE))


def _class_of_sequences(one_suit: bool, apart: int) -> WinningClass:
    """The class of two sequences, by the distance between their lowest ranks.

    Two sequences of one suit are contiguous if the second begins where the first ends. All others of one suit are not
    contiguous, and so class 3: those with a gap, those that overlap (B1 B2 B3, B2 B3 B4), and two that are identical.
    """
    if not one_suit:
        return WinningClass.TWO_ALIKE
    return WinningClass.SIX_IN_A_ROW if apart == SEQUENCE_SIZE else WinningClass.ONE_SUIT


# --- packs ------------------------------------------------------------------------------------------------------------


def pack_size(pack: Mapping[str, int]) -> int:
    """How many cards a pack has."""
    return sum(pack.values())


def winning_ways(pack: Mapping[str, int]) -> dict[WinningClass, int]:
    """How many of all hands that can be dealt from a pack are in each class."""
    ways = dict.fromkeys(WinningClass, 0)
    for hand, winning in winning_hands().items():
        ways[winning] += math.prod(math.comb(pack.get(kind, 0), hand.count(kind)) for kind in set(hand))
    return ways


def pack_fault(pack: Mapping[str, int]) -> str:
    """Why the game cannot be played with a pack; empty if it can."""
    if not pack:
        return "no pack: the rules do not say which cards it has, so enter the number of copies of each kind"
    if unknown := sorted(pack.keys() - set(KINDS)):
        return f"unknown kinds of cards: {', '.join(unknown)}; expected {', '.join(KINDS)}"
    if missing := [kind for kind, copies in pack.items() if copies < 1]:
        return f"fewer than 1 copy of {', '.join(missing)}; leave out a kind that the pack does not have"
    if pack_size(pack) < FEWEST_CARDS:
        return f"{pack_size(pack)} cards are too few: {MOST_PLAYERS} players need at least {FEWEST_CARDS}"
    if impossible := [CLASS_NAMES[winning] for winning, ways in winning_ways(pack).items() if not ways]:
        return f"no hand of this pack can be {'; '.join(impossible)}"
    return ""
