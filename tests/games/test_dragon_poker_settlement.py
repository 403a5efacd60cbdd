"""Dragon Poker's wagers and settlement, clause by clause."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import pytest

from controller.games.dragon_poker.cards import DRAGON_POKER
from controller.games.dragon_poker.pay import best_hand
from controller.games.dragon_poker.settlement import (
    PROGRESSIVE_OUTCOMES,
    DragonPokerOptions,
    PlayOrForfeit,
    ProgressiveLine,
    SeatWagers,
    areas_fault,
    deal_fault,
    forfeits,
    hands_to_rack_at_once,
    options_fault,
    play_fault,
    seat_result,
    settlement,
    wager_fault,
)
from controller.games.payments import Payment

clause = pytest.mark.clause
PLAY, FORFEIT = PlayOrForfeit.PLAY, PlayOrForfeit.FORFEIT
RABBITS = ("rabbit", "rabbit", "monkey")
TIGERS = ("tiger", "tiger", "rabbit")
PANDAS = ("panda", "panda", "rabbit")
JACKPOT = (ProgressiveLine("three red dragons", share_percent=100), ProgressiveLine("pair of dragons", amount=300))
ALL_BETS = SeatWagers(ante=10, ante_bonus=10, three_card_bonus=5, dragon_wager=2, progressive=1)
ALL_OFFERED = DragonPokerOptions(progressive=JACKPOT)
NONE_OFFERED = DragonPokerOptions(three_card_bonus="", dragon_wager="")
B = DragonPokerOptions(ante_bonus="B", three_card_bonus="B")


def alone(
    hand: Iterable[str],
    dealer: Iterable[str],
    wagers: SeatWagers = ALL_BETS,
    decision: PlayOrForfeit = PLAY,
    options: DragonPokerOptions = ALL_OFFERED,
    jackpot: int = 10_000,
) -> list[tuple[str, str, int]]:
    """Bet, outcome and net of each payment to a player who is alone at the table."""
    payments = settlement(
        {"seat1": tuple(hand)}, tuple(dealer), {"seat1": wagers}, {"seat1": decision}, options, jackpot
    )
    assert {payment.hand for payment in payments} == {"seat1"}
    return [(payment.bet, payment.outcome, payment.net) for payment in payments]


def antes(number: int) -> SeatWagers:
    return SeatWagers(ante=number, ante_bonus=number)


# --- wagers -----------------------------------------------------------------------------------------------------------


@clause("1.B(1)", "7.F(1)", "7.F(2)(3)", "7.F(4)")
@pytest.mark.parametrize(
    ("wagers", "options", "expected"),
    [
        (SeatWagers(three_card_bonus=5), ALL_OFFERED, "an ante is required before any other wager (1.B(1))"),
        (SeatWagers(), ALL_OFFERED, "an ante is required before any other wager (1.B(1))"),
        (SeatWagers(10, 5), ALL_OFFERED, "the ante bonus must equal the ante: 10, not 5 (7.F(1))"),
        (SeatWagers(10, 20), ALL_OFFERED, "the ante bonus must equal the ante: 10, not 20 (7.F(1))"),
        (SeatWagers(10), ALL_OFFERED, "the ante bonus must equal the ante: 10, not 0 (7.F(1))"),
        (SeatWagers(10, 10, 5), NONE_OFFERED, "this table does not offer the three card bonus (7.F(2)(3))"),
        (SeatWagers(10, 10, 0, 5), NONE_OFFERED, "this table does not offer the dragon wager (7.F(2)(3))"),
        (SeatWagers(10, 10, 0, 0, 1), NONE_OFFERED, "this table does not offer the progressive wager (7.F(4))"),
        (SeatWagers(10, 10, -5), ALL_OFFERED, "a wager cannot be less than 0 (7.A)"),
    ],
)
def test_a_wager_that_the_rules_do_not_permit_is_refused_with_its_clause(
    wagers: SeatWagers, options: DragonPokerOptions, expected: str
) -> None:
    assert wager_fault(wagers, options) == expected


@clause("7.F(2)(3)")
@pytest.mark.parametrize(
    ("wagers", "options"), [(antes(10), NONE_OFFERED), (ALL_BETS, ALL_OFFERED), (SeatWagers(5, 5, 50, 1), B)]
)
def test_side_wagers_of_any_amount_stand_beside_equal_antes(wagers: SeatWagers, options: DragonPokerOptions) -> None:
    assert wager_fault(wagers, options) == ""


@clause("7.F(1)")
def test_the_play_wager_equals_the_ante() -> None:
    assert play_fault(10, ALL_BETS) == ""
    assert play_fault(20, ALL_BETS) == "the play wager must equal the ante: 10, not 20 (7.F(1))"


@clause("7.G")
@pytest.mark.parametrize(
    ("areas", "two_areas", "expected"),
    [
        (["seat3"], False, ""),
        (["seat3", "seat4"], False, "only one betting area"),
        (["seat3", "seat4"], True, ""),
        (["seat4", "seat3"], True, ""),
        (["seat3", "seat5"], True, "must be adjacent"),
        (["seat3", "seat3"], True, "must be adjacent"),
        (["seat6", "seat1"], True, "must be adjacent"),
        (["seat2", "seat3", "seat4"], True, "two betting areas at most"),
        (["seat6", "seat7"], True, "unknown seat 'seat7'; expected seat1 to seat6 (2.A)"),
    ],
)
def test_a_player_wagers_on_two_adjacent_areas_if_the_house_permits_it(
    areas: list[str], two_areas: bool, expected: str
) -> None:
    fault = areas_fault(areas, DragonPokerOptions(two_areas=two_areas))
    assert expected in fault
    assert bool(fault) is bool(expected)


@clause("12.B", "12.C", "12.D", "7.F(4)")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (DragonPokerOptions(ante_bonus="C"), "paytable 'C' of the ante bonus; expected 'A' or 'B' (12.B)"),
        (DragonPokerOptions(ante_bonus=""), "paytable '' of the ante bonus; expected 'A' or 'B' (12.B)"),
        (DragonPokerOptions(three_card_bonus="1"), "of the three card bonus; expected '' or 'A' or 'B' (12.C)"),
        (DragonPokerOptions(dragon_wager="B"), "of the dragon wager; expected '' or 'A' (12.D)"),
        (DragonPokerOptions(progressive=(ProgressiveLine("full house", 1),)), "unknown progressive outcome"),
        (DragonPokerOptions(progressive=JACKPOT * 2), "lists 'three red dragons' more than once"),
        (DragonPokerOptions(progressive=(ProgressiveLine("gold dragon"),)), "either an amount or a share"),
        (DragonPokerOptions(progressive=(ProgressiveLine("gold dragon", 5, 5),)), "either an amount or a share"),
        (DragonPokerOptions(progressive=(ProgressiveLine("gold dragon", -5),)), "either an amount or a share"),
        (DragonPokerOptions(progressive=(ProgressiveLine("gold dragon", 0, 101),)), "at most 100 percent"),
    ],
)
def test_what_the_house_cannot_choose_is_explained(options: DragonPokerOptions, expected: str) -> None:
    assert expected in options_fault(options)


@clause("12.B", "12.C", "12.D")
def test_the_house_may_choose_any_paytable_and_leave_out_any_side_wager() -> None:
    for ante_bonus, bonus, dragon, progressive in itertools.product("AB", ["", "A", "B"], ["", "A"], [(), JACKPOT]):
        assert options_fault(DragonPokerOptions(ante_bonus, bonus, dragon, progressive)) == ""


# --- settlement -------------------------------------------------------------------------------------------------------


@clause("12.A", "11.D(3)")
def test_a_winning_hand_is_paid_even_money_on_ante_and_play_and_by_the_paytable_on_the_ante_bonus() -> None:
    assert alone(("red dragon", "blue dragon", "rabbit"), TIGERS) == [
        ("three card bonus", "pair of dragons", 20),
        ("dragon wager", "pair of dragons", 14),
        ("progressive wager", "pair of dragons", 299),
        ("ante", "won", 10),
        ("ante bonus", "pair of dragons", 20),
        ("play", "won", 10),
    ]


@clause("11.D(3)")
def test_a_losing_hand_loses_ante_and_ante_bonus_and_play_but_its_side_wagers_may_win() -> None:
    assert alone(TIGERS, ("phoenix", "phoenix", "rabbit")) == [
        ("three card bonus", "pair of tigers", 5),
        ("dragon wager", "lost", -2),
        ("progressive wager", "lost", -1),
        ("ante", "lost", -10),
        ("ante bonus", "lost", -10),
        ("play", "lost", -10),
    ]


@clause("6.B", "11.D(3)")
def test_a_tie_returns_ante_and_ante_bonus_and_play() -> None:
    three = ("red dragon", "red dragon", "gold dragon")
    assert alone(three, ("blue dragon",) * 3, antes(10)) == [
        ("ante", "tie", 0),
        ("ante bonus", "tie", 0),
        ("play", "tie", 0),
    ]


@clause("12.B")
@pytest.mark.parametrize(
    ("hand", "line_a", "net_a", "line_b", "net_b"),
    [
        (("phoenix", "tiger", "rabbit"), "winning hand", 0, "winning hand", 0),
        (("monkey", "monkey", "rabbit"), "winning hand", 0, "winning hand", 0),
        (("panda", "panda", "rabbit"), "winning hand", 0, "pair of pandas or better", 10),
        (("tiger", "gold dragon", "rabbit"), "winning hand", 0, "pair of pandas or better", 10),
        (("phoenix", "gold dragon", "rabbit"), "pair of phoenix", 10, "pair of pandas or better", 10),
        (("blue dragon", "gold dragon", "rabbit"), "pair of dragons", 20, "pair of pandas or better", 10),
        (("rabbit", "gold dragon", "rabbit"), "trips", 60, "trips", 40),
        (("tiger", "tiger", "tiger"), "trips", 60, "trips", 40),
        (("phoenix", "gold dragon", "phoenix"), "three phoenix", 100, "trips", 40),
        (("red dragon", "gold dragon", "blue dragon"), "three dragons", 300, "three dragons", 300),
    ],
)
def test_the_ante_bonus_of_a_winning_hand_is_paid_by_the_chosen_paytable(
    hand: tuple[str, ...], line_a: str, net_a: int, line_b: str, net_b: int
) -> None:
    dealer = ("monkey", "panda", "rabbit")
    for options, line, net in ((ALL_OFFERED, line_a, net_a), (B, line_b, net_b)):
        assert alone(hand, dealer, antes(10), PLAY, options) == [
            ("ante", "won", 10),
            ("ante bonus", line, net),
            ("play", "won", 10),
        ]


@clause("12.C")
@pytest.mark.parametrize(
    ("hand", "line", "net_a", "net_b"),
    [
        (("panda", "gold dragon", "monkey"), "lost", -1, -1),
        (("tiger", "gold dragon", "monkey"), "pair of tigers", 1, 1),
        (("phoenix", "phoenix", "monkey"), "pair of phoenix", 2, 2),
        (("red dragon", "gold dragon", "monkey"), "pair of dragons", 4, 4),
        (("panda", "gold dragon", "panda"), "trips", 10, 10),
        (("tiger", "gold dragon", "tiger"), "three tigers", 15, 20),
        (("phoenix", "phoenix", "phoenix"), "three phoenix", 30, 30),
        (("red dragon", "red dragon", "blue dragon"), "three dragons", 40, 40),
    ],
)
def test_the_three_card_bonus_is_paid_by_the_chosen_paytable(
    hand: tuple[str, ...], line: str, net_a: int, net_b: int
) -> None:
    wagers = SeatWagers(10, 10, three_card_bonus=1)
    assert alone(hand, RABBITS, wagers)[0] == ("three card bonus", line, net_a)
    assert alone(hand, RABBITS, wagers, PLAY, B)[0] == ("three card bonus", line, net_b)


@clause("12.D")
@pytest.mark.parametrize(
    ("hand", "outcome", "net"),
    [
        (("red dragon", "red dragon", "red dragon"), "three red dragons", 3000),
        (("blue dragon", "blue dragon", "blue dragon"), "three blue dragons", 3000),
        (("red dragon", "gold dragon", "red dragon"), "three dragons with the gold dragon", 600),
        (("red dragon", "blue dragon", "red dragon"), "three dragons", 180),
        (("red dragon", "gold dragon", "tiger"), "pair of dragons", 21),
        (("tiger", "gold dragon", "tiger"), "gold dragon", 15),
        (("red dragon", "tiger", "tiger"), "lost", -3),
    ],
)
def test_the_dragon_wager_is_paid_for_the_dragons_in_the_hand(hand: tuple[str, ...], outcome: str, net: int) -> None:
    assert alone(hand, RABBITS, SeatWagers(10, 10, dragon_wager=3))[0] == ("dragon wager", outcome, net)


@clause("11.C")
def test_a_forfeited_hand_keeps_its_side_wagers_and_loses_ante_and_ante_bonus_first() -> None:
    assert alone(("red dragon", "gold dragon", "rabbit"), RABBITS, decision=FORFEIT) == [
        ("ante", "forfeited", -10),
        ("ante bonus", "forfeited", -10),
        ("three card bonus", "pair of dragons", 20),
        ("dragon wager", "pair of dragons", 14),
        ("progressive wager", "pair of dragons", 299),
    ]


@clause("11.D(1)", "11.D(3)")
def test_forfeits_are_collected_first_and_then_seats_are_settled_from_the_dealers_right() -> None:
    hands = {"seat1": TIGERS, "seat4": PANDAS, "seat6": RABBITS, "seat2": ("monkey", "monkey", "rabbit")}
    wagers = {"seat1": antes(10), "seat4": SeatWagers(20, 20, 5, 5), "seat6": antes(30), "seat2": antes(40)}
    decisions = {"seat1": PLAY, "seat4": FORFEIT, "seat6": FORFEIT, "seat2": PLAY}
    assert settlement(hands, ("panda", "panda", "monkey"), wagers, decisions, DragonPokerOptions()) == [
        Payment("seat6", "ante", "forfeited", -30),
        Payment("seat6", "ante bonus", "forfeited", -30),
        Payment("seat4", "ante", "forfeited", -20),
        Payment("seat4", "ante bonus", "forfeited", -20),
        Payment("seat4", "three card bonus", "lost", -5),
        Payment("seat4", "dragon wager", "lost", -5),
        Payment("seat2", "ante", "lost", -40),
        Payment("seat2", "ante bonus", "lost", -40),
        Payment("seat2", "play", "lost", -40),
        Payment("seat1", "ante", "won", 10),
        Payment("seat1", "ante bonus", "winning hand", 0),
        Payment("seat1", "play", "won", 10),
    ]
    assert [payment.hand for payment in forfeits(wagers, decisions)] == ["seat6", "seat6", "seat4", "seat4"]


@clause("11.D(1)")
def test_a_forfeited_hand_goes_to_the_rack_at_once_unless_a_side_wager_needs_its_cards() -> None:
    wagers = {
        "seat1": antes(10),
        "seat2": SeatWagers(10, 10, three_card_bonus=1),
        "seat3": SeatWagers(10, 10, dragon_wager=1),
        "seat4": SeatWagers(10, 10, progressive=1),
        "seat5": antes(10),
        "seat6": antes(10),
    }
    decisions = dict.fromkeys(wagers, FORFEIT) | {"seat5": PLAY}
    assert hands_to_rack_at_once(wagers, decisions) == ["seat6", "seat1"]


def test_nothing_is_forfeited_before_a_player_has_decided() -> None:
    assert hands_to_rack_at_once({"seat1": antes(10)}, {}) == []
    assert forfeits({"seat1": antes(10)}, {}) == []


@clause("7.F(4)")
def test_a_later_seat_gets_its_share_of_what_an_earlier_seat_left_of_the_jackpot() -> None:
    options = DragonPokerOptions(progressive=(ProgressiveLine("three tigers", share_percent=10),))
    hands = dict.fromkeys(["seat1", "seat2"], ("tiger",) * 3)
    wagers = dict.fromkeys(hands, SeatWagers(5, 5, progressive=1))
    paid = settlement(hands, RABBITS, wagers, dict.fromkeys(hands, PLAY), options, jackpot=1009)
    assert [(payment.hand, payment.net) for payment in paid if payment.bet == "progressive wager"] == [
        ("seat2", 99),
        ("seat1", 89),
    ]


@clause("7.F(4)")
@pytest.mark.parametrize(
    ("lines", "hand", "outcome"),
    [
        (["three red dragons", "three dragons"], ("red dragon",) * 3, "three red dragons"),
        (["three red dragons", "three dragons"], ("blue dragon",) * 3, "three dragons"),
        (["three red dragons", "three dragons"], ("blue dragon", "gold dragon", "red dragon"), "three dragons"),
        (["gold dragon"], ("blue dragon", "gold dragon", "red dragon"), "gold dragon"),
        (["three phoenix", "gold dragon"], ("phoenix", "gold dragon", "phoenix"), "three phoenix"),
        (["three phoenix", "pair of phoenix"], ("phoenix", "gold dragon", "rabbit"), "pair of phoenix"),
        (["three phoenix", "three dragons"], ("phoenix", "tiger", "rabbit"), "lost"),
    ],
)
def test_the_progressive_is_paid_by_the_first_line_of_the_houses_table_that_the_hand_reaches(
    lines: list[str], hand: tuple[str, ...], outcome: str
) -> None:
    options = DragonPokerOptions(progressive=tuple(ProgressiveLine(line, amount=50) for line in lines))
    net = -1 if outcome == "lost" else 49
    assert alone(hand, RABBITS, SeatWagers(5, 5, progressive=1), PLAY, options)[0] == (
        "progressive wager",
        outcome,
        net,
    )


def test_the_house_can_name_every_pair_and_trips_and_every_outcome_of_the_dragon_wager() -> None:
    assert len(PROGRESSIVE_OUTCOMES) == 6 + 6 + 6 - 2  # three dragons and a pair of dragons are in both
    assert {"three red dragons", "gold dragon", "three rabbits", "pair of monkeys"} <= set(PROGRESSIVE_OUTCOMES)


@pytest.mark.parametrize(
    ("hand", "dealer", "expected"),
    [
        (("tiger", "tiger"), RABBITS, "seat1 has 2 cards, not 3: the round is void (13.D)"),
        (TIGERS, (*RABBITS, "rabbit"), "dealer has 4 cards, not 3: the round is void (13.D)"),
        (TIGERS, ("rabbit", "rabbit", "dragon"), "unknown card 'dragon'"),
        (("gold dragon", "tiger", "rabbit"), ("gold dragon", "tiger", "rabbit"), "2 cards are gold dragon"),
        (("red dragon",) * 3, ("red dragon", "tiger", "rabbit"), "4 cards are red dragon, but a deck has 3 (3.A(3))"),
    ],
)
def test_cards_that_one_deck_cannot_deal_are_not_settled(
    hand: tuple[str, ...], dealer: tuple[str, ...], expected: str
) -> None:
    assert expected in deal_fault({"seat1": hand}, dealer)
    with pytest.raises(ValueError, match=expected.split(" (")[0]):
        alone(hand, dealer)


def test_a_seat_that_is_not_at_the_table_is_not_settled() -> None:
    assert deal_fault({"seat7": TIGERS}, RABBITS) == "unknown seat 'seat7'; expected seat1 to seat6 (2.A)"


def test_a_round_with_a_fault_in_its_wagers_is_not_settled() -> None:
    with pytest.raises(ValueError, match=r"seat1: the ante bonus must equal the ante: 10, not 5"):
        alone(TIGERS, RABBITS, SeatWagers(10, 5))
    with pytest.raises(ValueError, match="does not offer the dragon wager"):
        alone(TIGERS, RABBITS, SeatWagers(10, 10, dragon_wager=5), PLAY, NONE_OFFERED)
    with pytest.raises(ValueError, match="unknown paytable 'C'"):
        alone(TIGERS, RABBITS, antes(10), PLAY, DragonPokerOptions(ante_bonus="C"))
    with pytest.raises(ValueError, match="shares of the jackpot, and there is none"):
        alone(TIGERS, RABBITS, jackpot=0)
    with pytest.raises(ValueError, match="every seat needs a hand, wagers and a decision"):
        settlement({"seat1": TIGERS}, RABBITS, {"seat1": antes(10)}, {}, ALL_OFFERED)


# --- words ------------------------------------------------------------------------------------------------------------


@clause("6.B")
@pytest.mark.parametrize(
    ("hand", "dealer", "expected"),
    [
        (
            "red dragon, gold dragon, rabbit",
            "tiger, tiger, monkey",
            "pair of dragons beats the dealer's pair of tigers",
        ),
        ("phoenix, phoenix, gold dragon", "tiger, tiger, monkey", "three phoenix beat the dealer's pair of tigers"),
        ("rabbit, rabbit, rabbit", "monkey, monkey, monkey", "three rabbits lose to the dealer's three monkeys"),
        ("phoenix, tiger, panda", "rabbit, rabbit, monkey", "phoenix high loses to the dealer's pair of rabbits"),
        ("red dragon, tiger, panda", "phoenix, tiger, panda", "dragon high beats the dealer's phoenix high"),
        (
            "tiger, tiger, panda",
            "tiger, monkey, gold dragon",
            "pair of tigers with a panda beats the dealer's pair of tigers with a monkey",
        ),
        (
            "phoenix, panda, rabbit",
            "phoenix, tiger, rabbit",
            "phoenix high with a panda loses to the dealer's phoenix high with a tiger",
        ),
        (
            "red dragon, tiger, panda",
            "blue dragon, tiger, rabbit",
            "dragon high with a tiger and a panda beats the dealer's dragon high with a tiger and a rabbit",
        ),
        ("red dragon, tiger, panda", "blue dragon, panda, tiger", "tie, wagers returned"),
    ],
)
def test_the_result_of_a_seat_names_as_many_cards_as_decide(hand: str, dealer: str, expected: str) -> None:
    assert seat_result(hand.split(", "), dealer.split(", ")) == expected


def test_the_words_and_the_payments_of_a_full_table_agree_in_a_thousand_rounds() -> None:
    chance = random.Random(20)
    deck = [kind for kind, number in zip(DRAGON_POKER.kinds, DRAGON_POKER.copies, strict=True) for _ in range(number)]
    signs = {"beat": 1, "beats": 1, "lose": -1, "loses": -1, "tie,": 0}
    for _ in range(1000):
        cards = chance.sample(deck, 21)
        dealer, hands = cards[18:], {f"seat{n + 1}": cards[3 * n : 3 * n + 3] for n in range(6)}
        wagers = {seat: antes(chance.randint(1, 9)) for seat in hands}
        decisions = {seat: chance.choice([PLAY, FORFEIT]) for seat in hands}
        paid = settlement(hands, dealer, wagers, decisions, ALL_OFFERED)
        for seat, hand in hands.items():
            mine = {payment.bet: payment for payment in paid if payment.hand == seat}
            words = seat_result(hand, dealer)
            if decisions[seat] is FORFEIT:
                assert [*mine] == ["ante", "ante bonus"]
                continue
            sign = next(signs[word] for word in words.split() if word in signs)
            assert mine["ante"].net == mine["play"].net == sign * wagers[seat].ante, (hand, dealer, words)
            assert (best_hand(hand) == best_hand(dealer)) is (sign == 0)
