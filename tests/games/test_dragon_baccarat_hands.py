"""Points, the table of play and the hand of the next card, against the table as the rule words it."""

from __future__ import annotations

import itertools
import random

import pytest

from controller.games.dragon_baccarat.hands import (
    BaccaratResult,
    Result,
    baccarat_result,
    check_round,
    due_card,
    due_card_reason,
    hand_points,
    points_of,
    points_of_kind,
    reconstruct,
)
from controller.games.standard_cards import KINDS, RANKS, kind_of_code

clause = pytest.mark.clause

OF_POINTS = ("king", "ace", "two", "three", "four", "five", "six", "seven", "eight", "nine")
CARDS = tuple(f"{rank} of spades" for rank in OF_POINTS)  # one card of each number of points
BANKER_DRAWS_ON = ("0123456789", "0123456789", "0123456789", "012345679", "234567", "4567", "67", "")  # 3.9.4


def cards(codes: str) -> list[str]:
    """The cards of `5s 10h`."""
    return [kind_of_code(code) for code in codes.split()]


def two(points: int) -> list[str]:
    """Two cards with these points."""
    return ["queen of hearts", CARDS[points]]


@clause("3.3", game="dragon-baccarat-tournament")
def test_an_ace_is_one_and_pictures_are_nothing() -> None:
    assert [points_of(rank) for rank in RANKS] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0]


@clause("3.3", game="dragon-baccarat-tournament")
def test_every_card_has_the_points_of_its_rank() -> None:
    assert points_of_kind("ace of spades") == 1
    assert points_of_kind("nine of hearts") == 9
    assert points_of_kind("king of clubs") == 0
    assert sum(points_of_kind(kind) for kind in KINDS) == 4 * 45


@pytest.mark.parametrize("kind", ["red dragon", "ace", "ace of cups", ""])
def test_a_card_that_is_not_in_the_pack_has_no_points(kind: str) -> None:
    with pytest.raises(ValueError, match=f"unknown card '{kind}'; expected a name such as"):
        points_of_kind(kind)


@clause("1.1.9", "3.4", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(("codes", "points"), [("", 0), ("9s", 9), ("7s 8h", 5), ("10s kh", 0), ("9s 9h 9d", 7)])
def test_a_hand_has_the_last_digit_of_its_sum(codes: str, points: int) -> None:
    assert hand_points(cards(codes)) == points


@clause("1.1.5", "3.6", "3.7", game="dragon-baccarat-tournament")
def test_the_first_four_cards_go_to_player_and_banker_in_turn() -> None:
    player, banker = cards("2s 3s"), cards("3h 4h")
    seen = [due_card(player[: (n + 1) // 2], banker[: n // 2]) for n in range(4)]
    assert seen == ["player", "banker", "player", "banker"]
    assert due_card_reason(player[:1], banker[:1]) == "the player's second card is due"


@clause("3.9.1", "3.9.2", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(("player", "banker"), list(itertools.product(range(10), repeat=2)))
def test_the_player_draws_as_the_table_of_play_says(player: int, banker: int) -> None:
    expected = None if max(player, banker) >= 8 else "player" if player <= 5 else "banker" if banker <= 5 else None
    assert due_card(two(player), two(banker)) == expected


@clause("3.9.3", "3.9.4", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(("player", "banker"), list(itertools.product(range(6), range(8))))
def test_the_banker_draws_as_the_table_of_play_says(player: int, banker: int) -> None:
    drawn = {third: due_card([*two(player), CARDS[third]], two(banker)) for third in range(10)}
    assert drawn == {third: "banker" if str(third) in BANKER_DRAWS_ON[banker] else None for third in range(10)}


@clause("3.9", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(("player", "banker"), [(0, 0), (5, 2), (6, 5), (7, 0)])
def test_no_hand_gets_a_card_after_the_bankers_third(player: int, banker: int) -> None:
    hand = [*two(player), *(["two of clubs"] if player <= 5 else [])]
    assert due_card(hand, [*two(banker), "ace of clubs"]) is None
    assert due_card_reason(hand, [*two(banker), "ace of clubs"]) == "the banker's third card ends the round"


@clause("1.1.6", "3.9", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(
    ("player", "banker", "reason"),
    [
        ("", "", "the player's first card is due"),
        ("ks", "2h", "the player's second card is due"),
        ("ks 5s", "2h 2d", "the player has 5 and draws"),
        ("ks 5s 3s", "2h 2d", "the banker has 4 and draws on the player's third card of 3"),
        ("ks 5s as", "2h 2d", "the banker has 4 and stands on the player's third card of 1"),
        ("ks 6s", "2h 3d", "the player stands on 6, and the banker has 5 and draws"),
        ("ks 7s", "2h 4d", "the player stands on 7, and the banker has 6 and stands"),
        ("ks 8s", "2h 3d", "the player has a natural 8"),
        ("ks 2s", "kh 9d", "the banker has a natural 9"),
        ("ks 9s", "kh 8d", "the player has a natural 9 and the banker has a natural 8"),
    ],
)
def test_the_reason_names_the_points_that_decide(player: str, banker: str, reason: str) -> None:
    assert due_card_reason(cards(player), cards(banker)) == reason


@pytest.mark.parametrize(
    ("player", "banker", "fault"),
    [
        ("2s", "3s 4s", "the banker's cards do not fit: the player's second card is due"),
        ("ks 8s 2s", "2h 3d", "the player's cards do not fit: the player has a natural 8"),
        ("ks 5s", "2h 3d 4s", "the banker's cards do not fit: the player has 5 and draws"),
        ("ks 5s 2s 3s", "2h 5d", "the player's cards do not fit: the banker has 7 and stands on"),
    ],
)
def test_cards_that_do_not_fit_are_refused(player: str, banker: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        due_card(cards(player), cards(banker))
    assert check_round(cards(player), cards(banker)).startswith(fault)


def test_a_round_with_a_missing_card_is_not_complete() -> None:
    assert check_round(cards("ks 5s"), cards("2h 3d")) == "a card is missing: the player has 5 and draws"
    assert check_round(cards("ks"), []) == "a card is missing: the banker's first card is due"


@clause("3.9", game="dragon-baccarat-tournament")
def test_of_all_ways_to_leave_out_third_cards_exactly_one_is_right() -> None:
    for player, banker, third, last in itertools.product(range(10), repeat=4):
        mine, theirs = [*two(player), CARDS[third]], [*two(banker), CARDS[last]]
        right = [(n, m) for n in (2, 3) for m in (2, 3) if not check_round(mine[:n], theirs[:m])]
        assert len(right) == 1, (player, banker, third, last)


@clause("5.2", "1.1.4", game="dragon-baccarat-tournament")
def test_a_card_that_went_to_the_wrong_hand_is_the_next_card() -> None:
    # The player has 5, but the third card was put to the banker, who has 4 and draws on it too.
    assert reconstruct(cards("ks 2h 5s 2d 3c 9c")) == ["player", "banker", "player", "banker", "player", "banker"]


@clause("5.2", game="dragon-baccarat-tournament")
def test_a_card_that_nobody_should_have_drawn_is_left_over() -> None:
    # The player has 6 and the banker 7; a dealer who gave the player a third card drew one too many.
    assert reconstruct(cards("ks 3h 6s 4d 2c")) == ["player", "banker", "player", "banker", None]


def test_cards_of_a_round_that_is_not_over_leave_nothing_over() -> None:
    assert reconstruct([]) == []
    assert reconstruct(cards("ks 3h 5s")) == ["player", "banker", "player"]


@clause("5.3", game="dragon-baccarat-tournament")
def test_a_reconstructed_round_agrees_with_dealing_card_by_card() -> None:
    generator = random.Random(20170217)
    for _ in range(2000):
        drawn = generator.sample(KINDS, 6)
        player: list[str] = []
        banker: list[str] = []
        hands: list[str] = []
        while hand := due_card(player, banker):
            (player if hand == "player" else banker).append(drawn[len(hands)])
            hands.append(hand)
        assert reconstruct(drawn) == [*hands, *[None] * (6 - len(hands))]
        assert not check_round(player, banker)


@clause("1.1.8", "1.1.14", "3.8", "3.10", game="dragon-baccarat-tournament")
@pytest.mark.parametrize(
    ("player", "banker", "expected"),
    [
        ("ks 9s", "2h 5d", BaccaratResult(Result.PLAYER)),
        ("ks 6s", "2h 5d", BaccaratResult(Result.BANKER)),
        ("ks 7s", "2h 5d", BaccaratResult(Result.TIE)),
        ("4s 4h", "2h 2h", BaccaratResult(Result.PLAYER, player_pair=True, banker_pair=True)),
        ("ks kd 6s", "3h 3d 3s", BaccaratResult(Result.BANKER, player_pair=True, banker_pair=True)),
        ("10s kd 6s", "3h 4d", BaccaratResult(Result.BANKER)),
        ("2s 3d 2d", "as ad 2c", BaccaratResult(Result.PLAYER, banker_pair=True)),
    ],
)
def test_the_higher_hand_wins_and_pairs_are_the_first_two_cards(
    player: str, banker: str, expected: BaccaratResult
) -> None:
    assert baccarat_result(cards(player), cards(banker)) == expected


def test_a_round_that_is_not_complete_has_no_result() -> None:
    with pytest.raises(ValueError, match="the round has no result: a card is missing: the player has 5 and draws"):
        baccarat_result(cards("ks 5s"), cards("2h 3d"))
