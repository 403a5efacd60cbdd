"""Card accounting: cards are moved, never created or lost; a difference is recorded and stays."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controller.core import ledger
from controller.core.apply import fold
from controller.core.decision import Decision
from controller.core.events import read
from controller.core.events.decks import CardsGathered
from controller.core.reports import HostBoot, Tick
from controller.core.state import decode, encode
from controller.core.table import Table
from tests.support.core_driver import House

PLACES = ["shoe", "held", "seat1", "rack", "table"]
CARDS = st.dictionaries(st.sampled_from(PLACES), st.integers(1, 53), min_size=1)


@given(cards=CARDS, place=st.sampled_from(PLACES), number=st.integers(0, 60))
def test_what_was_seen_keeps_the_sum(cards: dict[str, int], place: str, number: int) -> None:
    size = sum(cards.values())
    there = cards.get(place, 0)
    moves = ledger.emptying_moves(cards, (place,), number, "exit")
    ledger.move(cards, moves)
    assert sum(cards.values()) == size
    assert cards.get("exit", 0) == number
    assert cards.get(place, 0) == 0
    assert cards.get(ledger.MISSING, 0) == there - number
    assert ledger.fault(cards, size) == ""


@given(cards=CARDS, number=st.integers(0, 60))
def test_a_part_that_was_seen_leaves_the_rest(cards: dict[str, int], number: int) -> None:
    size, there = sum(cards.values()), cards.get("shoe", 0)
    ledger.move(cards, ledger.partial_moves(cards, "shoe", number, "exit"))
    assert sum(cards.values()) == size
    assert cards.get("shoe", 0) == max(0, there - number)
    assert cards.get("exit", 0) == number


def test_a_broken_ledger_says_what_is_wrong() -> None:
    assert ledger.fault({"table": 52}, 53) == "the places add up to 52 cards, not 53"
    assert ledger.fault({"table": 54, "shoe": -1}, 53) == "a negative number of cards at shoe"
    assert ledger.fault({"table": 54, "missing": -1}, 53) == ""


def test_the_event_that_broke_a_ledger_is_named() -> None:
    house = House().open()
    decision = Decision(house.state, house.state.now_ms)
    decision.emit(CardsGathered(deck="red-1", place="rack", cards=3, moves=[("rack", "table", 3)]))
    moved, broken = decision.entries
    assert broken.kind == "ledger.broken"
    assert broken.data["by_event"] == moved.seq
    assert broken.data["reason"] == "a negative number of cards at rack"


def test_the_journal_as_json_gives_the_same_state() -> None:
    """Stored events are JSON, with lists for tuples and text for names. This must make no difference."""
    house = House().open()
    house.faults["shoe", "Dispense"] = "double"
    house.deal((1, 2))
    house.work()
    house.play()
    stored = [
        read(entry.seq, entry.kind, list(entry.clause), json.loads(msgspec.json.encode(entry.event, order="sorted")))
        for entry in house.events
    ]
    assert encode(fold(stored)) == encode(house.state)
    middle = decode(encode(fold(stored[:70])))
    assert encode(fold(stored[70:], middle)) == encode(house.state)


def test_what_is_due_at_once_is_told_in_the_same_order_after_a_snapshot() -> None:
    """A snapshot came back sorted by name: of two links lost together, the shoe's was then reported first."""
    house = House().open()
    house.handle(HostBoot("b1", 5000, 0))
    due = house.table.deadline
    again = Table(decode(encode(house.state)))
    made = house.table.handle(Tick(), due)
    assert [event.data["warning"] for event in made if event.kind == "warning.raised"] == ["shuffler.lost", "shoe.lost"]
    assert again.handle(Tick(), due) == made
    assert list(again.state.decks) == list(house.state.decks) == ["red-1", "blue-1"]


def test_no_fraction_stands_in_an_event() -> None:
    """The journal refuses floats: languages write them differently."""
    house = House().open()
    house.play()

    def check(value: object) -> None:
        assert not isinstance(value, float)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
            check(inner)

    for event in house.events:
        check(event.data)
