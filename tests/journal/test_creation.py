"""The creation of a journal, killed before each of its statements."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from controller.journal import (
    Journal,
    JournalDamaged,
    JournalForeign,
    JournalIncomplete,
    JournalReader,
    NewEvent,
    store,
)
from controller.journal.reader import open_sqlite

OPENED = NewEvent("2026-01-31T23:59:59.123456Z", "table.opened", (), {"who": "dana"})


def test_a_creation_that_was_killed_is_done_again(tmp_path: Path, mocker: MockerFixture) -> None:
    """A copy of the folder before each statement is what a kill at that moment leaves."""
    folder = tmp_path / "journal"
    folder.mkdir()
    left: list[Path] = []

    def keep(_statement: str) -> None:
        left.append(tmp_path / str(len(left)))
        shutil.copytree(folder, left[-1])

    def traced(path: Path, how: str) -> sqlite3.Connection:
        connection = open_sqlite(path, how)
        connection.set_trace_callback(keep)
        return connection

    mocker.patch.object(store, "open_sqlite", traced)
    Journal(folder / "journal.db", create=True).close()
    mocker.stopall()

    assert len(left) > 10
    for copy in left:
        with contextlib.suppress(JournalForeign):  # an empty database; but no log is missing
            JournalReader(copy / "journal.db").close()
        with Journal(copy / "journal.db", create=True) as journal:
            assert journal.append([OPENED]) == 1


def test_a_file_that_is_half_written_while_it_is_created_is_not_called_damaged(tmp_path: Path) -> None:
    """A reader that opened it at that moment used to advise people to restore the last copy."""
    path = tmp_path / "journal.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE event (seq INTEGER)")
    torn = bytearray(path.read_bytes())
    torn[100] = 0xFF  # the type of the first page
    path.write_bytes(torn)
    with pytest.raises(JournalDamaged):
        JournalReader(path)
    (tmp_path / "journal.db-journal").touch()
    with pytest.raises(JournalForeign, match="start the daemon to finish creating it"):
        JournalReader(path)


def test_a_journal_that_lost_its_log_is_not_created_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(JournalIncomplete, match=r"journal\.db-wal, which was not copied with it"):
        Journal(path, create=True)


def test_the_id_of_the_journal_is_kept_beside_it(tmp_path: Path) -> None:
    """It does not depend on the bytes that are stored, so that journals of all versions have one."""
    path = tmp_path / "journal.db"
    lock = tmp_path / "journal.db.lock"
    with Journal(path, create=True) as journal:
        assert (journal.id, journal.last_here) == ("", "")
        journal.append([NewEvent("2026-03-14T15:09:26.535897Z", "table.opened")])
        first = journal.event(1)
        assert first is not None
        assert journal.id == first.hash[:16]
        journal.claim_path()
    with Journal(path) as journal:
        assert journal.last_here == journal.id
    lock.write_bytes(lock.read_bytes()[:-9])  # a power cut in the middle
    with Journal(path) as journal:
        assert journal.last_here == ""
        journal.claim_path()
        assert journal.last_here == journal.id


def test_a_link_to_the_journal_of_another_table_is_noticed(tmp_path: Path) -> None:
    path, other = tmp_path / "journal.db", tmp_path / "other.db"
    ids = []
    for file, day in ((path, 14), (other, 15)):
        with Journal(file, create=True) as journal:
            journal.append([NewEvent(f"2026-03-{day}T15:09:26.535897Z", "table.opened")])
            journal.claim_path()
            ids.append(journal.id)
    path.unlink()
    path.symlink_to(other)
    with Journal(path) as journal:
        assert (journal.id, journal.last_here) == (ids[1], ids[0])
        journal.claim_path()
        assert journal.last_here == ids[1]


def test_a_journal_that_was_moved_and_linked_is_the_same_one(tmp_path: Path) -> None:
    path, moved = tmp_path / "journal.db", tmp_path / "disk.db"
    with Journal(path, create=True) as journal:
        journal.append([NewEvent("2026-03-14T15:09:26.535897Z", "table.opened")])
        journal.claim_path()
    path.rename(moved)
    path.symlink_to(moved)
    with Journal(path) as journal:
        assert journal.last_here == journal.id
