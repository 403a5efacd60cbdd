"""Bets, decisions and the settlement at a table of Dragon Poker. Recording them is up to the house."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core import actions as act
from controller.core.history import rebuild
from controller.core.machines import TableState
from controller.core.setup import Setup, setup_fault
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause


def bet(house: House, seat: int, **amounts: int) -> None:
    for name, amount in amounts.items():
        house.ask(act.RecordBet, seat=seat, bet=name.replace("_", " "), amount=amount)


def a_table(**options: Any) -> House:
    house = House(Setup(options=options), recognises=True).open()
    house.kinds = [7, 7, 7]  # three rabbits, in every hand
    return house


def results_of(house: House) -> list[tuple[str, str]]:
    (settled,) = house.find("round.settled")
    return [(one["hand"], one["text"]) for one in settled.data["results"]]


@clause("7.D", "7.F(1)")
def test_the_recorded_bets_of_a_seat_must_fit_together() -> None:
    house = a_table()
    bet(house, 1, ante=5)
    refused = house.refused(act.CloseBets, seats=(1,))
    assert refused.clause == ("7.F(1)",)
    assert refused.data["reason"] == "seat 1: the ante bonus must equal the ante: 5, not 0"
    step = house.table.next_step()
    assert (step.text, step.do) == ("Correct the bets of seat 1.", ({"action": "record_bet", "seat": 1},))
    bet(house, 1, ante_bonus=5)
    house.ask(act.CloseBets, seats=(1,))
    assert house.find("round.started")[0].data["bets"] == {"seat1": {"ante": 5, "ante bonus": 5}}


@clause("7.D", "1.B(1)")
def test_whoever_has_made_a_wager_is_dealt_a_hand() -> None:
    house = a_table()
    bet(house, 1, dragon_wager=5)
    assert house.refused(act.CloseBets, seats=(1,)).clause == ("1.B(1)",)
    bet(house, 1, ante=5, ante_bonus=5)
    refused = house.refused(act.CloseBets, seats=(4,))
    assert refused.clause == ("7.D",)
    assert refused.data["reason"] == "seat 1 has a wager and would get no cards"


@clause("7.E")
@pytest.mark.parametrize("amount", [0, 5, 10, 20])
def test_after_no_more_bets_no_wager_is_made_or_increased_or_withdrawn(amount: int) -> None:
    house = a_table()
    bet(house, 1, ante=10, ante_bonus=10)
    house.ask(act.CloseBets, seats=(1, 4))
    for seat in (1, 4):
        assert house.refused(act.RecordBet, seat=seat, bet="ante", amount=amount).clause == ("7.D", "7.E")
    house.ask(act.PlayersActed)
    assert house.refused(act.RecordBet, seat=1, bet="ante", amount=amount).clause == ("7.D", "7.E")
    assert house.state.bets == {"seat1": {"ante": 10, "ante bonus": 10}}


@clause("7.F(1)")
def test_the_play_wager_is_as_much_as_the_ante() -> None:
    house = a_table()
    bet(house, 1, ante=5, ante_bonus=5)
    house.deal((1, 4))
    step = house.table.next_step()
    assert (step.text, step.why) == ("Ask seat 1 to play or forfeit.", "The play wager equals the ante: 5.")
    refused = house.refused(act.DecideHand, target="seat1", choice="play", number=10)
    assert refused.clause == ("7.F(1)",)
    assert refused.data["reason"] == "the play wager must equal the ante: 5, not 10"
    house.ask(act.DecideHand, target="seat1", choice="play", number=5)
    house.refused(act.DecideHand, target="seat4", choice="play", number=5)  # no ante was recorded there


def test_bets_are_closed_for_the_seats_that_are_named() -> None:
    house = a_table()
    refused = house.refused(act.CloseBets)
    assert refused.data["reason"] == "nobody has wagered"
    assert house.refused(act.CloseBets, seats=(1, 1)).data["reason"] == "a seat is named twice"
    assert house.refused(act.CloseBets, seats=(1, 7, 7)).data["reason"] == "the table has seats 1 to 6"


def test_cards_that_are_known_are_not_entered_again() -> None:
    house = a_table()
    house.deal((1,))
    hidden = house.refused(act.EnterCards, target="seat1", kinds=("rabbit",) * 3)
    assert hidden.data["reason"] == "no card of seat 1 is to be entered"
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    known = house.refused(act.EnterCards, target="seat1", kinds=("rabbit",) * 3)
    assert known.data["reason"] == "the cards of seat 1 are known"


@clause("3.A(1)(3)")
def test_cards_that_the_deck_does_not_have_are_not_entered() -> None:
    house = House(Setup(backs=("red",))).open()
    bet(house, 1, ante=5, ante_bonus=5)
    house.deal((1,))
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    twice = house.refused(act.EnterCards, target="seat1", kinds=("gold dragon", "gold dragon", "tiger"))
    assert (twice.clause, twice.data["reason"]) == (
        ("3.A(1)(3)",),
        "the gold dragon is entered 2 times: the deck has only 1",
    )
    house.ask(act.EnterCards, target="seat1", kinds=("gold dragon", "red dragon", "red dragon"))
    again = house.refused(act.EnterCards, target="dealer", kinds=("gold dragon", "tiger", "tiger"))
    assert (again.clause, again.data["reason"]) == (("3.A(1)(3)",), "the gold dragon was dealt before")
    again = house.refused(act.EnterCards, target="dealer", kinds=("red dragon", "red dragon", "tiger"))
    assert again.data["reason"] == "the deck has 3 of the red dragon, and 2 were dealt before"
    assert again.data["possible_when"] == "another card is entered"


def test_a_round_is_not_settled_without_a_hand_that_was_collected_too_early() -> None:
    house = House(Setup(backs=("red",))).open()
    bet(house, 1, ante=5, ante_bonus=5)
    house.deal((1,))
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    house.ask(act.CollectHand, target="seat1")
    house.ask(act.EnterCards, target="dealer", kinds=("rabbit", "rabbit", "monkey"))
    assert house.find("round.settled")[0].data["result"] == "not by the table: the cards of seat 1 are not known"


def test_once_every_decision_is_entered_nobody_is_asked_again() -> None:
    house = a_table()
    bet(house, 1, ante=5, ante_bonus=5)
    house.deal((1, 4))
    house.stub()
    for seat in ("seat1", "seat4"):
        assert house.table.next_step().text == f"Ask seat {seat[-1]} to play or forfeit."
        house.ask(act.DecideHand, target=seat, choice="play")
    step = house.table.next_step()
    assert (step.text, step.do) == ("Report that all players have acted.", ({"action": "players_acted"},))
    house.ask(act.TakeBackDecision)
    assert house.table.next_step().text == "Ask seat 4 to play or forfeit."


@clause("7.F(2)(3)", "7.F(4)")
@pytest.mark.parametrize(
    ("wager", "found"), [("three card bonus", "7.F(2)(3)"), ("dragon wager", "7.F(2)(3)"), ("progressive", "7.F(4)")]
)
def test_a_side_wager_that_the_house_does_not_offer_is_refused(wager: str, found: str) -> None:
    house = a_table(three_card_bonus="", dragon_wager="")
    wager = {"progressive": "progressive wager"}.get(wager, wager)
    bet(house, 1, ante=5, ante_bonus=5)
    house.ask(act.RecordBet, seat=1, bet=wager, amount=1)
    assert house.refused(act.CloseBets, seats=(1,)).clause == (found,)


@clause("7.F(4)")
def test_the_jackpot_grows_by_every_progressive_wager_and_shrinks_by_what_it_pays() -> None:
    lines = [{"outcome": "three rabbits", "share_percent": 10}, {"outcome": "gold dragon", "amount": 7}]
    house = a_table(progressive=lines, jackpot=1000)
    paid = []
    for kinds in ([3, 4, 5], [7, 7, 7], [3, 4, 5]):
        house.kinds = kinds
        bet(house, 1, ante=5, ante_bonus=5)
        house.ask(act.RecordBet, seat=1, bet="progressive wager", amount=20)
        house.deal((1,))
        house.finish()
        house.work()
        settled = house.find("round.settled")[-1].data
        paid += [one["net"] for one in settled["payments"] if one["bet"] == "progressive wager"]
    assert paid == [-20, 104 - 20, -20]
    assert [event.data["carried"]["jackpot"] for event in house.find("round.settled")] == [1020, 936, 956]
    same_after_snapshot(house)


@clause("7.G")
def test_a_player_wagers_on_two_adjacent_areas_where_the_house_permits_it() -> None:
    house = a_table(two_areas=True)
    for seat in (2, 3, 4, 5):
        bet(house, seat, ante=5, ante_bonus=5)
    house.ask(act.RecordBet, seat=5, bet="second area of seat", amount=2)
    refused = house.refused(act.CloseBets, seats=(2, 3, 4, 5))
    assert (refused.clause, refused.data["reason"]) == (
        ("7.G",),
        "seat 5: the two betting areas of a player must be adjacent",
    )
    house.ask(act.RecordBet, seat=5, bet="second area of seat", amount=0)
    house.ask(act.RecordBet, seat=3, bet="second area of seat", amount=2)
    house.ask(act.RecordBet, seat=4, bet="second area of seat", amount=3)
    assert "two betting areas at most" in house.refused(act.CloseBets, seats=(2, 3, 4, 5)).data["reason"]
    house.ask(act.RecordBet, seat=4, bet="second area of seat", amount=1)
    assert "must be adjacent" in house.refused(act.CloseBets, seats=(2, 3, 4, 5)).data["reason"]
    house.ask(act.RecordBet, seat=4, bet="second area of seat", amount=5)
    house.deal((2, 3, 4, 5))
    assert house.find("round.started")[0].data["bets"]["seat4"]["second area of seat"] == 5


@clause("7.G")
def test_a_second_area_is_refused_where_the_house_does_not_permit_it_or_nobody_is_beside() -> None:
    for options, reason in (({}, "only one betting area"), ({"two_areas": True}, "seat 2 has no wager")):
        house = a_table(**options)
        bet(house, 3, ante=5, ante_bonus=5)
        house.ask(act.RecordBet, seat=3, bet="second area of seat", amount=2)
        refused = house.refused(act.CloseBets, seats=(3,))
        assert refused.clause == ("7.G",)
        assert reason in refused.data["reason"]


@clause("11.B", "11.C", "11.D(1)")
def test_a_forfeited_hand_without_a_side_bet_leaves_at_once() -> None:
    house = a_table()
    bet(house, 1, ante=5, ante_bonus=5)
    bet(house, 4, ante=5, ante_bonus=5, dragon_wager=2)
    house.deal((1, 4))
    assert house.refused(act.DecideHand, target="seat4", choice="forfeit").clause == ("11.B",)  # seat 1 is first
    for seat in ("seat1", "seat4"):
        house.ask(act.DecideHand, target=seat, choice="forfeit")
    house.ask(act.CollectHand, target="seat1")
    refused = house.refused(act.CollectHand, target="seat4")
    assert refused.clause == ("11.D(1)",)
    assert refused.data["reason"] == "a wager still needs these cards"
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    (settled,) = house.find("round.settled")
    assert results_of(house) == [("seat4", "forfeited"), ("seat1", "forfeited")]
    assert [(one["hand"], one["bet"], one["net"]) for one in settled.data["payments"]] == [
        ("seat4", "ante", -5),
        ("seat4", "ante bonus", -5),
        ("seat1", "ante", -5),
        ("seat1", "ante bonus", -5),
        ("seat4", "dragon wager", -2),
    ]


@clause("11.D(1)")
def test_the_dealers_cards_are_not_shown_while_a_forfeited_hand_is_on_the_table() -> None:
    house = a_table()
    bet(house, 1, ante=5, ante_bonus=5)
    bet(house, 4, ante=5, ante_bonus=5)
    house.deal((1, 4))
    house.ask(act.DecideHand, target="seat1", choice="forfeit")
    house.ask(act.DecideHand, target="seat4", choice="play")
    house.ask(act.PlayersActed)
    house.stub()
    step = house.table.next_step()
    assert (step.text, step.clause) == ("Put the hand of seat 1 into the rack.", ("11.D(1)",))
    assert house.refused(act.RevealDealer).clause == ("11.D(1)",)
    house.ask(act.CollectHand, target="seat1")
    house.ask(act.RevealDealer)
    asked = {event.data["target"] for event in house.find("hand.recognised")}
    assert asked == {"seat4", "dealer"}  # the forfeited hand stays hidden
    assert rebuild(house.events, 1)["hands"]["seat1"]["seen"] == "hidden"
    same_after_snapshot(house)


@clause("11.D(1)")
def test_a_hand_that_still_plays_or_has_a_side_wager_stays_until_the_dealers_cards_are_shown() -> None:
    house = a_table()
    bet(house, 1, ante=5, ante_bonus=5)
    bet(house, 2, ante=5, ante_bonus=5, dragon_wager=2)
    bet(house, 3, ante=5, ante_bonus=5)
    house.deal((1, 2, 3, 4))
    house.ask(act.DecideHand, target="seat1", choice="play")
    house.ask(act.DecideHand, target="seat2", choice="forfeit")
    house.ask(act.PlayersActed)
    for seat in ("seat1", "seat2", "seat3"):  # no decision of seat 3 was recorded: it has played
        refused = house.refused(act.CollectHand, target=seat)
        assert (refused.clause, refused.data["reason"]) == (("11.D(1)",), "a wager still needs these cards")
    house.ask(act.CollectHand, target="seat4")  # of which only the dealer knows whether it was forfeited
    house.ask(act.RevealDealer)
    assert {one["hand"] for one in house.find("round.settled")[0].data["payments"]} == {"seat1", "seat2", "seat3"}
    same_after_snapshot(house)


@clause("11.D(1)")
def test_without_recorded_wagers_the_dealer_knows_which_forfeited_hands_stay() -> None:
    house = a_table()
    house.deal((1, 4))
    for seat in ("seat1", "seat4"):
        house.ask(act.DecideHand, target=seat, choice="forfeit")
    house.ask(act.CollectHand, target="seat4")
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)  # the hand of seat 1 stays for its three card bonus
    assert results_of(house) == [
        ("seat4", "forfeited"),
        ("seat1", "forfeited: three card bonus pays 10 to 1, dragon wager loses"),
    ]


@clause("11.D(3)")
def test_recorded_bets_are_settled_once_the_cards_are_known() -> None:
    house = a_table()
    bet(house, 1, ante=5, ante_bonus=5, three_card_bonus=1)
    house.deal((1,))
    house.ask(act.PlayersActed)
    assert not house.find("round.settled")
    house.ask(act.RevealDealer)
    (settled,) = house.find("round.settled")
    paid = [(one["hand"], one["bet"], one["outcome"], one["net"]) for one in settled.data["payments"]]
    assert paid == [
        ("seat1", "three card bonus", "trips", 10),
        ("seat1", "ante", "tie", 0),
        ("seat1", "ante bonus", "tie", 0),
        ("seat1", "play", "tie", 0),
    ]
    house.stub()
    house.ask(act.CollectAll)
    assert house.at() in (TableState.WAITING, TableState.BETTING)
    same_after_snapshot(house)


@clause("11.B")
def test_no_card_is_named_with_a_decision_that_turns_none_over() -> None:
    house = a_table()
    house.deal((1,))
    refused = house.refused(act.DecideHand, target="seat1", choice="forfeit", kinds=("rabbit",))
    assert refused.data["possible_when"] == "the decision is entered without cards"
    house.refused(act.DecideHand, target="seat1", choice="forfeit", number=1)
    assert not house.find("hand.decided")


def test_a_decision_that_was_entered_by_mistake_is_taken_back() -> None:
    house = a_table()
    house.deal((1, 4))
    house.ask(act.DecideHand, target="seat1", choice="forfeit")
    house.ask(act.TakeBackDecision)
    house.ask(act.DecideHand, target="seat1", choice="play")
    assert house.refused(act.CollectHand, target="seat1").clause == ("11.D(1)",)
    house.ask(act.TakeBackDecision)
    house.ask(act.DecideHand, target="seat1", choice="forfeit")
    house.ask(act.CollectHand, target="seat1")
    assert house.refused(act.TakeBackDecision).data["reason"] == "the hand has been collected"


@clause("11.D(3)")
def test_a_recognising_shoe_is_enough_to_say_what_every_bet_is_paid() -> None:
    house = a_table(ante_bonus="B")
    house.deal((2, 5))
    house.kinds = [7, 7, 7]
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    (settled,) = house.find("round.settled")
    text = (
        "tie, wagers returned: three card bonus pays 10 to 1, dragon wager loses, ante is returned, "
        "ante bonus is returned, play is returned"
    )
    assert results_of(house) == [("seat5", text), ("seat2", text)]
    assert "payments" not in settled.data
    assert settled.event.sentence() == f"Round 1 is settled: seat 5: {text}; seat 2: {text}."
    house.stub()
    house.ask(act.CollectAll)
    assert house.find("round.completed")


def test_a_table_that_records_nothing_stores_nothing_more() -> None:
    house = House().open()
    house.play((1, 4))
    assert not house.find("round.settled")
    assert "bets" not in house.find("round.started")[0].data


@clause("12.B", "12.C", "12.D", "7.F(4)")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"ante_bonus": "C"}, ("12.B",)),
        ({"three_card_bonus": "1"}, ("12.C",)),
        ({"dragon_wager": "B"}, ("12.D",)),
        ({"jackpot": -1}, ()),
        ({"jackpot": "much"}, ()),
        ({"progressive": [{"outcome": "full house", "amount": 1}]}, ()),
    ],
)
def test_what_the_house_cannot_choose_is_refused_by_its_clause(options: dict[str, Any], found: tuple[str, ...]) -> None:
    fault = setup_fault(Setup(options=options))
    assert fault is not None
    assert fault.rules == found
    assert "(" not in fault.reason
