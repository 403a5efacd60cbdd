"""Reading a journal: while the daemon writes it, while the daemon is down, and from a copy on a read-only medium.

A reader never changes anything and never locks the journal for long: it reads a few hundred events at a time, so that
the writer can truncate its write-ahead log however slowly the events are used.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from controller.journal.base_journal import BaseJournal
from controller.journal.chain import check_known, from_row, verify
from controller.journal.errors import (
    JournalDamaged,
    JournalDiskFailed,
    JournalError,
    JournalForbidden,
    JournalForeign,
    JournalReadTooLong,
    check_room,
    from_os,
    from_sqlite,
)
from controller.journal.records import START, Checkpoint, StoredEvent
from controller.journal.schema import LISTING, check_schema, recognise, uses_wal
from controller.journal.search import EVENT_COLUMNS, Wanted, select, select_span
from controller.journal.snapshots import SNAPSHOT_COLUMNS, Snapshot, read_snapshot

BATCH = 512  # events read at a time
LOCK_TIMEOUT_S = 5.0  # how long to wait for another program's lock
INSTRUCTIONS = 20_000  # of SQLite, between two looks at the clock: about a millisecond
BEFORE_ALL = -(2**63)  # also finds forged events with numbers below 1


class _Stamp(NamedTuple):
    """Changes when a program starts to write."""

    size: int
    changed_ns: int
    wal_size: int


class JournalReader(BaseJournal):
    """A journal opened for reading. One thread at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open it; JournalAbsent, JournalForbidden, JournalForeign or JournalDamaged if that fails."""
        self.path = Path(os.path.realpath(path))  # the write-ahead log is beside the file itself, not beside a link
        self._over: Callable[[], bool] | None = None
        self._has_index = False
        self._unchanged: _Stamp | None = None  # what it was when it was opened as a file that nobody writes
        self._connection = self._connect()
        try:
            recognise(self._connection, self.path)
        except sqlite3.Error as error:
            self._connection.close()
            raise self._unreadable(error) from None
        except JournalError:
            self._connection.close()
            raise

    def end_when(self, over: Callable[[], bool]) -> None:
        """From now on, reading ends with JournalReadTooLong as soon as this returns true."""
        self._over = over
        self._connection.set_progress_handler(over, INSTRUCTIONS)

    def _connect(self) -> sqlite3.Connection:
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise JournalForeign(f"{self.path}: not a file; check the path")
            if not os.access(self.path, os.R_OK, effective_ids=True):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            self._unchanged = self._stamp()
        except PermissionError:
            raise JournalForbidden(f"{self.path}: this user may not read it; use an account of its group") from None
        except OSError as error:
            raise from_os(error, self.path) from None
        # Without a write-ahead log nobody is writing: read the file as an immutable one, which needs no files beside it
        # and so works in a read-only folder. _read() checks whether it has stayed unchanged.
        wal = self._unchanged.wal_size > 0
        if wal:
            self._unchanged = None
            if not self.path.with_name(self.path.name + "-shm").exists():
                check_room(self.path)
        connection = open_sqlite(self.path, "mode=ro" if wal else "mode=ro&immutable=1")
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # the first to read the file
        except sqlite3.Error as error:
            connection.close()
            if wal and error.sqlite_errorname == "SQLITE_CANTOPEN":
                raise JournalDiskFailed(
                    f"{self.path}: its last events are in {self._wal.name}, which cannot be read without writing "
                    "beside it; copy both to a folder that you can write"
                ) from None
            raise self._unreadable(error) from None
        return connection

    def _unreadable(self, error: sqlite3.Error) -> JournalError:
        """Why the file cannot be read at all. While it is being created it has a rollback journal, and no log yet."""
        creating = self.path.with_name(self.path.name + "-journal").exists()
        try:
            if self._unchanged is not None and (creating or self._stamp() != self._unchanged):
                return JournalForeign(f"{self.path}: not complete yet; start the daemon to finish creating it")
        except OSError as gone:
            return from_os(gone, self.path)
        return from_sqlite(error, self.path)

    @property
    def _wal(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    @property
    def may_lack_its_end(self) -> bool:
        """Whether this looks like the file of a running daemon that was copied without its write-ahead log.

        A daemon records events from its first second; when it ends it marks the last one as verified, and SQLite then
        removes the log.
        """
        closed = self.head != START and self.verified() == self.head
        return self._unchanged is not None and uses_wal(self.path) and not closed

    def copy_to(self, target: Path) -> None:
        """Write a complete copy into one new file, while the daemon may be writing."""
        while True:
            copy = open_sqlite(target, "mode=rwc")
            try:
                self._connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # a single file, which lacks nothing
            except sqlite3.Error as error:
                raise from_sqlite(error, self.path) from None
            finally:
                copy.close()
            if self._unchanged is None or self._stamp() == self._unchanged:
                return
            self._reconnect()

    def _reconnect(self) -> None:
        """Open it as a journal that a program has begun to write."""
        self._connection.close()
        self._connection = self._connect()
        self._has_index = False
        if self._over is not None:
            self.end_when(self._over)

    def _stamp(self) -> _Stamp:
        status = self.path.stat()
        try:
            wal_size = self._wal.stat().st_size
        except FileNotFoundError:
            wal_size = 0
        return _Stamp(status.st_size, status.st_mtime_ns, wal_size)

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """All rows of a statement, in one short transaction."""
        if self._over is not None and self._over():
            raise JournalReadTooLong(f"{self.path}: reading took too long and was ended")
        while True:
            try:
                rows = self._connection.execute(statement, values).fetchall()
                failure = None
            except sqlite3.ProgrammingError:  # it was closed: an error in the calling program
                raise
            except sqlite3.Error as error:
                failure = from_sqlite(error, self.path)
            try:
                if self._unchanged is not None and self._stamp() != self._unchanged:
                    self._reconnect()  # what was read may be incomplete
                    continue
            except OSError as error:
                raise from_os(error, self.path) from None
            if failure is not None:
                raise failure
            return rows

    # --- events -----------------------------------------------------------------------------------------------------

    @property
    def head(self) -> Checkpoint:
        """The last event's position; START if there is none."""
        newest = self.last(1)
        return Checkpoint(newest[0].seq, newest[0].hash) if newest else START

    def events(
        self, after: int = 0, upto: int | None = None, kinds: Collection[str] = (), limit: int | None = None
    ) -> Iterator[StoredEvent]:
        """The events after this number, in order, read as they are used; JournalDamaged names an unreadable one.

        Includes events that are appended in the meantime. The chain is not checked: `check` and `verify` do that.
        """
        upto = 2**63 - 1 if upto is None else upto
        left = 2**63 - 1 if limit is None else limit
        some = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        statement = f"SELECT {EVENT_COLUMNS} FROM events WHERE seq > ? AND seq <= ?{some} ORDER BY seq LIMIT ?"
        while left > 0:
            batch = min(left, BATCH)
            try:
                rows = self._read(statement, (after, upto, *kinds, batch))
            except JournalDamaged as damage:
                yield from self._until_damage(after, upto, kinds, left, damage)
                return
            for row in rows:
                if row[0] <= after:  # a damaged page; continuing from here might never end
                    raise JournalDamaged(after + 1, f"event {row[0]} is in its place")
                after = row[0]
                yield from_row(row)
            if len(rows) < batch:
                return
            left -= batch

    def _until_damage(
        self, after: int, upto: int, kinds: Collection[str], left: int, damage: JournalDamaged
    ) -> Iterator[StoredEvent]:
        """One by one, up to the event on the damaged page."""
        for seq in range(max(after, 0) + 1, min(upto, max(after, 0) + BATCH) + 1):
            try:
                rows = self._read(f"SELECT {EVENT_COLUMNS} FROM events WHERE seq = ?", (seq,))
            except JournalDamaged:
                raise JournalDamaged(seq, f"it cannot be read: {damage.reason}") from None
            if not rows:
                raise JournalDamaged(seq, f"it cannot be found: {damage.reason}")
            event = from_row(rows[0])
            if left > 0 and (not kinds or event.kind in kinds):
                left -= 1
                yield event
        raise damage

    def last(self, count: int, kinds: Collection[str] = ()) -> list[StoredEvent]:
        """The newest events, in order."""
        some = f" WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        rows = self._read(f"SELECT {EVENT_COLUMNS} FROM events{some} ORDER BY seq DESC LIMIT ?", (*kinds, count))
        return [from_row(row) for row in reversed(rows)]

    def search(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        kind: str = "",
        having: Sequence[tuple[str, str | int]] = (),
        within: tuple[str, str | int] | None = None,
        since: str = "",
        until: str = "",
        text: Sequence[str] = (),
        saying: Callable[[str], Sequence[str]] = lambda word: (),
        limit: int = 100,
        newest: bool = False,
    ) -> list[StoredEvent]:
        """Events between two numbers and times, in order: of a kind or a group of kinds, with these values in their
        data (in upper or lower case), and containing all these words. `within` selects everything from the first event
        with this value in its data to the last. `newest` returns the last ones instead of the first. `saying` names the
        kinds of events whose sentences contain a word: sentences are not stored.
        """
        wanted = Wanted(kind, tuple(having), since, until, tuple((word, tuple(saying(word))) for word in text))
        upto = self._indexed() if wanted.uses_index or within else 0
        while True:
            try:
                if within is not None:
                    first, last = self._span(within, upto)
                    after, before = max(after, first - 1), last + 1 if before is None else min(before, last + 1)
                return self._search(wanted, after, before, limit, newest, upto)
            except JournalReadTooLong:
                raise
            except JournalError:
                if not upto:
                    raise
                upto = 0  # the index may be damaged: search without it

    def _search(
        self, wanted: Wanted, after: int, before: int | None, limit: int, newest: bool, upto: int
    ) -> list[StoredEvent]:
        """Search what is in the index, up to event `upto`, and what is not yet."""
        end = upto + 1 if before is None else min(before, upto + 1)
        parts = [(after, end, True), (max(after, upto), before, False)] if upto else [(after, before, False)]
        found: list[StoredEvent] = []
        for first, last, indexed in reversed(parts) if newest else parts:
            statement, values = select(wanted, first, last, limit - len(found), newest, indexed)
            rows = [from_row(row) for row in self._read(statement, values)]
            found = [*reversed(rows), *found] if newest else [*found, *rows]
        return found

    def _span(self, within: tuple[str, str | int], upto: int) -> tuple[int, int]:
        """The first and the last event with this value in its data; (1, 0) if there is none."""
        ends = [
            number
            for indexed in ((True, False) if upto else (False,))
            for number in self._read(*select_span(*within, 0 if indexed else upto, indexed))[0]
            if number is not None
        ]
        return (min(ends), max(ends)) if ends else (1, 0)

    def use_index(self, index: Path) -> None:
        """Let searches use this index, if it exists."""
        with contextlib.suppress(sqlite3.Error):  # without it they take longer
            if index.exists():
                self._connection.execute("ATTACH ? AS side", (f"file:{quote(str(index))}?mode=ro",))
                self._has_index = True

    def _indexed(self) -> int:
        """The last event in the index; 0 if there is none, or if it cannot be used."""
        if not self._has_index:
            return 0
        try:
            seq, digest = self._connection.execute("SELECT seq, hash FROM side.known").fetchone()
            same = self._connection.execute("SELECT hash FROM main.events WHERE seq = ?", (seq,)).fetchone()
        except (sqlite3.Error, TypeError):
            return 0
        return int(seq) if same is not None and bytes(same[0]) == digest else 0

    # --- verification -----------------------------------------------------------------------------------------------

    def verify(self, since: Checkpoint = START, on_event: Callable[[StoredEvent], None] | None = None) -> Checkpoint:
        """Check the chain from a checkpoint that is known to be good to its end, and return the end.

        JournalDamaged names the first bad event. `on_event` gets every good event. The journal's own mark is checked
        too: it shows that an end which was verified before is cut off or rewritten.
        """
        mark = self.verified()  # read first: the daemon may move it on while the events are checked
        if since != START:
            check_known(since, self.event(since.seq))
        end = verify(self.events(since.seq if since.seq else BEFORE_ALL), since, on_event)
        if mark.seq > end.seq:
            raise JournalDamaged(
                end.seq + 1, f"it is missing: the end was cut off, since the journal was verified to event {mark.seq}"
            )
        marked = self.event(mark.seq) if mark.seq > since.seq else None
        if marked is not None and marked.hash != mark.hash:
            reason = "its hash is not the one in the journal's mark of what was verified; one of them was changed"
            raise JournalDamaged(mark.seq, reason)
        check_schema(self._read(LISTING))
        return end

    def verify_part(self, since: Checkpoint, upto: int) -> Checkpoint:
        """Check the chain from a good checkpoint to this event, and return the event's checkpoint."""
        end = verify(self.events(since.seq if since.seq else BEFORE_ALL, upto), since)
        if end.seq != upto:
            raise JournalDamaged(end.seq + 1, "it is missing")
        return end

    def verified(self) -> Checkpoint:
        """The checkpoint up to which the chain was verified; START if that is not known."""
        try:
            rows = self._read("SELECT seq, hash FROM verified")
        except JournalDamaged:
            return START
        if len(rows) != 1 or not isinstance(rows[0][0], int) or not isinstance(rows[0][1], bytes):
            return START
        return Checkpoint(rows[0][0], rows[0][1].hex())

    # --- snapshots, closing -----------------------------------------------------------------------------------------

    def _snapshot_numbers(self) -> list[int]:
        return [seq for (seq,) in self._read("SELECT seq FROM snapshots ORDER BY seq DESC")]

    def _snapshot(self, seq: int) -> Snapshot:
        return read_snapshot(self._read(f"SELECT {SNAPSHOT_COLUMNS} FROM snapshots WHERE seq = ?", (seq,)))

    def close(self) -> None:
        """Close it; may be called more than once."""
        self._connection.close()


def open_sqlite(path: Path, how: str) -> sqlite3.Connection:
    """A connection without implicit transactions, which returns text as bytes because it may be damaged."""
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?{how}",
            uri=True,
            timeout=LOCK_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise from_sqlite(error, path) from None
    connection.text_factory = bytes
    connection.execute("PRAGMA cell_size_check = ON")
    return connection
