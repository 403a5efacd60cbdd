"""A disk that loses stored data: the journal is missing events that devices have reported."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from controller.core import actions as act
from controller.core.actions import Role
from controller.core.machines import DeviceState, TableState
from controller.core.rules.gathering import GATHERED_STATES
from controller.core.setup import Setup, ShufflerKind
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.faults import FaultName
from simulators.table.house import House
from simulators.table.people import WHO, People, taken

SEATS = (1, 3, 6)
SETUPS = (
    Setup(),
    Setup(hold_dealer=True),
    Setup(shuffler=ShufflerKind(counts=True), hold_dealer=True),
    Setup(shuffler=None, backs=("red",)),
    Setup(shuffler=ShufflerKind(feeds_shoe=True)),
)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A table that is open for bets."""
    made = House(tmp_path / "journal.db")
    assert People(made).open()
    yield made
    made.close()


def copied(house: House, folder: Path) -> Path:
    """A copy of the journal."""
    kept = folder / "kept.db"
    with closing(sqlite3.connect(folder / "journal.db")) as now, closing(sqlite3.connect(kept)) as then:
        now.backup(then)
    return kept


def forget(house: House, kept: Path) -> None:
    """The power fails, and the disk is back at an earlier copy."""
    house.journal.close()
    for file in kept.parent.glob("journal.db-*"):
        if not file.name.endswith("lock"):
            file.unlink()
    (kept.parent / "journal.db").write_bytes(kept.read_bytes())
    house.restart_host()


def dealt(house: House, stacks: int) -> People:
    """People who have stopped in a round with this many stacks dealt."""
    people = People(house)
    people.enough = lambda: bool(house.state.round and house.state.round.dealt == stacks)
    assert people.play(SEATS)
    people.enough = None
    return people


def lose_stacks(house: House, tmp_path: Path) -> People:
    """Deal four stacks of a round, of which the disk keeps one; the gap is found."""
    people = dealt(house, 1)
    kept = copied(house, tmp_path)
    people.enough = lambda: bool(house.state.round and house.state.round.dealt == 4)
    assert people.work()
    people.enough = None
    forget(house, kept)
    assert house.run(lambda: "shoe.gap" in house.state.warnings, 30)
    return people


def test_what_became_of_the_cards_is_not_guessed(house: House, tmp_path: Path) -> None:
    people = lose_stacks(house, tmp_path)
    shoe = house.state.devices["shoe"]
    assert shoe.state is DeviceState.UNKNOWN
    assert not shoe.online
    assert house.state.warnings["shoe.gap"].text.startswith("the journal is missing events ")
    assert [event.clause for event in house.events if event.kind == "round.voided"] == [("13.G",)]
    assert house.state.table is TableState.VOIDING
    seq = house.state.seq
    house.rest(30)
    kinds = [event.kind for event in house.events[seq:]]
    assert "device.refused" not in kinds, "it retries repeatedly, but is journaled once"

    accept = act.AcceptDevice(device="shoe", who=WHO[Role.TECHNICIAN], role=Role.TECHNICIAN)
    (refused,) = house.report(accept)
    assert refused.data["possible_when"] == "every card has been taken out and counted"
    assert house.state.devices["shoe"].state is DeviceState.UNKNOWN

    assert people.work()
    accepted = [event for event in house.events if event.kind == "device.accepted"]
    assert [(event.data["device"], event.data["who"]) for event in accepted] == [("shoe", WHO[Role.FLOOR])]
    cleared = [event.data for event in house.events if event.kind == "warning.cleared"]
    assert [(data["warning"], data["role"]) for data in cleared] == [("shoe.gap", "floor")]
    assert not house.state.retired, "every card was found"
    counted = [event.data for event in house.events if event.kind == "count.accepted" and event.seq > accepted[0].seq]
    assert [data["by"] for data in counted][-1] == "shuffler"
    assert people.play(SEATS)


def test_also_when_it_has_forgotten_a_whole_round(house: House, tmp_path: Path) -> None:
    """According to the journal each deck is where the other one is by now."""
    kept = copied(house, tmp_path)
    people = People(house)
    assert people.play(SEATS)
    dealt(house, 2)
    forget(house, kept)
    assert people.work()
    accepted = {event.data["device"] for event in house.events if event.kind == "device.accepted"}
    assert "shoe" in accepted
    for name, deck in house.state.decks.items():
        assert deck.state not in GATHERED_STATES, name
    for _ in range(3):
        assert people.play(SEATS)


@pytest.mark.parametrize("seed", range(6))
def test_the_table_comes_back_whatever_was_forgotten(seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"forgotten/{seed}")
    house = House(tmp_path / "journal.db", SETUPS[seed % len(SETUPS)], seed=seed, sets=12)
    people = People(house)
    assert people.open()
    for_a_while(people, rng.uniform(0.0, 60.0))
    kept = copied(house, tmp_path)
    for_a_while(people, rng.choice((1.0, 3.0, 6.0, 15.0, 60.0)))
    forget(house, kept)
    assert people.work(), house.live.table.next_step(house.now)
    before = house.state.rounds
    while house.state.rounds < before + 3:
        assert people.play(SEATS) or people.work()
        house.cards.check()
        for name, deck in house.state.decks.items():
            in_shoe = sum(card.deck == name for card in house.cards.pile(Spot(CardPlace.SHOE)))
            assert deck.cards.get("shoe", 0) == in_shoe
    house.close()


def for_a_while(people: People, seconds: float) -> None:
    """Let people play and work for this long."""
    house = people.house
    end = house.now + seconds
    people.enough = lambda: house.now > end
    while house.now <= end:
        if house.state.table is TableState.BETTING and house.state.round is None:
            people.play(SEATS)
        else:
            people.work()
    people.enough = None


def test_a_device_that_was_switched_off_and_on_has_forgotten_too(house: House, tmp_path: Path) -> None:
    people = lose_stacks(house, tmp_path)
    house.sim.shoe.inject(FaultName.REBOOT, house.now)
    assert house.run(lambda: house.state.devices["shoe"].online, 30)
    assert house.state.warnings["shoe.gap"].gone
    assert house.state.devices["shoe"].told == 0
    assert people.work()
    assert people.play(SEATS)


def test_nothing_is_accepted_where_nothing_is_lacking(house: House) -> None:
    (refused,) = house.report(act.AcceptDevice(device="shoe", who=WHO[Role.FLOOR], role=Role.FLOOR))
    assert refused.data["reason"] == "the shoe is ready"
    (refused,) = house.report(act.AcceptDevice(device="shoe", who=WHO[Role.DEALER], role=Role.DEALER))
    assert refused.kind == "action.refused"
    assert not taken([refused])
