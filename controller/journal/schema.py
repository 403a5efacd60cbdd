"""The tables of a journal, and how a file is known to be one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from controller.journal.errors import JournalDamaged, JournalForeign

APPLICATION_ID = 0x4453484A  # "DSHJ": tells the file apart from any other SQLite database
VERSION = 1

# The hashes stand before the data, so that they are on the row's first page also where the data is long. The triggers
# are against mistakes; they cannot keep out INSERT OR REPLACE, nor anybody who drops them. The chain finds those.
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


def create(connection: sqlite3.Connection) -> None:
    """Make the tables, all or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def is_blank(connection: sqlite3.Connection) -> bool:
    """Whether this is a database without anything in it, such as a journal whose making was cut short."""
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return bool(objects == 0 and _number(connection, "application_id") == 0)


def recognise(connection: sqlite3.Connection, path: Path) -> None:
    """JournalForeign unless this is a journal that this version knows."""
    if _number(connection, "application_id") != APPLICATION_ID:
        blank = is_blank(connection)
        raise JournalForeign(
            f"{path}: {'it is empty' if blank else 'this is no journal of Dragonshoe'}; check the path"
        )
    version = _number(connection, "user_version")
    if version > VERSION:
        raise JournalForeign(
            f"{path}: a newer Dragonshoe wrote it (journal version {version}, known here is {VERSION}); update this one"
        )


LISTING = """SELECT CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema
WHERE type IN ('table', 'trigger') AND name NOT GLOB 'sqlite_*'"""


def check_schema(found: Iterable[tuple[bytes, bytes]]) -> None:
    """JournalDamaged unless what LISTING found is as it was made. Somebody's own indexes and views may be there."""
    there = {name.decode(errors="replace"): sql.decode(errors="replace") for name, sql in found}
    for name in sorted({*SCHEMA, *there}):
        if name not in there:
            raise JournalDamaged(None, f"the database has lost its {_what(name)}; somebody has changed it by hand")
        if name not in SCHEMA or there[name] != SCHEMA[name]:
            raise JournalDamaged(None, f"the database has a strange {name}; somebody has changed it by hand")


def _what(name: str) -> str:
    return f"{'trigger' if 'TRIGGER' in SCHEMA[name] else 'table'} {name}"


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)
