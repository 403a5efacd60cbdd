"""Cards that leave a device or appear in it although neither a cycle nor a person explains it (5.A, 5.D, 10.A)."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, TableState
from controller.core.reports import HostBoot
from controller.core.setup import Setup, ShufflerKind
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Fault, FaultCode, Jam, Place
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
ONE = Setup(backs=("red",))
HELD = Setup(hold_dealer=True, backs=("red",))
BY_DEALER = Setup(backs=("red",), shuffler=ShufflerKind(counts=True))


def sensed(house: House, name: str, place: Place, present: bool) -> None:
    """A sensor inside a device sees cards, or sees them gone."""
    house.report(name, wire.CardsPresent, place=place, present=present)


def swap(house: House, between: str = "") -> None:
    """Somebody takes the deck out of the shoe and puts another in, and something happens between the two reports."""
    house.auto_work = False
    sensed(house, "shoe", Place.SHOE, False)
    if between == "cable":
        house.disconnect("shoe")
        house.connect("shoe")
    elif between == "restart of the controller":
        house.handle(HostBoot("host", 1, 0))
        for name in house.devices:
            house.connect(name)
    elif between == "power":
        house._todo.clear()
        house.restart("shoe")
    sensed(house, "shoe", Place.SHOE, True)
    house.auto_work = True
    house.tick()


def taken_by_hand(house: House, name: str) -> None:
    """The dealer lifts the loaded deck out of the shoe and lays it on the table."""
    house.move_all("shoe", "floor")
    sensed(house, name, Place.SHOE, False)


# --- a deck that is loaded ------------------------------------------------------------------------------------------


@clause("5.A", "5.D", "10.A")
@pytest.mark.parametrize("between", ["", "cable", "restart of the controller", "power"])
def test_a_deck_swapped_in_the_loaded_shoe_is_not_dealt(between: str) -> None:
    house = House(ONE).open()
    before = len(house.find("shuffle.completed"))
    swap(house, between)
    (recalled,) = house.find("deck.recalled")
    assert recalled.clause == ("5.A", "5.D", "10.A")
    assert recalled.data["reason"] == "cards were taken out of the shoe"
    assert house.find("betting.withdrawn") or house.find("table.suspended")
    assert house.at() is TableState.SUSPENDED
    assert house.refused(act.CloseBets, (1,))
    warned = house.state.warnings["shoe.cards"]
    assert (warned.text, warned.needs) == ("cards were taken out of the shoe", "floor")
    assert house.refused(act.ClearWarning, "shoe.cards", role=Role.DEALER)
    house.work()
    assert house.at() is TableState.BETTING
    assert len(house.find("shuffle.completed")) == before + 1
    assert house.state.decks["red-1"].counted
    same_after_snapshot(house)


def test_both_reports_are_recorded_with_place_and_value() -> None:
    house = House(ONE).open()
    start = len(house.events)
    swap(house)
    seen = [event.data for event in house.events[start:] if event.kind == "device.reported"]
    from_sensor = [data for data in seen if data["event"] == "CardsPresent" and data["device"] == "shoe"]
    assert [(data["place"], data["present"]) for data in from_sensor[:2]] == [("shoe", False), ("shoe", True)]


@clause("5.A", "5.D")
def test_a_deck_that_was_lifted_out_is_found_and_shuffled_again() -> None:
    house = House(ONE).open()
    taken_by_hand(house, "shoe")
    assert house.state.decks["red-1"].cards == {"missing": 53}
    assert "Find 53 cards of deck red-1" in house.table.next_step().text
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("13.G", "10.A")
@pytest.mark.parametrize("between", ["", "cable", "restart of the controller", "power"])
def test_a_deck_swapped_in_the_deal_voids_the_round(between: str) -> None:
    house = House(ONE).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1, 2))
    assert house.at() is TableState.DEALING
    swap(house, between)
    (voided,) = house.find("round.voided")
    assert voided.clause == ("13.G",)
    assert voided.data["reason"] == "cards were taken out of the shoe"
    house.auto_take = True
    house.work()
    assert house.at() is TableState.BETTING
    assert house.find("void.completed")
    same_after_snapshot(house)


@clause("13.G")
def test_a_held_stack_that_is_gone_voids_the_round() -> None:
    house = House(HELD).open()
    house.deal((1,))
    assert house.state.round
    assert house.state.round.held
    sensed(house, "shoe", Place.HELD, False)
    assert house.find("round.voided")[-1].clause == ("13.G",)


@clause("13.G")
def test_a_shoe_that_is_emptied_while_it_forms_a_stack() -> None:
    """A cycle that takes three cards does not explain that all fifty are gone."""
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    sensed(house, "shoe", Place.SHOE, False)
    assert house.find("round.voided")[-1].clause == ("13.G",)


# --- the shuffler ---------------------------------------------------------------------------------------------------


@clause("5.A", "5.D", "3.B(2)")
def test_a_shuffled_deck_that_left_the_shuffler_is_shuffled_again_before_the_next_round() -> None:
    house = House().open()
    assert house.deck("blue-1") is DeckState.SHUFFLED
    sensed(house, "shuffler", Place.OUTPUT, False)
    sensed(house, "shuffler", Place.OUTPUT, True)
    assert [(event.data["deck"], event.clause) for event in house.find("deck.recalled")] == [("blue-1", ("5.A", "5.D"))]
    assert house.at() is TableState.SUSPENDED
    assert "shuffler.cards" in house.state.warnings
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("13.F")
def test_a_round_with_the_other_deck_goes_on() -> None:
    house = House().open()
    house.deal((1,))
    sensed(house, "shuffler", Place.OUTPUT, False)
    assert not house.find("round.voided")
    assert house.at() is TableState.ACTING
    house.finish()
    assert house.find("round.completed")
    assert house.at() is TableState.SUSPENDED


@clause("5.A")
def test_cards_that_appear_in_the_output_of_an_empty_shuffler() -> None:
    house = House(ONE).open()
    sensed(house, "shuffler", Place.OUTPUT, True)
    assert house.find("cards.unexpected")[-1].data["place"] == "output"
    assert house.state.warnings["shuffler.cards"].text == "unexpected cards were put into the shuffler"
    assert house.at() is TableState.SUSPENDED
    assert not house.find("deck.recalled"), "the deck in the shoe is not concerned"


@clause("10.A")
def test_cards_that_appear_in_a_shoe_before_any_deck_is_ready() -> None:
    house = House(BY_DEALER)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    sensed(house, "shoe", Place.SHOE, True)
    assert house.find("cards.unexpected")[-1].clause == ("5.A", "5.D", "10.A")
    assert "shoe.cards" in house.state.warnings
    house.work()
    assert house.find("warning.cleared")[-1].data["role"] == "floor"
    assert house.at() is TableState.BETTING


@clause("5.A", "5.D", "10.A")
def test_cards_that_were_put_into_the_shoe_while_the_table_was_closed_are_noticed_when_it_opens() -> None:
    house = House(BY_DEALER)
    sensed(house, "shoe", Place.SHOE, True)
    assert house.find("cards.unexpected") == []
    house.ask(act.OpenTable)
    assert [(e.data["device"], e.data["place"]) for e in house.find("cards.unexpected")] == [("shoe", "shoe")]
    assert "shoe.cards" in house.state.warnings
    house.receive("red-1", "red")
    house.work()
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("5.A", "5.D", "10.A")
@pytest.mark.parametrize("taken_out_again", [False, True])
def test_cards_that_were_put_into_a_covered_shoe_are_noticed_when_it_is_used_again(taken_out_again: bool) -> None:
    house = House(BY_DEALER).open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    sensed(house, "shoe", Place.SHOE, True)
    if taken_out_again:
        sensed(house, "shoe", Place.SHOE, False)
    assert house.find("cards.unexpected") == []
    house.ask(act.PutInService, "shoe")
    assert len(house.find("cards.unexpected")) == int(not taken_out_again)
    assert ("shoe.cards" in house.state.warnings) is not taken_out_again


def test_a_deck_that_stayed_in_a_covered_shoe_is_not_unexpected() -> None:
    house = House(BY_DEALER).open()
    sensed(house, "shoe", Place.SHOE, True)
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.PutInService, "shoe")
    assert house.find("cards.unexpected") == []


@clause("10.A")
def test_cards_put_into_an_automated_shoe_that_is_not_dealt_from_are_not_its_deck() -> None:
    house = House(BY_DEALER).open()
    house.ask(act.EmptyDevice, "shoe")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, Method.MANUAL_SHOE)
    house.ask(act.PutInService, "shoe")
    while house.deck("red-1") is not DeckState.DELIVERED:
        assert house.do_next_task()
    sensed(house, "shoe", Place.SHOE, True)
    assert house.deck("red-1") is DeckState.DELIVERED
    assert "shoe.cards" in house.state.warnings


@clause("10.A")
def test_cards_that_appear_in_the_holder_of_a_loaded_shoe() -> None:
    house = House(HELD).open()
    sensed(house, "shoe", Place.HELD, True)
    assert house.find("cards.unexpected")[-1].data["place"] == "held"
    assert house.find("deck.recalled")[-1].data["reason"] == "unexpected cards were put into the shoe"
    house.work()
    assert house.at() is TableState.BETTING


@clause("10.B(5)")
def test_cards_put_into_the_shoe_while_the_stub_is_at_the_exit_do_not_void_the_round() -> None:
    """All hands have their cards. The warning keeps the next round from starting."""
    house = House().open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    for _ in range(2):
        house.take("shoe")
    assert house.state.decks["red-1"].cards["exit"] == 47
    sensed(house, "shoe", Place.SHOE, True)
    assert "shoe.cards" in house.state.warnings
    assert not house.find("round.voided")
    house.auto_take = True
    house.take("shoe")
    house.finish()
    assert house.find("round.completed")
    assert house.at() is TableState.SUSPENDED


@clause("13.G")
def test_a_shoe_that_is_emptied_while_it_releases_the_held_stack() -> None:
    house = House(HELD).open()
    house.deal((1,))
    house.auto_work = False
    house.ask(act.PlayersActed)
    assert house._todo[0][2]["name"] == "Release"
    sensed(house, "shoe", Place.SHOE, False)
    assert house.find("round.voided")[-1].clause == ("13.G",)


@clause("5.A", "13.F")
def test_a_shuffled_deck_that_left_while_the_stub_waits_is_shuffled_again() -> None:
    house = House().open()
    house.faults["shoe", "Eject"] = "refuse:FAILED"
    house.deal()
    assert house.state.decks["red-1"].cards["shoe"], "the dealer takes the stub by hand"
    sensed(house, "shuffler", Place.OUTPUT, False)
    assert house.deck("blue-1") is not DeckState.SHUFFLED
    assert "shuffler.cards" in house.state.warnings


# --- reports that are explained -------------------------------------------------------------------------------------


def test_a_whole_round_with_every_sensor_reporting_raises_no_warning() -> None:
    """Devices whose sensors report every change, before or after the cycle's own events."""
    house = House(HELD).open()
    for early in (True, False):
        house.auto_work = house.auto_take = False
        house.ask(act.CloseBets, (1,))
        while house.state.round:
            if house._todo:
                cycle(house, early=early)
            elif house.count("exit"):
                house.take("shoe")
            else:
                people(house)
        while house.at() is not TableState.BETTING:
            if house._todo:
                cycle(house, early=early)
            else:
                assert house.do_next_task()
    assert not house.find("warning.raised")
    assert len(house.find("round.completed")) == 2
    same_after_snapshot(house)


def cycle(house: House, *, early: bool) -> None:
    """One device carries out its command; its sensors report each change during the cycle, or the result after it."""
    name, id, command = house._todo[0]
    passing = [(Place.SHELVES, True), (Place.SHELVES, False)] if early else []
    seen = {
        "Shuffle": [(Place.INFEED, False), *passing, (Place.OUTPUT, True)],
        "Deliver": [(Place.OUTPUT, False)],
        "Dispense": [(Place.HELD, True)] if command.get("hold") else [(Place.EXIT, True)],
        "Release": [(Place.HELD, False), (Place.EXIT, True)],
        "Eject": [(Place.SHOE, False), (Place.EXIT, True)],
    }[command["name"]]
    if early:
        house._answer(name, id)
        for place, present in seen:
            sensed(house, name, place, present)
    house.step()
    if not early:
        for place, present in seen:
            sensed(house, name, place, present)


def people(house: House) -> None:
    """The next action of the people in a round."""
    if house.at() is TableState.ACTING:
        house.ask(act.PlayersActed)
    elif house.at() is TableState.REVEALING:
        house.ask(act.RevealDealer)
    else:
        for target in ("seat1", "dealer"):
            house.move("red-1", target, "rack", 60)
        house.ask(act.CollectAll)


def test_a_device_that_reports_what_it_sees_after_connecting_does_no_harm() -> None:
    house = House().open()
    for name, places in (("shoe", (Place.SHOE,)), ("shuffler", (Place.OUTPUT,))):
        house.disconnect(name)
        house.connect(name)
        for place in places:
            sensed(house, name, place, True)
        for place in (Place.EXIT, Place.HELD if name == "shoe" else Place.INFEED):
            sensed(house, name, place, False)
    assert not house.state.warnings
    assert house.at() is TableState.BETTING


def test_the_last_cards_of_a_shoe_leave_with_a_stack() -> None:
    house = House(ONE).open()
    house.auto_work = False
    house.ask(act.CloseBets, (1,))
    house.state.decks["red-1"].cards = house.folded.decks["red-1"].cards = {"shoe": 3, "rack": 50}
    sensed(house, "shoe", Place.SHOE, False)
    assert not house.find("round.voided")


@clause("10.B(5)")
def test_a_stub_taken_by_hand_from_a_failed_shoe_is_no_swap() -> None:
    house = House().open()
    house.faults["shoe", "Eject"] = "refuse:FAILED"
    house.deal()
    house.move_all("shoe", "rack")
    sensed(house, "shoe", Place.SHOE, False)
    assert not house.find("round.voided")
    assert "shoe.cards" not in house.state.warnings
    house.ask(act.RemoveStub)


@clause("13.G")
def test_cards_gathered_by_hand_from_a_jammed_shoe_are_no_swap() -> None:
    house = House(ONE).open()
    house.faults["shoe", "Dispense"] = "jam"
    house.deal((1,))
    house.ask(act.ReturnWagers)
    sensed(house, "shoe", Place.SHOE, False)
    assert "shoe.cards" not in house.state.warnings


def test_cards_of_a_void_round_that_move_inside_the_shoe_are_not_unexpected() -> None:
    house = House(HELD).open()
    house.faults["shoe", "Dispense"] = "jam"
    house.deal((1,))
    sensed(house, "shoe", Place.HELD, True)
    assert not house.find("cards.unexpected")
    assert "shoe.cards" not in house.state.warnings


def test_a_deck_taken_back_from_the_infeed_is_not_harmed() -> None:
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.devices["shuffler"].door_open = True
    while not house.state.devices["shuffler"].hindered:
        assert house.do_next_task()
    sensed(house, "shuffler", Place.INFEED, False)
    assert house.deck("red-1") is DeckState.INFEED
    assert not house.state.warnings


# --- a shoe that is empty -------------------------------------------------------------------------------------------


@clause("10.A")
def test_a_deck_is_not_loaded_into_a_shoe_that_reports_no_cards() -> None:
    house = House(Setup(backs=("red",), shuffler=None)).open()
    house.ask(act.UnloadDeck, "red-1")
    while house.deck("red-1") is not DeckState.CUT:
        assert house.do_next_task()
    sensed(house, "shoe", Place.SHOE, False)
    refused = house.refused(act.LoadDeck, "red-1")
    assert (refused.data["reason"], refused.data["possible_when"], refused.clause) == (
        "the shoe reports that no cards are in it", "the deck is in the shoe", ("10.A",),
    )  # fmt: skip
    house.gather_real("red-1", "shoe")
    sensed(house, "shoe", Place.SHOE, True)
    assert house.deck("red-1") is DeckState.LOADED
    same_after_snapshot(house)


@clause("5.A", "13.G")
@pytest.mark.parametrize("jams", [False, True])
def test_a_deck_in_a_shoe_that_stops_is_shuffled_again_even_if_nobody_has_reported_it(jams: bool) -> None:
    """The other deck was within reach, so the sensor alone did not prove which deck had been put in."""
    house = House(Setup(shuffler=ShufflerKind(counts=True))).open()
    house.deal((1,))
    house.auto_work = False
    house.finish()
    house.step()  # the deck comes out of the shuffler
    assert house.take("shuffler")
    sensed(house, "shoe", Place.SHOE, True)
    assert house.deck("blue-1") is DeckState.DELIVERED
    if jams:
        house.report("shoe", Jam, command=0, place=Place.SHOE)
    else:
        house.report("shoe", Fault, code=FaultCode.SENSOR, text="card sensor failed")
    assert house.find("deck.recalled")[-1].data["deck"] == "blue-1"
    assert house.find("deck.recalled")[-1].clause == ("13.G",)
    assert house.deck("blue-1") is DeckState.STACKED, "to be shuffled"
    same_after_snapshot(house)
