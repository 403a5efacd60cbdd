"""Bets, decisions and the settlement at a table of Dragon Poker. Recording them is up to the house."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.machines import TableState
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause


def bet(house: House, seat: int, **amounts: int) -> None:
    for name, amount in amounts.items():
        house.ask(act.RecordBet, seat=seat, bet=name.replace("_", " "), amount=amount)


def a_table() -> House:
    house = House(recognises=True).open()
    house.kinds = [7, 7, 7]  # three rabbits, in every hand
    return house


@clause("7.D")
def test_the_recorded_bets_of_a_seat_must_fit_together() -> None:
    house = a_table()
    bet(house, 1, ante=5)
    assert house.refused(act.CloseBets, seats=(1,)).clause == ("7.D",)
    step = house.table.next_step()
    assert (step.text, step.do) == ("Correct the bets of seat 1.", ({"action": "record_bet", "seat": 1},))
    bet(house, 1, ante_bonus=5)
    house.ask(act.CloseBets, seats=(1,))
    house.refused(act.RecordBet, seat=1, bet="ante", amount=10)


@clause("11.B")
def test_a_forfeited_hand_without_a_side_bet_leaves_at_once() -> None:
    house = a_table()
    bet(house, 1, ante=5, ante_bonus=5)
    bet(house, 4, ante=5, ante_bonus=5, dragon_wager=2)
    house.deal((1, 4))
    assert house.refused(act.DecideHand, target="seat4", choice="forfeit").clause == ("11.B",)  # seat 1 is first
    for seat in ("seat1", "seat4"):
        house.ask(act.DecideHand, target=seat, choice="forfeit")
    house.ask(act.CollectHand, target="seat1")
    assert house.refused(act.CollectHand, target="seat4").clause == ("11.E",)  # its dragon wager still needs the cards


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
    assert house.refused(act.CollectHand, target="seat1").clause == ("11.E",)
