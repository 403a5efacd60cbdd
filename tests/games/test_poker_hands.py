"""The ranks of poker hands, against a public evaluator and, for fronts, a second enumeration."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator

import pytest
from treys import Card, Evaluator  # type: ignore[import-untyped]

from controller.games.poker_hands import PokerHand, five_card_hand, front_hand, hand_name, straight_top
from controller.games.standard_cards import KINDS, kind_of_code

EVALUATOR = Evaluator()
RANKS = "23456789TJQKA"
SUITS = "shdc"
LETTERS = "abcdefghijklm"  # the ranks in an order that text sorts by
RANK_LETTERS = {
    "two": "a", "three": "b", "four": "c", "five": "d", "six": "e", "seven": "f", "eight": "g",
    "nine": "h", "ten": "i", "jack": "j", "queen": "k", "king": "l", "ace": "m",
}  # fmt: skip


def cards(text: str) -> tuple[str, ...]:
    return tuple(kind_of_code(code) for code in text.split())


def public_rank(codes: tuple[str, ...]) -> int:
    """The class of a hand by the public evaluator, turned around: 1 is the lowest of 7,462."""
    return 7463 - int(EVALUATOR.evaluate([], [Card.new(code) for code in codes]))


def five_card_classes() -> Iterator[tuple[str, ...]]:
    """A hand of every class: the flushes in each suit, the others in suits that do not make a flush."""
    for ranks in itertools.combinations_with_replacement(RANKS, 5):
        copies = Counter(ranks)
        if max(copies.values()) > 4:
            continue
        for first in range(4):
            yield tuple(f"{rank}{SUITS[(place + first) % 4]}" for place, rank in enumerate(ranks))
            if len(copies) == 5:
                yield tuple(f"{rank}{SUITS[first]}" for rank in ranks)
                yield tuple(f"{rank}{SUITS[first if place else first - 1]}" for place, rank in enumerate(ranks))


def test_all_classes_of_five_cards_rank_as_a_public_evaluator_ranks_them() -> None:
    found: dict[int, set[PokerHand]] = {}
    for codes in five_card_classes():
        found.setdefault(public_rank(codes), set()).add(five_card_hand(cards(" ".join(codes))))
    in_order = [found[number] for number in sorted(found)]
    assert sorted(found) == list(range(1, 7463))
    assert {len(hands) for hands in in_order} == {1}  # one rank for each class
    assert all(low < high for (low,), (high,) in itertools.pairwise(in_order))


def test_hands_of_a_shuffled_pack_compare_as_by_a_public_evaluator() -> None:
    pack = [f"{rank}{suit}" for rank in RANKS for suit in SUITS]
    shuffled = random.Random(13)
    hands = [tuple(shuffled.sample(pack, 5)) for _ in range(3000)]
    by_us = sorted(hands, key=lambda codes: five_card_hand(cards(" ".join(codes))))
    assert [public_rank(codes) for codes in by_us] == sorted(public_rank(codes) for codes in hands)


def test_all_fronts_rank_by_trips_then_pairs_then_high_cards() -> None:
    by_rank: dict[PokerHand, set[str]] = {}
    for kinds in itertools.combinations(KINDS, 3):
        text = "".join(sorted((RANK_LETTERS[kind.split()[0]] for kind in kinds), reverse=True))
        by_rank.setdefault(front_hand(kinds), set()).add(text)
    trips = [letter * 3 for letter in LETTERS]
    pairs = [pair * 2 + kicker for pair in LETTERS for kicker in LETTERS if kicker != pair]
    high = ["".join(reversed(three)) for three in itertools.combinations(LETTERS, 3)]
    expected = [*sorted(high), *pairs, *trips]
    sorted_texts = [{"".join(sorted(text, reverse=True))} for text in expected]
    assert [by_rank[hand] for hand in sorted(by_rank)] == sorted_texts


@pytest.mark.parametrize(
    ("front", "middle"),
    [
        ("Ks Qd Jc", "Kd Qh Js 3c 2d"),  # no kicker is lower than any
        ("6s 6d Kc", "6h 6c Kd 4s 2s"),
        ("6s 6d Qc", "6h 6c Kd 3s 2s"),  # the kicker decides
        ("6s 6d Ac", "7h 7c 4d 3s 2s"),  # the pair before the kicker
        ("As Ad Kc", "3h 3c 2d 2s 4s"),  # the category before the ranks
        ("2s 2h 2d", "3s 3h 3d 5c 4c"),
        ("As Ks Qs", "2h 2c 5d 4s 3s"),  # no straights and flushes in front
    ],
)
def test_a_front_is_lower_than_this_middle(front: str, middle: str) -> None:
    assert front_hand(cards(front)) < five_card_hand(cards(middle))


@pytest.mark.parametrize(
    ("front", "middle"),
    [
        ("6s 6d Kc", "6h 6c Qd Js Ts"),
        ("6s 6d 2c", "5h 5c Ad Ks Qs"),
        ("2s 2h 2d", "As Ah Kd Kc Qs"),
        ("As Ks 6d", "Ad Kh 5d 4c 2s"),
    ],
)
def test_a_front_is_higher_than_this_middle(front: str, middle: str) -> None:
    assert front_hand(cards(front)) > five_card_hand(cards(middle))


@pytest.mark.parametrize(
    ("text", "name", "with_kickers"),
    [
        ("As Ks Qs Js Ts", "royal flush", "royal flush"),
        ("5s 4s 3s 2s As", "straight flush, five high", "straight flush, five high"),
        ("6s 6h 6d 6c Ts", "four of a kind, sixes", "four of a kind, sixes with ten"),
        ("As Ah Ad Kc Ks", "full house, aces over kings", "full house, aces over kings"),
        ("As Js 9s 4s 2s", "flush, ace high", "flush, ace high with jack, nine, four, two"),
        ("As Kd Qs Js Ts", "straight, ace high", "straight, ace high"),
        ("Qs Qd Qh 3s 2s", "three of a kind, queens", "three of a kind, queens with three, two"),
        ("Ts Td 4h 4s 2s", "two pairs, tens and fours", "two pairs, tens and fours with two"),
        ("6s 6d Kh 4s 2s", "pair of sixes", "pair of sixes with king, four, two"),
        ("As Kd Qs Js 9s", "ace high", "ace high with king, queen, jack, nine"),
    ],
)
def test_a_hand_is_named_in_the_words_of_a_dealer(text: str, name: str, with_kickers: str) -> None:
    hand = five_card_hand(cards(text))
    assert hand_name(hand) == name
    assert hand_name(hand, kickers=True) == with_kickers


def test_an_ace_is_low_or_high_in_a_straight_but_never_in_between() -> None:
    assert straight_top(("ace", "two", "three")) == 3
    assert straight_top(("queen", "ace", "king")) == 14
    assert straight_top(("king", "ace", "two")) == 0
    assert five_card_hand(cards("As 2s 3s 4s 5d")) < five_card_hand(cards("2s 3s 4s 5d 6s"))


@pytest.mark.parametrize("text", ["", "As Ks Qs Js", "As Ks Qs Js Ts 9s", "As As Ks Qs Js"])
def test_anything_but_five_different_cards_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected 5 different cards"):
        five_card_hand(cards(text))


def test_anything_but_three_cards_of_the_pack_is_refused_in_front() -> None:
    with pytest.raises(ValueError, match="joker, ace of spades, ace of hearts: expected 3 different cards"):
        front_hand(("joker", "ace of spades", "ace of hearts"))
