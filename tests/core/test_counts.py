"""Counts of a deck: by the shuffler (5.D), of the stub (8.E, 9.D, 10.C), and while a void is gathered."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup, ShufflerKind
from controller.games.game import Method
from firmware_bridge.wire.messages import (
    CardsCounted,
    Cycle,
    CycleDone,
    Outcome,
    Place,
    StackPresented,
    StackTaken,
)
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
COUNTS = Setup(backs=("red",))
COUNTS_NOT = Setup(backs=("red",), shuffler=ShufflerKind(counts=False))
RECOGNISES = Setup(backs=("red",), shuffler=ShufflerKind(counts=True, recognises=True))
KINDS = list(COUNTS.game.copies)
Count = tuple[Place, int, list[int]]


def shuffled(setup: Setup, *counts: Count, end: int) -> House:
    """The shuffler reports these counts in a cycle, and this number at its end."""
    house = House(setup)
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.auto_work = False
    house.work()
    _, id, _ = house._todo.popleft()
    house._answer("shuffler", id)
    for place, cards, kinds in counts:
        house.report("shuffler", CardsCounted, command=id, place=place, cards=cards, kinds=kinds)
    house.report(
        "shuffler", CycleDone, command=id, cycle=Cycle.SHUFFLE, outcome=Outcome.COMPLETE, cards=end, duration_ms=1
    )
    return house


# --- by the shuffler ------------------------------------------------------------------------------------------------


@clause("5.D")
@pytest.mark.parametrize(
    ("counts", "end", "number", "place"),
    [
        ([(Place.OUTPUT, 53, [])], 52, 52, None),
        ([(Place.OUTPUT, 52, [])], 53, 52, "output"),
        ([(Place.OUTPUT, 52, []), (Place.OUTPUT, 53, [])], 53, 52, "output"),
        ([(Place.OUTPUT, 53, []), (Place.OUTPUT, 54, [])], -1, 54, "output"),
        ([(Place.INFEED, 52, []), (Place.OUTPUT, 53, [])], 53, 52, "infeed"),
    ],
)
def test_every_count_of_a_shuffle_must_be_right(counts: list[Count], end: int, number: int, place: str | None) -> None:
    house = shuffled(COUNTS, *counts, end=end)
    (rejected,) = house.find("count.rejected")
    assert (rejected.data["cards"], rejected.data.get("place")) == (number, place)
    assert house.deck("red-1") is DeckState.LOCKED_OUT
    assert not house.find("count.accepted")
    same_after_snapshot(house)


@clause("5.D")
@pytest.mark.parametrize("place", [Place.INFEED, Place.SHELVES])
def test_a_count_on_the_way_in_is_not_the_count_after_the_shuffle(place: Place) -> None:
    house = shuffled(COUNTS, (place, 53, []), end=-1)
    assert house.deck("red-1") is DeckState.RECALLED
    (failed,) = house.find("shuffle.failed")
    assert failed.data["reason"] == "the shuffler did not count the cards after shuffling them"


@clause("5.D")
@pytest.mark.parametrize(
    ("counts", "end"),
    [([(Place.OUTPUT, 53, [])], 53), ([], 53), ([(Place.OUTPUT, 53, [])], -1), ([(Place.INFEED, 53, [])], 53)],
)
def test_counts_that_agree_after_the_shuffle_are_accepted(counts: list[Count], end: int) -> None:
    house = shuffled(COUNTS, *counts, end=end)
    assert house.deck("red-1") is DeckState.SHUFFLED
    assert house.find("count.accepted")[-1].clause == ("5.D",)


@clause("3.A(1)(3)", "5.D")
@pytest.mark.parametrize("counts", [[(Place.OUTPUT, 53, [])], [], [(Place.INFEED, 53, KINDS), (Place.OUTPUT, 53, [])]])
def test_a_recognising_shuffler_that_names_no_kinds_has_not_recognised_the_deck(counts: list[Count]) -> None:
    house = shuffled(RECOGNISES, *counts, end=53)
    assert house.deck("red-1") is DeckState.RECALLED
    (failed,) = house.find("shuffle.failed")
    assert failed.clause == ("13.F", "3.A(1)(3)")
    assert shuffled(RECOGNISES, (Place.OUTPUT, 53, KINDS), end=53).deck("red-1") is DeckState.SHUFFLED


@clause("5.D")
@pytest.mark.parametrize(("counts", "end"), [([(Place.OUTPUT, 52, [])], -1), ([], 52)])
def test_a_wrong_count_matters_even_from_a_device_that_is_not_expected_to_count(counts: list[Count], end: int) -> None:
    house = shuffled(COUNTS_NOT, *counts, end=end)
    assert house.find("count.rejected")[-1].clause == ("5.D",)
    assert house.deck("red-1") is DeckState.LOCKED_OUT
    assert shuffled(COUNTS_NOT, end=-1).deck("red-1") is DeckState.SHUFFLED


@clause("5.D")
def test_a_wrong_count_during_delivery_recalls_the_deck() -> None:
    house = shuffled(COUNTS, (Place.OUTPUT, 53, []), end=53)
    _, id, _ = house._todo.popleft()
    house._answer("shuffler", id)
    house.report("shuffler", CardsCounted, command=id, place=Place.SHOE, cards=52, kinds=[])
    house.report(
        "shuffler", CycleDone, command=id, cycle=Cycle.DELIVER, outcome=Outcome.COMPLETE, cards=53, duration_ms=1
    )
    assert house.deck("red-1") is DeckState.RECALLED


# --- of the stub ----------------------------------------------------------------------------------------------------


@clause("8.E")
def test_with_two_decks_each_ones_stub_is_counted_within_five_of_its_rounds() -> None:
    house = House(Setup(method=Method.MANUAL_SHOE, shuffler=ShufflerKind())).open()
    for _ in range(9):
        house.ask(act.CloseBets, (1,))
        round_ = house.state.round
        assert round_
        if round_.deck == "red-1":
            house.ask(act.WantStubCount)
        house.deal_by_hand()
        house.finish()
        house.work()
    assert house.state.decks["blue-1"].rounds_uncounted == 4
    house.ask(act.CloseBets, (1,))
    house.deal_by_hand()
    assert house.refused(act.PlayersActed).clause == ("8.E",), "the fifth round of the blue deck"
    house.finish()
    assert house.find("stub.counted")[-1].data["deck"] == "blue-1"
    assert house.state.decks["blue-1"].rounds_uncounted == 0
    same_after_snapshot(house)


# --- in a void ------------------------------------------------------------------------------------------------------


@clause("10.C", "13.E")
@pytest.mark.parametrize(("presented", "taken"), [(-1, -1), (47, -1), (-1, 47)])
def test_cards_that_nobody_has_counted_are_counted_before_a_void_is_complete(presented: int, taken: int) -> None:
    """A shoe without a counter has counted nothing when it has brought out its cards."""
    house = House(COUNTS_NOT).open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    house.take("shoe")  # seat 1
    house.auto_work = False
    house.ask(act.ReportDealerExposed)
    house.auto_work = True
    house.ask(act.ReturnWagers)
    house.take("shoe")  # the dealer's stack, which came too late
    house.auto_work = False
    for place, number in (("taken", 3), ("seat1", 3)):
        house.ask(act.GatherCards, "red-1", place, number)
    inside = house.state.decks["red-1"].cards["shoe"]
    _, id, command = house._todo.popleft()
    assert command["name"] == "Eject"
    house._answer("shoe", id)
    presented, taken = (inside if number > 0 else -1 for number in (presented, taken))
    house.report("shoe", StackPresented, command=id, place=Place.EXIT, cards=presented)
    house.report(
        "shoe",
        CycleDone,
        command=id,
        cycle=Cycle.EJECT,
        outcome=Outcome.COMPLETE,
        cards=presented,
        duration_ms=1,
    )
    house.report("shoe", StackTaken, command=id, place=Place.EXIT, cards=taken)
    if presented == taken == -1:
        assert house.at() is TableState.VOIDING
        assert not house.find("count.accepted")
        assert "count them" in house.table.next_step().text
        house.ask(act.GatherCards, "red-1", "taken", inside)
    assert house.at() is TableState.WAITING
    assert house.find("count.accepted")[-1].data["by"] == "gathering"
    assert house.state.rounds_uncounted == 0
    same_after_snapshot(house)
