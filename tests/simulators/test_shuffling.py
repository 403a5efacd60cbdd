"""The shuffling models: they permute, they follow the law they claim, and a pass can stop half-way."""

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import comb, sqrt

import pytest

from simulators.devices.cards import BOTTOM, DECK_SIZE, TOP, CardPlace, Cards, Spot
from simulators.devices.shuffling import Placement, Shelf, ShuffleModel, Uniform, follow

EVERY: list[ShuffleModel] = [Uniform(), Shelf(), Shelf(passes=3), Shelf(shelves=1), Shelf(shelves=4, passes=2)]
SHUFFLES = 2000  # decks per statistical test
DECK = list(range(DECK_SIZE))  # cards named by the position they start from


def valleys(order: list[int] | tuple[int, ...]) -> int:
    """How many cards are between two that started further down: where the order falls, then rises."""
    falls = [a > b for a, b in pairwise(order)]
    return sum(first and not second for first, second in pairwise(falls))


def shelf_law(shelves: int, n: int, v: int) -> Fraction:
    """The paper's theorem: the chance of one given order of n cards that has v valleys."""
    ways = sum(comb(n + shelves - a - 1, n) * comb(n - 1 - 2 * v, a - v) for a in range(v, shelves))
    return Fraction(4 ** (v + 1) * ways, 2 * (2 * shelves) ** n)


def all_plans(shelves: int, n: int) -> list[list[Placement]]:
    openings = [(shelf, at) for shelf in range(shelves) for at in (TOP, BOTTOM)]
    return [list(plan) for plan in product(openings, repeat=n)]


def valley_z(shuffle: ShuffleModel, seed: int) -> float:
    """How many standard errors the mean number of valleys differs from that of uniformly shuffled decks.

    For n cards in uniform order it has mean (n - 2) / 3 and variance 2(n + 1) / 45: here 17 and 2.4.
    """
    rng = random.Random(seed)
    mean = sum(valleys(shuffle(DECK, rng)) for _ in range(SHUFFLES)) / SHUFFLES
    return (mean - 17) / sqrt(2.4 / SHUFFLES)


def worst_card_chi2(shuffle: ShuffleModel, seed: int) -> float:
    """The largest, over the cards, chi-squared of where the card ended, against every position alike."""
    rng = random.Random(seed)
    ended = [[0] * DECK_SIZE for _ in DECK]
    for _ in range(SHUFFLES):
        for position, card in enumerate(shuffle(DECK, rng)):
            ended[card][position] += 1
    expected = SHUFFLES / DECK_SIZE
    return max(sum((seen - expected) ** 2 / expected for seen in row) for row in ended)


# The critical value for the worst of 53 cards at 0.001 over all: each card at 0.001 / 53 = 1.9e-5, that is
# z = 4.12. Wilson and Hilferty with 52 degrees of freedom: 52 (1 - 2/468 + 4.12 sqrt(2/468))^3 = 105.3.
WORST_CARD_CRITICAL = 105.3
# Two-sided, 0.001.
Z_CRITICAL = 3.29


@pytest.mark.parametrize("shuffle", EVERY, ids=str)
@pytest.mark.parametrize("n", [0, 1, 2, 53])
def test_a_shuffle_is_a_permutation_and_leaves_its_input_alone(shuffle: ShuffleModel, n: int) -> None:
    deck = list(range(n))
    assert sorted(shuffle(deck, random.Random(n))) == deck == list(range(n))


@pytest.mark.parametrize("shuffle", EVERY, ids=str)
def test_the_seed_decides(shuffle: ShuffleModel) -> None:
    assert shuffle(DECK, random.Random(5)) == shuffle(DECK, random.Random(5))
    assert shuffle(DECK, random.Random(5)) != shuffle(DECK, random.Random(6))


def test_a_pass_by_hand() -> None:
    # Five cards, taken 4, 3, 2, 1, 0. Shelf 0 gets 4, then 2 under it, then 0 on top; shelf 1 gets 3, then
    # 1 under it.
    plan = [(0, TOP), (1, TOP), (0, BOTTOM), (1, BOTTOM), (0, TOP)]
    assert follow(plan, [0, 1, 2, 3, 4], shelves=2) == [0, 4, 2, 3, 1]
    # On one pile by index: 2; then 1 on top of it; then 0 between them.
    assert follow([(0, 0), (0, 0), (0, 1)], [0, 1, 2], shelves=1) == [1, 0, 2]


def test_a_plan_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        follow([(0, TOP)], [0, 1], shelves=1)


@pytest.mark.parametrize(("shelves", "passes"), [(0, 1), (10, 0), (-1, 1)])
def test_a_shelf_shuffler_without_shelves_or_passes_is_refused(shelves: int, passes: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        Shelf(shelves, passes)


@pytest.mark.parametrize("shuffle", EVERY, ids=str)
def test_card_by_card_through_the_card_world_is_the_same_as_all_at_once(shuffle: ShuffleModel) -> None:
    cards = Cards(["red"])
    infeed, output = Spot(CardPlace.INFEED), Spot(CardPlace.OUTPUT)
    cards.move_all(Spot(CardPlace.TABLE), output)
    at_once = shuffle(cards.pile(output), random.Random(11))
    rng = random.Random(11)
    for _ in range(shuffle.passes):
        cards.move_all(output, infeed)
        for shelf, at in shuffle.plan(DECK_SIZE, rng):
            cards.move_bottom(1, infeed, Spot(CardPlace.SHELVES, shelf), at)
            cards.check()
        for shelf in range(shuffle.shelves):
            cards.move_all(Spot(CardPlace.SHELVES, shelf), output, BOTTOM)
    assert cards.pile(output) == at_once


def test_a_pass_can_stop_half_way_and_go_on() -> None:
    cards = Cards(["red"])
    infeed, output = Spot(CardPlace.INFEED), Spot(CardPlace.OUTPUT)
    cards.move_all(Spot(CardPlace.TABLE), infeed)
    at_once = Shelf()(cards.pile(infeed), random.Random(3))
    plan = Shelf().plan(DECK_SIZE, random.Random(3))
    for shelf, at in plan[:30]:
        cards.move_bottom(1, infeed, Spot(CardPlace.SHELVES, shelf), at)
    cards.check()
    assert [card.index for card in cards.pile(infeed)] == list(range(23))
    assert sum(cards.count(spot) for spot in cards.spots(CardPlace.SHELVES)) == 30
    for shelf, at in plan[30:]:
        cards.move_bottom(1, infeed, Spot(CardPlace.SHELVES, shelf), at)
    for shelf in range(10):
        cards.move_all(Spot(CardPlace.SHELVES, shelf), output, BOTTOM)
    assert cards.pile(output) == at_once


@pytest.mark.parametrize(("shelves", "n"), [(1, 4), (2, 4), (2, 5), (3, 5)])
def test_over_all_plans_each_order_comes_up_as_often_as_the_paper_proves(shelves: int, n: int) -> None:
    plans = all_plans(shelves, n)
    seen = Counter(tuple(follow(plan, range(n), shelves)) for plan in plans)
    for order in permutations(range(n)):
        assert Fraction(seen[order], len(plans)) == shelf_law(shelves, n, valleys(order))


def test_two_passes_are_one_pass_of_many_more_shelves() -> None:
    # One shelf, then two: as four shelves.
    both = product(all_plans(1, 4), all_plans(2, 4))
    seen = Counter(tuple(follow(second, follow(first, range(4), 1), 2)) for first, second in both)
    for order in permutations(range(4)):
        assert Fraction(seen[order], 2**4 * 4**4) == shelf_law(4, 4, valleys(order))


def test_a_shelf_plan_uses_every_opening_alike() -> None:
    plan = Shelf().plan(20_000, random.Random(1))
    counts = Counter(plan)
    assert set(counts) == {(shelf, at) for shelf in range(10) for at in (TOP, BOTTOM)}
    # 20 openings, 1000 expected in each; chi-squared at 0.001 with 19 degrees of freedom is 43.82.
    assert sum((seen - 1000) ** 2 / 1000 for seen in counts.values()) < 43.82


def test_uniform_gives_each_order_of_four_cards_alike() -> None:
    rng = random.Random(2)
    counts = Counter(tuple(Uniform()(range(4), rng)) for _ in range(24_000))
    assert len(counts) == 24
    # 1000 expected of each; chi-squared at 0.001 with 23 degrees of freedom is 49.73.
    assert sum((seen - 1000) ** 2 / 1000 for seen in counts.values()) < 49.73


def test_uniform_puts_each_card_anywhere_alike() -> None:
    assert worst_card_chi2(Uniform(), seed=1) < WORST_CARD_CRITICAL


def test_uniform_has_as_many_valleys_as_chance_gives() -> None:
    assert abs(valley_z(Uniform(), seed=1)) < Z_CRITICAL


def test_one_pass_of_ten_shelves_is_caught_by_its_valleys() -> None:
    # On each shelf the order rises and then falls, so ten shelves have at most nine valleys; chance gives 17.
    rng = random.Random(1)
    assert max(valleys(Shelf()(DECK, rng)) for _ in range(SHUFFLES)) == 9
    assert valley_z(Shelf(), seed=1) < -100


def test_one_pass_of_ten_shelves_is_caught_by_where_cards_end() -> None:
    assert worst_card_chi2(Shelf(), seed=1) > WORST_CARD_CRITICAL


def test_three_passes_of_ten_shelves_pass_for_uniform() -> None:
    assert abs(valley_z(Shelf(passes=3), seed=1)) < Z_CRITICAL
    assert worst_card_chi2(Shelf(passes=3), seed=1) < WORST_CARD_CRITICAL
