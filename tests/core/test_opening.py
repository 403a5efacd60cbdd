"""The opening procedure (chapter 4), idle tables, and decks arriving and leaving."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup, ShufflerKind
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
STEPS: list[type[act.OnDeck]] = [act.InspectDeck, act.VerifyDeck, act.SpreadDeck, act.WashDeck, act.StackDeck]
THEN: list[type[act.OnDeck]] = [act.InsertDeck, act.LoadDeck]


def opened(setup: Setup | None = None) -> House:
    house = House(setup)
    house.ask(act.OpenTable)
    for back in house.setup.backs:
        house.receive(f"{back}-1", back)
    return house


@clause("4.A", "4.B", "4.C", "4.D")
def test_a_deck_goes_through_chapter_4_step_by_step() -> None:
    house = opened(Setup(backs=("red",)))
    for at, step in enumerate(STEPS):
        for later in STEPS[at + 1 :] + THEN:
            refusal = house.refused(later, "red-1")
            assert refusal.data["possible_when"]
        assert house.at() is TableState.OPENING
        house.ask(step, "red-1")
    assert house.at() is TableState.WAITING
    assert house.refused(act.LoadDeck, "red-1").clause == ("5.A",)
    house.work()
    assert house.at() is TableState.BETTING


@clause("4.A")
def test_the_floorperson_verifies_and_is_somebody_else() -> None:
    house = opened(Setup(backs=("red",)))
    house.ask(act.InspectDeck, "red-1", who="sam")
    assert "floor" in house.refused(act.VerifyDeck, "red-1", role=Role.DEALER).data["possible_when"]
    assert house.refused(act.VerifyDeck, "red-1", who="sam").clause == ("4.A",)
    assert house.refused(act.VerifyDeck, "red-1", role=Role.AUDITOR)
    house.ask(act.VerifyDeck, "red-1", who="flo")


@clause("4.A")
def test_the_dealer_inspects() -> None:
    house = opened(Setup(backs=("red",)))
    assert house.refused(act.InspectDeck, "red-1", role=Role.FLOOR)
    house.ask(act.InspectDeck, "red-1", good=False)
    assert house.deck("red-1") is DeckState.LOCKED_OUT
    house.ask(act.RemoveDeck, "red-1")
    assert house.refused(act.ReceiveDeck, "red-1", "red").clause == ("5.D",)


@clause("4.E")
def test_each_of_two_decks_goes_through_it() -> None:
    house = opened()
    for step in STEPS:
        house.ask(step, "red-1")
    assert house.at() is TableState.OPENING
    assert house.refused(act.InsertDeck, "blue-1").clause == ("4.A", "5.A")
    for step in STEPS:
        assert house.at() is TableState.OPENING
        house.ask(step, "blue-1")
    assert house.at() is TableState.WAITING


@clause("4.F", "5.E")
def test_a_prepared_deck_skips_the_opening_and_is_cut() -> None:
    house = House(Setup(backs=("red",), shuffler=None))
    house.ask(act.OpenTable)
    house.receive("red-1", "red", prepared=True)
    assert house.at() is TableState.WAITING
    assert house.refused(act.LoadDeck, "red-1").clause == ("5.E", "5.F")
    house.ask(act.CutDeck, "red-1", 25)
    house.ask(act.LoadDeck, "red-1")
    assert house.at() is TableState.BETTING


@clause("4.F", "10.A")
def test_a_prepared_deck_is_counted_where_the_shuffler_counts() -> None:
    house = House(Setup(backs=("red",)))
    house.ask(act.OpenTable)
    house.receive("red-1", "red", prepared=True)
    house.ask(act.CutDeck, "red-1", 25)
    assert house.refused(act.LoadDeck, "red-1").clause == ("10.A", "5.D")
    house.insert("red-1")
    house.work()
    assert house.at() is TableState.BETTING


@clause("4.A")
def test_cards_put_into_a_device_before_their_time_are_noticed() -> None:
    from firmware_bridge.wire.messages import CardsPresent, Place

    house = opened(Setup(backs=("red",)))
    house.report("shuffler", CardsPresent, place=Place.INFEED, present=True)
    assert house.last[-1].kind == "cards.unexpected"
    assert house.deck("red-1") is DeckState.RECEIVED
    for step in STEPS:
        house.ask(step, "red-1")
    house.auto_work = False
    house.report("shuffler", CardsPresent, place=Place.INFEED, present=True)
    assert house.deck("red-1") is DeckState.INFEED, "now it can only be this deck"


@clause("3.B(1)", "3.B")
def test_only_decks_that_are_wanted_come_to_the_table() -> None:
    house = House()
    house.ask(act.OpenTable)
    assert house.refused(act.ReceiveDeck, "g", "green").clause == ("3.B(1)",)
    house.receive("red-1", "red")
    assert house.refused(act.ReceiveDeck, "red-2", "red").clause == ("3.B(1)",)
    assert house.refused(act.ReceiveDeck, "red-1", "blue").clause == ("5.D",)


@clause("5.H")
@pytest.mark.parametrize("setup", [Setup(), Setup(method=Setup().method.MANUAL_SHOE, backs=("red",), shuffler=None)])
def test_without_players_the_cards_leave_the_shoe_and_lie_spread(setup: Setup) -> None:
    house = House(setup).open()
    house.play()
    house.ask(act.IdleTable)
    assert house.at() is TableState.IDLE
    house.work(stop=TableState.CLOSED)  # the cards come out
    assert not house.count("shoe", "manual_shoe")
    assert house.refused(act.PlayerArrived).clause == ("5.H",)
    (out,) = [name for name, deck in house.state.decks.items() if deck.cards.get("table")]
    assert "Spread" in house.table.next_step().text
    house.ask(act.SpreadDeck, out)
    house.ask(act.PlayerArrived)
    assert house.at() is TableState.OPENING
    assert house.refused(act.InsertDeck, out).data["possible_when"]
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("5.I", "5.J", "5.H")
def test_a_device_that_reshuffles_by_itself_needs_none_of_it() -> None:
    house = House(Setup(backs=("red",), shuffler=ShufflerKind(counts=True, reshuffles=True, feeds_shoe=True))).open()
    house.ask(act.IdleTable)
    assert house.deck("red-1") is DeckState.LOADED
    house.ask(act.PlayerArrived)
    assert house.at() is TableState.BETTING
    assert house.refused(act.RequireRecut, "red-1").clause == ("5.J",)
    fresh = House(Setup(backs=("red",), shuffler=ShufflerKind(counts=True, reshuffles=True, feeds_shoe=True)))
    fresh.ask(act.OpenTable)
    fresh.receive("red-1", "red", prepared=True)
    assert fresh.refused(act.CutDeck, "red-1", 20).clause == ("5.J",)


def test_closing_leaves_nothing_in_a_device() -> None:
    house = House().open()
    assert house.refused(act.CloseTable)
    house.auto_work = False
    house.ask(act.UnloadDeck, "red-1")
    assert "shuffler" in house.refused(act.CloseTable).data["reason"]
    house.auto_work = True
    house.tick()
    house.ask(act.CloseTable)
    assert house.at() is TableState.CLOSED
    assert not house.state.decks
    assert house.table.next_step().text == "Open the table."
    house.ask(act.OpenTable)
    assert house.refused(act.ReceiveDeck, "red-1", "red").clause == ("5.D",)
    same_after_snapshot(house)


@clause("4.A")
def test_a_damaged_deck_is_replaced() -> None:
    house = House().open()
    house.deal()
    assert house.refused(act.RejectDeck, "red-1").data["possible_when"]
    house.finish()
    house.ask(act.RejectDeck, "red-1", "a corner is bent")
    assert house.at() is TableState.SUSPENDED
    house.work(stop=TableState.WAITING)
    assert "red-1" not in house.state.decks
    house.receive("red-2", "red")
    house.work()
    assert house.at() is TableState.BETTING


@clause("4.A")
@pytest.mark.parametrize("command", ["Shuffle", "Deliver"])
def test_a_deck_that_a_device_is_about_to_move_is_neither_rejected_nor_recalled(command: str) -> None:
    """The shuffler would continue with a deck that is locked out, and the ledger would be wrong about its cards."""
    house = House()
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.receive("blue-1", "blue")
    house.auto_work = False
    while not (doing := house.state.devices["shuffler"].doing) or doing.name != command:
        if doing:
            house.step()
        else:
            assert house.do_next_task()
    assert not doing.answered
    assert (
        house.refused(act.RejectDeck, "red-1").data["possible_when"] == "its round is over and no device is moving it"
    )
    for recall in (act.UnloadDeck, act.DirectReshuffle):
        assert house.refused(recall, "red-1").data["reason"] == "the shuffler is moving the deck"
    house.auto_work = True
    house.tick()
    house.work()
    assert house.at() is TableState.BETTING


def test_people_do_only_what_is_theirs() -> None:
    house = House().open()
    for kind, fields in (
        (act.CloseBets, ((1,),)),
        (act.TakeOutOfService, ("shoe", "covered")),
        (act.RemoveDeck, ("red-1",)),
        (act.DirectReshuffle, ("red-1",)),
    ):
        assert house.refused(kind, *fields, role=Role.AUDITOR).data["reason"] == "an auditor may not do this"
    assert house.refused(act.UnloadDeck, "nobody").data["reason"] == "deck nobody is not at the table"
    assert house.refused(act.TestDevice, "camera").data["reason"] == "the table has no camera"
