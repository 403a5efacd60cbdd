"""Which actions the API says are possible: only those that have something to act on, and why the others are not."""

from __future__ import annotations

from typing import Any

import pytest

from controller.api.available_actions import actions_now
from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeckState, TableState
from controller.core.setup import Setup
from controller.core.state import decode, encode
from controller.core.table import Table
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import Place
from tests.support.core_driver import House


def possible(house: House) -> dict[str, dict[str, Any]]:
    """All actions by name, as the API lists them."""
    found = {action["action"]: action for action in actions_now(house.state, int(house.now * 1000))}
    for name, action in found.items():
        if not action["allowed"]:
            assert action["why_not"]["reason"], name
            assert action["why_not"]["possible_when"], name
    return found


def test_nothing_is_possible_that_has_nothing_to_act_on() -> None:
    house = House().open()
    house.ask(act.Wager, (1, 2))
    listed = possible(house)
    for name, reason in {
        "clear_warning": "there is no warning",
        "unlock_person": "nobody is locked out",
        "collect_hand": "the table is taking bets",
    }.items():
        assert not listed[name]["allowed"], name
        assert listed[name]["why_not"]["reason"] == reason
    assert {"wager", "close_bets", "idle_table"} <= {name for name, action in listed.items() if action["allowed"]}


def test_the_cards_are_dealt_by_the_shoe_or_by_the_dealer() -> None:
    house = House().open()
    house.auto_work = False
    house.ask(act.CloseBets, (1, 2))
    listed = possible(house)
    assert listed["deal_cards"]["why_not"]["reason"] == "the automated shoe deals the cards"
    assert not listed["report_face_up"]["allowed"], "no card has come out yet"
    house = House(Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None)).open()
    house.ask(act.CloseBets, (1, 2))
    listed = possible(house)
    assert listed["deal_cards"]["allowed"]
    assert listed["report_face_up"]["allowed"]


def test_a_face_up_card_can_be_reported_after_its_stack_was_taken() -> None:
    house = House().open()
    house.auto_work = False
    house.ask(act.CloseBets, (2, 5))
    house.step()
    house.take("shoe")
    report = possible(house)["report_face_up"]
    assert report["allowed"]
    assert report["fields"] == [
        {"name": "target", "required": False, "type": "choice", "choices": ["seat2", "seat5", "dealer"], "default": ""}
    ]


def test_a_warning_that_only_a_floorperson_clears_can_be_cleared() -> None:
    house = House().open()
    house.report("shoe", wire.Door, state=wire.DoorState.OPEN)
    assert not possible(house)["clear_warning"]["allowed"], "the door is open"
    house.report("shoe", wire.Door, state=wire.DoorState.CLOSED)
    assert [warned.needs for warned in house.state.warnings.values()] == ["floor"]
    assert possible(house)["clear_warning"]["allowed"]


def test_a_cut_is_confirmed_where_nobody_knows_its_depth() -> None:
    depth = possible(House().open())["cut_deck"]["fields"][1]
    assert depth == {"name": "depth", "required": False, "type": "integer", "least": 10, "default": None}


@pytest.mark.parametrize("fault", ["", "jam"])
def test_what_is_possible_is_accepted(fault: str) -> None:
    """Every action without fields that is listed as possible is accepted, and no other."""
    house = House().open()
    if fault:
        house.report("shoe", wire.Jam, command=0, place=Place.EXIT)
        assert house.at() is not TableState.BETTING
    for name, action in possible(house).items():
        if not action["fields"]:
            kind = next(kind for kind in act.AnyAction.__args__ if kind.__struct_config__.tag == name)
            made = Table(decode(encode(house.state))).handle(kind(who="flo", role=kind.roles[-1]), house.now)
            assert action["allowed"] == (not any(entry.kind == "action.refused" for entry in made)), name


def test_a_deck_that_is_loaded_can_be_cut_again() -> None:
    """The guards decide, not the deck's state alone: a loaded deck comes out first."""
    house = House(Setup(method=Method.MANUAL_SHOE, backs=("red",), shuffler=None)).open()
    assert house.deck("red-1") is DeckState.LOADED
    assert possible(house)["require_recut"]["allowed"]


def test_only_a_device_that_is_out_of_service_can_be_put_back() -> None:
    house = House().open()
    house.ask(act.TakeOutOfService, "shoe", "covered", role=Role.FLOOR)
    listed = possible(house)
    (put_back,) = listed["put_in_service"]["fields"]
    assert put_back["choices"] == ["shuffler", "shoe"], "another client may ask for either, and learns why not"
    assert put_back["possible"] == ["shoe"]
    assert listed["take_out_of_service"]["fields"][0]["possible"] == ["shuffler"]


def test_a_form_offers_only_the_decks_that_an_action_fits() -> None:
    house = House()
    house.ask(act.OpenTable)
    house.ask(act.ReceiveDeck, "red-1", "red")
    house.ask(act.ReceiveDeck, "blue-1", "blue")
    house.ask(act.InspectDeck, "red-1")
    listed = possible(house)
    assert listed["verify_deck"]["fields"][0]["possible"] == ["red-1"]
    assert listed["inspect_deck"]["fields"][0]["possible"] == ["blue-1"]
    assert "possible" not in listed["remove_deck"]["fields"][0], "both can leave"


def test_a_form_offers_only_the_bets_that_the_house_offers() -> None:
    house = House(Setup(options={"three_card_bonus": "", "two_areas": True})).open()
    bets = possible(house)["record_bet"]["fields"][1]
    assert bets["possible"] == ["dragon wager", "ante", "ante bonus", "second area of seat"]
    house.ask(act.RecordBet, seat=1, bet="progressive wager", amount=5)
    assert "progressive wager" in possible(house)["record_bet"]["fields"][1]["possible"], "it can be taken back"
    everything = {"progressive": [{"outcome": "three tigers", "amount": 50}], "two_areas": True}
    assert "possible" not in possible(House(Setup(options=everything)).open())["record_bet"]["fields"][1]


def test_a_correction_names_the_count_that_it_would_replace() -> None:
    house = House().open()
    house.deal((2, 5))
    assert possible(house)["correct_count"]["about"] == ""
    house.ask(act.ReportWrongNumber, "seat2", 4)
    house.ask(act.ReturnWagers)
    house.ask(act.GatherCards, "red-1", "dealer", 33, confirmed=True)
    assert possible(house)["correct_count"]["about"] == "dana counted 33 cards of deck red-1 in the dealer's cards."
