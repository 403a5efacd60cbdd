"""What the screen shows of a table: the checklist of a void round, and the way out of every alarm."""

from __future__ import annotations

from typing import Any

from controller.api.table_view import table_view
from controller.core import actions as act
from controller.core.machines import DeckState, TableState
from tests.support.core_driver import House


def view(house: House) -> dict[str, Any]:
    return table_view(house.state, house.state.now_ms)


def checklist(house: House) -> list[tuple[str, bool]]:
    steps = view(house)["void_steps"]
    return [(step["text"], step["done"]) for step in steps]


def void(seats: tuple[int, ...] = (2, 5)) -> House:
    """A round that is void after the deal, with the stub still in the shoe."""
    house = House().open()
    house.faults["shoe", "Eject"] = "refuse:DOOR_OPEN"
    house.deal(seats)
    house.ask(act.ReportWrongNumber, "seat2", 4)
    return house


# --- the checklist of a void round ------------------------------------------------------------------------------------


def test_the_checklist_has_the_order_in_which_steps_are_asked_for_and_keeps_what_is_done() -> None:
    house = void()
    house.auto_take = False
    texts = [text for text, _ in checklist(house)]
    assert texts == [
        "Return all wagers",
        "Gather the cards: the dealer",
        "Gather the cards: seat 2",
        "Gather the cards: seat 5",
        "Take the cards out of the shoe",
        "All cards of deck red-1 are together",
        "Reshuffle deck red-1",
    ]
    for ticked in range(len(texts) - 2):
        found = checklist(house)
        assert [text for text, _ in found] == texts, "nothing disappears and nothing moves"
        assert [done for _, done in found] == [at < ticked for at in range(len(texts))], found
        assert house.do_next_task()
    assert house.at() is not TableState.VOIDING


def test_the_checklist_does_not_say_how_many_cards_to_expect() -> None:
    house = void()
    assert not any(character.isdigit() for text, _ in checklist(house)[1:5] for character in text.split(": seat")[0])


def test_missing_cards_stay_on_the_checklist_until_and_after_they_are_declared() -> None:
    house = void()
    house.ask(act.ReturnWagers)
    house.ask(act.GatherCards, "red-1", "dealer", 1)
    missing = "Account for the missing or surplus cards of deck red-1"
    assert (missing, False) in checklist(house)
    while house.state.decks["red-1"].cards.get("missing"):
        house.do_next_task()
    assert (missing, True) in checklist(house)


def test_the_checklist_ends_with_a_locked_out_deck_leaving_the_table() -> None:
    house = House().open()
    house.faults["shoe", "Eject"] = "miscount"
    house.deal((1,))
    assert house.at() is TableState.STUB_COUNT
    house.ask(act.AnswerMisdeal, False)
    assert house.deck("red-1") is DeckState.LOCKED_OUT
    assert checklist(house)[-1] == ("A floorperson takes deck red-1 off the table", False)
    assert not any("Reshuffle" in text for text, _ in checklist(house))
    while house.at() is TableState.VOIDING:
        assert house.do_next_task()
    assert house.state.retired == ["red-1"]


# --- the way out of an alarm ------------------------------------------------------------------------------------------


def ways_out(alarms: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(offer["action"], offer.get("device") or offer.get("warning")) for alarm in alarms for offer in alarm["do"]]


def test_a_dead_shuffler_is_an_alarm_with_a_way_out_during_a_round() -> None:
    """The round is played on, so its step does not speak of the shuffler."""
    house = House().open()
    house.deal()
    assert house.at() is TableState.ACTING
    house.disconnect("shuffler")
    seen = view(house)
    assert [(one["device"], one["text"]) for one in seen["troubles"]] == [("shuffler", "The shuffler does not answer.")]
    assert ways_out(seen["troubles"]) == [("take_out_of_service", "shuffler")]
    house.tick(20)
    seen = view(house)
    assert seen["troubles"] == []
    assert [one["key"] for one in seen["warnings"]] == ["shuffler.lost"]
    assert ways_out(seen["warnings"]) == [("take_out_of_service", "shuffler")]
    house.ask(act.TakeOutOfService, "shuffler", "covered")
    assert house.at() is TableState.ACTING
    assert [(one["aside"], one["do"]) for one in view(house)["warnings"]] == [(True, [])]


def test_a_shuffler_that_never_connected_is_an_alarm_with_a_way_out() -> None:
    house = House(connect=False)
    assert view(house)["troubles"] == [], "a closed table needs no devices"
    house.ask(act.OpenTable)
    assert ways_out(view(house)["troubles"]) == [("take_out_of_service", "shuffler"), ("take_out_of_service", "shoe")]
    step = view(house)["step"]
    assert {"action": "take_out_of_service", "device": "shuffler"} in step["do"]
    assert step["who"] == "dealer"


def in_a_round_while_the_shuffler_fails(fault: str) -> House:
    """The first deck is being dealt when the other one comes out of the shuffler."""
    house = House().open()
    house.faults["shuffler", "Eject"] = fault
    house.deal()
    house.ask(act.UnloadDeck, "blue-1")
    assert house.at() is TableState.ACTING
    return house


def test_a_jammed_shuffler_has_a_way_out_during_a_round() -> None:
    house = in_a_round_while_the_shuffler_fails("jam")
    assert ("free_jam", "shuffler") in ways_out(view(house)["warnings"])


def test_a_shuffler_that_refuses_has_a_way_out_during_a_round() -> None:
    house = in_a_round_while_the_shuffler_fails("refuse:DOOR_OPEN")
    assert view(house)["troubles"][0]["text"] == "The shuffler refused: its door is open."
    assert ways_out(view(house)["troubles"]) == [("try_again", "shuffler")]


def test_a_cause_that_is_gone_is_cleared_with_a_button() -> None:
    house = House().open()
    house.deal()
    house.disconnect("shuffler")
    house.tick(20)
    house.connect("shuffler")
    assert ways_out(view(house)["warnings"]) == [("clear_warning", "shuffler.lost")]


def test_a_device_that_is_marked_is_marked_out_of_order() -> None:
    house = House().open()
    house.ask(act.UnloadDeck, "red-1")
    house.ask(act.TakeOutOfService, "shoe", "marked")
    (shoe,) = (device for device in view(house)["devices"] if device["name"] == "shoe")
    assert (shoe["out_how"], shoe["out_words"]) == ("marked", "marked out of order")
    said = house.find("device.out_of_service")[-1].event.sentence()
    assert said.endswith("took the shoe out of service (marked out of order).")
