"""The table of play and the odds of baccarat, against published counts and a second enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from controller.games.dragon_baccarat_pay import RANKS, Result, odds, points_of, round_results


def draws(player: int, banker: int, third: int | None) -> tuple[bool, bool]:
    """Whether player and banker draw, written out as the rule is worded."""
    if player in (8, 9) or banker in (8, 9):
        return False, False
    if player in (6, 7):
        return False, banker <= 5
    wanted = {3: "012345679", 4: "234567", 5: "4567", 6: "67", 7: ""}.get(banker, "0123456789")
    return True, str(third) in wanted


@pytest.mark.parametrize("decks", range(4, 11))
def test_the_results_of_a_round_agree_with_a_second_enumeration(decks: int) -> None:
    copies = [16 * decks, *[4 * decks] * 9]
    cards = 52 * decks
    found: Counter[str] = Counter()

    def draw(value: int) -> int:
        copies[value] -= 1
        return copies[value] + 1

    for first in itertools.product(range(10), repeat=4):  # in the order in which they are dealt
        ways = math.prod([draw(value) for value in first])
        player, banker = (first[0] + first[2]) % 10, (first[1] + first[3]) % 10
        if draws(player, banker, 0)[0]:
            for third in range(10):
                more = ways * draw(third)
                end = (player + third) % 10
                if draws(player, banker, third)[1]:
                    for last in range(10):
                        found[_winner(end, (banker + last) % 10)] += more * copies[last]
                else:
                    found[_winner(end, banker)] += more * (cards - 5)
                copies[third] += 1
        elif draws(player, banker, None)[1]:
            for last in range(10):
                found[_winner(player, (banker + last) % 10)] += ways * copies[last] * (cards - 5)
        else:
            found[_winner(player, banker)] += ways * (cards - 4) * (cards - 5)
        for value in first:
            copies[value] += 1
    assert found == {str(result): number for result, number in round_results(decks).items()}
    assert found.total() == math.perm(cards, 6)


def _winner(player: int, banker: int) -> str:
    return "player" if player > banker else "banker" if banker > player else "tie"


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


def test_an_ace_is_one_and_pictures_are_nothing() -> None:
    assert [points_of(rank) for rank in RANKS] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0]


@pytest.mark.parametrize("side", ["player", "banker", "any"])
def test_the_dragon_bets_of_a_session_agree_with_a_second_enumeration(side: str) -> None:
    results = round_results(8)
    of = results.total()
    chance = {"P": Fraction(results[Result.PLAYER], of), "B": Fraction(results[Result.BANKER], of)}
    chance["T"] = 1 - chance["P"] - chance["B"]
    found: dict[str, Fraction] = dict.fromkeys(("ruby dragon", "golden dragon", "royal dragon", "lose"), Fraction())
    for played in itertools.product("PBT", repeat=8):
        wins = "".join(played).replace("T", "")
        counted = {"player": "P", "banker": "B"}.get(side, "PB")
        streak = max((len(list(run)) for who, run in itertools.groupby(wins) if who in counted), default=0)
        names = {5: "ruby dragon", 6: "golden dragon", 7: "royal dragon", 8: "royal dragon"}
        found[names.get(streak, "lose")] += math.prod(chance[letter] for letter in played)
    (bet,) = [bet for bet in odds(8, session=8) if bet.bet == f"{side} dragon, 8 rounds"]
    assert {line.outcome: line.p for line in bet.lines} == found


@pytest.mark.parametrize(("decks", "session"), [(3, 0), (11, 0), (8, -1), (8, 201)])
def test_packs_and_sessions_that_the_rules_do_not_have_are_refused(decks: int, session: int) -> None:
    with pytest.raises(ValueError, match=r"decks: the game is played with 4 to 10|enter 1 to 200"):
        odds(decks, session)
