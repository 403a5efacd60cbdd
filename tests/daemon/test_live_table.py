"""The live table: it stores before it sends, restarts from the journal alone, and never reveals undealt cards."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pytest_mock import MockerFixture

from controller.core.actions import CloseBets, PlayersActed, RevealDealer, Role
from controller.core.apply import fold
from controller.core.machines import TableState
from controller.core.setup import Setup, ShufflerKind
from controller.core.state import decode, encode
from controller.daemon import live_table
from controller.daemon.live_table import CODE_VERSION, restore
from controller.journal import Journal, JournalDamaged, JournalFull, JournalReader, NewEvent, Snapshot
from controller.journal.snapshots import SNAPSHOT_COLUMNS, snapshot_row
from simulators.devices.cards import Kind
from simulators.devices.faults import FaultName
from simulators.table.house import House
from simulators.table.people import People
from tests.support.recognising import RecognisingHouse
from tests.support.shoectl import shoectl

BETS = CloseBets(seats=(1, 3), who="dealer 1", role=Role.DEALER)
REVEAL = RevealDealer(who="dealer 1", role=Role.DEALER)


def opened(folder: Path, setup: Setup | None = None, kind: type[House] = House) -> tuple[House, People]:
    house = kind(folder / "journal.db", setup)
    people = People(house)
    assert people.open()
    return house, people


def test_what_cannot_be_stored_is_not_sent(tmp_path: Path, mocker: MockerFixture) -> None:
    house, _ = opened(tmp_path)
    sent = mocker.spy(house.wired["shoe"].session, "send")
    mocker.patch.object(house.journal, "append", side_effect=JournalFull("the disk is full"))
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
    mocker.patch.object(live_table, "SNAPSHOT_EVERY", 40)
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


def test_a_table_does_not_start_from_a_forged_snapshot(tmp_path: Path, mocker: MockerFixture) -> None:
    mocker.patch.object(live_table, "SNAPSHOT_EVERY", 40)
    house, people = opened(tmp_path)
    assert people.play((1, 3))
    before = encode(house.state)
    house.close()
    path = tmp_path / "journal.db"
    with JournalReader(path) as reader:
        good = reader.latest_snapshot(CODE_VERSION)
        assert good is not None
    forged = decode(good.state)
    forged.rounds = 777
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as hand:
        row = snapshot_row(Snapshot(good.seq, good.hash, CODE_VERSION, encode(forged)))
        hand.execute(f"REPLACE INTO snapshots ({SNAPSHOT_COLUMNS}) VALUES (?, ?, ?, ?, ?)", row)
    reasons: list[str] = []
    with Journal(path) as journal:
        assert encode(restore(journal, reasons.append)) == before
    assert "its digest is not the one" in reasons[0]
    found = shoectl("journal", "verify", str(path))
    assert found.exit_code == 1
    assert f"event {good.seq}: the saved state after it was forged" in found.stdout


def test_a_changed_event_after_the_snapshot_is_found_before_it_is_replayed(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    """The chain from the snapshot on vouches for it, wherever the journal was verified before."""
    mocker.patch.object(live_table, "SNAPSHOT_EVERY", 40)
    house, people = opened(tmp_path)
    assert people.play((1, 3))
    house.close()
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        snapshot = journal.latest_snapshot(CODE_VERSION)
        assert snapshot is not None
        journal._connection.execute("DROP TRIGGER events_not_changed")
        journal._connection.execute("UPDATE events SET clause = '[]', data = '{}' WHERE seq = ?", (snapshot.seq + 1,))
        journal._connection.execute("DELETE FROM snapshots WHERE seq < ?", (snapshot.seq,))
        with pytest.raises(JournalDamaged, match=f"event {snapshot.seq + 1}: "):
            restore(journal)


def test_a_disk_that_fails_while_the_state_is_saved_fails_the_next_report(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    """The report before was stored and acted upon, so its caller gets what it led to."""
    mocker.patch.object(live_table, "SNAPSHOT_EVERY", 1)
    house, _ = opened(tmp_path)
    append = house.journal.append

    def fails(new: Sequence[NewEvent]) -> int:
        if new[0].kind == "snapshot.taken":
            raise JournalFull("the disk is full")
        return append(new)

    mocker.patch.object(house.journal, "append", fails)
    made = house.report(BETS)
    assert [event.kind for event in made] == ["bets.closed", "round.started", "command.given"]
    with pytest.raises(JournalFull):
        house.report(BETS)
    house.close()


class FailingDisk:
    """The journal's connection; writing a snapshot fails, before or after it is executed."""

    def __init__(self, real: sqlite3.Connection, what: str, after: bool) -> None:
        self._real, self._what, self._after = real, what, after
        self._of_snapshot = False
        self.failed = 0

    def execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        self._of_snapshot = "snapshots" in statement or (self._of_snapshot and statement == "COMMIT")
        fails = self._of_snapshot and statement.startswith(self._what)
        if not fails or self._after:
            done = self._real.execute(statement, values)
        if not fails:
            return done
        self.failed += 1
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorname, error.sqlite_errorcode = "SQLITE_IOERR", sqlite3.SQLITE_IOERR
        raise error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("what", ["INSERT", "DELETE", "COMMIT"])
def test_a_snapshot_that_cannot_be_written_loses_and_repeats_nothing(
    what: str, after: bool, tmp_path: Path, mocker: MockerFixture
) -> None:
    """The decision is already stored and sent, and is returned to the caller."""
    mocker.patch.object(live_table, "SNAPSHOT_EVERY", 1)
    house, people = opened(tmp_path)
    disk = FailingDisk(house.journal._connection, what, after)  # type: ignore[union-attr]
    house.journal._connection = disk  # type: ignore[union-attr]
    sent = mocker.spy(house.live, "_send")
    made = house.report(BETS)
    assert [event.kind for event in made] == ["bets.closed", "round.started", "command.given", "snapshot.taken"]
    assert disk.failed == 1
    assert [call.args[1].id for call in sent.call_args_list] == [made[-2].seq]
    assert people.work()
    assert disk.failed > 20
    given = [event.seq for event in house.events if event.kind == "command.given" and event.seq >= made[-2].seq]
    assert [call.args[1].id for call in sent.call_args_list] == given, "each once, in order"
    seq, before = house.state.seq, encode(house.state)
    assert encode(restore(house.journal)) == before
    house.restart_host()
    assert encode(fold(house.events[:seq])) == before
    house.journal.verify()
    assert people.work()
    assert people.play((1, 3))
    house.close()


def test_no_undealt_card_is_in_the_journal(tmp_path: Path) -> None:
    """With devices that recognise every card, only hands that were turned over are recorded."""
    setup = Setup(shuffler=ShufflerKind(counts=True, feeds_shoe=True, recognises=True))
    house, people = opened(tmp_path, setup, RecognisingHouse)
    for _ in range(3):
        assert people.play((1, 3))
    turned_over = set()
    for event in house.journal.events():
        text = json.dumps(event.data).lower()
        if event.kind == "dealer.revealed":
            turned_over.add(event.data["round"])
        elif event.kind in ("hand.recognised", "round.settled"):
            assert event.data["round"] in turned_over
            continue
        if event.kind != "table.configured":  # the game's own list of kinds
            assert not any(kind.name.lower().replace("_", " ") in text for kind in Kind), event
        assert "kinds" not in event.data, event
    assert len([event for event in house.journal.events() if event.kind == "hand.recognised"]) == 9
    house.close()


def acting(house: House, people: People) -> None:
    """Deal a round, until only the dealer's cards are to be shown."""
    house.report(BETS)
    people.enough = lambda: house.state.table is TableState.ACTING
    assert people.work()
    people.enough = None
    house.report(PlayersActed(who="dealer 1", role=Role.DEALER))


def test_the_reveal_is_in_the_journal_before_the_shoe_is_asked_for_the_hands(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    house, people = opened(tmp_path, kind=RecognisingHouse)
    asked = mocker.spy(house.wired["shoe"].session, "ask")
    acting(house, people)
    mocker.patch.object(house.journal, "append", side_effect=JournalFull("the disk is full"))
    with pytest.raises(JournalFull):
        house.report(REVEAL)
    assert asked.call_count == 0
    house.restart_host()
    stored_when_asked: list[bool] = []

    def ask(device: str, question: object) -> None:
        stored_when_asked.append(any(event.kind == "dealer.revealed" for event in house.journal.last(5)))

    mocker.patch.object(house.live, "_ask", ask)
    house.report(REVEAL)
    assert stored_when_asked == [True] * 3
    house.close()


def test_a_host_that_dies_before_the_answer_asks_again(tmp_path: Path, mocker: MockerFixture) -> None:
    house, people = opened(tmp_path, kind=RecognisingHouse)
    acting(house, people)
    mocker.patch.object(house.live, "_ask")  # lost with the host
    house.report(REVEAL)
    assert "hand.recognised" not in {event.kind for event in house.events}
    house.restart_host()
    assert people.work()
    recognised = [event.data["target"] for event in house.events if event.kind == "hand.recognised"]
    assert recognised == ["seat1", "seat3", "dealer"]
    house.close()


def test_a_shoe_whose_cable_was_pulled_is_asked_when_it_is_back(tmp_path: Path) -> None:
    house, people = opened(tmp_path, kind=RecognisingHouse)
    acting(house, people)
    house.sim.shoe.inject(FaultName.UNPLUG, house.now, for_s=3)
    house.look()
    house.report(REVEAL)
    assert "hand.recognised" not in {event.kind for event in house.events}
    assert people.work()
    assert len([event for event in house.events if event.kind == "hand.recognised"]) == 3
    house.close()
