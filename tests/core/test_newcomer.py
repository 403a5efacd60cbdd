"""What a newcomer at the table must not stumble over: steps that lead out, clauses that fit, texts that are true."""

from __future__ import annotations

import pytest

from controller.api.table_view import table_view
from controller.core import actions as act
from controller.core.machines import DeckState, TableState
from controller.core.names import state_name
from controller.core.step import Step
from controller.games.game import Method
from tests.support.core_driver import House


def step(house: House) -> Step:
    """The next step at the table."""
    return house.table.next_step()


def until_offered(house: House, action: str) -> Step:
    """People work until the step offers this action first."""
    while not step(house).do or step(house).do[0]["action"] != action:
        assert house.do_next_task(), step(house)
    return step(house)


def without_shoe(method: Method) -> House:
    """An open table whose shoe is out of service, which deals in another way."""
    house = House().open()
    house.ask(act.TakeOutOfService, "shoe", "covered")
    until_offered(house, "change_method")
    house.ask(act.ChangeMethod, method)
    return house


def test_the_way_back_to_a_shoe_that_works_again_is_offered() -> None:
    house = without_shoe(Method.MANUAL_SHOE)
    found = until_offered(house, "load_deck")
    assert [offer["action"] for offer in found.do] == ["load_deck"]
    house.ask(act.PutInService, "shoe")
    found = until_offered(house, "load_deck")
    assert found.why == "It is this deck's turn. The shoe works again: a floorperson can change back to it."
    assert found.do[1] == {"action": "change_method", "method": "automated_shoe"}
    house.ask(act.ChangeMethod, Method.AUTOMATED_SHOE)
    assert "shoe works again" not in step(house).why


@pytest.mark.parametrize(("method", "chapter"), [(Method.MANUAL_SHOE, "8"), (Method.HAND, "9")])
def test_other_dealing_methods_do_not_cite_the_chapter_of_the_automated_shoe(method: Method, chapter: str) -> None:
    house = without_shoe(method)
    assert until_offered(house, "load_deck").clause == (chapter,)
    house.work()
    assert house.find("deck.loaded")[-1].clause == (chapter,)


def test_a_refused_self_test_is_mentioned_and_not_offered_again() -> None:
    house = House().open()
    house.faults["shoe", "Dispense"] = "fail"
    house.deal((1,))
    house.work(stop=TableState.SUSPENDED)
    while "test it" not in step(house).text:
        assert house.do_next_task(), step(house)
    house.devices["shoe"].failed = False
    house.faults["shoe", "SelfTest"] = "refuse:BUSY"
    house.ask(act.TestDevice, "shoe")
    found = step(house)
    assert found.text == "Switch the shoe off and on, or have a floorperson take it out of service."
    assert found.why == "The shoe has failed. The shoe refused: it is busy."
    assert [offer["action"] for offer in found.do] == ["take_out_of_service"]
    assert found.clause == ("13.G", "13.H"), "no clause twice"


def test_the_step_for_a_face_up_card_cites_its_clause() -> None:
    house = House().open()
    house.auto_take = False
    house.faults["shoe", "Dispense"] = "face_up"
    house.deal((1,))
    found = step(house)
    assert found.text == "Take the stack to seat 1, the face-up card to the rack."
    assert (found.why, found.clause) == ("A face-up card is not used in its round.", ("13.A",))
    house.take("shoe")
    assert step(house).clause == ("10.B(1)(2)",)


def steps_of(house: House, key: str) -> list[tuple[str, bool]]:
    """The steps that the screen shows for a warning."""
    (warning,) = [one for one in table_view(house.state, 0)["warnings"] if one["key"] == key]
    return [(one["text"], one["done"]) for one in warning["steps"]]


def test_the_name_of_a_deck_fits_wherever_it_is_shown() -> None:
    house = House()
    house.ask(act.OpenTable)
    refused = house.refused(act.ReceiveDeck, "r" * 25, "red")
    assert refused.data["reason"] == "the name is too long"
    assert refused.data["possible_when"] == "it has at most 24 characters"
    house.ask(act.ReceiveDeck, "r" * 24, "red")


def test_an_impossible_count_says_which_are_possible() -> None:
    house = House().open()
    house.faults["shoe", "Dispense"] = "jam"
    house.deal((1,))
    house.ask(act.ReturnWagers)
    refused = house.refused(act.GatherAll, "red-1", 99)
    assert refused.data["reason"] == "99 is not a possible count"
    assert refused.data["possible_when"] == "the number is between 0 and 62"


@pytest.mark.parametrize("state", [*TableState, *DeckState])
def test_states_can_be_listed_one_after_the_other(state: str) -> None:
    assert "," not in state_name(state)
