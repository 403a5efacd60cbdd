"""The live table: stored before sent, started again from the journal alone, and silent about undealt cards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from controller import live
from controller.core.actions import CloseBets, Role
from controller.core.setup import Setup, ShufflerKind
from controller.core.state import encode
from controller.journal import JournalFull
from controller.live import CODE_VERSION, restore
from simulators.cards import Kind
from simulators.house import House
from simulators.people import People

BETS = CloseBets(seats=(1, 3), who="dealer 1", role=Role.DEALER)


def opened(folder: Path, setup: Setup | None = None) -> tuple[House, People]:
    house = House(folder / "journal.db", setup)
    people = People(house)
    assert people.open()
    return house, people


def test_what_cannot_be_stored_is_not_sent(tmp_path: Path, mocker: MockerFixture) -> None:
    house, _ = opened(tmp_path)
    sent = mocker.spy(house.wired["shoe"].session, "send")
    mocker.patch.object(house.journal, "record", side_effect=JournalFull("the disk is full"))
    with pytest.raises(JournalFull):
        house.report(BETS)
    assert sent.call_count == 0
    house.close()


def test_a_command_is_in_the_journal_before_it_is_sent(tmp_path: Path, mocker: MockerFixture) -> None:
    house, _ = opened(tmp_path)
    stored_when_sent: list[bool] = []

    def send(device: str, command: object) -> None:
        event = house.journal.event(command.id)  # type: ignore[attr-defined]
        stored_when_sent.append(event is not None and event.kind == "command.given")

    mocker.patch.object(house.live, "_send", send)
    house.report(BETS)
    assert stored_when_sent == [True]
    house.close()


def test_a_start_from_a_snapshot_is_a_start_from_the_beginning(tmp_path: Path, mocker: MockerFixture) -> None:
    mocker.patch.object(live, "SNAPSHOT_EVERY", 40)
    house, people = opened(tmp_path)
    for _ in range(3):
        assert people.play((1, 3))
    snapshot = house.journal.latest_snapshot(CODE_VERSION)
    assert snapshot is not None
    assert 0 < snapshot.seq < house.state.seq
    assert encode(restore(house.journal)) == encode(house.state)
    mocker.patch.object(house.journal, "latest_snapshot", return_value=None)
    assert encode(restore(house.journal)) == encode(house.state)
    house.close()


def test_no_undealt_card_is_in_the_journal(tmp_path: Path) -> None:
    """With devices that recognise every card, only stacks that were taken are told."""
    house, people = opened(tmp_path, Setup(shuffler=ShufflerKind(counts=True, feeds_shoe=True, recognises=True)))
    for _ in range(3):
        assert people.play((1, 3))
    for event in house.journal.events():
        told = json.dumps(event.data).lower()
        if event.kind != "table.configured":  # the game's own list of kinds
            assert not any(kind.name.lower().replace("_", " ") in told for kind in Kind), event
        assert "kinds" not in event.data or event.kind == "stack.taken", event
    house.close()
