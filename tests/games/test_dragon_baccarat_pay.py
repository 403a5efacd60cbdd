"""The settlement of a round of baccarat, by chapter 4 of the rules."""

from __future__ import annotations

import pytest

from controller.games.dragon_baccarat.pay import settle
from controller.games.payments import Payment
from controller.games.standard_cards import kind_of_code

clause = pytest.mark.clause

ALL_BETS = {"seat1": {"player": 10, "banker": 20, "tie": 5, "player pair": 2, "banker pair": 3}}


def cards(codes: str) -> list[str]:
    """The cards of `5s 10h`."""
    return [kind_of_code(code) for code in codes.split()]


def settled(player: str, banker: str) -> dict[str, tuple[str, int]]:
    """What each bet of one seat comes to."""
    return {step.bet: (step.outcome, step.net) for step in settle(ALL_BETS, cards(player), cards(banker))}


@clause("4.1", game="dragon-baccarat-tournament")
def test_a_player_win_pays_even_money() -> None:
    assert settled("ks 9s", "2h 5d") == {
        "player": ("player", 10),
        "banker": ("lost", -20),
        "tie": ("lost", -5),
        "player pair": ("lost", -2),
        "banker pair": ("lost", -3),
    }


@clause("4.1", game="dragon-baccarat-tournament")
def test_a_banker_win_pays_even_money_without_commission() -> None:
    found = settled("ks 6s", "2h 5d")
    assert found["banker"] == ("banker", 20)
    assert found["player"] == ("lost", -10)
    assert found["tie"] == ("lost", -5)


@clause("3.5", "3.10", "4.1", game="dragon-baccarat-tournament")
def test_a_tie_pays_eight_and_returns_player_and_banker() -> None:
    found = settled("ks 7s", "2h 5d")
    assert found["tie"] == ("tie", 40)
    assert found["player"] == found["banker"] == ("returned", 0)


@clause("3.5", "3.8", "4.1", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(
    ("player", "banker", "player_pair", "banker_pair"),
    [
        ("4s 4h", "2h 5d", ("pair", 22), ("lost", -3)),
        ("9s kh", "4d 4d", ("lost", -2), ("pair", 33)),
        ("ks kd 6s", "3h 3d 3s", ("pair", 22), ("pair", 33)),
        ("10s kd 6s", "jh qd 2s", ("lost", -2), ("lost", -3)),
        ("2s 3d 3s", "ks 7d", ("lost", -2), ("lost", -3)),
    ],
    ids=["player", "banker", "both", "tens and pictures are of different ranks", "third cards form no pair"],
)
def test_a_pair_pays_eleven_whoever_wins(
    player: str, banker: str, player_pair: tuple[str, int], banker_pair: tuple[str, int]
) -> None:
    found = settled(player, banker)
    assert (found["player pair"], found["banker pair"]) == (player_pair, banker_pair)


@clause("1.1.10", game="dragon-baccarat-tournament")
def test_lost_wagers_are_collected_before_winning_ones_are_paid() -> None:
    wagers = {"seat1": {"tie": 1, "player": 10}, "seat2": {"banker pair": 4}, "seat3": {"tie": 2}}
    assert settle(wagers, cards("ks 7s"), cards("2h 5d")) == [
        Payment("seat2", "banker pair", "lost", -4),
        Payment("seat1", "tie", "tie", 8),
        Payment("seat3", "tie", "tie", 16),
        Payment("seat1", "player", "returned", 0),
    ]


def test_without_wagers_nothing_is_paid() -> None:
    assert settle({"seat1": {}}, cards("ks 7s"), cards("2h 5d")) == []


def test_cards_that_disagree_with_the_table_of_play_are_not_settled() -> None:
    with pytest.raises(ValueError, match="the player's cards do not fit: the player has a natural 9"):
        settle(ALL_BETS, cards("ks 9s 2d"), cards("2h 5d"))


@clause("2.2", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(
    ("bet", "amount", "message"),
    [
        ("any dragon", 5, "seat4: unknown bet 'any dragon'; expected one of player, banker, tie, player pair,"),
        ("player", 0, "seat4: 0 on player; a wager is 1 unit or more"),
        ("tie", -5, "seat4: -5 on tie; a wager is 1 unit or more"),
    ],
)
def test_wagers_that_a_round_does_not_have_are_refused(bet: str, amount: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settle({"seat4": {bet: amount}}, cards("ks 7s"), cards("2h 5d"))
