"""Random rounds of Face-Up Chinese Poker, settled again by a second scorer that shares no code with the game.

It works with short codes ("Td"), ranks hands as text, and nets each exchange before it looks at the stacks.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from controller.games.face_up.pay import (
    FinishedHand,
    Segments,
    enters_fantasy_land,
    settle,
    stays_in_fantasy_land,
    sweep_of,
)
from controller.games.standard_cards import kind_of_code

clause = pytest.mark.clause
ROUNDS = 2000
RANKS, SUITS = "23456789TJQKA", "shdc"
PACK = [f"{rank}{suit}" for rank in RANKS for suit in SUITS]
SORTABLE = str.maketrans(RANKS, "bcdefghijklmn")
ACE_LOW_TO_HIGH = f"A{RANKS}"
STRAIGHTS = {
    frozenset(ACE_LOW_TO_HIGH[start : start + size]): ACE_LOW_TO_HIGH[start + size - 1]
    for size in (3, 5)
    for start in range(15 - size)
}
SHAPES = {
    "111": "0 high card", "21": "1 pair", "3": "3 trips", "11111": "0 high card", "2111": "1 pair", "221": "2 pairs",
    "311": "3 trips", "32": "6 full house", "41": "7 quads",
}  # fmt: skip
BACK_BONUS = {"4 straight": 2, "5 flush": 4, "6 full house": 6, "7 quads": 10, "8 straight flush": 15, "9 royal": 25}
FRONT_BONUS = {
    "1 pair": dict(zip("6789TJQKA", range(1, 10), strict=True)),
    "3 trips": dict(zip(RANKS, range(10, 23), strict=True)),
}
SWEEP_POINTS = {"super dragon": 26, "dragon": 13, "six pairs": 3, "three straights": 3, "three flushes": 3, "": 0}
Cards = tuple[str, ...]


class Hand(NamedTuple):
    """A hand as it was set. Its player has another one if two players play two hands each."""

    place: str
    player: str
    back: Cards
    middle: Cards
    front: Cards
    declared: bool

    @property
    def segments(self) -> tuple[Cards, Cards, Cards]:
        return self.front, self.middle, self.back


# --- the second scorer ------------------------------------------------------------------------------------------------


def suited(codes: Cards) -> bool:
    return len({code[1] for code in codes}) == 1


def straight_to(codes: Cards) -> str:
    """The rank that a straight goes up to; empty if there is none. An ace is at both ends."""
    ranks = frozenset(code[0] for code in codes)
    return STRAIGHTS.get(ranks, "") if len(ranks) == len(codes) else ""


@functools.cache
def category(codes: Cards) -> str:
    shape = "".join(sorted((str(copies) for copies in Counter(code[0] for code in codes).values()), reverse=True))
    top = straight_to(codes)
    if len(codes) == 5 and top and suited(codes):
        return "9 royal" if top == "A" else "8 straight flush"
    if len(codes) == 5 and suited(codes):
        return "5 flush"
    return "4 straight" if len(codes) == 5 and top else SHAPES[shape]


@functools.cache
def rank(codes: Cards) -> str:
    """A text that sorts as the hand ranks: "1eekc" is a pair of fives with a jack and a three."""
    what = category(codes)
    if what in ("4 straight", "8 straight flush", "9 royal"):
        return what[0] + straight_to(codes).translate(SORTABLE)
    letters = [code[0].translate(SORTABLE) for code in codes]
    return what[0] + "".join(sorted(letters, key=lambda letter: (letters.count(letter), letter), reverse=True))


def is_foul(hand: Hand) -> bool:
    return rank(hand.back) <= rank(hand.middle) or rank(hand.middle) <= rank(hand.front)


def sweep(hand: Hand) -> str:
    codes = hand.front + hand.middle + hand.back
    copies = Counter(code[0] for code in codes)
    if is_foul(hand):
        return ""
    if len(copies) == 13:
        return "super dragon" if suited(codes) else "dragon"
    if sum(number % 2 for number in copies.values()) == 1:
        return "six pairs"
    if all(map(straight_to, hand.segments)):
        return "three straights"
    return "three flushes" if all(map(suited, hand.segments)) else ""


def bonus(hand: Hand) -> int:
    middle, back = (BACK_BONUS.get(category(codes), 0) for codes in (hand.middle, hand.back))
    ranks = [code[0] for code in hand.front]
    front = FRONT_BONUS.get(category(hand.front), {}).get(max(ranks, key=ranks.count), 0)
    return 0 if is_foul(hand) else front + 2 * middle + back


def declared_sweep(hand: Hand) -> int:
    return SWEEP_POINTS[sweep(hand)] if hand.declared else 0


def comparison(one: Hand, other: Hand, holder: str) -> int:
    """What the first hand gains from the other in points, after the sweeps."""
    total = 9 * (is_foul(other) - is_foul(one))
    if not declared_sweep(one) and not declared_sweep(other) and not is_foul(one) and not is_foul(other):
        for mine, theirs in zip(map(rank, one.segments), map(rank, other.segments), strict=True):
            tie = (one.player == holder) - (other.player == holder)
            total += (mine > theirs) - (mine < theirs) or tie
    total += 0 if declared_sweep(other) else bonus(one)
    return total - (0 if declared_sweep(one) else bonus(other))


def due(hands: list[Hand]) -> Iterator[tuple[Hand, Hand, int]]:
    """Each exchange in order: what the first hand gains from the second."""
    for place, one in enumerate(hands):
        for other in [*hands[place + 1 :], *hands[:place]]:
            if declared_sweep(one) > declared_sweep(other):
                yield one, other, declared_sweep(one)
    for one, other in itertools.combinations(hands, 2):
        yield one, other, comparison(one, other, hands[0].player)


def exchanged(hands: list[Hand], point: int, stacks: dict[str, int]) -> list[tuple[str, str, int]]:
    """Who gets how much from whom, in order, while neither has won or lost as much as lay before them."""
    won, lost, found = Counter[str](), Counter[str](), []
    for one, other, points in due(hands):
        gains, pays = (one, other) if points > 0 else (other, one)
        if one.player == other.player:
            continue
        left = (stacks[gains.player] - won[gains.player], stacks[pays.player] - lost[pays.player])
        amount = min(abs(points) * point, *left)
        won[gains.player] += amount
        lost[pays.player] += amount
        if amount:
            found.append((gains.place, pays.place, amount))
    return found


# --- random rounds ----------------------------------------------------------------------------------------------------


def drawn(codes: list[str], rng: random.Random) -> list[str]:
    """Cards for a hand, many of which are a sweep as they lie. They may be fewer or more than thirteen."""
    kind = rng.choice(("dragon", "suit", "pairs", "straights", "flushes", "any", "any", "any"))
    if kind == "dragon":
        return list({code[0]: code for code in codes}.values())
    if kind == "suit":
        return [code for code in codes if code[1] == codes[0][1]]
    if kind == "pairs":
        pairs = [pair for pair in itertools.combinations(codes[:30], 2) if pair[0][0] == pair[1][0]]
        return [*dict.fromkeys(itertools.chain(*pairs))][:12] + codes[30:31]
    cards: list[str] = []
    for size in (5, 5, 3) if kind in ("straights", "flushes") else ():
        start, suit = rng.randrange(15 - size), rng.choice(SUITS)
        left = [code for code in codes if code not in cards]
        row = {code[0]: code for code in left if code[0] in ACE_LOW_TO_HIGH[start : start + size]}
        cards += row.values() if kind == "straights" else [code for code in left if code[1] == suit][:size]
    return cards or codes[:13]


def arranged(cards: list[str], rng: random.Random) -> list[Cards]:
    """These cards as they lie or in the best of a few random orders: with a high front, but in order if possible."""
    tried = []
    for _ in range(rng.choice((1, 1, 4, 16))):
        high, low = sorted((tuple(cards[:5]), tuple(cards[5:10])), key=rank, reverse=True)
        tried.append([high, low, tuple(cards[10:])])
        rng.shuffle(cards)
    return max(tried, key=lambda one: (rank(one[1]) > rank(one[2]), category(one[2]), rank(one[1])))


def twin(hand: Hand) -> list[Cards]:
    """The same ranks in other suits: they tie."""
    return [tuple(code[0] + SUITS[SUITS.index(code[1]) - 1] for code in codes) for codes in hand[2:5]]


def dealt(players: str, rng: random.Random) -> list[Hand]:
    """The hands of these players, by position."""
    left, hands = list(PACK), list[Hand]()
    while len(hands) < len(players):
        rng.shuffle(left)
        cards = drawn(left, rng)
        segments = (
            twin(hands[-1]) if hands and rng.random() < 0.15 else arranged(cards, rng) if len(cards) == 13 else []
        )
        used = set(itertools.chain(*segments))
        if len(used) == 13 and used <= set(left):
            left = [code for code in left if code not in used]
            back, middle, front = segments
            player, declared = players[len(hands)], rng.random() < 0.8
            hands.append(Hand(f"seat{len(hands) + 1}", player, back, middle, front, declared))
    return hands


def segments_of(hand: Hand) -> Segments:
    return Segments(*(tuple(map(kind_of_code, codes)) for codes in hand[2:5]))


def exchanged_by_the_game(hands: list[Hand], point: int, stacks: dict[str, int]) -> list[tuple[str, str, int]]:
    """The same as `exchanged`, from the payments of the game."""
    finished = [FinishedHand(hand.place, segments_of(hand), hand.declared, hand.player) for hand in hands]
    found = []
    payments = settle(finished, point, stacks)
    for _, steps in itertools.groupby(payments, lambda one: (one.bet == "clean sweep", {one.hand, one.other})):
        net = Counter[str]()
        for one in steps:
            net.update({one.hand: one.net, one.other: -one.net})
        (gains, amount), (pays, _) = net.most_common()
        if amount:
            found.append((gains, pays, amount))
    return found


# --- the comparison ---------------------------------------------------------------------------------------------------


@clause("points", game="face-up-chinese-poker")
@clause("bonus", game="face-up-chinese-poker")
@clause("foul", game="face-up-chinese-poker")
@clause("clean sweep", game="face-up-chinese-poker")
@clause("stakes", game="face-up-chinese-poker")
def test_random_rounds_are_settled_as_by_another_implementation() -> None:
    rng = random.Random(52)
    seen = Counter[str]()
    for number in range(ROUNDS):
        hands = dealt(("ab", "abc", "abcd", "aabb", "abab")[number % 5], rng)
        point = rng.choice((1, 5, 20))
        stacks = {hand.player: point * rng.randrange(9, rng.choice((20, 60, 2000))) for hand in hands}
        expected = exchanged(hands, point, stacks)
        assert exchanged_by_the_game(hands, point, stacks) == expected, (hands, point, stacks)
        seen.update(sweep(hand) for hand in hands if declared_sweep(hand))
        seen["foul"] += any(map(is_foul, hands))
        seen["two fouls"] += sum(map(is_foul, hands)) > 1
        seen["short stack"] += expected != exchanged(hands, point, dict.fromkeys(stacks, 10**6))
        for one, other in itertools.combinations(hands, 2):
            seen["tie"] += any(map(str.__eq__, map(rank, one.segments), map(rank, other.segments)))
            seen["two sweeps"] += bool(declared_sweep(one) and declared_sweep(other))
            seen["sweep and foul"] += bool(declared_sweep(one) and is_foul(other))
    assert set(SWEEP_POINTS) - {""} < set(seen)
    assert min(seen.values()) > 50


@clause("fantasy land", game="face-up-chinese-poker")
@clause("clean sweep", game="face-up-chinese-poker")
def test_random_hands_are_judged_as_by_another_implementation() -> None:
    rng = random.Random(13)
    seen = Counter[tuple[bool, bool]]()
    for _ in range(ROUNDS):
        (hand,) = dealt("a", rng)
        strong = category(hand.back) >= "7" or category(hand.middle) >= "6" or category(hand.front) == "3 trips"
        expected = (not is_foul(hand) and rank(hand.front) >= "1l", not is_foul(hand) and strong)
        segments = segments_of(hand)
        assert (enters_fantasy_land(segments), stays_in_fantasy_land(segments)) == expected, hand
        assert (sweep_of(segments) or "") == sweep(hand), hand
        seen[expected] += 1
    assert len(seen) == 4
