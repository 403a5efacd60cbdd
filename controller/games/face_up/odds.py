"""How often the bonuses and clean sweeps of Face-Up Chinese Poker come up in cards dealt at random.

The house has no part in the play, so there is no wager and no edge in the usual sense. A line pays the points that
every other player owes for it, and 0 points if there is nothing to pay. The edge of such a "bet" is therefore never
positive: it is the average number of points that a hand earns from each other player, with a minus sign.

Players choose where their cards go, so a good player makes more of these hands than chance does. A bonus is counted for
three or five cards from the whole pack. A sweep is counted if 13 cards can be set as that sweep without a foul, and
as the highest one only: of equal points, the one higher in the list.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from controller.games.face_up.pay import SWEEP_POINTS, Segment, Sweep, bonus_points
from controller.games.odds import BetOdds, bet_odds
from controller.games.poker_hands import (
    FRONT_CARDS,
    HAND_CARDS,
    PokerHand,
    five_card_hand,
    front_hand,
    hand_name,
)
from controller.games.standard_cards import RANKS, SUITS

SWEEP_CARDS: Final = 13
NOTHING: Final = "nothing"
UNIT: Final = "a point from each other player"
FLUSH_TOTALS: Final = frozenset({(5, 5, 3), (8, 5), (10, 3), (13,)})  # cards of each suit, for three flushes


def odds() -> list[BetOdds]:
    """The odds of the bonus for each segment, and of the clean sweeps."""
    return [*(_bonus_odds(segment) for segment in Segment), _sweep_odds()]


# --- bonuses ----------------------------------------------------------------------------------------------------------


def _bonus_odds(segment: Segment) -> BetOdds:
    ways: Counter[str] = Counter()
    pays = {NOTHING: 0}
    hands = _front_hands() if segment is Segment.FRONT else _five_card_hands()
    for hand, number in sorted(hands):
        points = bonus_points(segment, hand)
        # Fronts are paid by rank, the other segments by category.
        outcome = hand_name(hand) if segment is Segment.FRONT else hand.category.label
        pays[outcome if points else NOTHING] = points
        ways[outcome if points else NOTHING] += number
    best_first = dict(sorted(ways.items(), key=lambda line: -pays[line[0]]))
    return bet_odds(f"{segment} bonus", "bonus system", best_first, pays, UNIT)


def _front_hands() -> Iterator[tuple[PokerHand, int]]:
    """Every front by its ranks, and its ways."""
    for ranks in itertools.combinations_with_replacement(RANKS, FRONT_CARDS):
        yield front_hand(_cards(ranks)), _suitings(Counter(ranks).values())


def _five_card_hands() -> Iterator[tuple[PokerHand, int]]:
    """Every hand of five by its ranks, suited or not, and its ways."""
    for ranks in itertools.combinations_with_replacement(RANKS, HAND_CARDS):
        copies = Counter(ranks)
        if max(copies.values()) > len(SUITS):
            continue
        suited = len(SUITS) if len(copies) == HAND_CARDS else 0
        if suited:
            yield five_card_hand([f"{rank} of {SUITS[0]}" for rank in ranks]), suited
        yield five_card_hand(_cards(ranks)), _suitings(copies.values()) - suited


def _cards(ranks: Sequence[str]) -> list[str]:
    """Cards of these ranks that are not all of one suit. Equal ranks are next to each other."""
    return [f"{rank} of {SUITS[place % len(SUITS)]}" for place, rank in enumerate(ranks)]


def _suitings(copies: Collection[int], suits: int = len(SUITS)) -> int:
    """In how many ways these numbers of cards of different ranks can have suits."""
    return math.prod(math.comb(suits, number) for number in copies)


# --- clean sweeps -----------------------------------------------------------------------------------------------------


def _sweep_odds() -> BetOdds:
    ways: dict[str, int] = {str(sweep): number for sweep, number in sweep_ways().items()}
    ways[NOTHING] = math.comb(len(RANKS) * len(SUITS), SWEEP_CARDS) - sum(ways.values())
    pays = {str(sweep): points for sweep, points in SWEEP_POINTS.items()}
    return bet_odds("clean sweep", "13 cards", ways, pays | {NOTHING: 0}, UNIT)


def sweep_ways(ranks: Sequence[str] = RANKS, suits: int = len(SUITS)) -> dict[Sweep, int]:
    """How many hands of 13 cards have each sweep as their highest. A smaller pack has fewer ranks or suits.

    Whether a hand is a dragon, six pairs or three straights follows from how many cards it has of each rank: its
    *copies*. Whether it is three flushes follows from how many it has of each suit: its *totals*. So no hand is looked
    at one by one. Two settings are fouls, because back and middle are equal: three straights, if both are the same and
    neither or both are straight flushes, and three flushes, if both have the same ranks.
    """
    full_pack = len(ranks) == SWEEP_CARDS
    one_each = (1,) * SWEEP_CARDS
    super_dragons = suits if full_pack else 0
    straights, also_flushes = _three_straights(ranks, suits)
    six_pairs, six_pairs_in_flushes = _six_pairs(len(ranks), suits)
    flushes = _three_flushes(len(ranks), suits) - six_pairs_in_flushes - also_flushes
    if full_pack:
        flushes -= _in_flushes(one_each, suits)
    return {
        Sweep.SUPER_DRAGON: super_dragons,
        Sweep.DRAGON: suits**SWEEP_CARDS - super_dragons if full_pack else 0,
        Sweep.SIX_PAIRS: six_pairs,
        Sweep.THREE_STRAIGHTS: straights,
        Sweep.THREE_FLUSHES: flushes,
    }


def _six_pairs(ranks: int, suits: int) -> tuple[int, int]:
    """Hands with an odd number of cards of one rank only; of these, how many can be set as three flushes."""
    hands: Counter[tuple[tuple[int, ...], int]] = Counter({((), 0): 1})  # by their totals and the number of odd ranks
    for _ in range(ranks):
        hands = _with_rank(hands, range(suits + 1), suits)
    found = {totals: number for (totals, odd), number in hands.items() if sum(totals) == SWEEP_CARDS and odd == 1}
    return sum(found.values()), sum(number for totals, number in found.items() if totals in FLUSH_TOTALS)


def _with_rank(
    hands: Counter[tuple[tuple[int, ...], int]], copies: Collection[int], suits: int
) -> Counter[tuple[tuple[int, ...], int]]:
    """The hands with one of these numbers of cards of another rank. Totals are sorted: no suit is special."""
    found: Counter[tuple[tuple[int, ...], int]] = Counter()
    for (totals, odd), number in hands.items():
        for more in copies:
            if sum(totals) + more <= SWEEP_CARDS and odd + more % 2 <= 1:
                for after, ways in _next_totals(totals, more, suits).items():
                    found[after, odd + more % 2] += number * ways
    return found


@functools.cache
def _next_totals(totals: tuple[int, ...], more: int, suits: int) -> Counter[tuple[int, ...]]:
    """The totals with this many cards of another rank, and in how many ways they come about."""
    padded = (*totals, *[0] * (suits - len(totals)))
    found: Counter[tuple[int, ...]] = Counter()
    for chosen in itertools.combinations(range(suits), more):
        after = (total + (suit in chosen) for suit, total in enumerate(padded))
        found[tuple(sorted((total for total in after if total), reverse=True))] += 1
    return found


@functools.cache
def _in_flushes(copies: tuple[int, ...], suits: int) -> int:
    """How many hands with these numbers of cards of each rank have the totals of three flushes, fouls included."""
    hands: Counter[tuple[int, ...]] = Counter({(): 1})
    for more in copies:
        after: Counter[tuple[int, ...]] = Counter()
        for totals, number in hands.items():
            for sorted_totals, ways in _next_totals(totals, more, suits).items():
                after[sorted_totals] += number * ways
        hands = after
    return sum(hands[totals] for totals in FLUSH_TOTALS)


def _three_flushes(ranks: int, suits: int) -> int:
    """All hands that can be set as three flushes without a foul."""
    hands = 0
    for totals in FLUSH_TOTALS:
        if len(totals) <= suits:
            of_each = set(itertools.permutations((*totals, *[0] * (suits - len(totals)))))
            hands += len(of_each) * math.prod(math.comb(ranks, total) for total in totals)
    return hands - _equal_flushes(suits) * math.comb(ranks, HAND_CARDS) * math.comb(ranks, FRONT_CARDS)


def _equal_flushes(suits: int) -> int:
    """In how many ways two flushes of the same ranks and three cards of a third suit can have suits."""
    return math.comb(suits, 2) * (suits - 2)


def _three_straights(ranks: Sequence[str], suits: int) -> tuple[int, int]:
    """Hands that can be set as three straights and are no higher sweep; of these, how many also as three flushes."""
    straights = also_flushes = 0
    for copies, doubled in _straight_copies(ranks, suits).items():
        if set(copies) == {1} or sum(number % 2 for number in copies) == 1:
            continue  # a dragon, or six pairs
        if doubled:
            hands, flushes = _doubled_straight(3 - copies.count(1), suits)
            straights += hands
            also_flushes += flushes
        else:
            straights += _suitings(copies, suits)
            equal = _equal_flushes(suits) if sum(number > 1 for number in copies) == HAND_CARDS else 0
            also_flushes += _in_flushes(tuple(sorted(copies)), suits) - equal
    return straights, also_flushes


def _straight_copies(ranks: Sequence[str], suits: int) -> dict[tuple[int, ...], bool]:
    """The copies of all hands that are three straights, and whether the same straight twice is the only way."""
    found: dict[tuple[int, ...], bool] = {}
    pairs = itertools.combinations_with_replacement(_runs(ranks, HAND_CARDS), 2)
    for (one, other), front in itertools.product(pairs, _runs(ranks, FRONT_CARDS)):
        counts = Counter((*one, *other, *front))
        if max(counts.values()) <= suits:
            copies = tuple(counts[rank] for rank in ranks)
            found[copies] = found.get(copies, True) and one == other
    return found


def _runs(ranks: Sequence[str], length: int) -> list[tuple[str, ...]]:
    """All straights of this length that these ranks give."""
    around = (*RANKS, RANKS[0])
    runs = (around[start : start + length] for start in range(len(around) - length + 1))
    return [run for run in runs if set(run) <= set(ranks)]


@functools.cache
def _doubled_straight(shared: int, suits: int) -> tuple[int, int]:
    """Hands of the same straight twice and a front that shares this many ranks with it, if they are no foul.

    One straight must be a straight flush and the other not. With two suits in all five ranks, that needs a third card
    of a rank: it takes a place in the middle, while the front takes the one that would make the second straight flush.
    The second number is of those that can be set as three flushes too.
    """
    numbers = [3] * shared + [2] * (HAND_CARDS - shared)
    hands = Counter({((1,) * suits, (0,) * suits): 1})  # by the suits that all ranks of the straight have, and totals
    for place, copies in enumerate([*numbers, *[1] * (FRONT_CARDS - shared)]):
        after: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
        for (throughout, totals), number in hands.items():
            for chosen in itertools.combinations(range(suits), copies):
                taken = tuple(int(suit in chosen) for suit in range(suits))
                still = tuple(map(min, throughout, taken)) if place < HAND_CARDS else throughout
                after[still, tuple(map(sum, zip(totals, taken, strict=True)))] += number
        hands = after
    straights = flushes = 0
    for (throughout, totals), number in hands.items():
        if sum(throughout) == 1 or (sum(throughout) == 2 and shared):
            straights += number
            pattern = tuple(sorted((total for total in totals if total), reverse=True))
            equal = sum(throughout) == 2 and pattern == (5, 5, 3)
            flushes += number if pattern in FLUSH_TOTALS and not equal else 0
    return straights, flushes
