"""Shuffling, counting and cutting (chapter 5), the age of decks, and wrong counts."""

from __future__ import annotations

import msgspec
import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup, ShufflerKind
from controller.games.game import Method
from firmware_bridge.wire.messages import Cycle, CycleDone, Outcome
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
HOUR = 3600.0
NO_SHUFFLER = Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None)


# --- counts ---------------------------------------------------------------------------------------------------------


@clause("5.D")
@pytest.mark.parametrize("fault", ["lose_card", "miscount"])
def test_a_wrong_count_locks_the_deck_out_for_good(fault: str) -> None:
    house = House().open()
    house.deal()
    house.finish()
    house.faults["shuffler", "Shuffle"] = fault
    house.insert("red-1")
    assert house.deck("red-1") is DeckState.LOCKED_OUT
    assert house.find("count.rejected")[-1].clause == ("5.D",)
    assert house.at() is TableState.SUSPENDED
    assert house.refused(act.ClearWarning, "red-1.count", role=Role.FLOOR).data["possible_when"] == "the cause is gone"
    for kind, fields in ((act.InsertDeck, ()), (act.LoadDeck, ()), (act.ShuffleByHand, ()), (act.CutDeck, (20,))):
        refusal = house.attempt(kind, "red-1", *fields)[0]
        assert (refusal.kind, refusal.clause) == ("action.refused", ("5.D",))
    for directed in (act.DirectReshuffle, act.RequireRecut):
        refusal = house.attempt(directed, "red-1")[0]
        assert (refusal.kind, refusal.clause) == ("action.refused", ("5.D",)), directed
    house.work(stop=TableState.WAITING)
    assert "red-1" in house.state.retired
    assert house.at() is TableState.WAITING, "a floorperson clears the warning once the deck is gone"
    assert house.refused(act.ReceiveDeck, "red-1", "red").clause == ("5.D",)
    assert "new red deck" in house.table.next_step().text
    house.receive("red-2", "red")
    house.work()
    assert house.at() is TableState.BETTING
    assert house.find("betting.opened")[-1].data["deck"] == "blue-1", "the decks keep alternating"
    same_after_snapshot(house)


@clause("5.A")
def test_a_deck_that_was_shuffled_by_hand_lies_on_the_table() -> None:
    house = House(NO_SHUFFLER).open()
    house.deal()
    house.finish()
    assert house.state.decks["red-1"].cards == {"rack": 53}
    house.move_all("rack", "table")
    house.ask(act.ShuffleByHand, "red-1")
    assert house.state.decks["red-1"].cards == {"table": 53}


@clause("5.D")
def test_the_floor_clears_a_count_warning_and_only_then() -> None:
    house = House().open()
    house.deal()
    house.finish()
    house.faults["shuffler", "Shuffle"] = "miscount"
    house.insert("red-1")
    for _ in range(9):
        if "red-1" in house.state.retired:
            break
        house.do_next_task()
    assert house.state.warnings["red-1.count"].gone
    assert house.refused(act.ClearWarning, "red-1.count", role=Role.DEALER).clause == ("5.D",)
    assert house.at() is TableState.SUSPENDED
    house.ask(act.ClearWarning, "red-1.count", role=Role.FLOOR)
    assert house.at() is TableState.WAITING


@clause("3.A(1)(3)", "5.D")
def test_a_recognising_shuffler_checks_the_kinds_too() -> None:
    setup = Setup(backs=("red",), shuffler=ShufflerKind(counts=True, recognises=True, feeds_shoe=True))
    house = House(setup).open()
    house.deal((1,))
    house.finish()
    house.shuffled_kinds = [3, 3, 2, 7, 8, 9, 10, 11]  # a second gold dragon instead of a rabbit
    house.insert("red-1")
    assert house.deck("red-1") is DeckState.LOCKED_OUT
    assert house.find("count.rejected")[-1].clause == ("3.A(1)(3)", "5.D")
    assert house.find("cards.counted")[-1].data["fits"] is False


def test_no_event_tells_an_undealt_card() -> None:
    setup = Setup(backs=("red",), shuffler=ShufflerKind(counts=True, recognises=True, feeds_shoe=True))
    house = House(setup, recognises=True).open()
    house.kinds = [2, 2, 2]
    house.faults["shoe", "Dispense"] = "face_up"
    house.play((1,))
    allowed = {"table.configured", "hand.recognised"}
    assert house.find("hand.recognised")
    for event in house.events:
        text = msgspec.json.encode(event.data).decode()
        if event.kind not in allowed:
            assert not any(kind in text for kind in setup.game.kinds), event
            assert "kinds" not in event.data, event
            assert "kind" not in event.data, event


@clause("5.A", "5.B")
def test_only_a_complete_shuffle_makes_a_deck_that_can_be_played() -> None:
    house = House(Setup(backs=("red",)))
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.auto_work = False
    house.work()
    (_, id, _) = house._todo.popleft()
    house._answer("shuffler", id)
    house.report(
        "shuffler", CycleDone, command=id, cycle=Cycle.SELF_TEST, outcome=Outcome.COMPLETE, cards=53, duration_ms=1
    )
    assert house.deck("red-1") is DeckState.RECALLED
    assert house.find("shuffle.failed")[-1].clause == ("13.F",)


@clause("5.A")
def test_no_self_test_with_cards_inside() -> None:
    house = House().open()
    assert house.refused(act.TestDevice, "shuffler").clause == ("5.A",)
    assert house.refused(act.TestDevice, "shoe").clause == ("5.A",)


@clause("5.D", "10.A")
def test_sensors_that_disagree_are_a_fault_never_an_average() -> None:
    house = House(Setup(backs=("red",)))
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.faults["shuffler", "Deliver"] = "miscount"
    house.work()
    differences = house.find("ledger.disagreed")
    assert differences[0].data["missing"] == 1
    assert house.events[differences[0].data["by_event"] - 1].kind == "deck.recalled"
    assert house.at() is TableState.BETTING, "all 53 cards came out and were shuffled again"
    assert len(house.find("shuffle.completed")) == 2


@clause("5.A")
def test_a_card_that_lies_face_up_in_the_shuffler() -> None:
    house = House(Setup(backs=("red",)))
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    house.faults["shuffler", "Shuffle"] = "face_up"
    house.work()
    assert house.find("shuffle.failed")[0].clause == ("5.A",)
    assert house.at() is TableState.BETTING


@clause("5.A")
def test_a_floorperson_directs_a_reshuffle() -> None:
    house = House().open()
    assert house.refused(act.DirectReshuffle, "red-1", role=Role.DEALER)
    house.ask(act.DirectReshuffle, "red-1")
    assert house.at() is TableState.WAITING
    house.work()
    assert house.at() is TableState.BETTING
    assert house.state.due == "red"
    house.deal()
    assert house.refused(act.DirectReshuffle, "red-1").data["possible_when"]


# --- cuts -----------------------------------------------------------------------------------------------------------


@clause("5.E", "5.F")
@pytest.mark.parametrize(("depth", "good"), [(0, False), (9, False), (10, True), (52, True), (53, False), (-1, False)])
def test_the_cover_card_is_at_least_ten_cards_down(depth: int, good: bool) -> None:
    house = House(NO_SHUFFLER)
    house.ask(act.OpenTable)
    house.receive("red-1", "red", prepared=True)
    if good:
        house.ask(act.CutDeck, "red-1", depth)
        assert house.deck("red-1") is DeckState.CUT
    else:
        event = house.refused(act.CutDeck, "red-1", depth)
        assert event.kind == "cut.refused"
        assert event.clause == ("5.F",)
        assert house.refused(act.LoadDeck, "red-1").clause == ("5.E", "5.F")


@clause("5.F")
def test_a_cut_of_unknown_depth_is_confirmed_to_be_deep_enough() -> None:
    house = House(NO_SHUFFLER)
    house.ask(act.OpenTable)
    house.receive("red-1", "red", prepared=True)
    house.ask(act.CutDeck, "red-1")
    (cut,) = house.find("cut.made")
    assert (cut.clause, cut.data["least"], cut.data.get("depth")) == (("5.F",), 10, None)
    assert cut.event.sentence() == "dana cut deck red-1, at least 10 cards from the top."
    assert house.deck("red-1") is DeckState.CUT


@clause("5.E")
def test_a_deck_from_the_shuffler_is_not_cut() -> None:
    house = House(Setup(backs=("red",), shuffler=ShufflerKind(counts=True))).open()
    assert not house.find("cut.made")
    assert house.refused(act.RequireRecut, "red-1").clause == ("5.G",)


@clause("5.G")
@pytest.mark.parametrize("setup", [NO_SHUFFLER, Setup(backs=("red",), shuffler=None)])
def test_a_recut_before_the_first_card_and_not_later(setup: Setup) -> None:
    house = House(setup)
    house.ask(act.OpenTable)
    house.receive("red-1", "red", prepared=True)
    assert house.refused(act.RequireRecut, "red-1").clause == ("5.G",)
    house.ask(act.CutDeck, "red-1", 20)
    assert house.refused(act.RequireRecut, "red-1", role=Role.DEALER)
    house.ask(act.RequireRecut, "red-1")
    assert house.deck("red-1") is DeckState.MIXED
    house.work()
    assert house.at() is TableState.BETTING
    house.ask(act.RequireRecut, "red-1")
    assert house.at() is TableState.WAITING
    house.work()
    assert house.at() is TableState.BETTING
    assert len(house.find("cut.made")) == 3
    assert not house.find("deck.shuffled_by_hand"), "a recut is not a reshuffle"
    house.deal()
    assert house.refused(act.RequireRecut, "red-1").clause == ("5.G",)


# --- age ------------------------------------------------------------------------------------------------------------


@clause("3.C")
@pytest.mark.parametrize(("method", "hours"), [(Method.AUTOMATED_SHOE, 8), (Method.MANUAL_SHOE, 8), (Method.HAND, 4)])
def test_a_deck_past_its_time_starts_no_round(method: Method, hours: int) -> None:
    house = House(Setup(method=method, backs=("red",), shuffler=ShufflerKind(counts=True))).open()
    house.tick(20 * HOUR)
    assert not house.find("deck.change_due"), "the clock starts when the deck comes into play"
    house.play()
    started = house.find("round.started")[0].data["at_ms"] / 1000
    assert house.table.deadline == started + (hours - 0.25) * HOUR
    house.tick(started + (hours - 0.25) * HOUR - house.now - 2)
    assert not house.find("deck.change_due")
    house.tick(2)
    assert house.find("deck.change_due")[0].clause == ("3.C",)
    house.tick(started + hours * HOUR - house.now - 2.5)
    house.ask(act.CloseBets, (1,))
    house.tick(HOUR)
    assert not house.find("round.voided"), "a running round is never interrupted"
    if method is not Method.AUTOMATED_SHOE:
        house.deal_by_hand()
    house.finish()
    assert house.attempt(act.InsertDeck, "red-1")[0].clause == ("3.C",)
    assert "remove" in house.table.next_step().text
    house.ask(act.RemoveDeck, "red-1")
    house.receive("red-2", "red")
    house.work()
    assert house.at() is TableState.BETTING


@clause("3.C")
def test_a_loaded_deck_grows_too_old() -> None:
    house = House(Setup(backs=("red",))).open()
    house.play()
    house.tick(8 * HOUR)
    assert house.refused(act.CloseBets, (1,)).clause == ("3.C",)
    assert "out and remove it" in house.table.next_step().text
    house.ask(act.UnloadDeck, "red-1")
    house.ask(act.RemoveDeck, "red-1")


@clause("3.C")
def test_changing_to_dealing_by_hand_reckons_the_time_anew() -> None:
    house = House(Setup(backs=("red",), shuffler=ShufflerKind(counts=True))).open()
    house.play()
    house.tick(5 * HOUR)
    house.ask(act.UnloadDeck, "red-1")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, Method.HAND)
    assert house.last[-1].kind == "deck.change_due"
    assert house.last[-1].data["left_ms"] == 0
    assert house.attempt(act.InsertDeck, "red-1")[0].clause == ("3.C",)
