"""Writing a journal: SQLite with a write-ahead log, flushed to the disk with every append, one writer at a time.

When append() returns, the events are on the disk. When it fails, none of them counts as written, and the journal takes
no more until it is opened anew: what is then read from the disk is what happened.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from controller.journal.chain import NewEvent, Row, digest, from_new, link_rows
from controller.journal.errors import (
    JournalAbsent,
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalStopped,
    check_room,
    from_os,
    from_sqlite,
)
from controller.journal.inode import Whereabouts
from controller.journal.reader import JournalReader, open_sqlite
from controller.journal.records import Checkpoint, Event
from controller.journal.schema import LISTING, check_schema, create, is_blank
from controller.journal.snapshots import KEPT, Snapshot, snapshot_row

MODE = 0o640  # the daemon writes, its group reads
WAL_KEPT_BYTES = 8 << 20  # a write-ahead log that grew beyond it is cut back

_INSERT = "INSERT INTO events (seq, ts, kind, prev, hash, clause, data) VALUES (?, ?, ?, ?, ?, ?, ?)"


class Journal(JournalReader):
    """A journal opened for writing. One in all the processes of the machine, one thread at a time."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        """Open it, or make it where there is none and `create` is given.

        Making one is asked for by name: a journal that is gone must not be replaced by an empty one in silence, since
        the numbers of its commands would be given a second time.
        """
        self._create = create
        self._stopped: str | None = None
        real = os.path.realpath(path)
        self._whereabouts = Whereabouts(real, f"{real}-wal")
        self._lock = _WriterLock(_place(Path(real), create))
        try:
            super().__init__(path)
            try:
                check_schema(self._read(LISTING))
                self._seq, self._hash = self._checked_head()
                self._files = self._look()
                self._lock.sign()
            except JournalError:
                self._connection.close()
                raise
        except JournalError:
            self._lock.release()
            raise

    def _connect(self) -> sqlite3.Connection:
        try:
            if self._create and not os.path.exists(self.path):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE))
                _flush_folder(self.path.parent)
            if not os.access(self.path, os.W_OK, effective_ids=True):  # SQLite would tell only at the first append
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise from_os(error, self.path) from None
        check_room(self.path)
        connection = open_sqlite(self.path, "mode=rw")
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != b"wal":
                raise sqlite3.OperationalError(f"journal mode {mode.decode()}")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
            if is_blank(connection) and self._create:
                create(connection)
            _flush_folder(self.path.parent)  # the log is there now; SQLite does not look whether its own flush failed
        except sqlite3.Error as error:
            connection.close()
            raise from_sqlite(error, self.path) from None
        except OSError as error:
            connection.close()
            raise from_os(error, self.path) from None
        return connection

    @property
    def head(self) -> Checkpoint:
        """The last event's place; the next event will have the number after it."""
        return Checkpoint(self._seq, self._hash.hex())

    def _checked_head(self) -> tuple[int, bytes]:
        """What the next event is chained to must be right by itself; verify() looks at what came before."""
        newest = self.last(1)
        if newest and digest(newest[0]) != newest[0].hash:
            raise JournalDamaged(newest[0].seq, "its content does not fit its hash")
        head = super().head
        return head.seq, bytes.fromhex(head.hash)

    def append(self, new: Sequence[NewEvent]) -> list[Event]:
        """Write all of them, or none, in one durable transaction; they are on the disk when this returns.

        BadEvent: one of them is a mistake of the program; nothing happened. JournalBusy: another program is in the
        way; try again. Any other JournalError: the journal takes no more until it is opened anew. What it then holds
        ends with these events or before them, never in their midst: a disk that reports a failure may have written.
        """
        return [from_new(row) for row in self._record(new)]

    def record(self, new: Sequence[NewEvent]) -> int:
        """The same for those who need no copies back: it tells the last event's number."""
        self._record(new)
        return self._seq

    def _record(self, new: Sequence[NewEvent]) -> list[Row]:
        if self._stopped is not None:
            raise JournalStopped(f"{self.path}: nothing more is written: {self._stopped}; open the journal anew")
        rows = link_rows(new, self._seq, self._hash)
        if rows:
            self._write_events(rows)
            self._seq, self._hash = rows[-1][0], rows[-1][4]
        return rows

    def _look(self) -> bytes:
        """Which files the journal and its log are: what is written to files that nobody finds again is not stored."""
        try:
            return self._whereabouts.look()
        except OSError as error:
            raise from_os(error, self.path) from None

    def _check_place(self) -> None:
        try:
            if self._look() != self._files:
                raise JournalAbsent(f"{self.path}: another file is in its place; bring the journal back")
        except JournalError as error:
            self._stopped = str(error)
            raise

    def _write_events(self, rows: list[Row]) -> None:
        self._check_place()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(_INSERT, rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            failure = from_sqlite(error, self.path)
            self._roll_back()
            if not isinstance(failure, JournalBusy):
                self._stopped = str(failure)
            raise failure from None
        except BaseException as error:  # Ctrl-C in the midst of it
            self._roll_back()
            self._stopped = f"an append was broken off ({type(error).__name__})"
            raise

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    # --- what saves time at the start -------------------------------------------------------------------------------

    def save_snapshot(self, seq: int, state: bytes, code_version: str) -> None:
        """Keep the state after an event; only the last few are kept. A failure here does not stop the appends."""
        event = self.event(seq)
        if event is None:
            raise ValueError(f"there is no event {seq} to take a snapshot of")
        self._write_beside(
            [
                (
                    "INSERT OR REPLACE INTO snapshots (seq, event_hash, code_version, digest, state) "
                    "VALUES (?, ?, ?, ?, ?)",
                    snapshot_row(Snapshot(seq, event.hash, code_version, state)),
                ),
                (
                    "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)",
                    (KEPT,),
                ),
            ]
        )

    def mark_verified(self, checkpoint: Checkpoint) -> None:
        """Remember up to where the chain was found whole, for verified(). A failure here does not stop the appends."""
        event = self.event(checkpoint.seq)
        if event is None or event.hash != checkpoint.hash:
            raise JournalDamaged(checkpoint.seq, "it is not the event that was verified")
        self._write_beside(
            [
                (
                    "INSERT OR REPLACE INTO verified (one, seq, hash) VALUES (1, ?, ?)",
                    (checkpoint.seq, bytes.fromhex(checkpoint.hash)),
                )
            ]
        )

    def _write_beside(self, statements: Iterable[tuple[str, tuple[object, ...]]]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for statement, values in statements:
                self._connection.execute(statement, values)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            failure = from_sqlite(error, self.path)
            self._roll_back()
            raise failure from None

    def close(self) -> None:
        """Close it and let others write; also more than once."""
        self._stopped = self._stopped or "it was closed"
        self._connection.close()
        self._lock.release()


def was_made(path: Path) -> bool:
    """Whether a journal was once finished here, also if it is gone now: its writer has signed for it."""
    lock = _lock_path(path)
    return lock.exists() and lock.stat().st_size > 0


def _lock_path(journal: Path) -> Path:
    return journal.with_name(journal.name + ".lock")


class _WriterLock:
    """Held by the one writer. A file of its own: closing a second descriptor of a database drops SQLite's own locks.

    It is empty until a journal has been finished here, and never again: see was_made().
    """

    def __init__(self, journal: Path) -> None:
        self._path = path = _lock_path(journal)
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        except OSError as error:
            raise from_os(error, path) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, 32, 0).decode(errors="replace").strip() or "unknown"
            self.release()
            raise JournalBusy(
                f"{journal}: process {holder} writes it already; end that one first (the daemon: systemctl stop shoed)"
            ) from None
        except OSError as error:
            self.release()
            raise from_os(error, path) from None

    def sign(self) -> None:
        """The journal is there: say whose it is, for those who come later. Never shorter than before, lest a power cut
        leaves it empty."""
        try:
            first = os.fstat(self._fd).st_size == 0
            os.pwrite(self._fd, b"%-10d\n" % os.getpid(), 0)
            if first:
                os.fsync(self._fd)
        except OSError as error:
            raise from_os(error, self._path) from None

    def release(self) -> None:
        """Let another have it; also more than once."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _place(path: Path, create: bool) -> Path:
    """The path, if a journal is or can be there."""
    if not os.path.isdir(path.parent):
        raise JournalAbsent(f"{path}: its folder is not there; make it, or mount its disk")
    if not create and not os.path.exists(path):
        raise JournalAbsent(f"{path}: there is no journal here; check the path, and whether its disk is mounted")
    return path


def _flush_folder(folder: Path) -> None:
    """So that a new file is still in its folder after a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def timestamp(when: datetime) -> str:
    """A moment as events have it. It must know its time zone."""
    if when.tzinfo is None:
        raise ValueError("a moment without its time zone")
    return when.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
