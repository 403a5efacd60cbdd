"""Numbers that people enter: impossible and unlikely ones, corrections, one pile, and what actions state beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from controller.api.available_actions import actions_now
from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action, Role
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.correcting import correctable
from controller.core.rules.counting import MOST_SURPLUS
from controller.core.setup import Setup
from controller.core.step import ACTIONS
from controller.games.game import Method
from tests.support.core_driver import House, same_after_snapshot

clause = pytest.mark.clause
MANUAL = Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None)
SIX = (1, 2, 3, 4, 5, 6)
DECK = "red-1"


def voided(setup: Setup | None = None, seats: tuple[int, ...] = (1, 2)) -> House:
    """A void round whose wagers have been returned, with every card outside the devices."""
    house = House(setup or Setup(backs=("red",))).open()
    house.deal(seats)
    house.ask(act.ReportDealerExposed)
    house.ask(act.ReturnWagers)
    return house


def stub_out(setup: Setup = MANUAL) -> House:
    """A round whose stub, 47 cards, is to be counted."""
    house = House(setup).open()
    house.deal((1,))
    house.ask(act.WantStubCount)
    house.ask(act.RemoveStub)
    return house


def cards(house: House) -> dict[str, int]:
    return house.state.decks[DECK].cards


def test_a_stub_that_is_still_in_the_shoe_is_not_counted() -> None:
    house = House(MANUAL).open()
    house.deal((1,))
    house.ask(act.WantStubCount)
    assert house.refused(act.CountStub, 47, confirmed=True).data["reason"] == "there is no stub to be counted"


# --- impossible and unlikely numbers ----------------------------------------------------------------------------------


@clause("5.D")
@pytest.mark.parametrize("number", [-1, 53 + MOST_SURPLUS + 1, 99, 530])
def test_an_impossible_number_is_refused_even_if_it_is_confirmed(number: int) -> None:
    house = voided()
    before = dict(cards(house))
    attempts: list[tuple[type[Action], tuple[Any, ...]]] = [
        (act.GatherCards, (DECK, "dealer")),
        (act.GatherAll, (DECK,)),
    ]
    for kind, fields in attempts:
        refusal = house.refused(kind, *fields, number, confirmed=True)
        assert refusal.data["reason"] == f"{number} is not a possible count"
        assert "confirm" not in refusal.data
    house.ask(act.GatherCards, DECK, "dealer", 3)
    assert "possible count" in house.refused(act.CorrectCount, number, confirmed=True).data["reason"]
    assert before != cards(house)
    stub = stub_out()
    assert "possible count" in stub.refused(act.CountStub, number, confirmed=True).data["reason"]
    assert "possible count" in stub.refused(act.ReportWrongNumber, "seat1", number).data["reason"]


@clause("5.D", "13.E")
def test_an_unlikely_number_is_accepted_once_it_is_confirmed_and_the_first_attempt_is_journaled() -> None:
    house = voided()
    refusal = house.refused(act.GatherCards, DECK, "dealer", 2)
    assert (refusal.data["confirm"], refusal.data["cards"]) == (True, 2)
    assert cards(house)["dealer"] == 3
    house.ask(act.GatherCards, DECK, "dealer", 2, confirmed=True)
    assert cards(house)["missing"] == 1
    house.ask(act.GatherCards, DECK, "seat1", 3, confirmed=True)  # a confirmation that nobody asked for does no harm


@clause("13.D")
def test_a_hand_with_an_unlikely_number_of_cards_makes_the_round_void_once_it_is_confirmed() -> None:
    house = House(MANUAL).open()
    house.deal((1, 2))
    refusal = house.refused(act.ReportWrongNumber, "seat2", 33)
    assert (refusal.data["reason"], refusal.data["confirm"]) == ("a hand of 33 cards is unlikely", True)
    assert not house.find("round.voided")
    house.ask(act.ReportWrongNumber, "seat2", 33, confirmed=True)
    assert house.find("round.voided")
    for likely in (0, 6):
        house = House(MANUAL).open()
        house.deal((1, 2))
        house.attempt(act.ReportWrongNumber, "seat2", likely)
        assert house.find("round.voided"), "a hand without cards, or with two stacks, needs no confirmation"


@clause("8.E", "13.E")
@pytest.mark.parametrize("number", [46, 48, 17])
def test_where_a_count_is_evidence_the_question_does_not_tell_the_number_that_would_match(number: int) -> None:
    for house, kind, fields, expected in (
        (stub_out(), act.CountStub, (), "47"),
        (voided(), act.GatherAll, (DECK,), "53"),
    ):
        data = house.refused(kind, *fields, number).data
        assert data["reason"] == f"the count of {number} does not match"
        assert expected not in data["reason"] + data["possible_when"]


@clause("5.A")
def test_where_a_count_is_no_evidence_the_question_says_what_it_would_make() -> None:
    house = House(MANUAL).open()
    house.ask(act.UnloadDeck, DECK)
    assert house.deck(DECK) is DeckState.RECALLED
    data = house.refused(act.GatherCards, DECK, "manual_shoe", 55).data
    assert data["reason"] == "that makes 55 cards in deck red-1, not 53"
    assert data["possible_when"] == "the cards have been counted again and 55 is confirmed"
    assert house.refused(act.GatherCards, DECK, "manual_shoe", 51).data["reason"] == "the count of 51 does not match"


def test_a_part_of_the_missing_cards_is_found_without_a_question() -> None:
    house = voided()
    house.ask(act.GatherAll, DECK, 50, confirmed=True)
    assert house.refused(act.GatherCards, DECK, "missing", 4).data["confirm"]
    house.ask(act.GatherCards, DECK, "missing", 2)
    assert cards(house)["missing"] == 1


# --- corrections ------------------------------------------------------------------------------------------------------


@clause("13.E", "5.D")
def test_the_same_person_corrects_the_last_count_and_both_numbers_are_journaled() -> None:
    house = voided()
    house.ask(act.GatherCards, DECK, "dealer", 33, confirmed=True)
    first = house.find("cards.gathered")[-1]
    assert cards(house)["missing"] == -30
    assert {"action": "correct_count"} in house.table.next_step().do
    house.ask(act.CorrectCount, 3)
    corrected = house.find("count.corrected")[-1]
    assert corrected.data["by_event"] == first.seq
    assert (corrected.data["was"], corrected.data["cards"], corrected.data["who"]) == (33, 3, "dana")
    assert cards(house) == {"table": 3, "seat1": 3, "seat2": 3, "rack": 44}
    assert len(house.find("ledger.disagreed")) == 1
    house.ask(act.CorrectCount, 2, confirmed=True)  # and once more
    assert cards(house)["missing"] == 1
    house.ask(act.CorrectCount, 3)
    same_after_snapshot(house)
    house.move_all("dealer", "table")
    house.work()
    assert house.at() is TableState.BETTING


@clause("13.E")
def test_a_correction_that_does_not_match_is_questioned_too() -> None:
    house = voided()
    house.ask(act.GatherCards, DECK, "dealer", 1, confirmed=True)
    assert house.refused(act.CorrectCount, 2).data["confirm"]
    assert house.refused(act.CorrectCount, 1).data["possible_when"] == "another number is entered"


@clause("13.E")
def test_nobody_corrects_the_count_of_somebody_else() -> None:
    house = voided()
    house.ask(act.GatherCards, DECK, "dealer", 1, confirmed=True)
    data = house.refused(act.CorrectCount, 3, role=Role.FLOOR).data
    assert data["reason"] == "dana entered the last count"


@clause("13.E", "5.D")
def test_a_count_on_which_something_depends_stays() -> None:
    house = House(MANUAL).open()
    house.refused(act.CorrectCount, 3)  # nothing was counted
    house = voided()
    house.ask(act.GatherCards, DECK, "dealer", 1, confirmed=True)
    house.ask(act.GatherCards, DECK, "seat1", 3)
    house.ask(act.CorrectCount, 2, confirmed=True)  # only the last one can be corrected
    assert house.find("count.corrected")[-1].data["place"] == "seat1"
    house.ask(act.GatherAll, DECK, 50, confirmed=True)
    house.ask(act.DeclareMissing, DECK)
    house.refused(act.CorrectCount, 53)  # it was declared
    house.ask(act.RemoveDeck, DECK)
    house.refused(act.CorrectCount, 53)  # the deck is gone
    house = voided()
    house.ask(act.GatherAll, DECK, 53)
    assert correctable(house.state) is None  # the void is complete
    house.refused(act.CorrectCount, 52)


@clause("8.F", "8.G")
def test_a_stub_that_was_entered_wrong_goes_on_where_the_round_was() -> None:
    house = stub_out()
    house.ask(act.CountStub, 74 - 27 - 1, confirmed=True)
    assert house.at() is TableState.STUB_COUNT
    assert {"action": "correct_count"} in house.table.next_step().do
    house.ask(act.CorrectCount, 45)
    assert house.at() is TableState.STUB_COUNT
    assert cards(house)["missing"] == 2
    house.ask(act.CorrectCount, 47)
    assert house.at() is TableState.ACTING
    assert cards(house) == {"rack": 47, "seat1": 3, "dealer": 3}
    assert [event.clause for event in house.find("stub.matched")] == [("8.F",)]
    house.refused(act.CorrectCount, 46)
    house.finish()
    house.work()
    assert house.find("round.completed")
    same_after_snapshot(house)


@clause("10.D", "10.E")
def test_a_stub_that_was_entered_wrong_after_the_players_acted() -> None:
    house = House(Setup(backs=("red",), shuffler=None, hold_dealer=True)).open()
    house.deal((1,))
    house.ask(act.WantStubCount)
    house.ask(act.PlayersActed)
    house.work(stop=TableState.CLEARING)
    assert house.at() is TableState.REVEALING
    house.ask(act.CountStub, 7, confirmed=True)
    house.ask(act.CorrectCount, 47)
    assert house.at() is TableState.REVEALING
    house.ask(act.RevealDealer)


@clause("8.G")
def test_a_stub_is_not_corrected_after_the_answer() -> None:
    house = stub_out()
    house.ask(act.CountStub, 46, confirmed=True)
    house.ask(act.AnswerMisdeal, True)
    house.refused(act.CorrectCount, 47)


# --- one pile ---------------------------------------------------------------------------------------------------------


@clause("13.E")
def test_all_cards_on_one_pile_are_one_step() -> None:
    house = voided(seats=SIX)
    step = house.table.next_step()
    assert step.do[0] == {"action": "gather_all", "deck": DECK}
    assert not any(digit in step.text.replace(DECK, "") for digit in "0123456789")
    made = house.ask(act.GatherAll, DECK, 53)
    assert [event.kind for event in made[:3]] == ["pile.counted", "count.accepted", "void.completed"]
    assert set(made[0].data["places"]) == {*map(ledger.seat, SIX), "dealer", "rack"}
    assert cards(house) == {"table": 53}
    same_after_snapshot(house)


@clause("13.E", "5.D")
def test_a_pile_that_is_short_is_missing_cards_until_it_is_counted_again() -> None:
    house = voided()
    house.refused(act.GatherAll, DECK, 52)
    house.ask(act.GatherAll, DECK, 52, confirmed=True)
    assert cards(house) == {"table": 52, "missing": 1}
    assert house.find("ledger.disagreed")[-1].data["missing"] == 1
    assert house.table.next_step().text.startswith("Find 1 card of deck red-1, or have a floorperson")
    house.ask(act.GatherAll, DECK, 53)  # the card was found, and the pile was counted again
    assert len(house.find("ledger.disagreed")) == 1
    assert house.deck(DECK) is DeckState.STACKED


@clause("13.E")
def test_a_pile_with_a_surplus_can_be_corrected() -> None:
    house = voided()
    house.ask(act.GatherAll, DECK, 54, confirmed=True)
    assert cards(house) == {"table": 54, "missing": -1}
    step = house.table.next_step()
    assert step.text.startswith("Deck red-1 has 1 card too many: count it again, or have a")
    assert {"action": "gather_all", "deck": DECK} in step.do
    house.ask(act.CorrectCount, 52, confirmed=True)
    assert cards(house) == {"table": 52, "missing": 1}
    house.ask(act.CorrectCount, 53)
    assert house.deck(DECK) is DeckState.STACKED


@clause("13.G")
def test_what_a_working_device_holds_is_left_out_and_what_a_broken_one_holds_is_not() -> None:
    house = House(Setup(backs=("red",))).open()
    house.auto_work = house.auto_take = False
    house.ask(act.CloseBets, (1, 2))
    for _ in range(2):
        house.step()
        house.take("shoe")
    house.ask(act.ReportDealerExposed)
    house.ask(act.ReturnWagers)
    held = cards(house).get("shoe", 0) + cards(house).get("exit", 0)
    assert held
    house.refused(act.GatherAll, DECK, 53)
    house.ask(act.GatherAll, DECK, 53 - held)
    assert ledger.count(cards(house), ledger.IN_DEVICE["shoe"]) == held
    house = House(Setup(backs=("red",))).open()
    house.faults["shoe", "Dispense"] = "jam"
    house.ask(act.CloseBets, (1, 2))
    house.ask(act.ReturnWagers)
    assert house.device("shoe") is DeviceState.JAMMED
    house.ask(act.GatherAll, DECK, 53)
    assert cards(house) == {"table": 53}


def test_one_pile_needs_a_deck_that_is_being_gathered() -> None:
    house = House(Setup(backs=("red",))).open()
    assert "not being gathered" in house.refused(act.GatherAll, DECK, 53).data["reason"]
    house.deal((1,))
    house.ask(act.ReportDealerExposed)
    assert "wagers" in house.refused(act.GatherAll, DECK, 53).data["reason"]
    assert house.refused(act.GatherAll, "none-1", 53)


# --- what people see, and what is recorded ----------------------------------------------------------------------------


def test_what_cannot_be_undone_states_its_consequence() -> None:
    stated = {name for name, kind in ACTIONS.items() if kind.consequence}
    assert {
        "declare_missing", "remove_deck", "reject_deck", "close_table", "answer_misdeal", "report_dealer_exposed",
        "report_wrong_number", "report_face_up", "accept_device",
    } <= stated  # fmt: skip
    for name in stated:
        text = ACTIONS[name].consequence
        assert text[0].isupper(), name
        assert text.endswith("."), name


def test_every_event_of_an_action_has_its_origin_and_what_follows_has_none() -> None:
    house = House(Setup(backs=("red",))).open()
    house.ask(act.CloseBets, (1,), origin="screen")
    closed, started = house.find("bets.closed")[-1], house.find("round.started")[-1]
    assert (closed.data["origin"], started.data["origin"]) == ("screen", "screen")
    assert "origin" not in house.find("dealing.completed")[-1].data
    assert house.refused(act.CloseBets, (1,), origin="socket").data["origin"] == "socket"
    assert house.find("stub.removed")[-1].data["origin"] == "device"
    assert "origin" not in house.find("stack.taken")[-1].data  # its cause says which device reported it


@clause("4.A")
def test_whoever_rejects_a_deck_or_frees_a_jam_is_recorded() -> None:
    house = House(MANUAL).open()
    house.ask(act.UnloadDeck, DECK, role=Role.DEALER)
    assert house.find("deck.recalled")[-1].data["who"] == "dana"
    house.ask(act.RejectDeck, DECK, origin="screen")
    locked_out = house.find("deck.locked_out")[-1]
    assert (locked_out.data["who"], locked_out.data["origin"]) == ("dana", "screen")
    house = House(Setup(backs=("red",))).open()
    house.faults["shoe", "Dispense"] = "jam"
    house.ask(act.CloseBets, (1, 2))
    house.ask(act.FreeJam, "shoe", role=Role.TECHNICIAN)
    assert [event.data["who"] for event in house.find("command.given") if "who" in event.data] == ["tess"]


def possible(house: House) -> set[str]:
    return {one["action"] for one in actions_now(house.state, house.state.now_ms) if one["allowed"]}


def test_counts_are_offered_where_there_is_something_to_count_or_to_correct() -> None:
    house = House(Setup(backs=("red",))).open()
    assert not {"count_stub", "gather_all", "correct_count"} & possible(house)
    house = voided()
    assert "gather_all" in possible(house)
    assert "correct_count" not in possible(house)
    house.ask(act.GatherCards, DECK, "dealer", 1, confirmed=True)
    assert "correct_count" in possible(house)
    assert "count_stub" in possible(stub_out())
