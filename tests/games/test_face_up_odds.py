"""The odds of bonuses and clean sweeps, against known frequencies, formulas, and smaller packs counted hand by hand."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import pytest

from controller.games.face_up.odds import odds, sweep_ways
from controller.games.face_up.pay import Segments, Sweep, sweep_of
from controller.games.poker_hands import PokerHand, five_card_hand, front_hand
from controller.games.standard_cards import KINDS, RANKS, SUITS

BETS = {bet.bet: bet for bet in odds()}
LINES = {bet: {line.outcome: (line.ways, line.pays) for line in BETS[bet].lines} for bet in BETS}


def test_five_cards_have_the_known_frequencies_of_poker() -> None:
    assert LINES["middle bonus"] == {
        "royal flush": (4, 50),
        "straight flush": (36, 30),
        "four of a kind": (624, 20),
        "full house": (3744, 12),
        "flush": (5108, 8),
        "straight": (10200, 4),
        "nothing": (54912 + 123552 + 1098240 + 1302540, 0),
    }
    assert BETS["middle bonus"].lines[0].of == 2598960


def test_the_back_earns_half_of_what_the_middle_does() -> None:
    assert {outcome: (ways, 2 * pays) for outcome, (ways, pays) in LINES["back bonus"].items()} == LINES["middle bonus"]
    assert 2 * BETS["back bonus"].edge == BETS["middle bonus"].edge


def test_fronts_have_the_frequencies_that_formulas_give() -> None:
    front = dict(LINES["front bonus"])
    assert front.pop("nothing") == (22100 - 9 * 288 - 13 * 4, 0)
    trips = {outcome: line for outcome, line in front.items() if outcome.startswith("three of a kind")}
    pairs = {outcome: line for outcome, line in front.items() if outcome.startswith("pair")}
    assert sorted(trips.values()) == [(4, points) for points in range(10, 23)]
    assert sorted(pairs.values()) == [(6 * 48, points) for points in range(1, 10)]
    assert len(trips) + len(pairs) == len(front)


def test_the_edge_is_the_average_number_of_points_with_a_minus_sign() -> None:
    assert BETS["front bonus"].edge == -Fraction(288 * 45 + 4 * sum(range(10, 23)), 22100)
    assert all(bet.edge < 0 for bet in BETS.values())


def test_every_hand_of_13_cards_has_one_line_of_the_clean_sweeps() -> None:
    sweeps = LINES["clean sweep"]
    assert {sweep: pays for sweep, (_, pays) in sweeps.items()} == {
        "super dragon": 26,
        "dragon": 13,
        "six pairs": 3,
        "three straights": 3,
        "three flushes": 3,
        "nothing": 0,
    }
    assert sum(ways for ways, _ in sweeps.values()) == math.comb(52, 13)


def test_dragons_and_six_pairs_of_a_whole_pack_agree_with_formulas() -> None:
    assert LINES["clean sweep"]["super dragon"][0] == 4
    assert LINES["clean sweep"]["dragon"][0] == 4**13 - 4
    six_pairs = 0
    for quads in range(4):  # a rank with one card or three, and the rest in twos and fours
        pairs = 6 - 2 * quads
        six_pairs += 13 * 4 * math.comb(12, quads) * math.comb(12 - quads, pairs) * 6**pairs
        pairs -= 1  # of those with three cards, which hold a pair themselves
        if pairs >= 0:
            six_pairs += 13 * 4 * math.comb(12, quads) * math.comb(12 - quads, pairs) * 6**pairs
    assert LINES["clean sweep"]["six pairs"][0] == six_pairs


def six_pair_shapes() -> Iterator[list[int]]:
    """How many cards there are of each rank, lowest first, in all hands of six pairs and one more card."""
    for number in range(7):
        for copies in itertools.product((2, 4), repeat=number):
            for place in range(number + 1):
                if sum(copies) == 12:
                    yield [*copies[:place], 1, *copies[place:]]
                if sum(copies) == 10:
                    yield [*copies[:place], 3, *copies[place:]]


def a_setting_of_six_pairs(copies: list[int]) -> Segments | None:
    """Cards with these numbers of ranks, set as six pairs without a foul: two pairs, two pairs, and what is left."""
    of_rank = [
        [f"{rank} of {suit}" for suit in SUITS[:number]] for rank, number in zip(RANKS[1:], copies, strict=False)
    ]
    single = next(cards.pop() for cards in of_rank if len(cards) % 2)
    pairs = [cards[place : place + 2] for cards in of_rank for place in range(0, len(cards), 2)]
    for one, two, three, four, front, split in itertools.permutations(pairs):
        for fifth, tenth, last in itertools.permutations((*split, single)):
            setting = Segments((*one, *two, fifth), (*three, *four, tenth), (*front, last))
            if sweep_of(setting) is Sweep.SIX_PAIRS:
                return setting
    return None


def test_every_hand_of_six_pairs_can_be_set_without_a_foul() -> None:
    shapes = list(six_pair_shapes())
    assert len(shapes) == len({tuple(shape) for shape in shapes}) > 100
    assert all(a_setting_of_six_pairs(shape) for shape in shapes)


# --- smaller packs, hand by hand --------------------------------------------------------------------------------------


def hands(ranks: tuple[str, ...], suits: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """Every hand of 13 from a smaller pack but for the names of the suits, and how many hands differ only in these."""
    by_size: dict[int, list[tuple[str, ...]]] = {
        size: list(itertools.combinations(ranks, size)) for size in range(len(ranks) + 1)
    }
    for sizes in itertools.combinations_with_replacement(range(len(ranks), -1, -1), suits):
        if sum(sizes) != 13:
            continue
        groups = [
            itertools.combinations_with_replacement(by_size[size], sizes.count(size))
            for size in sorted(set(sizes), reverse=True)
        ]
        for chosen in itertools.product(*groups):
            parts = [part for group in chosen for part in group]
            names = math.factorial(suits) // math.prod(math.factorial(n) for n in Counter(parts).values())
            yield tuple(f"{rank} of {SUITS[suit]}" for suit, part in enumerate(parts) for rank in part), names


@functools.cache
def mask(kinds: tuple[str, ...]) -> int:
    """A set of cards as one number, which is quick to compare."""
    return sum(1 << KINDS.index(kind) for kind in kinds)


@functools.cache
def rank(cards: int) -> PokerHand:
    kinds = [kind for place, kind in enumerate(KINDS) if cards >> place & 1]
    return front_hand(kinds) if len(kinds) == 3 else five_card_hand(kinds)


def settable(hand: tuple[str, ...], fives: set[int], threes: set[int]) -> bool:
    """Whether the hand falls into two of these groups of five and one of three, and into no foul."""
    cards = mask(hand)
    for front in threes:
        rest = cards - front
        for back in fives:
            if not back & front and rest - back in fives and rank(back) > rank(rest - back) > rank(front):
                return True
    return False


def straights(hand: tuple[str, ...], length: int) -> set[int]:
    """Every straight of this length in the hand."""
    around = (*RANKS, "ace")
    of_rank = {rank: [kind for kind in hand if kind.startswith(f"{rank} ")] for rank in RANKS}
    runs = [around[start : start + length] for start in range(15 - length)]
    return {mask(cards) for run in runs for cards in itertools.product(*(of_rank[rank] for rank in run))}


def flushes(hand: tuple[str, ...], length: int) -> set[int]:
    """Every flush of this length in the hand."""
    of_suit = [[kind for kind in hand if kind.endswith(suit)] for suit in SUITS]
    return {mask(cards) for kinds in of_suit for cards in itertools.combinations(kinds, length)}


def best_sweep(hand: tuple[str, ...]) -> Sweep | None:
    counts = Counter(kind.split()[0] for kind in hand)
    suits = Counter(kind.split()[2] for kind in hand)
    if len(counts) == 13:
        return Sweep.SUPER_DRAGON if len(suits) == 1 else Sweep.DRAGON
    if [number % 2 for number in counts.values()].count(1) == 1:
        return Sweep.SIX_PAIRS
    if settable(hand, straights(hand, 5), straights(hand, 3)):
        return Sweep.THREE_STRAIGHTS
    if all(number in (3, 5, 8, 10) for number in suits.values()) and settable(hand, flushes(hand, 5), flushes(hand, 3)):
        return Sweep.THREE_FLUSHES
    return None


@pytest.mark.parametrize(
    ("ranks", "suits"),
    [
        (RANKS[:5], 4),
        (RANKS[:6], 3),
        (RANKS[4:10], 3),
        (RANKS[:1] + RANKS[8:], 3),  # the ace is high
        (RANKS[:5] + RANKS[9:], 2),  # the ace is high and low
        (RANKS[:8], 2),
        (RANKS[:3] + RANKS[4:7] + RANKS[8:11] + RANKS[12:], 2),  # up to ten of a suit
        (RANKS, 1),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else f"{len(value)} ranks",
)
def test_the_sweeps_of_a_smaller_pack_agree_with_a_count_of_every_hand(ranks: tuple[str, ...], suits: int) -> None:
    found: Counter[Sweep | None] = Counter()
    for hand, names in hands(ranks, suits):
        found[best_sweep(hand)] += names
    assert found.total() == math.comb(len(ranks) * suits, 13)
    assert {sweep: found[sweep] for sweep in Sweep} == sweep_ways(ranks, suits)
