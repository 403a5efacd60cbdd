"""An index for searches, in a file beside the journal: what searches ask for, in columns of its own.

It is not part of the evidence and may be deleted at any time. What a search finds is read from the journal itself. The
index is brought up to date by whoever searches, for a limited time; events that are not in it yet are searched one by
one. It is never written while the table decides.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

VERSION = 1
PIECE = 5_000  # events indexed in one transaction
COLUMNS = ("deck", "device", "who", "origin", "round")  # fields of an event's data
_PASSING = {  # errors that say nothing about the file
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM,
}  # fmt: skip
_VALUES = ", ".join(f"CASE WHEN json_valid(data) THEN json_extract(data, '$.\"{name}\"') END" for name in COLUMNS)
_SCHEMA = f"""
CREATE TABLE fields (
  seq INTEGER PRIMARY KEY, ts, kind, topic, {", ".join(f"{name} COLLATE NOCASE" for name in COLUMNS)}
);
CREATE INDEX by_kind ON fields (kind);
CREATE INDEX by_topic ON fields (topic);
CREATE INDEX by_ts ON fields (ts);
{"".join(f"CREATE INDEX by_{name} ON fields ({name}) WHERE {name} IS NOT NULL;" for name in COLUMNS)}
CREATE TABLE known (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL);
INSERT INTO known VALUES (1, 0, x'');
PRAGMA user_version = {VERSION};
"""


def index_path(journal: Path) -> Path:
    """Where the index of a journal is."""
    return journal.with_name(f"{journal.name}.index")


def remove_index(journal: Path) -> None:
    """Delete the index of a journal; the next search begins a new one."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{index_path(journal)}{suffix}").unlink(missing_ok=True)


class SearchIndex:
    """The index of one journal. Its methods are called from the threads that search."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._path = index_path(journal)
        self._writing = threading.Lock()

    def catch_up(self, over: Callable[[], bool]) -> None:
        """Index what is new, a piece at a time, until `over`. Another thread that does so already is left to it.

        An index that cannot be written or read does no harm: what is not in it is searched one by one.
        """
        if not self._writing.acquire(blocking=False):
            return
        try:
            with contextlib.suppress(sqlite3.Error, OSError):
                self._extend(over)
        finally:
            self._writing.release()

    def _extend(self, over: Callable[[], bool]) -> None:
        try:
            with contextlib.closing(self._open()) as connection:
                while not over() and self._add_piece(connection):
                    pass
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _PASSING:
                remove_index(self._journal)  # it is damaged, or of another journal
            raise

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{quote(str(self._path))}", uri=True, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                connection.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
            elif version != VERSION:
                raise sqlite3.DatabaseError("an index of another version")
            connection.execute("ATTACH ? AS journal", (f"file:{quote(str(self._journal))}?mode=ro",))
            seq, digest = connection.execute("SELECT seq, hash FROM known").fetchone()
            same = connection.execute("SELECT hash FROM journal.events WHERE seq = ?", (seq,)).fetchone()
            if seq and (same is None or bytes(same[0]) != digest):
                raise sqlite3.DatabaseError("an index of another journal")
        except BaseException:
            connection.close()
            raise
        return connection

    def _add_piece(self, connection: sqlite3.Connection) -> bool:
        """Index some more events; returns whether there may be others."""
        (seq,) = connection.execute("SELECT seq FROM known").fetchone()
        newest = connection.execute(
            "SELECT seq, hash FROM journal.events WHERE seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
            (seq, seq + PIECE),
        ).fetchone()
        if newest is None:
            return False
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            f"""INSERT INTO fields SELECT seq, CAST(ts AS TEXT), kind, substr(kind, 1, instr(kind, '.') - 1), {_VALUES}
            FROM journal.events WHERE seq > ? AND seq <= ?""",
            (seq, newest[0]),
        )
        connection.execute("UPDATE known SET seq = ?, hash = ?", newest)
        connection.execute("COMMIT")
        return True
