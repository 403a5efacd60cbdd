"""Dragon Poker's hands and odds, against a second enumeration that shares no code with the first.

This one draws cards one after another, resolves the gold dragon by the rule's own words, and compares hands as text.
"""

from __future__ import annotations

import functools
from collections import Counter
from fractions import Fraction

import pytest

from controller.games.dragon_poker.odds import odds
from controller.games.dragon_poker.pay import Category, Rank, best_hand, dragons
from controller.games.odds import BetOdds

clause = pytest.mark.clause
DECK = Counter(
    {
        "red dragon": 3,
        "blue dragon": 3,
        "gold dragon": 1,
        "phoenix": 7,
        "tiger": 8,
        "panda": 9,
        "monkey": 10,
        "rabbit": 12,
    }
)
LETTERS = {"dragon": "f", "phoenix": "e", "tiger": "d", "panda": "c", "monkey": "b", "rabbit": "a"}
BETS = {(bet.bet.split(",")[0], bet.paytable): bet for bet in odds()}


def drawn(cards: Counter[str], number: int) -> list[tuple[tuple[str, ...], int]]:
    """Every sequence of cards, drawn one after another, and its ways."""
    sequences: list[tuple[tuple[str, ...], int]] = [((), 1)]
    for _ in range(number):
        sequences = [
            ((*before, kind), ways * (copies - before.count(kind)))
            for before, ways in sequences
            for kind, copies in cards.items()
            if copies > before.count(kind)
        ]
    return sequences


@functools.cache
def as_text(cards: frozenset[tuple[str, int]]) -> str:
    """A hand as text that sorts as hands rank: 3 for trips, 2 for a pair, 1 for others, then its characters."""
    letters = sorted(
        (LETTERS[kind.split()[-1]] for kind, n in cards for _ in range(n) if kind != "gold dragon"), reverse=True
    )
    if ("gold dragon", 1) in cards:
        high = letters[0]
        letters = [high, high, letters[1]]  # a pair of the higher card; with a pair, trips
    counts = Counter(letters)
    by_number = sorted(counts, key=lambda letter: (counts[letter], letter), reverse=True)
    return f"{max(counts.values())}{''.join(by_number)}"


def hand_text(kinds: tuple[str, ...]) -> str:
    return as_text(frozenset(Counter(kinds).items()))


def lines(bet: BetOdds) -> dict[str, Fraction]:
    return {line.outcome: line.p for line in bet.lines}


def part(ways: Counter[str]) -> dict[str, Fraction]:
    return {outcome: Fraction(number, ways.total()) for outcome, number in ways.items()}


THREE_CARD = {"3f": "three dragons", "3e": "three phoenix", "3d": "three tigers"} | {f"3{x}": "trips" for x in "abc"}
PAIRS = {"f": "pair of dragons", "e": "pair of phoenix", "d": "pair of tigers"}


def ante_bonus_line(table: str, hand: str) -> str:
    """The line of the ante bonus for a winning hand."""
    if hand == "3f":
        return "three dragons"
    if table == "A":
        others = {"3e": "three phoenix", "2f": "pair of dragons", "2e": "pair of phoenix"}
    else:
        others = dict.fromkeys(("2f", "2e", "2d", "2c"), "pair of pandas or better")
    return others.get(hand[:2]) or ("trips" if hand[0] == "3" else "winning hand")


WINS = {
    "A": {
        "three dragons": 32,
        "three phoenix": 12,
        "trips": 8,
        "pair of dragons": 4,
        "pair of phoenix": 3,
        "winning hand": 2,
    },
    "B": {"three dragons": 32, "trips": 6, "pair of pandas or better": 3, "winning hand": 2},
}


@pytest.mark.parametrize("table", ["A", "B"])
def test_the_three_card_bonus_agrees_with_a_second_enumeration(table: str) -> None:
    ways: Counter[str] = Counter()
    for kinds, number in drawn(DECK, 3):
        hand = hand_text(kinds)
        ways[THREE_CARD.get(hand) or (PAIRS.get(hand[1], "lose") if hand[0] == "2" else "lose")] += number
    assert part(ways) == lines(BETS["three card bonus", table])


def test_the_dragon_wager_agrees_with_a_second_enumeration() -> None:
    ways: Counter[str] = Counter()
    for kinds, number in drawn(DECK, 3):
        red, blue, gold = (kinds.count(f"{colour} dragon") for colour in ("red", "blue", "gold"))
        outcome = "lose"
        if gold:
            outcome = ("gold dragon", "pair of dragons", "three dragons with the gold dragon")[red + blue]
        elif red + blue == 3:
            outcome = {3: "three red dragons", 0: "three blue dragons"}.get(red, "three dragons")
        elif red + blue == 2:
            outcome = "pair of dragons"
        ways[outcome] += number
    assert part(ways) == lines(BETS["dragon wager", "A"])


@pytest.fixture(scope="module")
def games() -> dict[str, Counter[str]]:
    """For each of the player's hands: how often it beats the dealer, ties and loses."""
    found: dict[tuple[tuple[str, int], ...], tuple[str, Counter[str]]] = {}
    for mine, ways in drawn(DECK, 3):
        key = tuple(sorted(Counter(mine).items()))
        if key not in found:
            hand, results = hand_text(mine), Counter[str]()
            for theirs, number in drawn(DECK - Counter(mine), 3):
                dealer = hand_text(theirs)
                results["win" if hand > dealer else "tie" if hand == dealer else "lose"] += number
            found[key] = hand, Counter({"ways": 0, **results})
        found[key][1]["ways"] += ways
    return {f"{hand} {key}": results for key, (hand, results) in found.items()}


@pytest.mark.parametrize("table", ["A", "B"])
def test_the_main_bet_with_the_best_decisions_agrees_with_a_second_enumeration(
    table: str, games: dict[str, Counter[str]]
) -> None:
    ways: Counter[str] = Counter()
    edge = Fraction()
    for name, results in games.items():
        outcome = ante_bonus_line(table, name.split()[0])
        deals = results["win"] + results["tie"] + results["lose"]
        played = Fraction(results["win"] * WINS[table][outcome] - 3 * results["lose"], deals)
        edge -= max(played, Fraction(-2)) * Fraction(results["ways"], 53 * 52 * 51)
        if played <= -2:
            ways["fold"] += results["ways"] * deals
        else:
            ways[outcome] += results["ways"] * results["win"]
            ways["tie"] += results["ways"] * results["tie"]
            ways["lose"] += results["ways"] * results["lose"]
    bet = BETS["ante", table]
    assert part(ways) == lines(bet)
    assert edge == bet.edge


def test_a_deck_has_the_published_numbers_of_hands() -> None:
    bet = BETS["dragon wager", "A"]
    assert {line.of for line in bet.lines} == {23426}
    assert [line.ways for line in bet.lines][:4] == [1, 1, 15, 18]


@clause("6.A", "6.B")
@pytest.mark.parametrize(
    ("kinds", "category", "ranks"),
    [
        (("gold dragon", "tiger", "rabbit"), Category.PAIR, (Rank.TIGER, Rank.RABBIT)),
        (("gold dragon", "rabbit", "rabbit"), Category.TRIPS, (Rank.RABBIT,)),
        (("gold dragon", "red dragon", "blue dragon"), Category.TRIPS, (Rank.DRAGON,)),
        (("gold dragon", "red dragon", "panda"), Category.PAIR, (Rank.DRAGON, Rank.PANDA)),
        (("monkey", "panda", "monkey"), Category.PAIR, (Rank.MONKEY, Rank.PANDA)),
        (("rabbit", "phoenix", "monkey"), Category.HIGH_CARD, (Rank.PHOENIX, Rank.MONKEY, Rank.RABBIT)),
    ],
)
def test_a_hand_is_ranked_as_high_as_its_cards_allow(
    kinds: tuple[str, ...], category: Category, ranks: tuple[Rank, ...]
) -> None:
    assert best_hand(kinds) == (category, ranks)


@clause("6.A", "12.D")
def test_the_dragon_wager_never_takes_the_gold_dragon_for_another_character() -> None:
    assert dragons(("gold dragon", "phoenix", "phoenix")) == "gold dragon"
    assert dragons(("red dragon", "phoenix", "phoenix")) == ""
