"""A session of tournament play: its end, its streaks, and what the dragon bets pay."""

from __future__ import annotations

import pytest

from controller.games.dragon_baccarat.hands import BaccaratResult, Result
from controller.games.dragon_baccarat.pay import DragonBet
from controller.games.dragon_baccarat.session import (
    SessionLength,
    Streak,
    announcement,
    dragon_of,
    dragons_won,
    longest_streak,
    rounds_played,
    session_length_fault,
    session_over,
    settle_dragons,
    streaks,
)
from controller.games.payments import Payment

clause = pytest.mark.clause

LETTERS = {"P": Result.PLAYER, "B": Result.BANKER, "T": Result.TIE}


def rounds(letters: str) -> list[BaccaratResult | None]:
    """The rounds of `PPTBV`, where V is a void round."""
    return [BaccaratResult(LETTERS[letter]) if letter in LETTERS else None for letter in letters]


@clause("3.11", game="dragon-baccarat-tournament")
def test_ties_and_void_rounds_do_not_interrupt_a_streak() -> None:
    assert streaks(rounds("TPPTPVPBBTP")) == [
        Streak(Result.PLAYER, 4),
        Streak(Result.BANKER, 2),
        Streak(Result.PLAYER, 1),
    ]


def test_a_session_without_wins_has_no_streak() -> None:
    assert streaks(rounds("TVT")) == []
    assert longest_streak(rounds("TVT")) == 0


@clause("1.1.1", "1.1.2", "1.1.7", game="dragon-baccarat-tournament")
def test_each_dragon_bet_counts_its_own_side() -> None:
    played = rounds("PPPBBBBPP")
    assert [longest_streak(played, bet) for bet in (DragonBet.PLAYER, DragonBet.BANKER, DragonBet.ANY)] == [3, 4, 4]


@clause("1.1.3", "1.1.11", "1.1.12", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(
    ("wins", "dragon"),
    [(0, None), (4, None), (5, "ruby dragon"), (6, "golden dragon"), (7, "royal dragon"), (12, "royal dragon")],
)
def test_five_six_and_seven_wins_are_dragons(wins: int, dragon: str | None) -> None:
    assert dragon_of(wins) == dragon


@clause("4.2", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(
    ("letters", "won"),
    [
        ("PPPPBPPPP", {}),
        ("PPPPTP", {"player dragon": "ruby dragon", "any dragon": "ruby dragon"}),
        ("BBBVBBTB", {"banker dragon": "golden dragon", "any dragon": "golden dragon"}),
        (
            "BBBBBPPPPPPPPBBBBBB",
            {"banker dragon": "golden dragon", "player dragon": "royal dragon", "any dragon": "royal dragon"},
        ),
    ],
)
def test_the_longest_streak_decides_which_dragon_a_bet_wins(letters: str, won: dict[str, str]) -> None:
    assert dragons_won(rounds(letters)) == won


@clause("3.12", game="dragon-baccarat-tournament")
def test_the_winning_dragon_bets_are_announced() -> None:
    assert announcement(rounds("PPPPPBBBBBBTB")) == [
        "Player dragon: ruby dragon, 5 wins in a row, pays 2 to 1.",
        "Banker dragon: royal dragon, 7 wins in a row, pays 10 to 1.",
        "Any dragon: royal dragon, 7 wins in a row, pays 5 to 1.",
    ]
    assert announcement(rounds("PPPP")) == ["No dragon bet has won."]


@clause("4.2", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(("wins", "one_side", "any_side"), [(5, 20, 10), (6, 40, 20), (7, 100, 50), (9, 100, 50)])
@pytest.mark.parametrize("side", ["player", "banker"])
def test_a_dragon_pays_by_its_length(side: str, wins: int, one_side: int, any_side: int) -> None:
    other = "banker" if side == "player" else "player"
    wagers = {"seat2": {f"{side} dragon": 10, "any dragon": 10}, "seat5": {f"{other} dragon": 3}}
    paid = settle_dragons(wagers, rounds(side[0].upper() * wins))
    assert [(step.hand, step.bet, step.net) for step in paid] == [
        ("seat5", f"{other} dragon", -3),
        ("seat2", f"{side} dragon", one_side),
        ("seat2", "any dragon", any_side),
    ]
    assert paid[0].outcome == "lost"
    assert paid[1].outcome == dragon_of(wins)


def test_a_dragon_bet_is_paid_once_however_many_streaks_there_are() -> None:
    played = rounds("PPPPPBPPPPPBPPPPPP")
    assert settle_dragons({"seat1": {"player dragon": 1}}, played) == [
        Payment("seat1", "player dragon", "golden dragon", 4)
    ]


def test_dragon_bets_lose_without_a_streak_of_five() -> None:
    paid = settle_dragons({"seat1": {"any dragon": 2}}, rounds("PPPPBBBB"))
    assert paid == [Payment("seat1", "any dragon", "lost", -2)]


def test_bets_of_a_round_are_not_settled_with_the_session() -> None:
    with pytest.raises(ValueError, match="seat1: unknown bet 'player'; expected one of player dragon, banker dragon, "):
        settle_dragons({"seat1": {"player": 2}}, rounds("PPPPP"))


@clause("1.1.13", game="dragon-baccarat-tournament")
def test_a_session_of_rounds_ends_when_they_are_played_and_void_rounds_do_not_count() -> None:
    length = SessionLength(rounds=4)
    assert not session_over(length, rounds("PVTBV"), elapsed_s=1e9)
    assert session_over(length, rounds("PVTBVB"), elapsed_s=0)
    assert rounds_played(rounds("PVTBVB")) == 4


@clause("1.1.13", game="dragon-baccarat-tournament")
def test_a_session_by_time_ends_when_the_time_is_up() -> None:
    length = SessionLength(minutes=30)
    assert not session_over(length, rounds("PB" * 50), elapsed_s=1799.9)
    assert session_over(length, rounds("P"), elapsed_s=1800)


def test_a_session_without_a_round_has_not_begun() -> None:
    assert not session_over(SessionLength(minutes=30), rounds("V"), elapsed_s=1800)


def test_a_session_without_a_length_ends_when_a_person_ends_it() -> None:
    assert not session_over(SessionLength(), rounds("PB" * 50), elapsed_s=1e9)


@clause("1.1.13", game="dragon-baccarat-tournament")
@pytest.mark.parametrize("length", [SessionLength(10, 10), SessionLength(-1, 5), SessionLength(5, -1)])
def test_a_session_ends_either_after_rounds_or_after_a_time(length: SessionLength) -> None:
    assert "set one of them, and the other to 0" in session_length_fault(length)


@pytest.mark.parametrize("length", [SessionLength(), SessionLength(rounds=30), SessionLength(minutes=20)])
def test_one_limit_is_enough_for_a_session(length: SessionLength) -> None:
    assert session_length_fault(length) == ""
