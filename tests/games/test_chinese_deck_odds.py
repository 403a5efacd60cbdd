"""The odds of Dragon Poker with the Chinese deck, against two counts that share no code with the product or each other.

One looks at every hand of a small pack and tries to split it into two groups of three. The other, for packs of any
size, counts the hands suit by suit and combines the suits.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator

import pytest

from controller.games.chinese_deck.pack import EXAMPLE_PACK, winning_hands, winning_ways
from controller.games.chinese_deck.pay import odds, winning_class

clause = pytest.mark.clause

FENG_SHUI = [f"feng shui {number}" for number in range(1, 6)]
HONOURS = ["green dragon", "east wind", "south wind", "west wind", "north wind"]
SUITS = [[f"{suit} {rank}" for rank in range(1, 10)] for suit in ("bamboo", "circle", "script")]

# One with honours and suits of single cards, one with sequences that overlap or are identical.
SMALL_PACKS = [
    {
        **dict.fromkeys(["feng shui 1", "feng shui 4"], 2),
        **dict.fromkeys(["feng shui 2", "feng shui 3", "feng shui 5", *HONOURS[1:]], 1),
        **dict.fromkeys(["bamboo 1", "bamboo 2", "bamboo 3", "circle 3", "circle 4"], 1),
        **dict.fromkeys(["green dragon", "circle 2"], 3),
    },
    {
        **{f"script {rank}": 2 for rank in range(1, 8)},
        **dict.fromkeys(["bamboo 8", "bamboo 9"], 2),
        **dict.fromkeys(["bamboo 7", "south wind"], 3),
    },
]
LARGE_PACK = {  # like mahjong, but with two of each feng shui card
    **dict.fromkeys(FENG_SHUI, 2),
    **dict.fromkeys([*HONOURS, *itertools.chain(*SUITS)], 4),
}


# --- every hand, split in all ways ------------------------------------------------------------------------------------


@functools.cache
def group(three: tuple[str, ...]) -> str:
    """What three sorted cards are: "triplet", or a suit and the lowest rank of a sequence; empty if nothing."""
    names = {kind.rpartition(" ")[0] for kind in three}
    if names == {"feng shui"} or len(set(three)) == 1:
        return "triplet"
    if len(names) > 1 or not three[0][-1].isdigit():
        return ""
    low, middle, high = (int(kind[-1]) for kind in three)
    return three[0] if (middle, high) == (low + 1, low + 2) else ""


def class_by_splitting(hand: tuple[str, ...]) -> int | None:
    """The class of a sorted hand, by the words of the rules."""
    classes = set()
    if set(FENG_SHUI) <= set(hand):
        classes.add(5)
    if set(HONOURS) < set(hand) and any(kind in FENG_SHUI for kind in hand):
        classes.add(0)
    for first in itertools.combinations(range(6), 3):
        groups = [
            group(tuple(hand[place] for place in first)),
            group(tuple(hand[place] for place in range(6) if place not in first)),
        ]
        if not all(groups):
            continue
        if "triplet" in groups:
            classes.add(groups.count("triplet"))
            continue
        (suit, low), (other, high) = (name.split() for name in sorted(groups))
        classes.add(2 if suit != other else 4 if int(high) - int(low) == 3 else 3)
    return max(classes, default=None)


@clause("classes", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize("pack", SMALL_PACKS)
def test_every_hand_of_a_small_pack_has_the_class_that_splitting_it_gives(pack: dict[str, int]) -> None:
    found: Counter[int | None] = Counter()
    hands = Counter(itertools.combinations(sorted(Counter(pack).elements()), 6))
    for hand, ways in hands.items():
        expected = class_by_splitting(hand)
        assert winning_class(hand) == expected, hand
        found[expected] += ways
    assert {number: found[number] for number in range(6)} == winning_ways(pack)
    assert found.total() == math.comb(sum(pack.values()), 6)


def test_the_small_packs_have_every_class_and_overlapping_sequences() -> None:
    ways = [winning_ways(pack) for pack in SMALL_PACKS]
    assert all(any(one[number] for one in ways) for number in ways[0])


@clause("classes", game="dragon-poker-chinese-deck")
def test_the_hands_that_win_are_those_that_two_groups_of_three_or_the_named_cards_form() -> None:
    kinds = sorted([*FENG_SHUI, *HONOURS, *itertools.chain(*SUITS)])
    groups = [three for three in itertools.combinations_with_replacement(kinds, 3) if group(three)]
    hands = {tuple(sorted((*one, *other))) for one, other in itertools.combinations_with_replacement(groups, 2)}
    hands |= {tuple(sorted((*FENG_SHUI, kind))) for kind in kinds}
    hands |= {tuple(sorted((*HONOURS, card))) for card in FENG_SHUI}
    assert {hand: class_by_splitting(hand) for hand in hands} == winning_hands()


# --- suit by suit -----------------------------------------------------------------------------------------------------


def choices(pack: dict[str, int], kinds: list[str]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every choice of at most six of these cards: how many of each kind, and its ways."""
    copies = [pack.get(kind, 0) for kind in kinds]

    def chosen(place: int, left: int) -> Iterator[tuple[tuple[int, ...], int]]:
        if place == len(copies):
            yield (), 1
            return
        for number in range(min(left, copies[place]) + 1):
            for rest, ways in chosen(place + 1, left - number):
                yield (number, *rest), ways * math.comb(copies[place], number)

    return chosen(0, 6)


def feng_shui_part(numbers: tuple[int, ...]) -> str:
    if all(numbers):
        return "5"
    return {1: "F", 3: "T", 6: "TT"}.get(sum(numbers), "")


def honours_part(numbers: tuple[int, ...]) -> str:
    if set(numbers) == {1}:
        return "H"
    return "" if any(number % 3 for number in numbers) else "T" * (sum(numbers) // 3)


def suit_part(numbers: tuple[int, ...]) -> str:
    """Takes groups off at the lowest rank: what is there three times is a triplet, all else begins a sequence."""
    for rank, number in enumerate(numbers):
        if number == 0:
            continue
        left = list(numbers)
        if number >= 3:
            left[rank] -= 3
            rest = suit_part(tuple(left)) if any(left) else "-"
            return "" if not rest else "T" + rest.strip("-")
        if rank > 6 or not numbers[rank + 1] or not numbers[rank + 2]:
            return ""
        for place in range(rank, rank + 3):
            left[place] -= 1
        rest = suit_part(tuple(left)) if any(left) else "-"
        return "" if not rest else str(rank) + rest.strip("-")
    return ""


def class_of_parts(parts: tuple[str, ...]) -> int | None:
    """The class of a hand by what each suit contributes: T for a triplet, a digit for a sequence."""
    if "5" in parts[0]:
        return 5
    if set(parts[:2]) == {"F", "H"}:
        return 0
    triplets = "".join(parts).count("T")
    if triplets:
        return triplets
    same = [part for part in parts[2:] if len(part) == 2]
    if not same:
        return 2
    return 4 if int(same[0][1]) - int(same[0][0]) == 3 else 3


def ways_suit_by_suit(pack: dict[str, int]) -> Counter[int | None]:
    """The number of hands in each class; None for those that do not win."""
    of_parts: list[Counter[tuple[int, str]]] = []  # by the number of cards, and what they form; "x" for nothing
    for kinds, part_of in (
        (FENG_SHUI, feng_shui_part),
        (HONOURS, honours_part),
        *((suit, suit_part) for suit in SUITS),
    ):
        found: Counter[tuple[int, str]] = Counter()
        for numbers, ways in choices(pack, kinds):
            found[sum(numbers), part_of(numbers) or "x" * any(numbers)] += ways
        of_parts.append(found)
    hands: Counter[tuple[int, tuple[str, ...]]] = Counter({(0, ()): 1})
    for found in of_parts:
        more: Counter[tuple[int, tuple[str, ...]]] = Counter()
        for ((had, parts), ways), ((number, part), times) in itertools.product(hands.items(), found.items()):
            if had + number <= 6:
                more[had + number, (*parts, part)] += ways * times
        hands = more
    classes: Counter[int | None] = Counter()
    for (number, parts), ways in hands.items():
        if number == 6:
            fits = "5" in parts[0] or not ("x" in parts or ("F" in parts) != ("H" in parts))
            classes[class_of_parts(parts) if fits else None] += ways
    return classes


@clause("classes", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize("pack", [dict(EXAMPLE_PACK), LARGE_PACK, *SMALL_PACKS])
def test_the_numbers_of_hands_agree_with_a_count_suit_by_suit(pack: dict[str, int]) -> None:
    found = ways_suit_by_suit(pack)
    assert {number: found[number] for number in range(6)} == winning_ways(pack)
    assert found.total() == math.comb(sum(pack.values()), 6)


# --- what is printed --------------------------------------------------------------------------------------------------


def test_the_example_pack_has_these_numbers_of_hands() -> None:
    (bet,) = odds()
    assert [line.ways for line in bet.lines] == [47, 12, 18, 507, 630, 5120, 20_352_186]
    assert {line.of for line in bet.lines} == {math.comb(52, 6)}


@pytest.mark.parametrize(
    ("players", "expected"),
    [
        (2, [501, 301, 201, 103, 102, 101, 0]),
        (3, [1002, 602, 402, 208, 204, 202, 0]),  # half of the pot of 3 is 1
        (4, [1503, 903, 603, 315, 309, 303, 0]),
    ],
)
def test_the_lines_contain_what_the_winner_gains_from_the_other_players(players: int, expected: list[int]) -> None:
    (bet,) = odds(players=players)
    assert [line.pays for line in bet.lines] == expected


def test_the_house_keeps_nothing() -> None:
    assert {bet.edge for bet in (*odds(), *odds(LARGE_PACK, 2))} == {0}


def test_odds_name_the_pack_and_the_players() -> None:
    (bet,) = odds(LARGE_PACK, 3)
    assert (bet.bet, bet.paytable, bet.unit) == ("winning hand in the deal", "138 cards, 3 players", "the ante")
    assert odds()[0].paytable == "the example pack of 52 cards, 4 players"


def test_odds_of_a_pack_that_cannot_be_played_are_refused() -> None:
    with pytest.raises(ValueError, match="22 cards are too few"):
        odds(SMALL_PACKS[0])


@pytest.mark.parametrize("players", [1, 5])
def test_odds_for_a_wrong_number_of_players_are_refused(players: int) -> None:
    with pytest.raises(ValueError, match=f"2 to 4 players, not {players}"):
        odds(players=players)
