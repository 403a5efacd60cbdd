"""The odds of baccarat, against published counts and a second enumeration that is written from the rule's words.

The second one goes through all six cards in the order in which they leave the shoe, by their points, whether the round
needs them or not, and counts how many packs of cards deal each such sequence.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from controller.games.dragon_baccarat.hands import Result
from controller.games.dragon_baccarat.odds import odds, round_results

BANKER_DRAWS_ON = ("0123456789", "0123456789", "0123456789", "012345679", "234567", "4567", "67", "")  # 3.9.4


def winner(six: tuple[int, ...]) -> str:
    """Who wins with the cards in this order, by 3.7 to 3.10."""
    first, second, third, fourth, fifth, sixth = six
    player, banker = (first + third) % 10, (second + fourth) % 10
    if player < 8 and banker < 8:
        if player > 5:
            if banker < 6:
                banker += fifth
        else:
            player += fifth
            if str(fifth) in BANKER_DRAWS_ON[banker]:
                banker += sixth
        player, banker = player % 10, banker % 10
    return "player" if player > banker else "banker" if banker > player else "tie"


@functools.cache
def sequences() -> dict[tuple[tuple[int, ...], str], int]:
    """How many orders of the same six points end with each winner; decks do not matter here."""
    weights = [7**value for value in range(10)]  # the sum tells how often each value is among six cards
    found: Counter[tuple[int, str]] = Counter()
    for six in itertools.product(range(10), repeat=6):
        found[sum([weights[value] for value in six]), winner(six)] += 1
    return {(tuple(code // weight % 7 for weight in weights), who): orders for (code, who), orders in found.items()}


def chances(decks: int) -> dict[str, Fraction]:
    """The probability of each result: every card of six is drawn from those of its value that are left."""
    copies = [16 * decks, *[4 * decks] * 9]
    found: Counter[str] = Counter()
    for (numbers, who), orders in sequences().items():
        found[who] += orders * math.prod(map(math.perm, copies, numbers))
    return {who: Fraction(ways, math.perm(52 * decks, 6)) for who, ways in found.items()}


@pytest.mark.parametrize("decks", range(4, 11))
def test_the_odds_of_a_round_agree_with_a_second_enumeration(decks: int) -> None:
    chance = chances(decks)
    assert sum(chance.values()) == 1
    player, banker, tie = chance["player"], chance["banker"], chance["tie"]
    pair = Fraction(4 * decks - 1, 52 * decks - 1)  # the second card has the rank of the first
    expected = {
        "player": ({"player": player, "lose": banker, "tie, returned": tie}, banker - player),
        "banker": ({"banker": banker, "lose": player, "tie, returned": tie}, player - banker),
        "tie": ({"tie": tie, "lose": player + banker}, 1 - 9 * tie),
        "player pair": ({"pair": pair, "lose": 1 - pair}, 1 - 12 * pair),
        "banker pair": ({"pair": pair, "lose": 1 - pair}, 1 - 12 * pair),
    }
    assert {bet.bet: ({line.outcome: line.p for line in bet.lines}, bet.edge) for bet in odds(decks)} == expected


def test_eight_decks_have_the_published_numbers_of_deals() -> None:
    assert round_results(8) == {
        Result.BANKER: 2_292_252_566_437_888,
        Result.PLAYER: 2_230_518_282_592_256,
        Result.TIE: 475_627_426_473_216,
    }


def test_eight_decks_have_the_published_probabilities() -> None:
    p = {(bet.bet, line.outcome): f"{float(line.p):.6f}" for bet in odds(8) for line in bet.lines}
    assert p["player", "player"] == "0.446247"
    assert p["banker", "banker"] == "0.458597"
    assert p["tie", "tie"] == "0.095156"
    assert p["player pair", "pair"] == p["banker pair", "pair"] == "0.074699"


def chances_of_a_round(decks: int) -> dict[str, Fraction]:
    """The probability of each result, by the letter of its side."""
    results = round_results(decks)
    return {name[0].upper(): Fraction(ways, results.total()) for name, ways in results.items()}


@pytest.mark.parametrize("decks", [4, 8, 10])
@pytest.mark.parametrize("side", ["player", "banker", "any"])
def test_the_dragon_bets_of_a_session_agree_with_a_second_enumeration(side: str, decks: int) -> None:
    chance = chances_of_a_round(decks)
    found: dict[str, Fraction] = dict.fromkeys(("ruby dragon", "golden dragon", "royal dragon", "lose"), Fraction())
    for played in itertools.product("PBT", repeat=8):
        wins = "".join(played).replace("T", "")
        counted = {"player": "P", "banker": "B"}.get(side, "PB")
        streak = max((len(list(run)) for who, run in itertools.groupby(wins) if who in counted), default=0)
        names = {5: "ruby dragon", 6: "golden dragon", 7: "royal dragon", 8: "royal dragon"}
        found[names.get(streak, "lose")] += math.prod(chance[letter] for letter in played)
    (bet,) = [bet for bet in odds(decks, session=8) if bet.bet == f"{side} dragon, 8 rounds"]
    assert {line.outcome: line.p for line in bet.lines} == found
    ruby, golden, royal = (1, 2, 5) if side == "any" else (2, 4, 10)
    paid = ruby * found["ruby dragon"] + golden * found["golden dragon"] + royal * found["royal dragon"]
    assert bet.edge == found["lose"] - paid


def without_streak(wins: int, length: int, p: Fraction) -> Fraction:
    """The probability that a side, which wins each round that is not a tie with `p`, has no streak of this length.

    The first such streak ends with round m if it began after a lost round, and there was none before that round.
    """
    none = [Fraction(1)] * length
    for m in range(length, wins + 1):
        begins = (1 - p) * none[m - length - 1] if m > length else Fraction(1)
        none.append(none[m - 1] - begins * p**length)
    return none[wins]


@pytest.mark.parametrize("decks", range(4, 11))
@pytest.mark.parametrize("side", ["player", "banker"])
def test_the_dragon_bets_of_a_long_session_agree_with_the_first_streak_of_each_length(side: str, decks: int) -> None:
    chance, rounds = chances_of_a_round(decks), 30
    p = chance[side[0].upper()] / (1 - chance["T"])
    least: dict[int, Fraction] = {}  # the probability of a streak of at least this length
    for length in (5, 6, 7):
        least[length] = 1 - sum(
            (
                math.comb(rounds, wins)
                * (1 - chance["T"]) ** wins
                * chance["T"] ** (rounds - wins)
                * without_streak(wins, length, p)
                for wins in range(rounds + 1)
            ),
            Fraction(),
        )
    (bet,) = [bet for bet in odds(decks, session=rounds) if bet.bet == f"{side} dragon, {rounds} rounds"]
    assert {line.outcome: line.p for line in bet.lines} == {
        "ruby dragon": least[5] - least[6],
        "golden dragon": least[6] - least[7],
        "royal dragon": least[7],
        "lose": 1 - least[5],
    }


@pytest.mark.parametrize(("decks", "session"), [(3, 0), (11, 0), (8, -1), (8, 201)])
def test_packs_and_sessions_that_the_rules_do_not_have_are_refused(decks: int, session: int) -> None:
    with pytest.raises(ValueError, match=r"decks: the game is played with 4 to 10|enter 1 to 200"):
        odds(decks, session)
