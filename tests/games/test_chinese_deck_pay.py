"""Dragon Poker with the Chinese deck: the classes, the exchanges and the tally, written in the letters of the rules."""

from __future__ import annotations

import itertools
import random

import pytest

from controller.games.chinese_deck.pack import (
    CLASS_NAMES,
    EXAMPLE_PACK,
    FENG_SHUI,
    KINDS,
    SUIT_CARDS,
    WINDS,
    WinningClass,
    pack_fault,
    winning_hands,
)
from controller.games.chinese_deck.pay import (
    WhenWon,
    class_bonus,
    deal_winner,
    exchange_cost,
    may_exchange,
    reshuffle_due,
    tally,
    when_won,
    winning_class,
)
from controller.games.payments import Payment

clause = pytest.mark.clause

NAMES = {"E": "east wind", "S": "south wind", "W": "west wind", "N": "north wind", "GD": "green dragon"}
SUITS = {"B": "bamboo", "C": "circle", "S": "script", "F": "feng shui"}


def cards(codes: str) -> list[str]:
    """The kinds of cards by their letters in the rules: "F1 S S4" is feng shui 1, south wind, script 4."""
    return [NAMES.get(code) or f"{SUITS[code[0]]} {code[1:]}" for code in codes.split()]


# --- classes ----------------------------------------------------------------------------------------------------------


@clause("classes", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ("F3 GD E S W N", 0),
        ("W W W B4 B5 B6", 1),  # the examples of the rules
        ("E E E F1 F2 F4", 2),
        ("W W W GD GD GD", 2),
        ("S1 S2 S3 C6 C7 C8", 2),
        ("B3 B4 B5 B7 B8 B9", 3),
        ("S4 S5 S6 S7 S8 S9", 4),
        ("F1 F2 F3 F4 F5 C7", 5),
        ("B1 B1 B1 B1 B2 B3", 1),  # three of one suit card are a triplet too
        ("F1 F1 F1 C1 C2 C3", 1),
        ("F1 F1 F4 C1 C2 C3", 1),
        ("B2 B2 B2 C2 C2 C2", 2),
        ("F1 F1 F2 F2 F4 F4", 2),
        ("GD GD GD GD GD GD", 2),
        ("B1 B2 B3 C1 C2 C3", 2),
        ("F1 F2 F3 F4 F5 E", 5),  # the sixth card can be any
    ],
)
def test_the_hands_of_the_rules_have_their_classes(codes: str, expected: int) -> None:
    assert winning_class(cards(codes)) == expected


@clause("classes", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ("B1 B2 B3 B1 B2 B3", WinningClass.ONE_SUIT),
        ("B1 B2 B3 B2 B3 B4", WinningClass.ONE_SUIT),
        ("B1 B2 B3 B3 B4 B5", WinningClass.ONE_SUIT),
        ("B1 B2 B3 B4 B5 B6", WinningClass.SIX_IN_A_ROW),
        ("B1 B2 B3 B5 B6 B7", WinningClass.ONE_SUIT),
    ],
)
def test_two_sequences_of_one_suit_are_contiguous_only_if_one_begins_where_the_other_ends(
    codes: str, expected: WinningClass
) -> None:
    assert winning_class(cards(codes)) is expected


@clause("classes", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize("sixth", ["F1", "F3", "F5"])
def test_all_five_feng_shui_cards_count_as_such_even_if_they_form_two_triplets(sixth: str) -> None:
    assert winning_class(cards(f"F1 F2 F3 F4 F5 {sixth}")) is WinningClass.ALL_FENG_SHUI


@clause("classes", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize(
    "codes",
    [
        "GD GD E S W N",  # no feng shui card
        "F1 F2 E S W N",  # no dragon
        "F1 GD E E W N",  # no south wind
        "F1 GD E S4 W N",  # S4 is a script card
        "E S W B1 B2 B3",  # different winds are neither a triplet nor a sequence
        "E E GD B1 B2 B3",
        "W W W B4 B5 C6",
        "W W W B8 B9 B1",  # no sequence goes on from nine to one
        "B1 B3 B5 B7 B8 B9",
        "F1 F2 F3 F4 F4 E",
        "B1 B1 B2 B2 B3 C3",
    ],
)
def test_other_hands_do_not_win(codes: str) -> None:
    assert winning_class(cards(codes)) is None


def test_the_order_of_the_cards_does_not_matter() -> None:
    chosen = random.Random(3)
    for hand, winning in winning_hands().items():
        shuffled = list(hand)
        chosen.shuffle(shuffled)
        assert winning_class(shuffled) is winning


def test_every_class_has_a_name_with_its_number() -> None:
    assert [name.partition(":")[0] for name in CLASS_NAMES.values()] == [f"class {n}" for n in range(6)]


def test_a_hand_with_another_number_of_cards_is_refused() -> None:
    with pytest.raises(ValueError, match="a hand has 6 cards, not 5"):
        winning_class(FENG_SHUI)


def test_a_card_of_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kinds of cards: red dragon"):
        winning_class([*FENG_SHUI, "red dragon"])


# --- two winning hands in the deal ------------------------------------------------------------------------------------

NOTHING = cards("E E B1 B3 C5 C7")
ROW = cards("S1 S2 S3 S4 S5 S6")
OTHER_ROW = cards("C1 C2 C3 C4 C5 C6")
TRIPLET = cards("W W W B4 B5 B6")


@clause("at once", game="dragon-poker-chinese-deck")
def test_the_higher_class_wins_in_the_deal_wherever_it_sits() -> None:
    for seats in itertools.permutations(("seat1", "seat2", "seat3")):
        hands = dict(zip(seats, (TRIPLET, ROW, NOTHING), strict=True))
        for order in itertools.permutations(hands):
            winner = deal_winner({seat: hands[seat] for seat in order})
            assert winner == (seats[1], WinningClass.SIX_IN_A_ROW)


@clause("at once", game="dragon-poker-chinese-deck")
def test_of_equal_classes_in_the_deal_the_hand_dealt_to_first_wins() -> None:
    assert deal_winner({"seat3": NOTHING, "seat1": ROW, "seat2": OTHER_ROW}) == ("seat1", 4)
    assert deal_winner({"seat3": NOTHING, "seat2": OTHER_ROW, "seat1": ROW}) == ("seat2", 4)


def test_a_class_0_hand_wins_in_the_deal_and_no_hand_means_no_winner() -> None:
    assert deal_winner({"seat1": NOTHING, "seat2": cards("F1 GD E S W N")}) == ("seat2", 0)
    assert deal_winner({"seat1": NOTHING, "seat2": NOTHING}) is None


# --- exchanges --------------------------------------------------------------------------------------------------------


@clause("exchange", game="dragon-poker-chinese-deck")
def test_an_exchange_costs_one_unit_for_each_of_one_to_three_cards() -> None:
    assert [exchange_cost(number) for number in (1, 2, 3)] == [1, 2, 3]


@clause("exchange", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize("number", [-1, 0, 4, 6])
def test_an_exchange_of_no_cards_or_more_than_three_is_refused(number: int) -> None:
    assert not may_exchange(number, stock=20)
    with pytest.raises(ValueError, match="enter 1 to 3"):
        exchange_cost(number)


@clause("reshuffle", game="dragon-poker-chinese-deck")
def test_the_stock_is_reshuffled_when_fewer_than_three_cards_are_left() -> None:
    assert [reshuffle_due(stock) for stock in range(6)] == [True, True, True, False, False, False]


@clause("reshuffle", game="dragon-poker-chinese-deck")
def test_nobody_exchanges_cards_while_a_reshuffle_is_due() -> None:
    assert [may_exchange(1, stock) for stock in range(5)] == [False, False, False, True, True]
    assert may_exchange(3, stock=3)


@clause("first round", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize(
    ("turns", "players", "expected"),
    [
        (0, 4, WhenWon.IN_THE_DEAL),
        (1, 4, WhenWon.FIRST_EXCHANGES),
        (4, 4, WhenWon.FIRST_EXCHANGES),
        (5, 4, WhenWon.LATER),
        (2, 2, WhenWon.FIRST_EXCHANGES),
        (3, 2, WhenWon.LATER),
    ],
)
def test_the_first_round_of_exchanges_ends_with_the_last_players_turn(
    turns: int, players: int, expected: WhenWon
) -> None:
    assert when_won(turns, players) is expected


# --- the tally --------------------------------------------------------------------------------------------------------

EARLY = {WhenWon.IN_THE_DEAL: 100, WhenWon.FIRST_EXCHANGES: 50, WhenWon.LATER: 0}


def collected(payments: list[Payment]) -> dict[str, int]:
    """What the winner gets at whose cost."""
    found: dict[str, int] = {}
    for payment in payments:
        assert payment.hand == "seat2"
        found[payment.other] = found.get(payment.other, 0) + payment.net
    return found


@clause("at once", "first round", "tally", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize("when", WhenWon)
@pytest.mark.parametrize(("number", "bonus"), [(0, 0), (1, 10), (2, 20), (3, 100), (4, 200), (5, 400)])
def test_each_other_player_pays_for_the_early_win_and_for_the_class(number: int, bonus: int, when: WhenWon) -> None:
    from_each = EARLY[when] + bonus
    due = {"pot": 20, "seat3": from_each, "seat4": from_each, "seat1": from_each}
    payments = tally("seat2", ["seat3", "seat4", "seat1"], WinningClass(number), pot=20, when=when)
    assert collected(payments) == {place: units for place, units in due.items() if units}


def test_the_pot_is_paid_first_and_then_player_by_player() -> None:
    payments = tally("seat2", ["seat4", "seat1"], WinningClass.ONE_SUIT, 9, WhenWon.FIRST_EXCHANGES)
    assert payments == [
        Payment("seat2", "pot", "class 3: two sequences of one suit, not in a row", 9, other="pot"),
        Payment("seat2", "early win", "first round of exchanges", 50, other="seat4"),
        Payment("seat2", "class bonus", "class 3: two sequences of one suit, not in a row", 100, other="seat4"),
        Payment("seat2", "early win", "first round of exchanges", 50, other="seat1"),
        Payment("seat2", "class bonus", "class 3: two sequences of one suit, not in a row", 100, other="seat1"),
    ]


@clause("tally", game="dragon-poker-chinese-deck")
def test_a_late_class_0_hand_wins_nothing_but_the_pot() -> None:
    assert collected(tally("seat2", ["seat1"], WinningClass.HONOURS, 37, WhenWon.LATER)) == {"pot": 37}


@clause("tally", game="dragon-poker-chinese-deck")
def test_half_of_an_odd_pot_is_rounded_down() -> None:
    assert [class_bonus(WinningClass.TRIPLET_AND_SEQUENCE, pot) for pot in (2, 3, 4, 5, 31)] == [1, 1, 2, 2, 15]


@clause("tally", game="dragon-poker-chinese-deck")
def test_a_higher_class_never_wins_less_in_the_deal() -> None:
    totals = [
        sum(payment.net for payment in tally("seat1", ["seat2"], winning, 2, WhenWon.IN_THE_DEAL))
        for winning in WinningClass
    ]
    assert totals == sorted(set(totals))


@pytest.mark.parametrize(
    ("others", "pot", "reason"),
    [
        ([], 4, "2 to 4 players, not 1"),
        (["seat1", "seat3", "seat4", "seat5"], 5, "the game is played by 2 to 4 players, not 5"),
        (["seat1", "seat2"], 4, "named twice: seat2, seat1, seat2"),
        (["seat1", "seat1"], 4, "named twice"),
        (["seat1", "seat3"], 2, "a pot of 2 is less than the antes of 3 players"),
    ],
)
def test_an_impossible_tally_is_refused(others: list[str], pot: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        tally("seat2", others, WinningClass.HONOURS, pot, WhenWon.LATER)


# --- packs ------------------------------------------------------------------------------------------------------------


def test_the_example_is_a_pack_that_can_be_played() -> None:
    assert pack_fault(EXAMPLE_PACK) == ""
    assert sum(EXAMPLE_PACK.values()) == 52
    assert EXAMPLE_PACK.keys() == set(KINDS)


def test_a_table_without_a_pack_is_refused() -> None:
    assert pack_fault({}).startswith("no pack: the rules do not say which cards it has")


def test_unknown_kinds_are_named() -> None:
    assert pack_fault({**EXAMPLE_PACK, "red dragon": 4, "bamboo 10": 1}).startswith(
        "unknown kinds of cards: bamboo 10, red dragon; expected feng shui 1, "
    )


@pytest.mark.parametrize("copies", [0, -1])
def test_a_kind_without_a_copy_is_refused(copies: int) -> None:
    assert pack_fault({**EXAMPLE_PACK, "script 9": copies}).startswith("fewer than 1 copy of script 9;")


def test_a_pack_needs_four_hands_and_three_exchanges_of_three_cards() -> None:
    small = {**dict.fromkeys((*FENG_SHUI, *WINDS, "green dragon"), 1), **dict.fromkeys(SUIT_CARDS[:18], 1)}
    assert pack_fault(small) == "28 cards are too few: 4 players need at least 33"
    assert pack_fault({**small, "east wind": 5}) == "32 cards are too few: 4 players need at least 33"
    assert pack_fault({**small, "east wind": 6}) == ""


@pytest.mark.parametrize(
    ("missing", "impossible"),
    [
        (["south wind"], [0]),
        (["green dragon"], [0]),
        (["feng shui 2"], [5]),
        (["bamboo 5", "circle 5", "script 5"], [4]),
        (list(SUIT_CARDS), [1, 3, 4]),  # two triplets are left for class 2
        (list(FENG_SHUI), [0, 5]),
    ],
)
def test_a_pack_in_which_a_class_is_impossible_is_refused(missing: list[str], impossible: list[int]) -> None:
    pack = {kind: 4 for kind in EXAMPLE_PACK if kind not in missing}
    names = "; ".join(CLASS_NAMES[WinningClass(number)] for number in impossible)
    assert pack_fault(pack) == f"no hand of this pack can be {names}"


def test_a_pack_with_one_each_of_ranks_one_to_six_has_no_sequences_that_are_not_in_a_row() -> None:
    pack = {kind: copies for kind, copies in EXAMPLE_PACK.items() if not kind.endswith(("7", "8", "9"))}
    assert pack_fault(pack) == "no hand of this pack can be class 3: two sequences of one suit, not in a row"
    assert pack_fault({**pack, "script 2": 2, "script 3": 2}) == ""  # 1 2 3 and 2 3 4
