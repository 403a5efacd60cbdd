"""Rounds with the automated shoe, and two decks taking turns."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.history import impact, rebuild
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup, ShufflerKind
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
ONE_DECK = Setup(backs=("red",))
HELD = Setup(hold_dealer=True)


@clause("10", "10.B(1)(2)", "2.A")
def test_stacks_of_three_go_to_the_seats_that_wagered_from_the_left() -> None:
    house = House().open()
    events = house.play((6, 1, 3))
    taken = [(event.data["target"], event.data["cards"]) for event in events if event.kind == "stack.taken"]
    assert taken == [("seat1", 3), ("seat3", 3), ("seat6", 3), ("dealer", 3)]
    asked = [e.data["command"] for e in events if e.kind == "command.given" and e.data["command"]["name"] == "Dispense"]
    assert all(command == {"name": "Dispense", "cards": 3, "hold": False} for command in asked)
    same_after_snapshot(house)


@clause("10.B(1)(2)")
def test_the_next_stack_comes_only_when_the_last_was_taken() -> None:
    house = House().open()
    house.auto_take = False
    house.ask(act.CloseBets, (1, 2))
    for expected in ("seat1", "seat2", "dealer"):
        assert house.state.devices["shoe"].at_exit is not None
        assert house.state.devices["shoe"].at_exit.target == expected
        house.tick(60)
        assert len(house.find("stack.dispensed")) == ("seat1", "seat2", "dealer").index(expected) + 1
        house.take("shoe")


@clause("2.A")
def test_no_seat_that_is_not_there() -> None:
    house = House(Setup(seats=4)).open()
    for seats in ((5,), (0,), (1, 1), (7,)):
        assert house.refused(act.CloseBets, seats).clause == ("2.A",)
        assert house.refused(act.Wager, seats).clause == ("2.A",)
    house.ask(act.Wager, (4, 2))
    house.ask(act.CloseBets)
    assert house.find("round.started")[-1].data["seats"] == [2, 4]


@clause("10.B(1)(2)")
def test_no_round_without_a_wager() -> None:
    house = House().open()
    assert house.refused(act.CloseBets, ()).clause == ("10.B(1)(2)",)


@clause("3.B(3)", "3.B(2)")
def test_two_decks_take_turns() -> None:
    house = House().open()
    decks = []
    for _ in range(6):
        events = house.play()
        decks.append(next(e.data["deck"] for e in events if e.kind == "round.started"))
        assert house.at() is TableState.BETTING
        other = next(d for d in house.state.decks.values() if d.back != house.state.due)
        assert other.state is DeckState.SHUFFLED
    assert decks == ["red-1", "blue-1"] * 3


@clause("3.B(3)")
def test_the_deck_that_is_not_due_cannot_be_loaded_by_anyone() -> None:
    house = House(Setup(shuffler=ShufflerKind(counts=True)))
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.receive("blue-1", "blue")
    for deck in ("red-1", "blue-1"):
        for step in (act.InspectDeck, act.VerifyDeck, act.SpreadDeck, act.WashDeck, act.StackDeck):
            house.ask(step, deck)
    assert house.refused(act.InsertDeck, "blue-1").clause == ("3.B(3)",)
    house.insert("red-1")
    assert house.deck("red-1") is DeckState.DELIVERED
    house.insert("blue-1")
    assert house.deck("blue-1") is DeckState.SHUFFLED
    assert house.refused(act.LoadDeck, "blue-1").clause == ("5.B",)
    house.ask(act.LoadDeck, "red-1")
    assert house.at() is TableState.BETTING
    assert house.refused(act.LoadDeck, "red-1").data["possible_when"]


@clause("3.B(2)")
def test_no_round_starts_while_the_other_deck_is_not_in_the_shuffler() -> None:
    house = House().open()
    house.deal()
    house.finish()
    assert house.at() is TableState.WAITING
    assert house.deck("blue-1") is DeckState.LOADED
    assert house.deck("red-1") is DeckState.RACKED
    assert house.refused(act.CloseBets, (1,))
    house.auto_work = False
    house.insert("red-1")
    assert house.at() is TableState.WAITING, "a deck in the infeed is not shuffled yet"
    house.auto_work = True
    house.tick()
    assert house.at() is TableState.BETTING


@clause("3.B(4)")
def test_the_rack_holds_one_deck() -> None:
    house = House().open()
    house.deal()
    other = house.state.decks["blue-1"].cards
    other["output"] -= 1
    other["rack"] = 1  # somebody has dropped a blue card into the rack
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    assert house.attempt(act.CollectHand, "seat1")[0].clause == ("3.B(4)",)
    assert house.attempt(act.CollectAll)[0].clause == ("3.B(4)",)


@clause("10.B(3)(4)", "11.D(2)")
def test_the_held_stack_stays_in_until_the_players_have_acted() -> None:
    house = House(HELD).open()
    house.deal((2, 5))
    assert house.at() is TableState.ACTING
    assert house.find("dealer.held")
    assert house.state.decks["red-1"].cards["held"] == 3
    assert house.refused(act.RevealDealer).clause == ("11.D(2)",)
    house.tick(600)
    assert not [e for e in house.find("command.given") if e.data["command"]["name"] == "Release"]
    house.ask(act.PlayersActed)
    assert house.state.decks["red-1"].cards["dealer"] == 3
    house.ask(act.RevealDealer)
    house.ask(act.CollectAll)
    assert house.find("round.completed")
    same_after_snapshot(house)


@clause("11.D(2)")
def test_the_dealers_cards_are_shown_after_the_players() -> None:
    house = House().open()
    house.deal()
    assert house.refused(act.RevealDealer).clause == ("11.D(2)",)
    assert house.refused(act.CollectHand, "dealer")
    house.ask(act.PlayersActed)
    assert house.refused(act.CollectHand, "dealer").clause == ("11.D(2)",)
    assert house.refused(act.CollectAll).clause == ("11.D(2)",)


@clause("10.B(5)")
def test_the_round_is_not_complete_while_the_shoe_holds_cards() -> None:
    house = House().open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.take("shoe")
    house.take("shoe")
    assert house.state.devices["shoe"].at_exit is not None
    assert house.state.devices["shoe"].at_exit.target == "stub"
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    house.ask(act.CollectAll)
    assert house.at() is TableState.CLEARING
    assert "stub" in house.table.next_step().text
    house.take("shoe")
    assert house.find("round.completed")


@clause("11.E")
def test_every_hand_can_be_told_afterwards() -> None:
    house = House(recognises=True).open()
    house.kinds = [2, 7, 7]
    house.deal((1, 4))
    house.ask(act.PlayersActed)
    house.ask(act.CollectHand, "seat4")
    house.ask(act.RevealDealer)
    house.ask(act.CollectAll)
    rebuilt = rebuild(house.events, 1)
    assert rebuilt["deck"] == "red-1"
    kinds = ["gold dragon", "rabbit", "rabbit"]
    assert rebuilt["hands"]["seat4"] == {"cards": 3, "kinds": kinds, "seen": "known"}
    assert rebuilt["collected"] == ["seat4", "seat1", "dealer"]
    assert rebuilt["ended"] == "round.completed"
    assert rebuild(house.events, 9) == {}


@clause("5.A")
def test_a_deck_is_shuffled_after_every_round() -> None:
    house = House(ONE_DECK).open()
    house.deal()
    house.finish()
    assert house.deck("red-1") is DeckState.RACKED
    assert house.refused(act.LoadDeck, "red-1").clause == ("5.A",)
    house.work()
    assert house.at() is TableState.BETTING


@clause("5.D")
def test_which_rounds_were_dealt_since_the_last_good_count() -> None:
    house = House(Setup(backs=("red",), shuffler=ShufflerKind())).open()
    for _ in range(3):
        house.play((1,))
    found = impact(house.events, "red-1")
    assert [entry["round"] for entry in found] == [1, 2, 3]
    assert found[0]["stacks"] == [{"target": "seat1", "cards": 3}, {"target": "dealer", "cards": 3}]
    counting = House(ONE_DECK).open()
    counting.play((1,))
    assert impact(counting.events, "red-1") == []
    counting.deal((2,))
    assert [entry["round"] for entry in impact(counting.events, "red-1")] == [2]
