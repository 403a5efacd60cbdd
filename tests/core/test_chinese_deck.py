"""A table of Dragon Poker with the Chinese deck: the deal, the exchanges, the reshuffle, and what is taken back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controller.core import actions as act
from controller.core.events.event import Entry
from controller.core.history import rebuild
from controller.core.machines import TableState
from controller.core.setup import Setup, setup_fault
from controller.games import description_named, game_with
from controller.games.chinese_deck.pack import EXAMPLE_PACK, KINDS
from controller.games.game import Method
from firmware_bridge.wire.messages import CardsPresent, Place
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause

GAME = description_named("dragon-poker-chinese-deck")
SMALL_PACK = dict.fromkeys(KINDS[:34], 1)  # ten cards are left after the deal to four players
IN_A_ROW = tuple(f"bamboo {rank}" for rank in range(1, 7))
TRIPLET = ("west wind", "west wind", "west wind", "script 4", "script 5", "script 6")


def setup(pack: dict[str, Any], method: Method = Method.HAND, **fields: Any) -> Setup:
    assert GAME is not None
    game = game_with(GAME, {"pack": pack or EXAMPLE_PACK})
    return Setup(method=method, backs=("red",), shuffler=None, seats=4, game=game, options={"pack": pack}, **fields)


def a_round(*seats: int, pack: dict[str, Any] | None = None) -> House:
    """A round after its deal. Seat 1 deals, so the seat after it is the first."""
    house = House(setup(pack or dict(EXAMPLE_PACK))).open()
    house.ask(act.CloseBets, seats=seats)
    house.ask(act.FinishDeal)
    assert house.at() is TableState.ACTING
    return house


def decide(house: House, seat: int, choice: str, **fields: Any) -> None:
    house.ask(act.DecideHand, target=f"seat{seat}", choice=choice, **fields)


def refused(house: House, seat: int, choice: str, **fields: Any) -> Entry:
    return house.refused(act.DecideHand, target=f"seat{seat}", choice=choice, **fields)


def exchange(house: House, seat: int, number: int) -> None:
    decide(house, seat, "exchange", number=number)
    house.ask(act.DealCards, target=f"seat{seat}", cards=number)


def in_hands(house: House) -> dict[str, int]:
    return {place: number for place, number in house.state.decks["red-1"].cards.items() if place.startswith("seat")}


# --- the deal ---------------------------------------------------------------------------------------------------------


@clause("deal", game="dragon-poker-chinese-deck")
def test_six_cards_each_are_dealt_one_by_one_from_the_left_of_who_deals() -> None:
    house = House(setup(dict(EXAMPLE_PACK))).open()
    house.ask(act.CloseBets, seats=(1, 2, 4))
    assert house.refused(act.DealCards, target="seat1", cards=1).clause == ("deal",)
    assert house.refused(act.DealCards, target="seat2", cards=2).clause == ("deal",)
    for seat in (2, 4, 1) * 6:
        house.ask(act.DealCards, target=f"seat{seat}", cards=1)
    assert in_hands(house) == {"seat2": 6, "seat4": 6, "seat1": 6}
    house.check()


@clause("deal", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize("seats", [(), (3,), (1, 2, 3, 4, 5)])
def test_two_to_four_players_play(seats: tuple[int, ...]) -> None:
    house = House(setup(dict(EXAMPLE_PACK))).open()
    assert house.refused(act.CloseBets, seats=seats).clause == ("deal",)


@clause("deal", game="dragon-poker-chinese-deck")
def test_another_player_deals_in_the_next_round() -> None:
    house = a_round(1, 2, 4)
    buttons = []
    for seats in ((1, 2, 4), (1, 2, 4), (1, 4)):
        buttons.append(house.state.button)
        house.ask(act.ReportIrregularity, irregularity="no_winner")
        house.work()
        house.ask(act.CloseBets, seats=seats)
        house.ask(act.FinishDeal)
    assert [*buttons, house.state.button] == [1, 2, 4, 1]


# --- the pack ---------------------------------------------------------------------------------------------------------


@clause("classes", game="dragon-poker-chinese-deck")
def test_a_table_without_a_pack_is_refused_and_pointed_to_the_example() -> None:
    fault = setup_fault(setup({}))
    assert fault is not None
    assert fault.reason.startswith("pack: the rules do not say which cards it has; enter")
    assert fault.reason.endswith("[table.options.pack]; docs/games/dragon-poker-chinese-deck.md has an example")


@pytest.mark.parametrize(
    ("pack", "reason"),
    [
        (dict.fromkeys(KINDS[:32], 1), "pack: 32 cards are too few: 4 players need at least 33"),
        ({**EXAMPLE_PACK, "red dragon": 4}, "pack: unknown kinds of cards: red dragon;"),
        ({**EXAMPLE_PACK, "script 9": 0}, "pack: fewer than 1 copy of script 9;"),
        ({**EXAMPLE_PACK, "script 9": "two"}, "pack: expected a whole number of copies of script 9"),
        ({**EXAMPLE_PACK, "script 8": True, "script 9": 1.5}, "pack: expected a whole number of copies of script 8, s"),
        (["script 9"], "pack: expected kinds of cards, each with its number of copies"),
        ({kind: 2 for kind in KINDS if kind != "green dragon"}, "pack: no hand of this pack can be class 0"),
    ],
)
def test_a_pack_that_cannot_be_played_is_refused_with_the_reason(pack: Any, reason: str) -> None:
    assert GAME is not None
    fault = setup_fault(Setup(method=Method.HAND, backs=("red",), shuffler=None, seats=4, game=GAME.game,
                              options={"pack": pack}))  # fmt: skip
    assert fault is not None
    assert fault.reason.startswith(reason)


def test_a_pack_that_no_device_can_report_is_refused() -> None:
    most = dict.fromkeys(KINDS, 14) | {"east wind": 16}
    assert setup_fault(setup(most)) is None
    fault = setup_fault(setup({**most, "east wind": 17}))
    assert fault is not None
    assert (fault.key, fault.reason) == ("table.options", "a deck would have 521 cards, more than a device can report")


@clause("deal", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize(("seats", "good"), [(0, False), (1, False), (2, True), (4, True), (5, False)])
def test_a_table_has_a_position_for_each_of_two_to_four_players(seats: int, good: bool) -> None:
    fault = setup_fault(msgspec.structs.replace(setup(dict(EXAMPLE_PACK)), seats=seats))
    assert (fault is None) == good
    assert fault is None or (fault.key, fault.rules) == ("table.seats", ("deal",))


# --- exchanges --------------------------------------------------------------------------------------------------------


@clause("exchange", game="dragon-poker-chinese-deck")
def test_players_exchange_one_to_three_cards_in_turn() -> None:
    house = a_round(1, 2)
    for number in (0, 4):
        assert refused(house, 2, "exchange", number=number).clause == ("exchange",)
    assert "seat 2" in refused(house, 1, "exchange", number=1).data["reason"]
    decide(house, 2, "exchange", number=2)
    assert house.state.decks["red-1"].cards["discards"] == 2
    assert refused(house, 2, "exchange", number=2).data["reason"] == "cards are still to be dealt to seat 2"
    assert house.refused(act.DealCards, target="seat1", cards=1).clause == ("deal",)
    house.ask(act.DealCards, target="seat2", cards=2)
    decide(house, 1, "pass")
    assert house.table.next_step().text == "Ask seat 2 to exchange cards or pass."
    same_after_snapshot(house)


@clause("exchange", game="dragon-poker-chinese-deck")
def test_a_hand_that_does_not_win_is_refused_and_not_recorded() -> None:
    house = a_round(1, 2)
    nothing = (*IN_A_ROW[:5], "east wind")
    assert refused(house, 1, "win", kinds=nothing).data["reason"] == "these six cards do not win"
    assert not [event for event in house.events if "bamboo" in str(event.data) and event.kind != "table.configured"]
    assert refused(house, 1, "win", kinds=IN_A_ROW[:5]).clause == ("exchange",)
    twice = (*IN_A_ROW[:5], IN_A_ROW[0])
    assert refused(house, 1, "win", kinds=twice).data["reason"].startswith("the bamboo 1 is entered 2 times: ")
    assert "dragon 9" in refused(house, 1, "win", kinds=(*IN_A_ROW[:5], "dragon 9")).data["reason"]


@clause("exchange", game="dragon-poker-chinese-deck")
def test_decisions_are_taken_back_one_after_the_other_until_cards_were_dealt() -> None:
    house = a_round(1, 2)
    exchange(house, 2, 3)
    decide(house, 1, "pass")
    decide(house, 2, "exchange", number=1)
    before = in_hands(house)
    house.ask(act.TakeBackDecision)
    house.ask(act.TakeBackDecision)
    assert house.refused(act.TakeBackDecision).data["reason"] == "cards were dealt because of it"
    assert in_hands(house) == {**before, "seat2": 6}
    assert house.state.decks["red-1"].cards["discards"] == 3
    house.check()
    exchange(house, 1, 1)
    same_after_snapshot(house)


def test_the_right_number_of_cards_does_not_include_those_that_were_exchanged() -> None:
    house = a_round(1, 2)
    exchange(house, 2, 3)
    exchange(house, 1, 2)
    assert house.refused(act.ReportWrongNumber, target="seat2", cards=6).data["reason"].startswith("6 is the right")
    house.ask(act.ReportWrongNumber, target="seat2", cards=9)
    assert house.find("round.voided")[0].data["reason"] == "seat 2 has 9 cards instead of 6"


# --- the end ----------------------------------------------------------------------------------------------------------


def paid(house: House) -> list[tuple[str, str, int]]:
    settled = house.find("round.settled")[-1]
    return [(one["bet"], one["other"], one["net"]) for one in settled.data["payments"]]


@clause("at once", game="dragon-poker-chinese-deck")
def test_after_a_win_in_the_deal_the_others_are_asked_and_the_higher_class_wins() -> None:
    house = a_round(1, 2, 3)
    decide(house, 2, "win", kinds=TRIPLET)
    assert house.table.next_step().text == "Ask seat 3 for a winning hand."
    refused(house, 1, "exchange", number=1)
    decide(house, 3, "no win")
    assert not house.find("round.settled")
    decide(house, 1, "win", kinds=IN_A_ROW)
    assert paid(house) == [
        ("pot", "pot", 3),
        ("early win", "seat2", 100), ("class bonus", "seat2", 200),
        ("early win", "seat3", 100), ("class bonus", "seat3", 200),
    ]  # fmt: skip


@clause("first round", "tally", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize(("turns", "early"), [(1, 50), (3, 50), (4, 0)])
def test_a_win_in_the_first_round_of_exchanges_earns_50_units(turns: int, early: int) -> None:
    house = a_round(1, 2, 3)
    for turn in range(turns):
        exchange(house, (2, 3, 1)[turn % 3], 1)
    decide(house, 3, "win", kinds=TRIPLET)
    pot = 3 + turns
    from_each = [("early win", early), ("class bonus", pot // 2)]
    others = [(bet, other, net) for other in ("seat2", "seat1") for bet, net in from_each if net]
    assert paid(house) == [("pot", "pot", pot), *others]


@clause("tally", game="dragon-poker-chinese-deck")
def test_a_win_with_a_wrong_card_is_taken_back_after_the_settlement() -> None:
    house = a_round(1, 2)
    exchange(house, 2, 1)
    decide(house, 1, "win", kinds=IN_A_ROW)
    assert house.at() is TableState.CLEARING
    house.ask(act.TakeBackDecision)
    assert house.at() is TableState.ACTING
    assert house.state.round is not None
    assert not any(house.state.round.kinds.values())
    decide(house, 1, "win", kinds=TRIPLET)
    assert paid(house) == [("pot", "pot", 3), ("early win", "seat2", 50), ("class bonus", "seat2", 1)]
    house.ask(act.RemoveStub)
    assert house.refused(act.TakeBackDecision).data["reason"] == "the cards are being collected"
    same_after_snapshot(house)


# --- the reshuffle ----------------------------------------------------------------------------------------------------


def reshuffle_is_due() -> House:
    """Nine of ten cards were dealt in exchanges."""
    house = a_round(1, 2, 3, 4, pack=SMALL_PACK)
    for seat in (2, 3, 4):
        assert house.refused(act.ReshuffleStock, cards=10, cut_by=2).data["reason"] == "enough cards are left"
        exchange(house, seat, 3)
    return house


@clause("reshuffle", game="dragon-poker-chinese-deck")
def test_stock_and_discards_are_shuffled_counted_and_cut_by_another_player() -> None:
    house = reshuffle_is_due()
    assert refused(house, 1, "exchange", number=1).clause == ("reshuffle",)
    assert refused(house, 1, "pass").clause == ("reshuffle",)
    assert (
        house.refused(act.ReshuffleStock, cards=10, cut_by=1).data["reason"]
        == "seat 1 deals in this round, and shuffles"
    )
    assert house.refused(act.ReshuffleStock, cards=10, cut_by=5).clause == ("reshuffle",)
    assert house.refused(act.ReshuffleStock, cards=9, cut_by=3).data["confirm"]
    house.ask(act.ReshuffleStock, cards=10, cut_by=3)
    (event,) = house.find("stock.reshuffled")
    assert event.event.sentence() == "Stock and discards of deck red-1 were shuffled: 10 cards, cut by seat 3."
    assert house.state.decks["red-1"].cards == {"hand": 10, "seat2": 6, "seat3": 6, "seat4": 6, "seat1": 6}
    (rebuilt,) = rebuild(house.events, 1)["reshuffled"]
    assert (rebuilt["cards"], rebuilt["cut_by"]) == (10, 3)
    decide(house, 1, "exchange", number=3)
    same_after_snapshot(house)


@clause("reshuffle", game="dragon-poker-chinese-deck")
@pytest.mark.parametrize("number", [9, 11])
def test_a_wrong_number_that_is_confirmed_voids_the_round(number: int) -> None:
    house = reshuffle_is_due()
    house.ask(act.ReshuffleStock, cards=number, cut_by=3)
    assert house.at() is TableState.VOIDING
    assert house.find("round.voided")[0].data["reason"] == f"stock and discards were {number} cards instead of 10"
    house.ask(act.ReturnWagers)
    assert house.table.next_step().do[0]["action"] == "gather_all"


@clause("reshuffle", game="dragon-poker-chinese-deck")
def test_a_winning_hand_is_declared_although_a_reshuffle_is_due() -> None:
    house = reshuffle_is_due()
    assert [offer["action"] for offer in house.table.next_step().do] == ["reshuffle_stock", "decide_hand"]
    decide(house, 4, "win", kinds=("feng shui 1", "feng shui 2", "feng shui 4", *IN_A_ROW[:3]))
    assert house.find("round.settled")
    assert not house.find("stock.reshuffled")


# --- irregularities ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("irregularity", ["exposed_card", "foreign_card", "no_winner"])
def test_what_the_rules_do_not_provide_for_voids_the_round_if_people_say_so(irregularity: str) -> None:
    house = a_round(1, 2)
    exchange(house, 2, 3)
    assert not house.refused(act.ReportFaceUp).clause
    house.ask(act.ReportIrregularity, irregularity=irregularity)
    assert house.find("round.voided")[0].clause == ()
    house.work()
    assert house.at() is TableState.BETTING
    house.check()


# --- an automated shoe ------------------------------------------------------------------------------------------------


@clause("reshuffle", game="dragon-poker-chinese-deck")
def test_an_automated_shoe_deals_the_rest_to_the_discards_and_waits_for_the_new_stock() -> None:
    house = House(setup(SMALL_PACK, Method.AUTOMATED_SHOE)).open()
    house.ask(act.CloseBets, seats=(1, 2, 3, 4))
    for seat in (2, 3, 4):
        decide(house, seat, "exchange", number=3)
        house.move("red-1", f"seat{seat}", "discards", 3)
    assert house.state.decks["red-1"].cards["discards"] == 10
    house.ask(act.ReshuffleStock, cards=10, cut_by=2)
    assert house.table.next_step().text == "Put the new stock into the shoe."
    decide(house, 1, "exchange", number=2)
    assert house.state.devices["shoe"].doing is None
    same_after_snapshot(house)
    house.move("red-1", "discards", "shoe", 10)
    house.report("shoe", CardsPresent, place=Place.SHOE, present=True)
    assert in_hands(house) == {"seat2": 6, "seat3": 6, "seat4": 6, "seat1": 6}
    assert house.state.decks["red-1"].cards["shoe"] == 8
    assert not house.state.warnings


@clause("tally", game="dragon-poker-chinese-deck")
def test_an_automated_shoe_keeps_the_stock_while_a_win_can_be_taken_back() -> None:
    house = House(setup(dict(EXAMPLE_PACK), Method.AUTOMATED_SHOE)).open()
    house.ask(act.CloseBets, seats=(1, 2))
    decide(house, 2, "pass")
    decide(house, 1, "win", kinds=IN_A_ROW)
    assert house.state.decks["red-1"].cards["shoe"] == 40
    assert house.table.next_step().do[0]["action"] == "collect_all"
    house.ask(act.TakeBackDecision)  # it was seat 2
    decide(house, 2, "win", kinds=IN_A_ROW)
    assert paid(house) == [("pot", "pot", 2), ("early win", "seat1", 50), ("class bonus", "seat1", 200)]
    house.ask(act.CollectAll)
    assert house.refused(act.TakeBackDecision)
    house.work()
    assert house.at() is TableState.BETTING
    house.check()
    assert not house.state.warnings
