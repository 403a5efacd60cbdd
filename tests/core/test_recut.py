"""A deck recalled for another cut (5.G): after any incident it is shuffled, and a floorperson may direct that too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.core import actions as act
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
AUTOMATED = Setup(backs=("red",), shuffler=None)
MANUAL = Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None)


def recalled(setup: Setup = AUTOMATED) -> House:
    """A floorperson has asked for another cut of the loaded deck, and its cards are still where it is dealt from."""
    house = House(setup).open(prepared=True)
    house.auto_work = False
    house.ask(act.RequireRecut, "red-1")
    assert house.state.decks["red-1"].recut
    return house


def with_fault(fault: str) -> Callable[[House], None]:
    def happen(house: House) -> None:
        house.faults["shoe", "Eject"] = fault
        house.step()

    return happen


def lost_link(house: House) -> None:
    house.disconnect("shoe")
    house.tick(20)


def opened(house: House) -> None:
    house.report("shoe", wire.Door, state=wire.DoorState.OPEN)
    house.report("shoe", wire.Door, state=wire.DoorState.CLOSED)


def card_taken(house: House) -> None:
    house.report("shoe", wire.StackTaken, command=0, place=wire.Place.EXIT, cards=1)


INCIDENTS: dict[str, Callable[[House], object]] = {
    "jam": with_fault("jam"),
    "stop": with_fault("stopped"),
    "incomplete": with_fault("incomplete"),
    "failure": with_fault("fail"),
    "restart": lambda house: house.restart("shoe"),
    "lost link": lost_link,
    "door": opened,
    "card taken": card_taken,
}


@clause("5.G", "5.A", "13.G")
@pytest.mark.parametrize("incident", INCIDENTS)
def test_after_an_incident_a_recut_is_not_enough(incident: str) -> None:
    house = recalled()
    INCIDENTS[incident](house)
    (cancelled,) = house.find("recut.cancelled")
    assert {"5.A", "13.G"} <= set(cancelled.clause)
    assert not house.state.decks["red-1"].recut
    assert house.deck("red-1") is DeckState.RECALLED
    same_after_snapshot(house)


@clause("5.G", "13.G")
def test_a_deck_that_jammed_on_its_way_to_a_recut_is_shuffled_before_it_is_played() -> None:
    house = recalled()
    INCIDENTS["jam"](house)
    house.auto_work = True
    house.work()
    assert house.at() is TableState.BETTING
    assert not house.find("deck.ready_to_cut")
    assert len(house.find("deck.shuffled_by_hand")) == 1


@clause("5.G", "13.G")
def test_a_door_that_is_opened_between_two_cycles_cancels_a_recut() -> None:
    """Without a cycle the door does not raise a warning: a deck being gathered is shuffled anyway."""
    house = recalled()
    house.faults["shoe", "Eject"] = "refuse:LOCKED"
    house.step()
    assert house.state.devices["shoe"].doing is None
    opened(house)
    assert house.find("recut.cancelled")


@clause("5.G")
@pytest.mark.parametrize("counted", ["one place", "one pile"])
def test_cards_taken_out_of_a_device_by_hand_are_shuffled(counted: str) -> None:
    house = recalled()
    house.faults["shoe", "Eject"] = "refuse:LOCKED"
    house.step()
    if counted == "one place":
        house.ask(act.GatherCards, "red-1", "shoe", 53)
    else:
        house.ask(act.GatherAll, "red-1", 53)
    assert house.find("recut.cancelled")
    assert house.deck("red-1") is DeckState.STACKED


@clause("5.G", "5.D")
def test_a_card_that_was_lost_and_found_cancels_a_recut() -> None:
    house = recalled(MANUAL)
    house.ask(act.GatherCards, "red-1", "manual_shoe", 52)
    assert house.find("recut.cancelled")
    house.ask(act.GatherCards, "red-1", "missing", 1)
    assert house.deck("red-1") is DeckState.STACKED
    assert house.refused(act.CutDeck, "red-1", 20)


@clause("5.G", "5.A")
@pytest.mark.parametrize("setup", [AUTOMATED, MANUAL])
def test_a_floorperson_directs_a_reshuffle_instead_of_a_recut(setup: Setup) -> None:
    house = recalled(setup)
    house.ask(act.DirectReshuffle, "red-1")
    assert [event.kind for event in house.last][:2] == ["reshuffle.directed", "recut.cancelled"]
    assert house.refused(act.DirectReshuffle, "red-1").clause == ("5.A",), "once is enough"
    house.auto_work = True
    house.tick()
    house.work()
    assert house.at() is TableState.BETTING
    assert len(house.find("deck.shuffled_by_hand")) == 1


@clause("5.G")
def test_without_an_incident_a_recut_is_enough() -> None:
    house = recalled()
    house.auto_work = True
    house.tick()
    house.work()
    assert house.at() is TableState.BETTING
    assert not house.find("recut.cancelled")
    assert not house.find("deck.shuffled_by_hand")
