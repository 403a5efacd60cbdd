"""Dealing from the manual shoe and from the hand, as reported by the dealer."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup, ShufflerKind
from controller.games.game import Method
from firmware_bridge.wire.messages import CardsPresent, Place
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
MANUAL = Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None)
HAND = Setup(method=Method.HAND, backs=("red", "blue"), shuffler=ShufflerKind(counts=True))
BOTH = [pytest.param(MANUAL, "8", id="manual shoe"), pytest.param(HAND, "9", id="hand")]


@clause("8", "9", "10.B(1)(2)")
@pytest.mark.parametrize(("setup", "chapter"), BOTH)
def test_one_card_at_a_time_around_the_table(setup: Setup, chapter: str) -> None:
    house = House(setup).open()
    assert house.refused(act.DealCards, "seat2"), "no card before the bets are closed"
    house.ask(act.CloseBets, (5, 2))
    assert house.find("bets.closed")[-1].clause == (chapter,)
    for _ in range(3):
        for target in ("seat2", "seat5", "dealer"):
            for wrong in {"seat2", "seat5", "dealer", "seat1"} - {target}:
                assert house.refused(act.DealCards, wrong).clause == (chapter,)
            assert "13.D" in house.refused(act.DealCards, target, 2).clause
            assert target.replace("seat", "seat ") in house.table.next_step().text
            house.ask(act.DealCards, target)
    assert house.at() is TableState.ACTING
    assert house.refused(act.DealCards, "seat2")
    house.finish()
    house.work()
    assert house.find("round.completed")
    same_after_snapshot(house)


@clause("8", "9")
@pytest.mark.parametrize(("setup", "chapter"), BOTH)
def test_the_stub_leaves_after_the_deal_and_before_the_round_is_over(setup: Setup, chapter: str) -> None:
    house = House(setup).open()
    house.ask(act.CloseBets, (1,))
    assert house.refused(act.RemoveStub)
    house.deal_by_hand()
    house.ask(act.PlayersActed)
    house.ask(act.RevealDealer)
    house.ask(act.CollectAll)
    assert house.at() is TableState.CLEARING
    house.ask(act.RemoveStub)
    assert house.find("stub.removed")[-1].clause == (chapter,)
    assert house.find("round.completed")


@clause("10")
def test_the_automated_shoe_deals_itself() -> None:
    house = House().open()
    house.auto_take = False
    house.ask(act.CloseBets, (1,))
    assert house.refused(act.DealCards, "seat1", 3).clause == ("10",)
    assert house.refused(act.FinishDeal).clause == ("10",)
    house.auto_take = True
    house.tick()
    assert house.refused(act.RemoveStub).clause == ("10.B(5)",)


@clause("3.B(3)", "9")
def test_two_decks_take_turns_by_hand_too() -> None:
    house = House(HAND).open()
    decks = [next(e for e in house.play() if e.kind == "round.started").data["deck"] for _ in range(4)]
    assert decks == ["red-1", "blue-1"] * 2


@clause("5.F", "5.E")
def test_after_every_round_by_hand_the_deck_is_shuffled_and_cut() -> None:
    house = House(MANUAL).open()
    for _ in range(3):
        kinds = [event.kind for event in house.play()]
        assert kinds.index("deck.shuffled_by_hand") < kinds.index("cut.made") < kinds.index("deck.loaded")


@clause("4.A", "10.A")
@pytest.mark.parametrize("method", [Method.HAND, Method.MANUAL_SHOE])
def test_a_deck_in_the_dealers_hand_is_within_reach(method: Method) -> None:
    """Cards in the infeed may be those: the sensor alone does not say which deck they are."""
    house = House(Setup(method=method, shuffler=ShufflerKind(counts=True))).open()
    house.ask(act.UnloadDeck, "blue-1")
    assert house.deck("blue-1") is DeckState.STACKED
    assert house.deck("red-1") is DeckState.LOADED
    assert house.at() is TableState.WAITING
    house.auto_work = False
    house.report("shuffler", CardsPresent, place=Place.INFEED, present=True)
    assert [event.kind for event in house.last] == ["device.reported"]
    assert house.table.next_step().text.startswith("Report that deck blue-1 is in the shuffler, or take the cards out")
    assert not house.state.decks["blue-1"].cards.get("infeed")
    house.ask(act.InsertDeck, "blue-1")
    assert house.deck("blue-1") is DeckState.INFEED
