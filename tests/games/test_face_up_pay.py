"""Face-Up Chinese Poker: fouls, points, bonuses, sweeps, stakes and fees, with the figures of the rules."""

from __future__ import annotations

import itertools

import pytest

from controller.games.face_up.pay import (
    COLLECTION,
    FinishedHand,
    Segment,
    Segments,
    Sweep,
    bonus_points,
    collection_fee_cents,
    enters_fantasy_land,
    has_sweep,
    is_foul,
    least_buy_in,
    may_be_dealt_in,
    settle,
    stays_in_fantasy_land,
    sweep_of,
)
from controller.games.payments import Payment
from controller.games.poker_hands import five_card_hand, front_hand
from controller.games.standard_cards import kind_of_code

clause = pytest.mark.clause
DEEP = dict.fromkeys(("seat1", "seat2", "seat3", "seat4"), 10_000)


def cards(text: str) -> tuple[str, ...]:
    return tuple(kind_of_code(code) for code in text.split())


def hand(text: str) -> Segments:
    """The segments of `back | middle | front`."""
    return Segments(*map(cards, text.split("|")))


def settled(*texts: str, point: int = 1, stacks: dict[str, int] | None = None) -> list[Payment]:
    """The payments between hands by position; a `!` declares a sweep."""
    hands = [
        FinishedHand(f"seat{number}", hand(text.strip("!")), declared=text.endswith("!"))
        for number, text in enumerate(texts, 1)
    ]
    return settle(hands, point, stacks or DEEP)


def lines(payments: list[Payment]) -> list[tuple[str, str, str, int]]:
    return [(one.hand, one.other, one.bet, one.net) for one in payments]


PLAIN = "As Ah Td 9s 8s | Ks Kh 7d 5s 4s | Qs Js 3s"  # pairs of aces and kings, and no bonus
LOWER = "6s 6h Tc 9h 8h | 5h 5d 7c 4h 2h | Jh Ts 3h"  # loses all three, and no bonus


# --- one hand ---------------------------------------------------------------------------------------------------------


@clause("segments", game="face-up-chinese-poker")
@pytest.mark.parametrize(
    ("text", "foul"),
    [
        (PLAIN, False),
        ("Ks Kh Td 9s 8s | As Ah 7d 5s 4s | Qs Js 3s", True),  # the middle is over the back
        ("As Ah Td 9s 8s | Ks Qh 7d 5s 4s | 2s 2d 3s", True),  # the front is over the middle
        ("As Ah Td 9s 8s | Ac Ad Th 9c 8c | Qs Js 3s", True),  # back and middle are equal
        ("2s 2h 2d 9s 8s | As Ah Kd Ks 4s | Qs Qd 3s", False),
        ("As Ah Ad 9s 8s | Ks Kh 7d 5s 4s | 2s 2d 2c", True),  # trips in front need more than trips of twos behind
        ("As Ah Td 9s 8s | 2d 2h 7d 5s 4s | Ks Qs Js", False),  # no straights and flushes in front
    ],
)
def test_each_segment_ranks_over_the_one_before_it(text: str, foul: bool) -> None:
    assert is_foul(hand(text)) is foul


FRONT_POINTS = {
    "66": 1, "77": 2, "88": 3, "99": 4, "TT": 5, "JJ": 6, "QQ": 7, "KK": 8, "AA": 9,
    "222": 10, "333": 11, "444": 12, "555": 13, "666": 14, "777": 15, "888": 16, "999": 17, "TTT": 18,
    "JJJ": 19, "QQQ": 20, "KKK": 21, "AAA": 22, "55": 0, "22": 0,
}  # fmt: skip


@clause("bonus", game="face-up-chinese-poker")
@pytest.mark.parametrize(("ranks", "points"), FRONT_POINTS.items())
def test_a_front_earns_what_the_rules_list(ranks: str, points: int) -> None:
    codes = [f"{rank}{suit}" for rank, suit in zip(ranks, "shd", strict=False)]
    kicker = [] if len(codes) == 3 else ["4c" if ranks != "44" else "3c"]
    assert bonus_points(Segment.FRONT, front_hand(cards(" ".join(codes + kicker)))) == points


@clause("bonus", game="face-up-chinese-poker")
@pytest.mark.parametrize(
    ("codes", "middle", "back"),
    [
        ("5s 4h 3d 2c As", 4, 2),
        ("As Js 9s 4s 2s", 8, 4),
        ("3s 3h 3d 2s 2h", 12, 6),
        ("2s 2h 2d 2c 3s", 20, 10),
        ("5s 4s 3s 2s As", 30, 15),
        ("As Ks Qs Js Ts", 50, 25),
        ("As Ah Ad Ks Qs", 0, 0),
        ("As Ah Kd Ks Qs", 0, 0),
    ],
)
def test_a_middle_or_a_back_earns_what_the_rules_list(codes: str, middle: int, back: int) -> None:
    found = five_card_hand(cards(codes))
    assert (bonus_points(Segment.MIDDLE, found), bonus_points(Segment.BACK, found)) == (middle, back)


SWEEPS = {
    Sweep.SUPER_DRAGON: "As Ks Qs Js 9s | Ts 8s 7s 6s 5s | 4s 3s 2s",
    Sweep.DRAGON: "As Ks Qs Js 9s | Th 8s 7s 6h 5h | 4s 3s 2s",
    Sweep.SIX_PAIRS: "As Ah Ad Ac 8s | Ks Kh Js Jh Ts | 9s 9h Th",
    Sweep.THREE_STRAIGHTS: "7s 6h 5s 4s 3s | 5h 4h 3h 2d Ah | Kc Qc Js",
    Sweep.THREE_FLUSHES: "As Ts 8s 5s 3s | Kh 9h 5h 4h 2h | Qc Jc 4c",
}


@clause("clean sweep", game="face-up-chinese-poker")
@pytest.mark.parametrize("sweep", Sweep)
def test_each_sweep_is_found_in_the_cards_as_they_were_set(sweep: Sweep) -> None:
    assert sweep_of(hand(SWEEPS[sweep])) is sweep
    assert has_sweep(hand(SWEEPS[sweep]), sweep)
    assert sweep_of(hand(PLAIN)) is None


@clause("clean sweep", game="face-up-chinese-poker")
def test_of_two_sweeps_in_one_hand_only_the_higher_counts_and_a_foul_has_none() -> None:
    both = "7s 6s 5s 4s 3s | 6h 5h 4h 3h 2h | Kc Qc Jc"
    assert has_sweep(hand(both), Sweep.THREE_STRAIGHTS)
    assert has_sweep(hand(both), Sweep.THREE_FLUSHES)
    assert sweep_of(hand(both)) is Sweep.THREE_STRAIGHTS
    assert sweep_of(hand("6h 5h 4h 3h 2h | 7s 6s 5s 4s 3s | Kc Qc Jc")) is None


@clause("clean sweep", game="face-up-chinese-poker")
def test_an_ace_is_low_or_high_in_the_straight_in_front() -> None:
    behind = "9s 8h 7s 6s 5s | 8d 7h 6h 5h 4h |"
    for front, straight in (("3c 2c Ac", True), ("Ac Kc Qs", True), ("2c Ac Kc", False)):
        assert has_sweep(hand(f"{behind} {front}"), Sweep.THREE_STRAIGHTS) is straight


@clause("fantasy land", game="face-up-chinese-poker")
@pytest.mark.parametrize(
    ("text", "enters", "stays"),
    [
        ("As Ah Ad 9s 8s | Ks Kh 7d 5s 4s | Qs Qd 3s", True, False),
        ("As Ah Ad 9s 8s | Ks Kh 7d 5s 4s | Js Jd 3s", False, False),
        ("As Ah Ad 9s 8s | Js Jh 7d 5s 4s | Qs Qd 3s", False, False),  # a foul
        ("As Ah Ad Ks Kh | 3s 3h 3c 5s 4s | 2s 2d 2c", True, True),
        ("As Ah Ad Ac Kh | 3s 3h 7c 5s 4s | 2s 4d 6c", False, True),
        ("9s 8s 7s 6s 5s | 3s 3h 7c 5h 4s | 2s 4d 6c", False, True),
        ("As Ah Ad Ks Kh | Qs Qh 7c 5s 4s | 2s 4d 6c", False, False),  # a full house is enough in the middle only
        ("As Ah Ad Ks Kh | 3s 3h 3c 5s 5h | 2s 4d 6c", False, True),
        ("3s 3h 3c 5s 5h | As Ah Ad Ks Kh | 2s 4d 6c", False, False),
    ],
)
def test_who_enters_fantasy_land_and_who_stays(text: str, enters: bool, stays: bool) -> None:
    assert enters_fantasy_land(hand(text)) is enters
    assert stays_in_fantasy_land(hand(text)) is stays


# --- the settlement ---------------------------------------------------------------------------------------------------


@clause("points", game="face-up-chinese-poker")
def test_each_segment_is_one_point() -> None:
    assert lines(settled(PLAIN, LOWER, point=5)) == [
        ("seat1", "seat2", "front", 5),
        ("seat1", "seat2", "middle", 5),
        ("seat1", "seat2", "back", 5),
    ]


@clause("points", game="face-up-chinese-poker")
def test_four_hands_are_compared_from_the_first_position() -> None:
    second, third = (
        "Ad Ac Tc 9h 8h | Qd Qc 7c 5h 4h | Jh Th 3h",
        "Kd Kc Ts 9d 8d | 6s 6h 7s 5d 4d | Qh Jd 3d",
    )
    payments = settled(PLAIN, second, third, "2s 2h 2d 2c 9c | 6d 6c 8c 7h 3c | Jc 5c 4c")
    pairs = list(dict.fromkeys(tuple(sorted((one.hand, one.other))) for one in payments))
    assert pairs == list(itertools.combinations(("seat1", "seat2", "seat3", "seat4"), 2))


@clause("points", game="face-up-chinese-poker")
def test_a_tie_is_won_with_the_buttons_and_pushes_without() -> None:
    equal = ["As Ah Td 9s 8s | Ks Kh 7d 5s 4s | Qs Js 3s", "Ad Ac Tc 9h 8h | Kd Kc 7c 5h 4h | Qh Jh 3h"]
    assert lines(settled(*equal)) == [("seat1", "seat2", segment, 1) for segment in Segment]
    third = "6s 6h Ts 9d 8d | 5d 5c 7s 4d 2h | Jd Th 3d"
    between_others = [
        one for one in lines(settled(third, *equal)) if one[:2] in {("seat2", "seat3"), ("seat3", "seat2")}
    ]
    assert between_others == []


@clause("foul", game="face-up-chinese-poker")
def test_a_foul_hand_pays_nine_points_and_the_bonuses_of_the_other_and_earns_none() -> None:
    foul = "6s 6h Tc 9h 8h | As Ad 7c 4h 2h | Qh Qd 3h"
    assert lines(settled(foul, "Ks Kh Kd 5s 5h | Qs Qc 7d 9s 4s | 7s 7h 3s")) == [
        ("seat2", "seat1", "foul", 9),
        ("seat2", "seat1", "front bonus", 2),
        ("seat2", "seat1", "back bonus", 6),
    ]


@clause("foul", game="face-up-chinese-poker")
def test_two_foul_hands_exchange_nothing() -> None:
    assert settled("6s 6h Tc 9h 8h | As Ad 7c 4h 2h | Qh Qd 3h", "5s 5h Ts 9s 8s | Ks Kd 7s 4s 2s | Jh Jd 3s") == []


@clause("foul", game="face-up-chinese-poker")
@clause("clean sweep", game="face-up-chinese-poker")
def test_a_foul_hand_next_to_a_sweep_pays_the_sweep_the_penalty_and_the_bonuses() -> None:
    foul = "6s 6h Tc 9h 8h | Ks Kd 7c 4h 2h | Qh Qd 3h"
    sweep = "As Ah Ad Ac 8s | Jd Jc Js Jh Ts | 9s 9d Th"
    assert lines(settled(foul, f"{sweep}!")) == [
        ("seat2", "seat1", "clean sweep", 3),
        ("seat2", "seat1", "foul", 9),
        ("seat2", "seat1", "front bonus", 4),
        ("seat2", "seat1", "middle bonus", 20),
        ("seat2", "seat1", "back bonus", 10),
    ]


@clause("bonus", game="face-up-chinese-poker")
def test_a_bonus_is_paid_where_the_segment_is_lost() -> None:
    """The example of the rules: two segments and four of a kind at the back are twelve points."""
    winner = "4s 4h 4d 4c 9s | Ks Kh 7d 5s 3s | Qs Js 2s"
    loser = "Ad Ac Jc 9h 8h | Qd Qc 7c 5h 3h | 6h 6d 2h"
    payments = settled(winner, loser)
    assert sum(one.net for one in payments if one.hand == "seat1") == 12
    assert [one for one in lines(payments) if one[0] == "seat2"] == [
        ("seat2", "seat1", "front", 1),
        ("seat2", "seat1", "front bonus", 1),
    ]


@clause("clean sweep", game="face-up-chinese-poker")
def test_a_higher_sweep_collects_in_full_and_equal_ones_push() -> None:
    straights, flushes = "7s 6h 5s 4s 3s | 5h 4h 3h 2d Ah | Kc Qc Js", "As Ts 8s 9s 2s | Kh 9h 8h 7h 2h | Jc Tc 6c"
    dragon = "Ad Kd Qd Jd 9d | Td 8d 7d 6d 5c | 4c 3c 2c"
    paid = [one for one in lines(settled(f"{straights}!", f"{flushes}!", f"{dragon}!")) if one[2] == "clean sweep"]
    assert paid == [("seat3", "seat1", "clean sweep", 13), ("seat3", "seat2", "clean sweep", 13)]


@clause("clean sweep", game="face-up-chinese-poker")
def test_a_sweep_that_is_not_declared_is_compared_like_any_hand() -> None:
    sweep = "Kh 9h 5h 4h 3h | Ts 8s 7s 5s 2s | Qc Jc 4c"
    other = "Ad Ac Td 9d 8d | Kd Kc 7d 6d 5c | Qd Jd 3d"
    assert {one[2] for one in lines(settled(f"{sweep}!", other))} == {"clean sweep", "middle bonus", "back bonus"}
    assert {one[2] for one in lines(settled(sweep, other))} == {"front", "middle", "back", "middle bonus", "back bonus"}


@clause("clean sweep", game="face-up-chinese-poker")
def test_a_sweep_pays_no_bonus_and_sweeps_are_paid_from_the_buttons_clockwise() -> None:
    flushes = "As Ts 8s 5s 3s | Kh 9h 5h 4h 2h | Qc Jc 4c"
    bonus = "Ad Ac Ah Kd Kc | 9d 9c 7d 6d 5c | 8d 8c 3d"
    third = "Qd Qs Td 7h 2d | Jd Js 7c 6c 5d | Ks Th 2c"
    payments = lines(settled(third, f"{flushes}!", bonus))
    assert [one[:3] for one in payments[:2]] == [("seat2", "seat3", "clean sweep"), ("seat2", "seat1", "clean sweep")]
    assert ("seat3", "seat2") not in {one[:2] for one in payments}
    assert ("seat3", "seat1", "front bonus", 3) in payments


# --- stakes and fees --------------------------------------------------------------------------------------------------


@clause("stakes", game="face-up-chinese-poker")
def test_a_short_stack_pays_in_the_order_of_the_comparisons_and_what_is_left_lapses() -> None:
    foul = "6s 6h Tc 9h 8h | Ks Kd 7c 4h 2h | Qh Qd 3h"
    second, third = "As Ah Td 9s 8s | Jd Jh 7d 5s 4s | 8d 7s 3s", "Ac Ad Jc 9d 8c | Ts Th 7h 5d 4d | Kh Js 3d"
    payments = settled(foul, second, third, stacks={"seat1": 12, "seat2": 100, "seat3": 100})
    found = [(one.hand, one.other, one.net) for one in payments if one.bet == "foul"]
    assert found == [("seat2", "seat1", 9), ("seat3", "seat1", 3)]
    assert payments[1].outcome == "seat 1 has a foul hand; the stacks cover 3 of 9"
    assert any(one.hand in ("seat2", "seat3") and one.other != "seat1" for one in payments)


@clause("stakes", game="face-up-chinese-poker")
def test_nobody_wins_more_than_lay_before_them_either() -> None:
    foul = "6s 6h Tc 9h 8h | Ks Kd 7c 4h 2h | Qh Qd 3h"
    payments = settled(foul, "As Ah Ad 9s 8s | Jd Jh 7d 5s 4s | 8d 7s 3s", stacks={"seat1": 100, "seat2": 4})
    assert [(one.hand, one.net) for one in payments] == [("seat2", 4)]


@clause("stakes", game="face-up-chinese-poker")
def test_nine_points_are_needed_to_be_dealt_in_and_thirty_limits_to_join() -> None:
    assert [may_be_dealt_in(stack, 5) for stack in (44, 45)] == [False, True]
    assert [least_buy_in(schedule.limit_dollars) for schedule in COLLECTION.values()] == [
        30, 150, 300, 600, 900, 1200, 1500, 3000,
    ]  # fmt: skip


@clause("collection", game="face-up-chinese-poker")
def test_the_fees_are_those_of_the_eight_schedules_and_half_after_minute_20() -> None:
    listed = {1: (1, 10), 2: (5, 10), 3: (10, 12), 4: (20, 12), 5: (30, 15), 6: (40, 15), 7: (50, 18), 8: (100, 18)}
    assert {number: (one.limit_dollars, one.fee_dollars) for number, one in COLLECTION.items()} == listed
    for one in COLLECTION.values():
        assert [collection_fee_cents(one, minute) for minute in (0, 19.99, 20, 39.99)] == [
            one.fee_dollars * 100, one.fee_dollars * 100, one.fee_dollars * 50, one.fee_dollars * 50,
        ]  # fmt: skip
    with pytest.raises(ValueError, match="a down has 40 minutes"):
        collection_fee_cents(COLLECTION[1], 40)


def test_hands_of_two_packs_or_of_five_players_are_not_settled() -> None:
    with pytest.raises(ValueError, match="only one of these"):
        settled(PLAIN, PLAIN)
    hands = [FinishedHand(f"seat{number}", hand(PLAIN)) for number in range(1, 6)]
    with pytest.raises(ValueError, match="expected one of 2 to 4 players"):
        settle(hands, 1, {})
