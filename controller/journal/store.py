"""Writing a journal: SQLite with a write-ahead log, flushed to the disk with every append, one writer at a time.

When append() returns, the events are on the disk. When it fails, none of them counts as written, and the journal takes
no more until it is opened again: what is then read from the disk is what happened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from controller.journal.chain import check_known, link
from controller.journal.errors import (
    JournalAbsent,
    JournalBusy,
    JournalError,
    JournalStopped,
    check_room,
    from_os,
    from_sqlite,
)
from controller.journal.file_identity import FileIdentity
from controller.journal.reader import JournalReader, open_sqlite
from controller.journal.records import Checkpoint, EventRow, NewEvent
from controller.journal.schema import LISTING, check_schema, create, is_blank, uses_wal
from controller.journal.search import EVENT_COLUMNS
from controller.journal.snapshots import KEPT, SNAPSHOT_COLUMNS, snapshot_row
from controller.journal.writer_lock import MODE, WriterLock, record_beside, recorded_beside

WAL_KEPT_BYTES = 8 << 20  # a longer write-ahead log is truncated to this

_INSERT_EVENT = f"INSERT INTO events ({EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_SNAPSHOT = f"INSERT OR REPLACE INTO snapshots ({SNAPSHOT_COLUMNS}) VALUES (?, ?, ?, ?, ?)"
_DELETE_SNAPSHOTS = "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)"
_INSERT_VERIFIED = "INSERT OR REPLACE INTO verified (one, seq, hash) VALUES (1, ?, ?)"


class Journal(JournalReader):
    """A journal opened for writing, by one process and one thread at a time."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        """Open a journal; with `create`, make one if there is none.

        Without `create` a missing journal is an error: a new, empty one in its place would give the numbers of its
        commands to devices a second time.
        """
        self._create = create
        self._stopped: str | None = None
        self._given, real = Path(path), os.path.realpath(path)
        self._files = FileIdentity(real, f"{real}-wal")
        _check_path(Path(real), create)
        self._lock = WriterLock(Path(real))
        try:
            super().__init__(path)
            try:
                check_schema(self._read(LISTING))
                self._head = self._checked_head()
                self._identity = self._read_identity()
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
            if not os.access(self.path, os.W_OK, effective_ids=True):  # SQLite would fail only at the first append
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise from_os(error, self.path) from None
        check_room(self.path)
        connection = open_sqlite(self.path, "mode=rw")
        try:
            connection.execute("PRAGMA synchronous = FULL")
            if self._create and is_blank(connection) and not uses_wal(self.path):
                create(connection)  # before there is a log: an empty file with a log has lost its events
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != b"wal":
                raise sqlite3.OperationalError(f"journal mode {mode.decode()}")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
            _flush_folder(self.path.parent)  # the log exists now; SQLite ignores a failure of its own flush
        except sqlite3.Error as error:
            connection.close()
            raise from_sqlite(error, self.path) from None
        except OSError as error:
            connection.close()
            raise from_os(error, self.path) from None
        return connection

    @property
    def head(self) -> Checkpoint:
        """The last event's position; the next event gets the number after it."""
        return self._head

    @property
    def last_here(self) -> str:
        """The id of the journal that last claimed this path; empty if none has.

        If the path is a link now, the lock beside the link names the journal that was there before.
        """
        return recorded_beside(self._given) or self._lock.recorded()

    def claim_path(self) -> None:
        """Record that this journal, and no other, belongs at its path."""
        beside = recorded_beside(self._given)
        if self._lock.recorded() != self.id:
            self._lock.record(self.id)
        if beside and beside != self.id:
            record_beside(self._given, self.id)

    def append(self, new: Sequence[NewEvent]) -> int:
        """Write all of them or none, in one durable transaction, and return the number of the last event.

        BadEvent: one of them is not valid; nothing was written. JournalBusy: another program has locked the journal;
        try again. Any other JournalError: the journal takes no more until it is opened again. It then has all of these
        events or none of them: a disk that reports a failure may have written them.
        """
        if self._stopped is not None:
            raise JournalStopped(f"{self.path}: no more events are written ({self._stopped}); open the journal again")
        rows = link(new, self._head)
        if rows:
            self._write_events(rows)
            self._head = rows[-1].checkpoint
        return self._head.seq

    def _read_identity(self) -> bytes:
        try:
            return self._files.read()
        except OSError as error:
            raise from_os(error, self.path) from None

    def _check_files(self) -> None:
        """JournalAbsent if the journal or its log was deleted or replaced: what is written then would be lost."""
        try:
            if self._read_identity() != self._identity:
                raise JournalAbsent(f"{self.path}: another file is in its place; restore the journal")
        except JournalError as error:
            self._stopped = str(error)
            raise

    def _write_events(self, rows: list[EventRow]) -> None:
        self._check_files()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(_INSERT_EVENT, rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            failure = from_sqlite(error, self.path)
            self._roll_back()
            if not isinstance(failure, JournalBusy):
                self._stopped = str(failure)
            raise failure from None
        except BaseException as error:  # such as Ctrl-C
            self._roll_back()
            self._stopped = f"an append was interrupted by {type(error).__name__}"
            raise

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    # --- for a faster start -----------------------------------------------------------------------------------------

    def save_snapshot(self, seq: int, state: bytes, code_version: str) -> None:
        """Save the state after an event; only the last few are kept. A failure here does not stop the appends."""
        snapshot = self._new_snapshot(seq, state, code_version)
        self._write_beside([(_INSERT_SNAPSHOT, snapshot_row(snapshot)), (_DELETE_SNAPSHOTS, (KEPT,))])

    def mark_verified(self, checkpoint: Checkpoint) -> None:
        """Record up to where the chain was verified, for verified(). A failure here does not stop the appends."""
        check_known(checkpoint, self.event(checkpoint.seq))
        self._write_beside([(_INSERT_VERIFIED, (checkpoint.seq, bytes.fromhex(checkpoint.hash)))])

    def withdraw_verified(self) -> None:
        """Forget up to where the chain was verified: the next start verifies everything."""
        self._write_beside([("DELETE FROM verified", ())])

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
        """Close it and let others write; may be called more than once."""
        self._stopped = self._stopped or "it was closed"
        self._connection.close()
        self._lock.release()


def _check_path(path: Path, create: bool) -> None:
    """JournalAbsent unless there is a journal at this path, or one can be created."""
    if not os.path.isdir(path.parent):
        raise JournalAbsent(f"{path}: its folder does not exist; create it, or mount its disk")
    if not create and not os.path.exists(path):
        raise JournalAbsent(
            f"{path}: there is no journal here; check the path, and whether its disk is mounted, or restore a copy; "
            "`shoed --new-journal` begins a new one"
        )


def _flush_folder(folder: Path) -> None:
    """Make sure that a new file is still in its folder after a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
