"""A shuffler that feeds the shoe, while the shoe is out of service (5.C, 13.H)."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup, ShufflerKind
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
ONE = Setup(backs=("red",))


def without_shoe(method: Method, setup: Setup | None = None) -> House:
    """The shoe is covered, and the dealer deals in another way."""
    house = House(setup).open()
    house.ask(act.EmptyDevice, "shoe")
    house.work(stop=TableState.WAITING)
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, method)
    return house


def work_until(house: House, command: str) -> None:
    """Devices and people go on until a device has been given this command and has not begun it."""
    house.auto_work = False
    while not (house._todo and house._todo[0][2]["name"] == command):
        if house._todo:
            house.step()
        else:
            assert house.do_next_task()


def commands(house: House, device: str, since: int) -> list[str]:
    """The cycles that a device was given since an event."""
    found = [event.data for event in house.events[since:] if event.kind == "command.given"]
    return [data["command"]["name"] for data in found if data["device"] == device and "until_ms" in data]


@clause("5.C", "13.H")
@pytest.mark.parametrize("method", [Method.HAND, Method.MANUAL_SHOE])
@pytest.mark.parametrize("backs", [("red",), ("red", "blue")])
def test_a_shoe_that_is_out_of_service_is_not_fed(method: Method, backs: tuple[str, ...]) -> None:
    house = without_shoe(method, Setup(backs=backs))
    start = len(house.events)
    house.work()
    assert house.at() is TableState.BETTING
    assert "Deliver" not in commands(house, "shuffler", start)
    assert "Eject" in commands(house, "shuffler", start)
    for _ in range(3):
        house.play((1, 2))
    assert "Deliver" not in commands(house, "shuffler", start)
    assert house.count("shoe") == 0
    same_after_snapshot(house)


@clause("5.C", "9.A(1)")
def test_the_ledger_follows_the_deck_from_the_shuffler_into_the_hand() -> None:
    house = without_shoe(Method.HAND, ONE)
    house.auto_take = False
    while not house.state.devices["shuffler"].at_exit:
        assert house.do_next_task()
    assert house.state.decks["red-1"].cards == {"tray": 53}
    assert house.deck("red-1") is DeckState.SHUFFLED
    assert house.table.next_step().text == "Take deck red-1 from the shuffler."
    house.take("shuffler")
    assert house.state.decks["red-1"].cards == {"table": 53}
    assert house.deck("red-1") is DeckState.DELIVERED
    assert house.find("deck.delivered")[-1].clause == ("5.B",)
    assert house.state.decks["red-1"].counted, "the shuffler has counted it"
    assert house.table.next_step().text == "Take deck red-1 into your hand."
    house.ask(act.LoadDeck, "red-1")
    assert house.state.decks["red-1"].cards == {"hand": 53}
    assert house.at() is TableState.BETTING


@clause("13.F")
@pytest.mark.parametrize("fault", ["jam", "incomplete", "refuse:NO_CARDS", "miscount"])
def test_a_deck_that_does_not_come_out_well_is_shuffled_again(fault: str) -> None:
    house = without_shoe(Method.HAND, ONE)
    work_until(house, "Eject")
    shuffles = len(house.find("shuffle.completed"))
    house.faults["shuffler", "Eject"] = fault
    house.auto_work = True
    house.tick()
    house.work()
    assert len(house.find("shuffle.completed")) == shuffles + 1
    assert house.at() is TableState.BETTING
    same_after_snapshot(house)


@clause("5.C")
def test_no_deck_comes_out_of_the_exit_and_it_is_looked_for() -> None:
    """The shuffler reports a complete cycle without a single card."""
    house = without_shoe(Method.HAND, ONE)
    work_until(house, "Eject")
    (_, id, _) = house._todo.popleft()
    house._answer("shuffler", id)
    house.report("shuffler", wire.StackPresented, command=id, place=wire.Place.EXIT, cards=0)
    house._done("shuffler", id, "Eject", wire.Outcome.COMPLETE, 0)
    assert house.deck("red-1") is DeckState.RECALLED
    assert "missing" in house.table.next_step().text


@clause("5.C", "13.H")
def test_a_deck_that_arrives_in_the_shoe_after_the_method_was_changed_is_taken_out_of_it() -> None:
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    work_until(house, "Deliver")
    (_, id, _) = house._todo.popleft()
    house._answer("shuffler", id)
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, Method.HAND)
    house.move_all("output", "shoe")
    house._done("shuffler", id, "Deliver", wire.Outcome.COMPLETE, 53)
    assert house.state.decks["red-1"].cards == {"shoe": 53}
    assert house.deck("red-1") is DeckState.RECALLED
    assert house.table.next_step().text == "Gather the cards from the shoe and count them."
    house.auto_work = True
    house.work()
    assert house.at() is TableState.BETTING
    assert house.state.decks["red-1"].cards == {"hand": 53}
    same_after_snapshot(house)


@clause("5.A", "5.D", "10.A")
def test_a_deck_that_leaves_the_shoe_while_it_is_being_fed_is_not_dealt() -> None:
    """The shoe saw the deck come and go before the shuffler, whose link was down, said that it had delivered it."""
    house = House(ONE)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    work_until(house, "Deliver")
    (_, id, _) = house._todo.popleft()
    house._answer("shuffler", id)
    house.move_all("output", "shoe")
    for present in (True, False):
        house.report("shoe", wire.CardsPresent, place=wire.Place.SHOE, present=present)
    assert house.find("deck.recalled")[-1].clause == ("5.A", "5.D", "10.A")
    house._done("shuffler", id, "Deliver", wire.Outcome.COMPLETE, 53)
    assert not house.find("deck.loaded")
    assert house.state.decks["red-1"].cards == {"shoe": 53}
    house.step()  # the shoe brings out what is in it
    house.auto_work = True
    house.work()
    assert house.at() is TableState.BETTING
    assert len(house.find("shuffle.completed")) == 2
    same_after_snapshot(house)


@clause("5.A", "5.D", "10.A")
def test_cards_in_the_shoe_are_not_those_that_a_shuffler_delivers_to_its_exit() -> None:
    """Another deck was put into the shoe and taken out again; the one in the shuffler was then believed to be there."""
    house = House(Setup(backs=("red",), shuffler=ShufflerKind(counts=True)))
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    work_until(house, "Deliver")
    for present in (True, False):
        house.report("shoe", wire.CardsPresent, place=wire.Place.SHOE, present=present)
    assert house.deck("red-1") is DeckState.SHUFFLED
    assert house.state.decks["red-1"].cards == {"output": 53}
    assert house.state.warnings["shoe.cards"].text == "unexpected cards were put into the shoe"
    house.auto_work = True
    house.work(stop=TableState.WAITING)
    while house.deck("red-1") is not DeckState.DELIVERED:
        house.step()
    house.report("shoe", wire.CardsPresent, place=wire.Place.SHOE, present=True)
    assert house.at() is TableState.BETTING
    assert house.state.decks["red-1"].cards == {"shoe": 53}
    assert len(house.find("shuffle.completed")) == 1
    same_after_snapshot(house)


@clause("5.A", "5.D")
@pytest.mark.parametrize("feeds", [True, False], ids=["into the shoe", "to the dealer"])
def test_a_deck_swapped_in_the_shuffler_while_it_delivers_is_not_dealt(feeds: bool) -> None:
    """The output is empty as the deck leaves it. What is in it again before the delivery ends is another deck."""
    house = House(Setup(backs=("red",), shuffler=ShufflerKind(counts=True, feeds_shoe=feeds)))
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    work_until(house, "Deliver")
    (_, id, command) = house._todo.popleft()
    house._answer("shuffler", id)
    for present in (False, True):
        house.report("shuffler", wire.CardsPresent, place=wire.Place.OUTPUT, present=present)
    assert "shuffler.cards" in house.state.warnings
    house._todo.appendleft(("shuffler", id, command))
    house.step()  # the delivery ends
    house.auto_work = True
    house.work()
    assert house.at() is TableState.BETTING
    assert house.find("deck.recalled")[0].clause == ("5.A", "5.D")
    kinds = [event.kind for event in house.events]
    assert kinds.index("deck.recalled") < kinds.index("deck.loaded")
    assert len(house.find("shuffle.completed")) == 2
    assert len(house.find("deck.loaded")) == 1
    same_after_snapshot(house)


@clause("5.C")
def test_a_shuffler_that_was_set_up_with_a_manual_shoe_feeds_it() -> None:
    kind = ShufflerKind(counts=True, feeds_shoe=True)
    house = House(Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=kind)).open()
    assert "Deliver" in commands(house, "shuffler", 0)
    assert house.state.decks["red-1"].cards == {"manual_shoe": 53}
    house.work(stop=TableState.BETTING)
    house.ask(act.UnloadDeck, "red-1")
    start = len(house.events)
    house.work(stop=TableState.WAITING)
    house.ask(act.ChangeMethod, Method.HAND)
    house.work()
    assert "Deliver" not in commands(house, "shuffler", start), "the deck would go into the manual shoe"
