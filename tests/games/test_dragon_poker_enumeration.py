"""Dragon Poker's rankings and odds against a count of physical cards: all 23,426 hands of 53 different cards.

Hands are ranked by their place on a ladder that lists every hand from three dragons down, as chapter 6 words it. The
dealer's hands are never enumerated beside the player's: how many of them avoid the player's cards follows from how many
contain each card and each pair of cards.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import comb

import pytest

from controller.games.dragon_poker.odds import odds
from controller.games.dragon_poker.pay import best_hand, dragons, hand_name

clause = pytest.mark.clause
CARDS = [
    *("red dragon",) * 3,
    *("blue dragon",) * 3,
    "gold dragon",
    *("phoenix",) * 7,
    *("tiger",) * 8,
    *("panda",) * 9,
    *("monkey",) * 10,
    *("rabbit",) * 12,
]
NATURAL = {"dragon": 6, "phoenix": 7, "tiger": 8, "panda": 9, "monkey": 10, "rabbit": 12}  # all but the gold dragon
CHARACTERS = tuple(NATURAL)  # from the highest to the lowest
LADDER = [
    *((character,) * 3 for character in CHARACTERS),
    *((two, two, third) for two in CHARACTERS for third in CHARACTERS if third != two),
    *itertools.combinations(CHARACTERS, 3),
]
PLACES = {tuple(sorted(hand)): place for place, hand in enumerate(LADDER)}  # 0 is the highest hand
PAIRS_FROM, HIGH_CARDS_FROM = 6, 36
HANDS = list(itertools.combinations(range(len(CARDS)), 3))
DEALS = comb(50, 3)  # hands that the dealer may have when a player has three cards

ODDS = {(bet.bet.split(",")[0], bet.paytable): bet for bet in odds()}


def kinds(hand: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(CARDS[card] for card in hand)


def place(hand: tuple[int, ...]) -> int:
    """The highest place on the ladder that these cards reach."""
    shown = [CARDS[card].rpartition(" ")[2] for card in hand if CARDS[card] != "gold dragon"]
    if len(shown) == 3:
        return PLACES[tuple(sorted(shown))]
    return min(PLACES[tuple(sorted([*shown, character]))] for character in CHARACTERS)


@pytest.fixture(scope="module")
def places() -> dict[tuple[int, ...], int]:
    return {hand: place(hand) for hand in HANDS}


def test_there_are_as_many_hands_as_published(places: dict[tuple[int, ...], int]) -> None:
    assert len(CARDS) == 53
    assert len(places) == 23_426


@clause("6.A", "6.B")
def test_hands_rank_as_the_ladder_lists_them(places: dict[tuple[int, ...], int]) -> None:
    found = defaultdict(set)
    for hand, at in places.items():
        found[at].add(best_hand(kinds(hand)))
    assert sorted(found) == list(range(len(LADDER)))
    assert all(len(ranked) == 1 for ranked in found.values())
    highest_first = [found[at].pop() for at in range(len(LADDER))]
    assert all(higher > lower for higher, lower in itertools.pairwise(highest_first))


def test_the_order_of_the_cards_in_a_hand_does_not_matter() -> None:
    for hand in {tuple(sorted(kinds(hand))) for hand in HANDS}:
        assert len({(best_hand(order), dragons(order)) for order in itertools.permutations(hand)}) == 1


def test_there_are_as_many_trips_and_pairs_and_high_cards_as_the_deck_can_form(
    places: dict[tuple[int, ...], int],
) -> None:
    found = Counter(best_hand(kinds(hand)) for hand in HANDS)
    by_name: Counter[str] = Counter()
    for hand, number in found.items():
        by_name[hand_name(hand)] += number
    trips = {name: comb(number, 3) + comb(number, 2) for name, number in NATURAL.items()}  # with the gold dragon: 2
    several = {name: name if name == "phoenix" else f"{name}s" for name in NATURAL}
    for at, (name, number) in enumerate(NATURAL.items()):
        lower = sum([*NATURAL.values()][at + 1 :])
        assert by_name[f"three {several[name]}"] == trips[name]
        pairs = comb(number, 2) * (52 - number) + number * lower  # the latter with the gold dragon
        assert by_name[f"pair of {several[name]}"] == pairs
    high = sum(a * b * c for a, b, c in itertools.combinations(NATURAL.values(), 3))
    assert sum(number for name, number in by_name.items() if name.endswith(" high")) == high
    assert by_name.total() == 23_426
    by_rung = Counter((at >= PAIRS_FROM) + (at >= HIGH_CARDS_FROM) for at in places.values())
    assert by_rung == {0: sum(trips.values()), 1: 23_426 - high - sum(trips.values()), 2: high}


def test_the_dragons_of_a_hand_are_counted_as_published() -> None:
    found = Counter(dragons(kinds(hand)) for hand in HANDS)
    assert found["three red dragons"] == 1
    assert found["three blue dragons"] == 1
    assert found["three dragons with the gold dragon"] == 15
    assert found["three dragons"] == 18
    assert found["pair of dragons"] == comb(7, 2) * 46
    assert found["gold dragon"] == comb(46, 2)
    assert found[""] == 23_426 - 35 - comb(7, 2) * 46 - comb(46, 2)


# --- the main bet -----------------------------------------------------------------------------------------------------


def avoiding(places: dict[tuple[int, ...], int]) -> Iterator[tuple[int, int, int]]:
    """For each hand of the player: its place, and how many of the dealer's hands are higher and how many equal."""
    containing: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * len(LADDER))
    for hand, at in places.items():
        for number in range(3):
            for some in itertools.combinations(hand, number):
                containing[some][at] += 1
    above = {some: [0, *itertools.accumulate(counted)] for some, counted in containing.items()}
    for hand, at in places.items():
        higher, equal = 0, -1  # the player's own hand is the only one with all three of the cards
        for number, sign in ((0, 1), (1, -1), (2, 1)):
            for some in itertools.combinations(hand, number):
                higher += sign * above[some][at]
                equal += sign * containing[some][at]
        yield at, higher, equal


def ante_bonus(table: str, at: int) -> tuple[str, int]:
    """The line of the ante bonus for a winning hand on this place of the ladder, and what it pays to 1."""
    if LADDER[at] == ("dragon",) * 3:
        return "three dragons", 30
    if table == "A" and LADDER[at] == ("phoenix",) * 3:
        return "three phoenix", 10
    if at < PAIRS_FROM:
        return "trips", {"A": 6, "B": 4}[table]
    if at < HIGH_CARDS_FROM:
        if table == "A" and LADDER[at][0] in ("dragon", "phoenix"):
            return {"dragon": ("pair of dragons", 2), "phoenix": ("pair of phoenix", 1)}[LADDER[at][0]]
        if table == "B" and LADDER[at][0] not in ("monkey", "rabbit"):
            return "pair of pandas or better", 1
    return "winning hand", 0


@pytest.mark.parametrize("table", ["A", "B"])
def test_the_edge_of_the_main_bet_is_exactly_that_of_the_physical_cards(
    table: str, places: dict[tuple[int, ...], int]
) -> None:
    net = 0  # antes won in all deals, each hand played as well as its cards allow
    ways: Counter[str] = Counter()
    for at, higher, equal in avoiding(places):
        line, pays = ante_bonus(table, at)
        lower = DEALS - higher - equal
        played = lower * (1 + pays + 1) - higher * 3
        if played > -2 * DEALS:
            net += played
            ways.update({line: lower, "tie": equal, "lose": higher})
        else:
            net -= 2 * DEALS
            ways["fold"] += DEALS
    bet = ODDS["ante", table]
    assert bet.edge == Fraction(-net, len(HANDS) * DEALS)
    assert {line.outcome: line.ways for line in bet.lines} == ways


def test_the_count_of_the_dealers_hands_agrees_with_dealing_them_one_by_one(
    places: dict[tuple[int, ...], int],
) -> None:
    counted = list(avoiding(places))
    for index in range(0, len(HANDS), 1171):
        mine = HANDS[index]
        dealer = Counter(
            (at > places[mine]) - (at < places[mine]) for hand, at in places.items() if not set(hand) & set(mine)
        )
        assert counted[index] == (places[mine], dealer[-1], dealer[0])
        assert dealer.total() == DEALS
