"""The journal on a real disk: what was acknowledged stays, what was changed is named, what fails is reported."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.journal import (
    START,
    BadEvent,
    Checkpoint,
    Journal,
    JournalAbsent,
    JournalBusy,
    JournalDamaged,
    JournalDiskFailed,
    JournalError,
    JournalForbidden,
    JournalForeign,
    JournalFull,
    JournalReader,
    JournalReadOnly,
    JournalStopped,
    NewEvent,
    Recheck,
    Snapshot,
    StoredEvent,
    errors,
    moment,
    timestamp,
)
from controller.journal import reader as reader_module
from controller.journal.file_identity import FileIdentity
from controller.journal.schema import SCHEMA
from controller.journal.snapshots import SNAPSHOT_COLUMNS, snapshot_row
from tests.journal.test_chain import TS, new_events
from tests.support.snapshots import save_state

NOBODY = 65534
REST = "ts, kind, prev, hash, clause, data"
OTHER = "SELECT data FROM events AS other WHERE other.seq = 11 - events.seq"


def new(number: int, **more: Any) -> NewEvent:
    return NewEvent(TS, "round.started", ["13.G"], {"round": number, **more})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def filled(path: Path, count: int, text: str = "") -> list[StoredEvent]:
    """A closed journal with this many events."""
    with Journal(path, create=True) as journal:
        journal.append([new(number, text=text) for number in range(count)])
        return list(journal.events())


def damage(path: Path, since: Checkpoint = START) -> JournalDamaged:
    with JournalReader(path) as reader, pytest.raises(JournalDamaged) as caught:
        reader.verify(since)
    return caught.value


@contextlib.contextmanager
def by_hand(path: Path) -> Iterator[sqlite3.Connection]:
    """Access the database as somebody who drops the triggers and restores them."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        triggers = {name: sql for name, sql in SCHEMA.items() if "TRIGGER" in sql}
        for name in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for sql in triggers.values():
            connection.execute(sql)


# --- writing and reading ----------------------------------------------------------------------------------------------


@given(st.lists(st.lists(new_events, max_size=4), max_size=4))
@settings(max_examples=40)
def test_any_events_come_back_and_verify(groups: list[list[NewEvent]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        with Journal(path, create=True) as journal:
            written: list[StoredEvent] = []
            for group in groups:
                last = journal.append(group)
                assert last == len(written) + len(group)
                written += journal.last(len(group))
            assert [event.seq for event in written] == list(range(1, len(written) + 1))
            assert list(journal.events()) == written
            head = journal.head
        with JournalReader(path) as reader:
            assert list(reader.events()) == written
            assert reader.verify() == reader.head == head
        with Journal(path) as journal:
            assert journal.head == head
            journal.append([new(1)])
            (more,) = journal.last(1)
            assert (more.seq, more.prev) == (head.seq + 1, head.hash)
            journal.verify()


def test_a_new_journal(path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Journal(path, create=True) as journal:
            assert journal.head == START
            assert journal.verify() == START
            assert journal.append([]) == 0
            journal.append([new(1)])
            for file in (path, path.with_name("journal.db-wal"), path.with_name("journal.db.lock")):
                assert stat.S_IMODE(file.stat().st_mode) == 0o640
    finally:
        os.umask(before)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA application_id").fetchone() == (0x4453484A,)
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT typeof(clause), typeof(data) FROM events").fetchone() == ("text", "text")


def test_every_commit_is_flushed(path: Path) -> None:
    with Journal(path, create=True) as journal:
        assert journal._connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_the_ways_to_read(path: Path) -> None:
    with Journal(path, create=True) as journal:
        kinds = ["round.started", "stack.dispensed", "round.completed"]
        journal.append([NewEvent(TS, kinds[number % 3], (), {"n": number}) for number in range(1300)])
        written = list(journal.events())
        assert [event.data["n"] for event in written] == list(range(1300))
        assert list(journal.events(after=1290)) == written[1290:]
        assert list(journal.events(after=5, upto=1200)) == written[5:1200]
        assert list(journal.events(limit=700)) == written[:700]
        assert list(journal.events(limit=0)) == []
        assert list(journal.events(kinds=kinds[1:2])) == written[1::3]
        assert list(journal.events(after=3, kinds=kinds[:2], limit=3)) == [written[3], written[4], written[6]]
        assert journal.event(7) == written[6]
        assert journal.event(1301) is None
        assert journal.last(3) == written[-3:]
        assert journal.last(2, [kinds[2]]) == [written[1295], written[1298]]


def test_one_reads_on_while_events_are_added_and_holds_nobody_up(path: Path) -> None:
    with Journal(path, create=True) as journal:
        journal.append([new(number) for number in range(600)])
        with JournalReader(path) as reader:
            reading = reader.events()
            assert next(reading).seq == 1
            journal.append([new(601)])
            # A reader between two batches holds no transaction: the log can be checkpointed.
            assert journal._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
            assert [event.seq for event in reading] == list(range(2, 602))


def test_a_list_is_written_whole_or_not_at_all(path: Path) -> None:
    with Journal(path, create=True) as journal:
        journal.append([new(1)])
        with pytest.raises(BadEvent):
            journal.append([new(2), NewEvent(TS, "nonsense")])
        assert journal.head.seq == 1
        assert journal.append([new(2)]) == 2  # an error of the caller does not stop the journal
        # Another program has written an event with the number of the third of four:
        with by_hand(path) as connection:
            connection.execute("INSERT INTO events SELECT 5, ts, kind, prev, hash, clause, data FROM events LIMIT 1")
        with pytest.raises(JournalDamaged, match="another program"):
            journal.append([new(3), new(4), new(5), new(6)])
        assert [event.seq for event in journal.events()] == [1, 2, 5]
        with pytest.raises(JournalStopped, match=r"another program.*open the journal again"):
            journal.append([new(3)])


def test_the_database_itself_refuses_changes(path: Path) -> None:
    filled(path, 3)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement, word in (
            ("UPDATE events SET kind = 'round.voided' WHERE seq = 2", "never changed"),
            ("DELETE FROM events WHERE seq = 3", "never deleted"),
        ):
            with pytest.raises(sqlite3.IntegrityError, match=word):
                connection.execute(statement)


def test_after_closing(path: Path) -> None:
    journal = Journal(path, create=True)
    journal.close()
    journal.close()
    with pytest.raises(JournalStopped, match="closed"):
        journal.append([new(1)])
    with pytest.raises(sqlite3.ProgrammingError):
        list(journal.events())


def test_an_append_that_is_broken_off_stops_the_journal(path: Path) -> None:
    with Journal(path, create=True) as journal:
        real = journal._connection

        class Broken:
            in_transaction = True

            def __getattr__(self, name: str) -> Any:
                return getattr(real, name)

            def executemany(self, statement: str, rows: list[Any]) -> None:
                real.executemany(statement, rows)
                raise KeyboardInterrupt

        journal._connection = Broken()  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            journal.append([new(1)])
        journal._connection = real
        assert list(journal.events()) == []
        with pytest.raises(JournalStopped, match="interrupted"):
            journal.append([new(1)])


def test_timestamps() -> None:
    when = datetime(2026, 2, 1, 1, 0, 0, 5, timezone(timedelta(hours=1)))
    assert timestamp(when) == "2026-02-01T00:00:00.000005Z"
    assert timestamp(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000000Z"
    with pytest.raises(ValueError, match="zone"):
        timestamp(datetime(2026, 1, 1))


# --- changes by hand --------------------------------------------------------------------------------------------------


def test_every_byte_of_every_field_of_every_row(path: Path) -> None:
    events = filled(path, 3)
    texts = ("ts", "kind", "clause", "data")
    tried = 0
    with by_hand(path) as connection, JournalReader(path) as reader:
        connection.text_factory = bytes
        for event in events:
            for column in (*texts, "prev", "hash"):
                kind = "TEXT" if column in texts else "BLOB"
                change = f"UPDATE events SET {column} = CAST(? AS {kind}) WHERE seq = ?"
                (good,) = connection.execute(f"SELECT {column} FROM events WHERE seq = ?", (event.seq,)).fetchone()
                for at in range(len(good)):
                    for flip in (0x01, 0x80):
                        bad = good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :]
                        connection.execute(change, (bad, event.seq))
                        with pytest.raises(JournalDamaged) as caught:
                            reader.verify()
                        assert caught.value.seq == event.seq, (column, at, flip)
                        tried += 1
                connection.execute(change, (good, event.seq))
    assert tried == 798
    with JournalReader(path) as reader:
        assert reader.verify().seq == 3


@given(st.data())
@settings(max_examples=60)
def test_any_change_of_a_stored_byte_names_its_row(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        with Journal(path, create=True) as journal:
            journal.append(data.draw(st.lists(new_events, min_size=1, max_size=5)))
            seq = data.draw(st.integers(1, journal.head.seq))
        column = data.draw(st.sampled_from(["ts", "kind", "clause", "data", "prev", "hash"]))
        with by_hand(path) as connection:
            connection.text_factory = bytes
            (good,) = connection.execute(f"SELECT {column} FROM events WHERE seq = ?", (seq,)).fetchone()
            at = data.draw(st.integers(0, len(good) - 1))
            bad = good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :]
            kind = "BLOB" if column in ("prev", "hash") else "TEXT"
            connection.execute(f"UPDATE events SET {column} = CAST(? AS {kind}) WHERE seq = ?", (bad, seq))
        assert damage(path).seq == seq


@pytest.mark.parametrize(
    ("statement", "seq", "word"),
    [
        # A row with another's content:
        (f"INSERT INTO events SELECT 9, {REST} FROM events WHERE seq = 8", 9, "prev"),
        (f"INSERT INTO events SELECT 10, {REST} FROM events WHERE seq = 8", 9, "missing"),
        (f"INSERT OR REPLACE INTO events SELECT 5, {REST} FROM events WHERE seq = 8", 5, "prev"),
        (f"UPDATE events SET data = ({OTHER}) WHERE seq IN (5, 6)", 5, "match"),
        # Rows that are gone, and fields that are not what they were:
        ("DELETE FROM events WHERE seq = 1", 1, "missing"),
        ("DELETE FROM events WHERE seq IN (4, 5)", 4, "missing; the next event is 6"),
        ("UPDATE events SET seq = 99 WHERE seq = 3", 3, "missing"),
        ("UPDATE events SET seq = 0 WHERE seq = 3", 1, "event 0 is in its place"),
        ("UPDATE events SET seq = -7 WHERE seq = 1", 1, "event -7 is in its place"),
        ("UPDATE events SET data = 5 WHERE seq = 2", 2, "unreadable"),
        ("UPDATE events SET ts = x'' WHERE seq = 2", 2, "ts"),
        ("UPDATE events SET hash = 'short' WHERE seq = 2", 2, "unreadable"),
        ("UPDATE events SET data = '{\"round\": 1,\"text\":\"\"}' WHERE seq = 2", 2, "not in canonical form"),
        ("UPDATE events SET clause = '{}' WHERE seq = 2", 2, "unreadable"),
    ],
)  # fmt: skip
def test_changes_by_hand_are_found(path: Path, statement: str, seq: int, word: str) -> None:
    filled(path, 8)
    with by_hand(path) as connection:
        connection.execute(statement)
    found = damage(path)
    assert found.seq == seq
    assert word in found.reason


def test_a_cut_off_end_is_seen_by_who_knows_the_head(path: Path) -> None:
    events = filled(path, 8)
    with Journal(path) as journal:
        journal.mark_verified(Checkpoint(6, events[5].hash))
    with by_hand(path) as connection:
        connection.execute("DELETE FROM events WHERE seq > 6")
    with JournalReader(path) as reader:
        assert reader.verify().seq == 6  # from inside, nothing is wrong
    assert damage(path, Checkpoint(8, events[7].hash)).seq == 8
    found = damage(path, Checkpoint(7, events[6].hash))
    assert (found.seq, found.reason) == (7, "it was verified before and is now missing")


def test_the_first_place_that_is_wrong_is_named_also_where_a_later_row_is_unreadable(path: Path) -> None:
    filled(path, 8)
    with by_hand(path) as connection:
        connection.execute("DELETE FROM events WHERE seq = 4")
        connection.execute("UPDATE events SET data = '{' WHERE seq = 5")
    found = damage(path)
    assert found.seq == 4
    assert "event 5 is in its place" in found.reason


def test_rows_that_a_damaged_page_gives_again_and_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path, reader_module.BATCH)
    with JournalReader(path) as reader:
        rows = reader._read("SELECT seq, ts, kind, prev, hash, clause, data FROM events ORDER BY seq")
        monkeypatch.setattr(reader, "_read", lambda *_: rows)
        with pytest.raises(JournalDamaged, match=f"event {reader_module.BATCH + 1}: event 1 is in its place"):
            list(reader.events(limit=10 * reader_module.BATCH))


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER events_not_deleted",
        "DROP TABLE verified",
        "CREATE TRIGGER mine AFTER INSERT ON events BEGIN SELECT 1; END",
    ],
)
def test_tables_and_triggers_that_were_changed(path: Path, statement: str) -> None:
    filled(path, 2)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE INDEX somebodys_own ON events (kind)")
        connection.execute("ANALYZE")
        connection.commit()
        with Journal(path) as journal:
            journal.verify()
        connection.execute(statement)
        connection.commit()
    assert "by hand" in damage(path).reason
    with pytest.raises(JournalDamaged, match="by hand"):
        Journal(path)


def test_a_writer_does_not_go_on_from_a_bad_end(path: Path) -> None:
    filled(path, 3)
    with by_hand(path) as connection:
        connection.execute("UPDATE events SET kind = 'round.voided' WHERE seq = 3")
    with pytest.raises(JournalDamaged, match="event 3: its content does not match its hash"):
        Journal(path)


# --- verified before, and snapshots -----------------------------------------------------------------------------------


def test_only_what_came_since_is_verified(path: Path) -> None:
    events = filled(path, 9)
    with Journal(path) as journal:
        assert journal.verified() == START
        journal.mark_verified(Checkpoint(5, events[4].hash))
        assert journal.verified() == Checkpoint(5, events[4].hash)
        with pytest.raises(JournalDamaged):
            journal.mark_verified(Checkpoint(6, events[4].hash))
        with pytest.raises(JournalDamaged):
            journal.mark_verified(Checkpoint(10, events[4].hash))
        seen: list[StoredEvent] = []
        assert journal.verify(journal.verified(), seen.append) == journal.head
        assert seen == events[5:]
    with by_hand(path) as connection:
        connection.execute("UPDATE events SET kind = 'round.voided' WHERE seq = 3")
    with JournalReader(path) as reader:
        assert reader.verify(reader.verified()).seq == 9  # as promised: what came before was verified before
    assert damage(path).seq == 3
    with by_hand(path) as connection:
        connection.execute("UPDATE events SET kind = 'round.voided' WHERE seq = 5")
    assert damage(path, Checkpoint(5, events[4].hash)).seq == 5
    with by_hand(path) as connection:
        connection.execute("UPDATE verified SET hash = 5")
    with JournalReader(path) as reader:
        assert reader.verified() == START


def test_snapshots(path: Path) -> None:
    events = filled(path, 9)
    reasons: list[str] = []
    with Journal(path) as journal:
        assert journal.latest_snapshot() is None
        for seq in (2, 4, 6, 8):
            save_state(journal, seq, b"state %d" % seq, "1.0")
        save_state(journal, 8, b"state 8 again", "1.1")
        with pytest.raises(ValueError, match="no event 15"):
            journal.save_snapshot(15, b"", "1.0")
        latest = journal.latest_snapshot()
        assert latest is not None
        assert (latest.seq, latest.hash, latest.state, latest.code_version) == (
            8,
            events[7].hash,
            b"state 8 again",
            "1.1",
        )
        older = journal.latest_snapshot("1.0", reasons.append)
        assert older is not None
        assert (older.seq, older.state) == (6, b"state 6")
        assert journal.latest_snapshot("2.0") is None
    assert reasons == ["snapshot at event 8: it was written by version 1.1 of the code; this is 1.0"]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT seq FROM snapshots ORDER BY seq").fetchall() == [(4,), (6,), (8,)]


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE snapshots SET state = CAST('stote 8' AS BLOB) WHERE seq = 8", "digest"),
        ("UPDATE snapshots SET code_version = '1.1' WHERE seq = 8", "digest"),
        ("UPDATE snapshots SET event_hash = zeroblob(32) WHERE seq = 8", "digest"),
        ("UPDATE snapshots SET seq = 9 WHERE seq = 8", "digest"),
        ("UPDATE snapshots SET state = 7 WHERE seq = 8", "unreadable"),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 8", "another event"),
        ("DELETE FROM events WHERE seq >= 8", "another event"),
        ("UPDATE events SET data = 'x' WHERE seq = 8", "unreadable"),
        ("UPDATE events SET data = '{}' WHERE seq = 9", "does not record it"),
        ("DELETE FROM events WHERE seq = 9", "does not record it"),
    ],
)
def test_a_snapshot_that_cannot_be_relied_on_is_passed_over(path: Path, statement: str, word: str) -> None:
    filled(path, 4)
    with Journal(path) as journal:
        save_state(journal, 4, b"state 4", "1.0")
        journal.append([new(number) for number in (6, 7, 8)])
        save_state(journal, 8, b"state 8", "1.0")
    with by_hand(path) as connection:
        connection.execute(statement)
    reasons: list[str] = []
    with JournalReader(path) as reader:
        latest = reader.latest_snapshot(on_ignored=reasons.append)
        assert latest is not None
        assert latest.seq == 4
        (reason,) = reasons
        assert word in reason
    with by_hand(path) as connection:
        connection.execute("DROP TABLE snapshots")
    with JournalReader(path) as reader:
        assert reader.latest_snapshot(on_ignored=reasons.append) is None
    assert "no such table" in reasons[1]


def forge(path: Path, seq: int, state: bytes, code_version: str = "1.0") -> None:
    """Write a snapshot that looks perfect, as somebody can who may write the file."""
    with JournalReader(path) as reader:
        event = reader.event(seq)
        assert event is not None
    with by_hand(path) as connection:
        row = snapshot_row(Snapshot(seq, event.hash, code_version, state))
        connection.execute(f"INSERT OR REPLACE INTO snapshots ({SNAPSHOT_COLUMNS}) VALUES (?, ?, ?, ?, ?)", row)


@pytest.mark.parametrize(
    ("seq", "reason"), [(8, "its digest is not the one that event 9 records"), (10, "the journal does not record it")]
)
def test_a_forged_snapshot_is_not_used_although_its_own_digest_is_right(path: Path, seq: int, reason: str) -> None:
    filled(path, 4)
    with Journal(path) as journal:
        save_state(journal, 4, b"state 4", "1.0")
        journal.append([new(number) for number in (6, 7, 8)])
        save_state(journal, 8, b"state 8", "1.0")
        journal.append([new(10)])
    forge(path, seq, b"777 rounds")
    reasons: list[str] = []
    with JournalReader(path) as reader:
        latest = reader.latest_snapshot("1.0", reasons.append)
        assert latest is not None
        assert latest.state != b"777 rounds"
        assert reasons == [f"snapshot at event {seq}: {reason}"]
        assert reader.verify().seq == 10  # the chain itself is intact
        with pytest.raises(JournalDamaged, match=f"event {seq}: the saved state after it .* {reason}"):
            reader.check_snapshots("1.0")


def test_snapshots_of_a_version_that_did_not_record_them_are_no_damage(path: Path) -> None:
    filled(path, 5)
    with Journal(path) as journal:
        journal.save_snapshot(5, b"state", "0.9")
        journal.check_snapshots("1.0")
        assert journal.latest_snapshot() is None
        with pytest.raises(JournalDamaged, match="does not record it"):
            journal.check_snapshots("0.9")


def test_a_missing_end_is_found_by_the_mark_of_the_journal(path: Path) -> None:
    events = filled(path, 9)
    with Journal(path) as journal:
        journal.mark_verified(Checkpoint(7, events[6].hash))
    with by_hand(path) as connection:
        connection.execute("DELETE FROM events WHERE seq > 7")
    with JournalReader(path) as reader:
        assert reader.verify().seq == 7  # nothing shows that there was more
    with by_hand(path) as connection:
        connection.execute("DELETE FROM events WHERE seq > 5")
    found = damage(path)
    assert (found.seq, found.reason) == (
        6,
        "it is missing: the end was cut off, since the journal was verified to event 7",
    )


def test_a_rewritten_end_is_found_by_the_mark_of_the_journal(path: Path) -> None:
    events = filled(path, 9)
    with Journal(path) as journal:
        journal.mark_verified(Checkpoint(7, events[6].hash))
    with by_hand(path) as connection:
        connection.execute("DELETE FROM events WHERE seq > 5")
    with Journal(path) as journal:
        journal.append([new(number, text="another story") for number in (6, 7, 8)])
    found = damage(path)
    assert found.seq == 7
    assert "its hash is not the one in the journal's mark" in found.reason


def test_a_row_before_the_mark_is_found_by_checking_again(path: Path) -> None:
    events = filled(path, 2500)
    mark = Checkpoint(2400, events[2399].hash)
    recheck = Recheck(path, pieces=4)
    for _ in range(2 * 3):  # two passes of three pieces of at least 1,000
        recheck.step(mark)
    with by_hand(path) as connection:
        connection.execute("UPDATE events SET kind = 'round.voided' WHERE seq = 1500")
    recheck.step(mark)
    with pytest.raises(JournalDamaged) as caught:
        recheck.step(mark)
    assert caught.value.seq == 1500


@pytest.mark.parametrize(
    ("statement", "bad"),
    [
        ("DELETE FROM events WHERE seq >= 15", 15),
        ("DELETE FROM events WHERE seq = 3", 3),
        ("UPDATE events SET seq = -1 WHERE seq = 30", 1),
        ("UPDATE events SET data = 'x' WHERE seq = 7", 7),
    ],
)
def test_what_checking_again_finds(path: Path, statement: str, bad: int) -> None:
    mark = Checkpoint(20, filled(path, 30)[19].hash)
    with by_hand(path) as connection:
        connection.execute(statement)
    with pytest.raises(JournalDamaged) as caught:
        Recheck(path, pieces=10).step(mark)
    assert caught.value.seq == bad


def test_checking_again_ends_at_the_event_that_was_verified(path: Path) -> None:
    filled(path, 30)
    with pytest.raises(JournalDamaged, match="event 20: it is not the event that was verified before"):
        Recheck(path, pieces=10).step(Checkpoint(20, "0" * 64))


def test_the_work_of_a_start_does_not_grow_with_the_journal(tmp_path: Path) -> None:
    def steps(count: int) -> int:
        path = tmp_path / f"{count}.db"
        events = filled(path, count)
        with Journal(path) as journal:
            save_state(journal, count - 10, b"state", "1.0")
            journal.mark_verified(Checkpoint(count - 10, events[-11].hash))
        done = 0

        def step() -> int:
            nonlocal done
            done += 1
            return 0

        with Journal(path) as journal:
            journal._connection.set_progress_handler(step, 1)
            assert journal._checked_head().seq == count + 1
            snapshot = journal.latest_snapshot()
            assert snapshot is not None
            assert journal.verify(journal.verified()).seq == count + 1
            assert len(list(journal.events(snapshot.seq))) == 11
            return done

    assert steps(5000) == steps(50)


# --- what a disk can do -----------------------------------------------------------------------------------------------

WRITER = """
import sys
from controller.journal import Journal, NewEvent
with Journal(sys.argv[1]) as journal:
    while True:
        event = NewEvent("2026-01-31T23:59:59.123456Z", "round.started", (), {"text": "x" * 300})
        journal.append([event] * 3)
        print(journal.head.hash, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 40, 150])
def test_what_was_acknowledged_before_a_kill_is_there(path: Path, acknowledged: int) -> None:
    filled(path, 0)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        hashes = [writer.stdout.readline().strip() for _ in range(acknowledged)]
        with JournalReader(path) as reader:  # while it writes
            assert reader.verify().seq >= 3 * acknowledged
        with pytest.raises(JournalBusy, match=rf"process {writer.pid} is already writing it.*systemctl stop shoed"):
            Journal(path)
        writer.send_signal(signal.SIGKILL)
        hashes += [text for line in writer.stdout if len(text := line.strip()) == 64]
    with JournalReader(path) as reader:
        before = reader.verify()
    with Journal(path) as journal:
        assert journal.verify() == before
        assert journal.head.seq % 3 == 0  # whole groups only
        assert [event.hash for event in journal.events(upto=3 * len(hashes))][2::3] == hashes
        journal.append([new(1)])


def after_failure(path: Path, journal: Journal, kept: int) -> None:
    """The journal takes no more; opened again, it has what was acknowledged and continues."""
    with pytest.raises(JournalStopped):
        journal.append([new(1)])
    journal.close()
    with Journal(path) as journal:
        assert journal.verify().seq == kept
        assert journal.append([new(1)]) == kept + 1


def test_a_full_database(path: Path) -> None:
    """SQLite's own limit, which fails as a full disk does."""
    filled(path, 3)
    journal = Journal(path)
    journal._connection.execute("PRAGMA max_page_count = 20")

    def fill() -> None:
        while True:
            journal.append([new(1, text="x" * 1000)] * 3)

    with pytest.raises(JournalFull, match=r"journal\.db: the disk is full; free some space.*SQLITE_FULL"):
        fill()
    assert journal.head.seq % 3 == 0
    after_failure(path, journal, journal.head.seq)


def test_a_snapshot_that_finds_no_room_does_not_stop_the_appends(path: Path) -> None:
    filled(path, 3)
    with Journal(path) as journal:
        save_state(journal, 2, b"small", "1")
        journal._connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(JournalFull):
            journal.save_snapshot(3, bytes(1 << 20), "1")
        latest = journal.latest_snapshot()
        assert latest is not None
        assert latest.seq == 2
        journal.append([new(4)])


LIMITED = """
import resource, sys
from controller.journal import *
journal = Journal(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    while True:
        journal.append([NewEvent("2026-01-31T23:59:59.123456Z", "round.started", (), {"text": "x" * 900})] * 3)
except JournalDiskFailed as error:
    print(journal.head, error)
try:
    journal.append([NewEvent("2026-01-31T23:59:59.123456Z", "round.started")])
except JournalStopped:
    print("stopped")
"""


def run(script: str, *words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*before, sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)


def test_a_write_that_fails(path: Path) -> None:
    """The kernel refuses the write in the middle of a transaction."""
    filled(path, 3)
    done = run(LIMITED, str(path))
    assert done.returncode == 0, done.stderr
    failure, stopped = done.stdout.splitlines()
    assert "the disk failed; see `dmesg`" in failure
    assert stopped == "stopped"
    seq, _, rest = failure.partition(":")
    with JournalReader(path) as reader:
        assert str(reader.verify()) == f"{seq}:{rest.split()[0]}"


ON_TMPFS = """
import pathlib, subprocess, sys
from controller.journal import *
folder = pathlib.Path(sys.argv[1])
def mount(*words):
    if subprocess.run(["mount", *words, str(folder)], stderr=subprocess.DEVNULL).returncode:
        sys.exit(77)
mount("-t", "tmpfs", "-o", "size=512k", "tmpfs")
path = folder / "journal.db"
journal = Journal(path, create=True)
event = NewEvent("2026-01-31T23:59:59.123456Z", "round.started", (), {"text": "x" * 900})
try:
    while True:
        journal.append([event] * 3)
except JournalFull as error:
    print(type(error).__name__, error)
head = journal.head
try:
    journal.append([event])
except JournalStopped:
    print("stopped")
journal.close()
with JournalReader(path) as reader:
    assert reader.verify() == head, (reader.verify(), head)
try:
    Journal(folder / "second.db", create=True)
except JournalFull as error:
    print("second:", error)
mount("-o", "remount,size=1m")
with Journal(path) as journal:
    assert journal.verify() == head
    journal.append([event])
mount("-o", "remount,ro")
with JournalReader(path) as reader:
    assert reader.verify().seq == head.seq + 1
try:
    Journal(path)
except JournalReadOnly as error:
    print(error)
"""


def test_a_disk_that_is_really_full_and_one_mounted_read_only(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or run("", before=("unshare", "-rm")).returncode:
        pytest.skip("needs the right to mount in a namespace of its own")
    done = run(ON_TMPFS, str(tmp_path), before=("unshare", "-rm"))
    if done.returncode == 77:
        pytest.skip("needs the right to mount in a namespace of its own")
    assert done.returncode == 0, done.stderr
    full, stopped, second, read_only = done.stdout.splitlines()
    assert full.startswith("JournalFull")
    assert stopped == "stopped"
    assert "the disk is full; free some space" in second
    assert "it cannot be written" in read_only


def test_a_failed_write_on_a_disk_without_room_is_told_as_a_full_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not always say which of the two it was."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    monkeypatch.setattr(errors, "ROOM_BYTES", 0)
    assert isinstance(errors.from_sqlite(error, path), JournalDiskFailed)
    monkeypatch.setattr(errors, "ROOM_BYTES", 1 << 62)
    assert isinstance(errors.from_sqlite(error, path), JournalFull)


@pytest.fixture
def as_user() -> Iterator[Path]:
    """A folder in /tmp, without the right to override its permissions."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, NOBODY, NOBODY)
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
            os.setegid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_a_file_or_a_folder_that_cannot_be_written(as_user: Path) -> None:
    path = as_user / "journal.db"
    events = filled(path, 3)
    path.chmod(0o440)
    with pytest.raises(JournalReadOnly, match="check the owner"):
        Journal(path)
    with pytest.raises(JournalReadOnly):
        Journal(path, create=True)
    as_user.chmod(0o500)
    with JournalReader(path) as reader:
        assert list(reader.events()) == events
        assert reader.verify().seq == 3
    assert sorted(file.name for file in as_user.iterdir()) == ["journal.db", "journal.db.lock"]
    (as_user / "journal.db.lock").chmod(0o440)
    with pytest.raises(JournalReadOnly):
        Journal(path)
    with pytest.raises(JournalReadOnly):
        Journal(as_user / "new.db", create=True)
    path.chmod(0o000)
    with pytest.raises(JournalForbidden, match="may not read it"):
        JournalReader(path)
    as_user.chmod(0o000)
    with pytest.raises(JournalForbidden):
        JournalReader(path)
    with pytest.raises(JournalAbsent):  # as far as this user can see
        Journal(path)


def test_a_copy_of_a_journal_in_use_on_a_medium_nobody_can_write(as_user: Path) -> None:
    path, copy = as_user / "journal.db", as_user / "copy"
    copy.mkdir()
    with Journal(path, create=True) as journal:
        journal.append([new(number) for number in range(5)])
        events = list(journal.events())
        for file in as_user.glob("journal.db*"):
            shutil.copy(file, copy)
    copy.chmod(0o500)
    with JournalReader(copy / "journal.db") as reader:
        assert list(reader.events()) == events
    copy.chmod(0o700)
    (copy / "journal.db-shm").unlink()
    copy.chmod(0o500)
    with pytest.raises(JournalDiskFailed, match=r"journal\.db-wal.*copy both to a folder that you can write"):
        JournalReader(copy / "journal.db")
    copy.chmod(0o700)
    with JournalReader(copy / "journal.db") as reader:
        assert list(reader.events()) == events


def test_reading_without_a_writer_leaves_no_trace_and_sees_one_that_comes(path: Path) -> None:
    filled(path, 3)
    before = sorted(path.parent.iterdir())
    with JournalReader(path) as reader:
        assert reader.verify().seq == 3
        assert sorted(path.parent.iterdir()) == before
        with Journal(path) as journal:
            journal.append([new(4)])
            assert reader.head == journal.head
            journal.append([new(5)])
            assert reader.verify().seq == 5
    with JournalReader(path) as reader:
        with Journal(path) as journal:
            journal.append([new(6)])
        assert reader.verify().seq == 6  # came and went between two reads


# --- other files, other programs --------------------------------------------------------------------------------------


def test_one_writer_at_a_time(path: Path) -> None:
    (path.parent / "link.db").symlink_to(path)
    with Journal(path, create=True) as journal:
        for same in (path, path.parent / "link.db"):
            with pytest.raises(JournalBusy, match=f"process {os.getpid()} is already writing it"):
                Journal(same)
        journal.append([new(1)])
    with Journal(path.parent / "link.db") as journal:
        journal.append([new(2)])
    with JournalReader(path.parent / "link.db") as reader:
        assert reader.verify().seq == 2


def test_a_failed_opening_lets_others_write(path: Path) -> None:
    filled(path, 2)
    with by_hand(path) as connection:
        connection.execute("UPDATE events SET kind = 'round.voided' WHERE seq = 2")
    for _ in range(2):
        with pytest.raises(JournalDamaged):
            Journal(path)


def test_busy_is_the_one_failure_that_passes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "LOCK_TIMEOUT_S", 0.0)
    with (
        Journal(path, create=True) as journal,
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalBusy, match="try again"):
            journal.append([new(1)])
        other.execute("ROLLBACK")
        assert journal.append([new(1)]) == 1


def test_where_there_is_none(tmp_path: Path) -> None:
    for opening in (JournalReader, Journal):
        with pytest.raises(JournalAbsent):
            opening(tmp_path / "journal.db")
        with pytest.raises(JournalAbsent):
            opening(tmp_path / "no folder" / "journal.db")
    with pytest.raises(JournalAbsent, match="folder"):
        Journal(tmp_path / "no folder" / "journal.db", create=True)
    assert list(tmp_path.iterdir()) == []


def other_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY)")


def newer(path: Path) -> None:
    filled(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda path: path.write_bytes(b""), "empty"),
        (lambda path: path.write_text("dear diary\n" * 1000), "not a Dragonshoe journal"),
        (lambda path: path.mkdir(), "not a file"),
        (other_database, "not a Dragonshoe journal"),
        (newer, "newer Dragonshoe.*update"),
    ],
)
def test_what_is_no_journal(path: Path, make: Callable[[Path], object], word: str) -> None:
    make(path)
    with pytest.raises(JournalForeign, match=word):
        JournalReader(path)
    with pytest.raises(JournalError):
        Journal(path)


def test_a_making_that_was_cut_short_is_done_again(path: Path) -> None:
    path.touch()
    with Journal(path, create=True) as journal:
        journal.append([new(1)])
    with Journal(path, create=True) as journal:
        assert journal.head.seq == 1
    other_database(path.with_name("other.db"))
    with pytest.raises(JournalForeign):
        Journal(path.with_name("other.db"), create=True)


# --- damaged bytes ----------------------------------------------------------------------------------------------------


def outcome(path: Path, good: list[StoredEvent]) -> JournalError | None:
    """The result of verification; the event it names must be where the difference begins."""
    found: list[StoredEvent] = []
    failure: JournalError | None = None
    try:
        with JournalReader(path) as reader:
            reader.verify(on_event=found.append)
    except JournalError as error:
        failure = error
    if isinstance(failure, JournalDamaged):
        assert found == good[: len(found)]
        assert failure.seq in (None, len(found) + 1) or "mark" in failure.reason
    elif failure is None:
        assert found == good
    return failure


def test_damaged_pages(path: Path) -> None:
    good = filled(path, 60, "x" * 300)
    whole = path.read_bytes()
    named = []
    for at in range(0, len(whole), 4096):
        for page in (b"\xff" * 4096, bytes(4096), random.Random(at).randbytes(4096)):
            path.write_bytes(whole[:at] + page + whole[at + 4096 :])
            error = outcome(path, good)
            if isinstance(error, JournalDamaged) and error.seq:
                named.append(error.seq)
            with pytest.raises(JournalError) if error else contextlib.nullcontext(), Journal(path) as journal:
                journal.verify()
    assert len(set(named)) > 5
    assert 1 in named


def test_damaged_bytes_anywhere(path: Path) -> None:
    filled(path, 20)
    with Journal(path) as journal:
        save_state(journal, 20, bytes(3000), "1.0")
        good = list(journal.events())
        journal.mark_verified(journal.head)
    whole = path.read_bytes()
    chance = random.Random(1)
    found = 0
    for _ in range(400):
        broken = bytearray(whole)
        broken[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(broken)
        found += outcome(path, good) is not None
        with contextlib.suppress(JournalError), JournalReader(path) as reader:
            reader.latest_snapshot()
            reader.verify(reader.verified())
            list(reader.events())
    assert found > 50


def test_a_file_that_was_cut(path: Path) -> None:
    good = filled(path, 60, "x" * 300)
    whole = path.read_bytes()
    for length in range(0, len(whole), 1000):
        path.write_bytes(whole[:length])
        assert outcome(path, good) is not None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-01-31", "2026-01-31T00:00:00.000000Z", "2026-01-31T23:59:59.999999Z"),
        ("2026-01-31 22:15", "2026-01-31T22:15:00.000000Z", "2026-01-31T22:15:59.999999Z"),
        ("2026-01-31T22:15:07Z", "2026-01-31T22:15:07.000000Z", "2026-01-31T22:15:07.999999Z"),
        ("2026-01-31 22:15:07.12", "2026-01-31T22:15:07.120000Z", "2026-01-31T22:15:07.129999Z"),
    ],
)
def test_a_time_is_as_precise_as_it_is_given(text: str, first: str, last: str) -> None:
    assert (moment(text), moment(text, end=True)) == (first, last)


@pytest.mark.parametrize("text", ["", "noon", "2026-01-31 22", "31.1.2026", "2026-02-30", "2026-01-31 25:00", "12:00"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        moment(text)


def test_a_file_is_told_from_others_by_what_it_is(tmp_path: Path) -> None:
    """Not by its name: a copy is another file, a second name is not."""
    first, copy, second = tmp_path / "first", tmp_path / "copy", tmp_path / "second"
    first.write_text("the same")
    copy.write_text("the same")
    second.hardlink_to(first)
    assert FileIdentity(str(first)).read() == FileIdentity(str(second)).read() != FileIdentity(str(copy)).read()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        FileIdentity(str(first), str(tmp_path / "nowhere")).read()
