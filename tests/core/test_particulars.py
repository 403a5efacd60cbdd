"""Details that whole rounds do not reach: rare refusals, the clauses that events cite, unusual numbers."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.events.event import Entry
from controller.core.history import impact
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.reports import CommandReply, DeviceReady
from controller.core.rules.guards import HOUR_MS
from controller.core.setup import Setup, ShufflerKind
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Outcome, Place
from tests.support.core_driver import House

clause = pytest.mark.clause
ONE = Setup(backs=("red",))
HELD = Setup(backs=("red",), hold_dealer=True)
MANUAL = Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None)


def given(house: House, name: str) -> list[Entry]:
    """The commands of this name."""
    return [event for event in house.find("command.given") if event.data["command"]["name"] == name]


def dealing(setup: Setup = ONE) -> House:
    """The shoe has its first command and has not carried it out."""
    house = House(setup).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    return house


# --- the deal -------------------------------------------------------------------------------------------------------


@clause("3.C")
def test_what_forbids_a_round_is_told_before_nobody_has_wagered() -> None:
    house = House(ONE).open()
    house.state.decks["red-1"].in_play_ms = 0
    house.now = 9 * HOUR_MS / 1000
    made = house.attempt(act.CloseBets, ())
    assert made[0].clause == ("3.C",)


@clause("10.B(3)(4)")
def test_only_the_dealers_stack_is_held_and_only_by_the_shoe() -> None:
    house = House(HELD).open()
    house.deal((2, 5))
    assert [event.data["command"]["hold"] for event in given(house, "Dispense")] == [False, False, True]
    assert [event.clause for event in house.find("stack.dispensed")] == [("10.B(1)(2)",)] * 2
    assert [event.clause for event in house.find("dealer.held")] == [("10.B(3)(4)",)]
    house = House(HELD).open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.work()
    house.ask(act.CloseBets, (2,))
    house.deal_by_hand()
    assert house.at() is TableState.ACTING
    assert house.state.decks["red-1"].cards["dealer"] == 3, "there is no shoe to hold it"


@clause("13.A")
def test_the_clause_of_a_stack_says_whether_a_card_went_to_the_rack() -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = "face_up"
    house.deal((1,))
    assert [event.clause for event in house.find("stack.taken")][:2] == [("13.A",), ("10.B(1)(2)",)]


@clause("13.D")
@pytest.mark.parametrize("number", [0, 60])
def test_a_stack_of_none_or_of_more_than_there_are(number: int) -> None:
    house = dealing()
    doing = house.state.devices["shoe"].doing
    assert doing
    house.report("shoe", wire.StackPresented, command=doing.id, place=Place.EXIT, cards=number)
    assert house.find("round.voided")[-1].clause == ("13.D",)
    assert bool(house.find("ledger.disagreed")) is (number == 60)


@clause("13.D")
def test_no_card_was_taken() -> None:
    house = dealing()
    house.step()
    at_exit = house.state.devices["shoe"].at_exit
    assert at_exit
    house.report("shoe", wire.StackTaken, command=at_exit.id, place=Place.EXIT, cards=0)
    assert house.find("round.voided")[-1].clause == ("13.D",)
    assert house.find("ledger.disagreed")[-1].data["missing"] == 3


@clause("10.B(5)", "10.E")
@pytest.mark.parametrize("number", [0, 46])
def test_a_stub_that_the_shoe_counts_wrong_is_asked_about_before_it_is_taken(number: int) -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.take("shoe")
    house.auto_work = False
    house.take("shoe")
    eject = house.state.devices["shoe"].doing
    assert eject
    assert eject.target == "stub"
    house.report("shoe", wire.StackPresented, command=eject.id, place=Place.EXIT, cards=number)
    assert house.at() is TableState.STUB_COUNT
    assert house.find("count.rejected")[-1].clause == ("10.E",)
    assert house.find("count.rejected")[-1].data["by"] == "stub by shoe"
    assert house.find("ledger.disagreed")[-1].data["missing"] == 47 - number


@clause("10.B(5)", "10.E")
@pytest.mark.parametrize("number", [47, 46, -1])
def test_the_stub_is_taken_from_the_exit(number: int) -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.deal((1,))
    house.take("shoe")
    house.take("shoe")
    stub = house.state.devices["shoe"].at_exit
    assert stub
    house.report("shoe", wire.StackTaken, command=stub.id, place=Place.EXIT, cards=number)
    (removed,) = house.find("stub.removed")
    assert (removed.clause, removed.data["cards"]) == (("10.B(5)",), number)
    assert (house.at() is TableState.STUB_COUNT) is (number == 46)
    assert bool(house.find("ledger.disagreed")) is (number == 46)


@clause("8")
def test_what_is_dealt_by_hand_is_dealt_once() -> None:
    house = House(MANUAL).open()
    house.deal((1,))
    house.refused(act.FinishDeal)
    house.refused(act.DealCards, "seat1")


@clause("11.D(2)")
def test_the_dealers_held_cards_must_be_out_before_they_are_shown() -> None:
    house = House(HELD).open()
    house.deal((1,))
    house.auto_work = False
    house.ask(act.PlayersActed)
    assert house.refused(act.RevealDealer).clause == ("11.D(2)",)
    house.auto_work = True
    house.tick()
    house.ask(act.RevealDealer)


@clause("11.E")
def test_hands_are_collected_one_by_one_in_any_order() -> None:
    house = House(ONE).open()
    house.deal((1, 4))
    house.ask(act.PlayersActed)
    house.ask(act.CollectHand, "seat1")
    assert house.refused(act.CollectHand, "seat1").clause == ("11.E",)
    assert house.refused(act.CollectHand, "rack").clause == ("11.E",)
    house.ask(act.RevealDealer)
    house.ask(act.CollectHand, "dealer")
    house.ask(act.CollectHand, "seat4")
    assert [event.data["target"] for event in house.find("hand.collected")] == ["seat1", "dealer", "seat4"]
    assert house.find("round.completed")


# --- the stub -------------------------------------------------------------------------------------------------------


@clause("8.E", "8.G")
def test_a_stub_is_counted_when_it_lies_there_and_once() -> None:
    house = House(MANUAL).open()
    house.deal((1,))
    house.refused(act.CountStub, 47)  # it is still in
    house.ask(act.WantStubCount)
    house.ask(act.RemoveStub)
    house.refused(act.CountStub, -1)
    house.ask(act.CountStub, 47)
    house.refused(act.CountStub, 47)  # it has been counted
    house = House(MANUAL).open()
    house.deal((1,))
    house.ask(act.RemoveStub)
    house.refused(act.CountStub, 47)  # it went to the rack: no count was requested


@clause("8.G")
def test_a_stub_counted_wrong_leaves_its_difference_in_the_ledger() -> None:
    house = House(MANUAL).open()
    house.deal((1,))
    house.ask(act.WantStubCount)
    house.ask(act.RemoveStub)
    house.ask(act.CountStub, 45)
    assert house.state.decks["red-1"].cards == {"stub": 45, "missing": 2, "seat1": 3, "dealer": 3}
    rejected = house.find("count.rejected")[-1]
    assert (rejected.clause, rejected.data["by"], rejected.data["expected"]) == (("8.G",), "stub by dealer", 47)


# --- devices --------------------------------------------------------------------------------------------------------


@clause("13.G")
def test_a_device_that_comes_back_is_as_wrong_as_it_was() -> None:
    house = dealing()
    house.faults["shoe", "Dispense"] = "jam"
    house.step()
    house.disconnect("shoe")
    house.connect("shoe")
    assert house.device("shoe") is DeviceState.JAMMED
    house = dealing()
    house.faults["shoe", "Dispense"] = "fail"
    house.step()
    house.disconnect("shoe")
    house.connect("shoe")
    assert house.device("shoe") is DeviceState.FAILED


@clause("13.G")
def test_a_command_refused_for_a_jam_is_a_jam() -> None:
    house = dealing()
    house.faults["shoe", "Dispense"] = "refuse:JAMMED"
    house.step()
    assert house.device("shoe") is DeviceState.JAMMED
    assert list(house.state.warnings) == ["shoe.jam"]
    assert house.find("round.voided")[-1].clause == ("13.G",)


def test_an_answer_to_another_command_is_no_answer_to_this_one() -> None:
    house = dealing()
    doing = house.state.devices["shoe"].doing
    assert doing
    assert house.table.handle(CommandReply("shoe", doing.id + 1, wire.Done(doing.id + 1)), house.now) == []
    assert not doing.answered
    house.handle(CommandReply("shoe", doing.id, wire.Done(doing.id)))
    assert house.table.handle(CommandReply("shoe", doing.id, wire.Done(doing.id)), house.now) == [], "only once"


@clause("13.G", "13.F")
def test_cards_taken_that_no_cycle_had_brought_out() -> None:
    house = dealing()
    house.report("shoe", wire.StackTaken, command=0, place=Place.EXIT, cards=2)
    assert house.find("round.voided")[-1].clause == ("13.G",)
    assert house.state.decks["red-1"].cards == {"shoe": 51, "taken": 2}
    house = House(ONE).open()
    house.auto_work = False
    house.report("shoe", wire.StackTaken, command=0, place=Place.EXIT, cards=2)
    assert not house.find("round.voided")
    assert house.find("deck.recalled")[-1].clause == ("13.G",)
    assert house.find("deck.recalled")[-1].data["reason"] == "cards were taken from the shoe"
    warned = house.state.warnings["shoe.cards"]
    assert (warned.text, warned.needs) == ("cards were taken from the shoe", "floor")
    house.report("shuffler", wire.StackTaken, command=0, place=Place.EXIT, cards=2)
    assert house.last[0].kind == "device.reported", "the ledger has no cards in it"


@clause("13.F")
def test_cards_taken_from_a_shuffler_that_shuffles() -> None:
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.auto_work = False
    while not house.find("deck.inserted"):
        assert house.do_next_task()
    doing = house.state.devices["shuffler"].doing
    assert doing
    house._answer("shuffler", doing.id)
    house.report("shuffler", wire.StackTaken, command=0, place=Place.EXIT, cards=2)
    assert house.find("shuffle.failed")[-1].clause == ("13.F",)


def late_shoe(target: str) -> tuple[House, int]:
    """The shoe's link was down too long during this command; it is back, with its memory."""
    house = House(ONE).open()
    house.auto_take = False
    if target == "stub":
        house.deal((1,))
        house.take("shoe")
        house.auto_work = False
        house.take("shoe")
    else:
        house.auto_work = False
        house.ask(act.CloseBets, (1,))
    doing = house.state.devices["shoe"].doing
    assert doing
    assert doing.target == target
    house._todo.clear()
    house.disconnect("shoe")
    house.tick(20)
    assert house.find("cycle.lost")[-1].data["id"] == doing.id
    house.connect("shoe")
    return house, doing.id


@clause("13.G")
def test_a_stack_that_comes_late_lies_at_the_exit() -> None:
    house, id = late_shoe("seat1")
    house.report("shoe", wire.CardFaceUp, command=id, place=Place.EXIT, kind=1)
    assert not house.find("card.face_up"), "the round is void already"
    house.report("shoe", wire.StackPresented, command=id, place=Place.EXIT, cards=3)
    assert house.state.decks["red-1"].cards == {"shoe": 50, "exit": 3}
    at_exit = house.state.devices["shoe"].at_exit
    assert at_exit
    assert at_exit.id == id
    house.report("shoe", wire.StackTaken, command=id, place=Place.EXIT, cards=3)
    assert house.state.decks["red-1"].cards == {"shoe": 50, "taken": 3}
    assert not house.find("ledger.disagreed")


@clause("13.G")
def test_what_comes_late_of_cards_that_were_fetched_by_hand_changes_nothing() -> None:
    house, id = late_shoe("seat1")
    house.disconnect("shoe")
    house.ask(act.ReturnWagers)
    house.ask(act.GatherCards, "red-1", "shoe", 53)
    house.connect("shoe")
    before = dict(house.state.decks["red-1"].cards)
    house.report("shoe", wire.StackPresented, command=id, place=Place.EXIT, cards=3)
    assert house.state.decks["red-1"].cards == before
    assert house.state.devices["shoe"].at_exit is None


@clause("10.B(5)")
@pytest.mark.parametrize("number", [47, 46])
def test_a_stub_that_comes_late_is_the_stub(number: int) -> None:
    house, id = late_shoe("stub")
    assert not house.find("round.voided")
    house.report("shoe", wire.StackPresented, command=id, place=Place.EXIT, cards=number)
    assert house.state.decks["red-1"].cards["exit"] == number
    assert (house.at() is TableState.STUB_COUNT) is (number == 46)


def test_the_end_of_a_late_cycle_frees_a_device_that_was_busy_with_it() -> None:
    house, id = late_shoe("seat1")
    house.faults["shoe", "Eject"] = "refuse:BUSY"
    house.ask(act.ReturnWagers)
    house.step()
    assert house.state.devices["shoe"].hindered == "it is busy"
    ended = {"cycle": wire.Cycle.DISPENSE, "outcome": Outcome.COMPLETE, "cards": 3, "duration_ms": 1}
    house.report("shoe", wire.CycleDone, command=id + 1, **ended)
    assert house.state.devices["shoe"].hindered
    house.report("shoe", wire.CycleDone, command=id, **ended)
    assert not house.state.devices["shoe"].hindered


@clause("13.F")
def test_a_shuffler_that_stops_in_the_deal_of_the_other_deck_voids_nothing() -> None:
    house = House().open()
    house.deal()
    house.finish()
    house.auto_work = False
    house.insert("red-1")
    shuffle = house.state.devices["shuffler"].doing
    assert shuffle
    house._answer("shuffler", shuffle.id)
    house.ask(act.CloseBets, (1, 2))
    assert house.at() is TableState.DEALING
    house.report("shuffler", wire.Jam, command=shuffle.id, place=Place.SHELVES)
    assert house.find("shuffle.failed")
    assert not house.find("round.voided")


@clause("13.G", "13.H")
def test_a_shoe_that_is_not_dealt_from_voids_nothing() -> None:
    house = House(ONE).open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.ask(act.PutInService, "shoe")
    house.work()
    house.ask(act.CloseBets, (1,))
    house.report("shoe", wire.Jam, command=0, place=Place.EXIT)
    assert "shoe.jam" in house.state.warnings
    assert not house.find("round.voided")


@clause("13.G")
def test_an_exchanged_device_has_given_its_command_up() -> None:
    house = dealing()
    doing = house.state.devices["shoe"].doing
    assert doing
    house.handle(DeviceReady("shoe", 7777, (), last_command=10_000))
    assert [event.data["id"] for event in house.find("cycle.lost")] == [doing.id]
    assert house.find("round.voided")[-1].clause == ("13.G",)


@clause("13.H")
def test_a_device_out_of_service_comes_and_goes_unnoticed_by_the_table() -> None:
    house = House(ONE).open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.disconnect("shoe")
    assert not house.state.devices["shoe"].online
    house.tick(60)
    house.ask(act.PutInService, "shoe")
    assert house.device("shoe") is DeviceState.UNKNOWN, "it is not connected"
    assert not house.state.warnings


@clause("10.A", "4.A")
def test_cards_where_nobody_expects_them() -> None:
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.report("shoe", wire.CardsPresent, place=Place.SHOE, present=True)
    assert house.find("cards.unexpected")[-1].clause == ("5.A", "5.D", "10.A")
    house.report("shuffler", wire.CardsPresent, place=Place.INFEED, present=True)
    assert house.find("cards.unexpected")[-1].clause == ("4.A",)
    for name, place in (("shoe", Place.INFEED), ("shuffler", Place.SHOE)):
        house.report(name, wire.CardsPresent, place=place, present=True)
        assert [event.kind for event in house.last] == ["device.reported"], "it has no such place"
    house.report("shoe", wire.CardsPresent, place=Place.SHOE, present=False)
    assert [event.kind for event in house.last] == ["device.reported"]


# --- what people ask of devices -------------------------------------------------------------------------------------


@clause("13.G")
def test_a_freed_jam_does_not_come_back_with_the_link() -> None:
    house = dealing()
    house.faults["shoe", "Dispense"] = "jam"
    house.step()
    house.auto_work = True
    house.ask(act.FreeJam, "shoe")
    assert house.state.warnings["shoe.jam"].gone
    house.disconnect("shoe")
    house.connect("shoe")
    assert house.device("shoe") is DeviceState.READY


def test_what_a_device_that_is_well_is_not_asked() -> None:
    house = House(ONE).open()
    assert house.refused(act.FreeJam, "shoe").clause == ("13.G",)
    assert house.refused(act.FreeJam, "shuffler").clause == ("13.F",)
    house.refused(act.TryAgain, "shoe")
    assert house.refused(act.TestDevice, "shoe").clause == ("5.A",)
    made = house.ask(act.TestDevice, "shuffler")
    assert [event.data["command"]["name"] for event in made if event.kind == "command.given"] == ["SelfTest"]


def test_a_device_is_emptied_when_nothing_is_in_the_way() -> None:
    house = House(HELD).open()
    house.ask(act.EmptyDevice, "shuffler")
    assert given(house, "Eject")[-1].data["deck"] == "", "an Eject shows that it is empty"
    house.deal((1,))
    assert house.state.decks["red-1"].cards["held"] == 3
    house.refused(act.EmptyDevice, "shoe")  # a round is being dealt from it
    house = dealing()
    house.step()
    house.ask(act.ReportDealerExposed)
    assert house.state.devices["shoe"].at_exit
    house.refused(act.EmptyDevice, "shoe")  # cards are at its exit


def test_a_device_is_searched_for_the_cards_that_are_missing() -> None:
    house = House(ONE).open()
    house.ask(act.UnloadDeck, "red-1")
    deck = house.state.decks["red-1"]
    deck.cards = {"table": 50, "missing": 3}
    house.auto_work = False
    house.ask(act.EmptyDevice, "shuffler")
    assert given(house, "Eject")[-1].data["deck"] == "red-1"


# --- out of service, and other dealing methods ----------------------------------------------------------------------


@clause("13.H")
def test_the_shoe_stays_while_a_round_is_dealt_from_it() -> None:
    house = House(HELD).open()
    house.deal((1,))
    assert house.refused(act.TakeOutOfService, "shoe", "marked").clause == ("13.H",)
    house.ask(act.TakeOutOfService, "shuffler", "marked")
    assert house.at() is TableState.ACTING
    house.ask(act.PutInService, "shuffler")


@clause("13.H")
def test_a_shoe_that_is_not_dealt_from_may_go_and_not_come_in_a_round() -> None:
    house = House(ONE).open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    assert house.refused(act.ChangeMethod, Method.AUTOMATED_SHOE).data["reason"] == "this is already the dealing method"
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    assert house.refused(act.ChangeMethod, Method.AUTOMATED_SHOE).clause == ("13.H",)
    house.ask(act.PutInService, "shoe")
    house.work()
    house.ask(act.CloseBets, (1,))
    house.ask(act.TakeOutOfService, "shoe", "covered")
    assert house.refused(act.PutInService, "shoe").clause == ("13.H",)


@clause("13.F", "13.H")
def test_what_was_in_a_shuffler_that_is_taken_out_is_shuffled_again() -> None:
    house = House().open()
    house.ask(act.TakeOutOfService, "shuffler", "covered")
    recalled = house.find("deck.recalled")[-1]
    assert (recalled.clause, recalled.data["deck"]) == (("13.F",), "blue-1")
    assert not house.find("turn.passed"), "two decks are still at the table"


@clause("3.B", "13.H")
def test_the_deck_that_is_left_without_a_shuffler_is_due() -> None:
    house = House().open()
    house.ask(act.UnloadDeck, "red-1")
    while house.deck("red-1") is not DeckState.STACKED:
        assert house.do_next_task()
    house.ask(act.RemoveDeck, "red-1")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    assert not house.find("turn.passed")
    house.ask(act.TakeOutOfService, "shuffler", "covered")
    assert [(event.clause, event.data["back"]) for event in house.find("turn.passed")] == [(("3.B",), "blue")]
    one = House(ONE).open()
    one.ask(act.TakeOutOfService, "shuffler", "covered")
    assert not one.find("turn.passed"), "it is already its turn"


@clause("13.H")
def test_a_device_that_returns_is_there_and_as_wrong_as_it_was() -> None:
    house = House(ONE).open()
    house.disconnect("shoe")
    house.tick(20)
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.connect("shoe")
    house.ask(act.PutInService, "shoe")
    assert house.state.warnings["shoe.lost"].gone
    house = House(ONE).open()
    house.report("shoe", wire.Jam, command=0, place=Place.EXIT)
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.PutInService, "shoe")
    assert house.device("shoe") is DeviceState.JAMMED


@clause("9.A(1)", "13.H")
def test_a_method_that_cannot_be_is_refused() -> None:
    house = House(ONE).open()
    house.ask(act.TakeOutOfService, "shuffler", "covered")
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    assert house.refused(act.ChangeMethod, Method.HAND).clause == ("9.A(1)",)
    fed = House(Setup(method=Method.MANUAL_SHOE, shuffler=ShufflerKind(counts=True, feeds_shoe=True))).open()
    fed.deal((1,))
    fed.finish()
    assert (fed.at(), fed.deck("blue-1")) == (TableState.WAITING, DeckState.LOADED)
    refused = fed.refused(act.ChangeMethod, Method.HAND)
    assert (refused.clause, refused.data["reason"]) == (("13.H",), "deck blue-1 is loaded")


# --- irregularities -------------------------------------------------------------------------------------------------


@clause("13.G")
def test_a_void_round_is_not_voided_again() -> None:
    house = dealing()
    house.ask(act.ReportDealerExposed)
    house.report("shoe", wire.Jam, command=0, place=Place.EXIT)
    assert [event.clause for event in house.find("round.voided")] == [("13.E",)]


@clause("13.A")
def test_a_face_up_card_is_told_with_the_device_that_saw_it() -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = "face_up"
    house.deal((1,))
    assert [event.data.get("device") for event in house.find("card.face_up")] == ["shoe"]
    house = dealing()
    house.step()
    house.ask(act.ReportFaceUp)
    assert ["device" in event.data for event in house.find("card.face_up")] == [False]
    assert house.state.round
    assert house.state.round.to_rack == 1


@clause("13.A", "13.C")
def test_irregular_cards_need_a_card_that_is_left() -> None:
    house = House(MANUAL).open()
    house.deal((1,))
    house.ask(act.RemoveStub)
    assert house.refused(act.ReportFaceUp).clause == ("13.A",)
    house = House(MANUAL).open()
    house.ask(act.CloseBets, (1,))
    round_ = house.state.round
    assert round_
    round_.dealt = len(round_.plan)
    assert house.attempt(act.ReportDrawnInError)[0].data["reason"] == "all hands have their cards"


@clause("13.D")
def test_a_wrong_number_is_any_number_but_the_right_one() -> None:
    house = House(ONE).open()
    house.deal((1,))
    for right in (3, -1):
        assert house.refused(act.ReportWrongNumber, "seat1", right).clause == ("13.D",)
    house.ask(act.ReportWrongNumber, "seat1", 0)
    (found,) = house.find("hand.found_wrong")
    assert (found.data["cards"], found.data["share"]) == (0, 3)
    assert house.find("round.voided")[-1].data["reason"] == "seat 1 has 0 cards instead of 3"


@clause("8.G")
@pytest.mark.parametrize(("misdealt", "why"), [(True, "cards were misdealt"), (False, "the deck is not complete")])
def test_the_answer_about_a_misdeal_is_kept(misdealt: bool, why: str) -> None:
    house = House(MANUAL).open()
    house.deal((1,))
    house.ask(act.WantStubCount)
    house.ask(act.RemoveStub)
    house.ask(act.CountStub, 46)
    house.ask(act.AnswerMisdeal, misdealt)
    assert [event.data["misdealt"] for event in house.find("misdeal.answered")] == [misdealt]
    assert house.find("round.voided")[-1].data["reason"] == why


# --- who, what and when ---------------------------------------------------------------------------------------------


def test_nobody_is_not_somebody() -> None:
    house = House(ONE).open()
    made = house.do(act.CloseBets((1,), who="", role=Role.DEALER))
    assert made[0].kind == "action.refused"


@clause("5.D")
def test_a_deck_that_has_left_is_told_from_one_that_never_was() -> None:
    house = House(ONE).open()
    house.ask(act.UnloadDeck, "red-1")
    while house.deck("red-1") is not DeckState.STACKED:
        assert house.do_next_task()
    house.ask(act.RemoveDeck, "red-1")
    assert house.refused(act.InsertDeck, "red-1").data["reason"] == "deck red-1 has left the table for good"
    unknown = house.refused(act.InsertDeck, "red-9")
    assert (unknown.data["reason"], unknown.clause) == ("deck red-9 is not at the table", ())


@clause("10")
def test_bets_are_closed_once() -> None:
    house = dealing()
    refused = house.refused(act.CloseBets, (1,))
    assert (refused.data["reason"], refused.clause) == ("the table is dealing", ("10",))


def test_stacks_after_a_good_count_belong_to_no_round_that_it_doubts() -> None:
    house = House(ONE).open()
    house.deal((1,))
    (taken, *_) = house.find("stack.taken")
    (accepted, *_) = house.find("count.accepted")
    assert impact([accepted, taken], "red-1") == []
