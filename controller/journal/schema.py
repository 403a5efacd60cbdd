"""The database tables of a journal, and how a file is recognised as one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from controller.journal.errors import JournalDamaged, JournalForeign, JournalIncomplete

APPLICATION_ID = 0x4453484A  # "DSHJ": distinguishes the file from other SQLite databases
VERSION = 1

# The hashes come before the data, so that they are on the row's first page even if the data is long. The triggers
# prevent mistakes; they do not stop INSERT OR REPLACE, nor somebody who drops them. The chain reveals those.
SCHEMA = {
    "events": """CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  ts TEXT NOT NULL,
  kind TEXT NOT NULL,
  prev BLOB NOT NULL,
  hash BLOB NOT NULL,
  clause TEXT NOT NULL,
  data TEXT NOT NULL
)""",
    "events_not_changed": """CREATE TRIGGER events_not_changed BEFORE UPDATE ON events
BEGIN SELECT raise(ABORT, 'events are never changed'); END""",
    "events_not_deleted": """CREATE TRIGGER events_not_deleted BEFORE DELETE ON events
BEGIN SELECT raise(ABORT, 'events are never deleted'); END""",
    "snapshots": """CREATE TABLE snapshots (
  seq INTEGER PRIMARY KEY,
  event_hash BLOB NOT NULL,
  code_version TEXT NOT NULL,
  digest BLOB NOT NULL,
  state BLOB NOT NULL
)""",
    "verified": """CREATE TABLE verified (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL,
  hash BLOB NOT NULL
)""",
}

LACKS_EVENTS = (
    "there are no events in this file: a running daemon keeps its newest events in a second one, journal.db-wal, which "
    "was not copied with it; `shoectl journal copy FILE` makes a complete copy"
)


def create(connection: sqlite3.Connection) -> None:
    """Create the tables, all or none."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def is_blank(connection: sqlite3.Connection) -> bool:
    """Whether this database is empty, such as a journal whose creation was interrupted."""
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return bool(objects == 0 and _number(connection, "application_id") == 0)


def uses_wal(path: Path) -> bool:
    """Whether the file belongs to a database with a write-ahead log, even if the log is missing."""
    with path.open("rb") as file:
        return file.read(20)[18:20] == b"\2\2"


def recognise(connection: sqlite3.Connection, path: Path) -> None:
    """JournalForeign unless this is a journal that this version can read; JournalIncomplete if its log is missing."""
    if _number(connection, "application_id") != APPLICATION_ID:
        if not is_blank(connection):
            raise JournalForeign(f"{path}: not a Dragonshoe journal; check the path")
        if uses_wal(path):
            raise JournalIncomplete(f"{path}: {LACKS_EVENTS}")
        raise JournalForeign(f"{path}: an empty database; check the path")
    version = _number(connection, "user_version")
    if version > VERSION:
        raise JournalForeign(
            f"{path}: written by a newer Dragonshoe (journal version {version}, not {VERSION}); update this one"
        )


LISTING = """SELECT CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema
WHERE type IN ('table', 'trigger') AND name NOT GLOB 'sqlite_*'"""


def check_schema(found: Iterable[tuple[bytes, bytes]]) -> None:
    """JournalDamaged unless what LISTING found is what create() made. Additional indexes and views are allowed."""
    statements = {name.decode(errors="replace"): sql.decode(errors="replace") for name, sql in found}
    for name in sorted({*SCHEMA, *statements}):
        if name not in statements:
            what = "trigger" if "TRIGGER" in SCHEMA[name] else "table"
            raise JournalDamaged(None, f"the {what} {name} is missing; the database was changed by hand")
        if statements[name] != SCHEMA.get(name):
            raise JournalDamaged(None, f"unexpected definition of {name}; the database was changed by hand")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)
