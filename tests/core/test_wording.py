"""Sentences that people read: no identifiers, one card is not 1 cards, and what happened is in ordinary English."""

from __future__ import annotations

import pytest

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Role
from controller.core.events import decks, devices, rounds, table
from controller.core.events.event import Event
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.names import cards, place_name, plural, sentence, state_name
from controller.core.warning_kinds import WARNINGS, cleared_by, remedy, warning_name
from controller.games.game import Method
from tests.support.core_driver import House

SENTENCES: list[tuple[Event, str]] = [
    (table.TableConfigured(who="configuration", setup={}), "The table was set up from its configuration."),
    (table.WarningCauseGone(warning="shoe.lost"), "The cause of the warning is gone: shoe offline."),
    (
        table.WarningCleared(warning="red-1.count", who="Flo", role="floor"),
        "Flo cleared the warning: cards of deck red-1.",
    ),
    (table.SeatsWagered(seats=[], who="Dana"), "No seat has wagered."),
    (table.SeatsWagered(seats=[3], who="Dana"), "Wagers at seat 3."),
    (table.SeatsWagered(seats=[1, 3], who="Dana"), "Wagers at seats 1, 3."),
    (
        table.ActionRefused(
            action="close_bets", who="Dana", role="dealer", reason="nobody has wagered", possible_when="a player has"
        ),
        'Refused "Close bets" by Dana: nobody has wagered.',
    ),
    (decks.DeckChangeDue(deck="red-1", left_ms=60_000), "Deck red-1 must be changed within 1 minute."),
    (devices.DeviceLost(device="shoe", detail=""), "The shoe is offline."),
    (
        devices.CycleFailed(device="shoe", id=7, command="Dispense", reason="did not deal a stack"),
        "The shoe did not deal a stack.",
    ),
    (
        devices.CycleFailed(device="shoe", id=7, command="Dispense", reason="exit_occupied"),
        "The shoe refused to dispense: cards are at its exit or in the shoe.",
    ),
    (
        rounds.CardFoundFaceUp(round=1, deck="red-1", to_rack=1, moves=[], target="seat3"),
        "A card was found face up in the cards for seat 3.",
    ),
]


@pytest.mark.parametrize(("event", "expected"), SENTENCES, ids=[expected for _, expected in SENTENCES])
def test_an_event_reads_like_a_sentence(event: Event, expected: str) -> None:
    assert event.sentence() == expected


@pytest.mark.parametrize("state", [*TableState, *DeckState, *DeviceState])
def test_a_state_goes_with_is(state: str) -> None:
    assert "_" not in state_name(state)
    assert state_name(state) not in ("stub count", "infeed", "lost", "unknown", "mixed", "racked")


@pytest.mark.parametrize("name", WARNINGS)
def test_a_warning_has_a_name(name: str) -> None:
    assert "." not in warning_name(f"shoe.{name}")
    assert warning_name(f"shoe.{name}") != "shoe"


@pytest.mark.parametrize("name", WARNINGS)
def test_a_warning_says_what_to_do_and_who_may_clear_it(name: str) -> None:
    assert " shoe" in remedy(f"shoe.{name}")
    assert "{" not in remedy(f"shoe.{name}")
    assert cleared_by(WARNINGS[name].needs) in ("a dealer", "a floorperson", "a floorperson or a technician")


def test_an_offline_device_can_be_taken_out_of_service_instead() -> None:
    expected = "Check the cable and power of the shoe, or have a floorperson take it out of service"
    assert remedy("shoe.lost") == expected


@pytest.mark.parametrize("place", [*ledger.DEVICE_OF, "rack", "stub", "aside", "taken", "table", "dealer", "seat2"])
def test_a_place_has_a_name(place: str) -> None:
    assert "_" not in place_name(place)
    assert place_name(place) != place


def test_one_card_is_not_1_cards() -> None:
    assert [cards(0), cards(1), cards(2)] == ["0 cards", "1 card", "2 cards"]
    assert sentence("the shoe is offline") == "The shoe is offline."


def test_the_headline_names_a_warning_in_words() -> None:
    house = House().open()
    house.disconnect("shuffler")
    house.tick(60)
    assert house.table.next_step().why == "The shuffler does not answer."
    house.connect("shuffler")
    step = house.table.next_step()
    assert (step.text, step.why) == ("Clear the warning: shuffler offline.", "Its cause is gone.")


def test_missing_cards_are_counted_in_words() -> None:
    """One card or two, and a deck with too many is not asked for what is missing."""
    house = House().open()
    house.deal((1, 2))
    house.ask(act.ReportWrongNumber, "seat1", 2)
    house.ask(act.ReturnWagers)
    house.state.decks["red-1"].cards = {"table": 52, "missing": 1}
    assert house.table.next_step().text == ("Find 1 card of deck red-1, or have a floorperson declare it missing.")
    house.state.decks["red-1"].cards = {"table": 55, "missing": -2}
    surplus = "Deck red-1 has 2 cards too many: count it again, or have a floorperson declare it."
    assert house.table.next_step().text == surplus


def test_a_refused_role_is_named() -> None:
    house = House()
    refused = house.refused(act.CloseTable, role=Role.DEALER)
    assert (refused.data["reason"], refused.data["possible_when"]) == (
        "a dealer may not do this", "a floorperson does it",
    )  # fmt: skip


def test_a_locked_shoe_is_opened_before_all_cards_are_on_one_pile() -> None:
    """Also if the first cards to gather are at a seat: those in the shoe cannot be reached before."""
    house = House().open()
    house.auto_take = False
    house.deal((1, 2))
    house.faults["shoe", "Dispense"] = "jam"
    house.take("shoe")
    house.ask(act.ReturnWagers)
    assert house.state.devices["shoe"].locked
    step = house.table.next_step()
    assert step.text == (
        "The shoe is locked: report that you are opening it. "
        "Put all cards of deck red-1 in one pile and count it, or begin with seat 1."
    )
    assert [offer["action"] for offer in step.do] == ["open_device", "gather_all", "gather_cards"]
    house.ask(act.OpenDevice, "shoe")
    assert house.table.next_step().text == "Put all cards of deck red-1 in one pile and count it, or begin with seat 1."


@pytest.mark.parametrize(
    ("method", "text"),
    [
        (Method.MANUAL_SHOE, "Put deck red-1 into the manual shoe."),
        (Method.HAND, "Take deck red-1 into your hand."),
    ],
)
def test_a_deck_is_put_where_it_is_dealt_from(method: Method, text: str) -> None:
    house = House().open()
    house.ask(act.UnloadDeck, "red-1")
    house.ask(act.TakeOutOfService, "shoe", "covered")
    house.ask(act.ChangeMethod, method)
    seen = set()
    while house.at() is not TableState.BETTING:
        seen.add(house.table.next_step().text)
        assert house.do_next_task()
    assert text in seen or text.replace("red", "blue") in seen
    assert not any("into the shoe" in one for one in seen)


def test_without_a_shuffler_the_deck_that_can_leave_is_named() -> None:
    """The other one is in the shoe: taking it off the table would be refused."""
    house = House().open()
    house.disconnect("shuffler")
    house.tick(60)
    house.ask(act.TakeOutOfService, "shuffler", "covered")
    while (step := house.table.next_step()).do[0]["action"] != "remove_deck":
        assert house.do_next_task()
    assert step.text == "A floorperson takes deck blue-1 off the table."
    house.ask(act.RemoveDeck, step.do[0]["deck"])


def test_one_thing_is_singular() -> None:
    assert [plural(number, "frame") for number in (0, 1, 2)] == ["0 frames", "1 frame", "2 frames"]
