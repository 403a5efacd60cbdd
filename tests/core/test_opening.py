"""The opening procedure (chapter 4), idle tables, and decks arriving and leaving."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, TableState
from controller.core.names import known_name
from controller.core.setup import Setup, ShufflerKind
from firmware_bridge.wire.messages import CardsPresent, Place
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


@clause("4.F")
def test_a_prepared_deck_needs_an_origin_and_a_second_person() -> None:
    house = House(Setup(backs=("red",), shuffler=None))
    house.ask(act.OpenTable)
    for nothing in ("", "  "):
        assert house.refused(act.ReceiveDeck, "red-1", "red", True, nothing).clause == ("4.F",)
    house.ask(act.ReceiveDeck, "red-1", "red", True, "the card room", who="sam")
    assert house.at() is TableState.OPENING
    assert house.deck("red-1") is DeckState.RECEIVED
    for early in (act.CutDeck, act.LoadDeck):
        assert house.refused(early, "red-1", *([20] if early is act.CutDeck else []))
    step = house.table.next_step()
    assert (step.do[0], step.clause) == ({"action": "accept_deck", "deck": "red-1"}, ("4.F",))
    assert "the card room" in step.why
    assert house.refused(act.AcceptDeck, "red-1", role=Role.DEALER).clause == ("4.F",)
    for same in ("sam", "Sam"):
        assert house.refused(act.AcceptDeck, "red-1", who=same).clause == ("4.F",)
    house.ask(act.AcceptDeck, "red-1")
    (accepted,) = house.find("deck.accepted_prepared")
    assert (accepted.data["who"], accepted.data["came_from"]) == ("flo", "the card room")
    assert house.at() is TableState.WAITING
    same_after_snapshot(house)


@clause("4.F", "4.A")
def test_a_deck_that_nobody_prepared_is_inspected_and_not_accepted() -> None:
    house = opened(Setup(backs=("red",)))
    assert house.refused(act.AcceptDeck, "red-1").clause == ("4.A",)
    house = House(Setup(backs=("red",)))
    house.ask(act.OpenTable)
    house.ask(act.ReceiveDeck, "red-1", "red", True, "the card room")
    house.ask(act.InspectDeck, "red-1")  # a prepared deck may take the longer way too
    assert house.deck("red-1") is DeckState.INSPECTED


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
    house = opened(Setup(backs=("red",)))
    house.report("shuffler", CardsPresent, place=Place.INFEED, present=True)
    assert house.last[-1].kind == "cards.unexpected"
    assert house.deck("red-1") is DeckState.RECEIVED
    for step in STEPS:
        house.ask(step, "red-1")
    house.auto_work = False
    house.report("shuffler", CardsPresent, place=Place.INFEED, present=True)
    assert house.deck("red-1") is DeckState.INFEED, "now it can only be this deck"


@clause("4.A")
def test_a_deck_put_into_the_shuffler_as_the_guide_says_is_not_unexpected() -> None:
    """The other deck is within reach too, so a person says which one it is: the guide asks."""
    house = opened()
    for step in STEPS:
        house.ask(step, "red-1")
    assert house.table.next_step().text == "Put deck red-1 into the shuffler."
    house.auto_work = False
    house.report("shuffler", CardsPresent, place=Place.INFEED, present=True)
    assert [event.kind for event in house.last] == ["device.reported"]
    assert house.table.next_step().text == ("Report that deck red-1 is in the shuffler, or take the cards out again.")
    house.report("shuffler", CardsPresent, place=Place.INFEED, present=False)
    assert house.table.next_step().text == "Put deck red-1 into the shuffler."
    house.report("shuffler", CardsPresent, place=Place.INFEED, present=True)
    house.ask(act.InsertDeck, "red-1")
    assert house.deck("red-1") is DeckState.INFEED
    assert not house.find("cards.unexpected")
    same_after_snapshot(house)


@clause("3.B(1)", "3.B")
def test_only_decks_that_are_wanted_come_to_the_table() -> None:
    house = House()
    house.ask(act.OpenTable)
    assert house.refused(act.ReceiveDeck, "g", "green").clause == ("3.B(1)",)
    house.receive("red-1", "red")
    assert house.refused(act.ReceiveDeck, "red-2", "red").clause == ("3.B(1)",)
    again = house.refused(act.ReceiveDeck, "red-1", "blue")
    assert (again.data["reason"], again.clause) == ("deck red-1 is already at the table", ("5.D",))


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


@clause("5.H")
def test_wagers_do_not_outlast_the_players() -> None:
    house = House().open()
    house.ask(act.Wager, (1, 3))
    house.ask(act.IdleTable)
    assert house.find("table.idled")[-1].data["wagers"] == [1, 3]
    assert house.state.seats == []
    same_after_snapshot(house)


@clause("5.H")
def test_the_table_does_not_idle_while_a_deck_is_on_its_way_into_the_shoe() -> None:
    house = House().open()
    house.faults["shuffler", "Deliver"] = "stall"
    house.deal()
    house.finish()
    assert house.at() is TableState.WAITING
    refusal = house.refused(act.IdleTable)
    assert (refusal.clause, refusal.data["reason"]) == (("5.H",), "a deck is on its way into the shoe")


def test_wagers_do_not_outlast_the_table() -> None:
    house = House(Setup(backs=("red",))).open()
    house.ask(act.Wager, (1, 3))
    house.ask(act.UnloadDeck, "red-1")
    house.ask(act.CloseTable)
    assert house.find("table.closed")[-1].data["wagers"] == [1, 3]
    assert house.state.seats == []
    same_after_snapshot(house)


@clause("3.B(1)", "5.D")
def test_names_of_backs_and_decks_differ_in_more_than_case_and_spaces() -> None:
    house = House(Setup(backs=(" Red", "BLUE ")))
    assert house.state.setup.backs == ("red", "blue")
    house.ask(act.OpenTable)
    assert house.refused(act.ReceiveDeck, "  ", "red").data["reason"] == "the deck has no name"
    house.ask(act.ReceiveDeck, " Red-1 ", "RED")
    assert house.state.decks["red-1"].back == "red"
    assert house.refused(act.ReceiveDeck, "RED-1", "blue").clause == ("5.D",)
    assert house.refused(act.ReceiveDeck, "red-2", "Red ").clause == ("3.B(1)",)
    house.ask(act.InspectDeck, "Red-1")
    house.ask(act.RemoveDeck, "RED-1 ")
    assert house.refused(act.ReceiveDeck, "red-1 ", "red").clause == ("5.D",)
    same_after_snapshot(house)


def test_names_that_an_older_version_stored_are_still_known() -> None:
    house = House(Setup(backs=("red",)))
    house.state.setup = Setup(backs=("Red ",))
    house.state.due = "Red "
    house.ask(act.OpenTable)
    house.table.handle(act.ReceiveDeck("x", "red", who="dana", role=Role.DEALER), house.now)
    assert house.state.decks["x"].back == "Red "
    house.state.decks["Red-1"] = house.state.decks.pop("x")
    house.table.handle(act.InspectDeck("red-1", who="dana", role=Role.DEALER), house.now)
    assert house.deck("Red-1") is DeckState.INSPECTED
    assert known_name("Red ", ["red", "Red "]) == "Red ", "the exact name comes first"


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
