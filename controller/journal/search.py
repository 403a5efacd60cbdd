"""The SQL of a search in a journal: with the index, which has what searches ask for in columns, or without."""

from __future__ import annotations

from typing import NamedTuple

from controller.journal.records import EventRow

EVENT_COLUMNS = ", ".join(EventRow._fields)
_JOINED = "side.fields AS f CROSS JOIN main.events AS e ON e.seq = f.seq"  # SQLite keeps this order: the index first


class Wanted(NamedTuple):
    """Which events are searched for; see `JournalReader.search`."""

    kind: str
    having: tuple[tuple[str, str | int], ...]
    since: str
    until: str
    text: tuple[tuple[str, tuple[str, ...]], ...]  # words, each with the kinds of events that always contain it

    @property
    def uses_index(self) -> bool:
        """Whether the index has something of this."""
        return bool(self.kind or self.having or self.since or self.until)


def select(
    wanted: Wanted, after: int, before: int | None, limit: int, newest: bool, indexed: bool
) -> tuple[str, list[object]]:
    """The statement that finds events between two numbers, and its values."""
    table, seq = (_JOINED, "f.seq") if indexed else ("events AS e", "e.seq")
    conditions, values = [f"{seq} > ?"], [after]  # type: tuple[list[str], list[object]]
    if before is not None:
        conditions.append(f"{seq} < ?")
        values.append(before)
    if wanted.kind:
        _select_kind(wanted.kind.rstrip("."), indexed, conditions, values)
    for name, value in wanted.having:
        conditions.append(f"{_field(name, indexed)} = ? COLLATE NOCASE")
        values.append(value)
    for sign, ts in ((">=", wanted.since), ("<=", wanted.until)):
        if ts:
            conditions.append(f"f.ts {sign} ?" if indexed else f"CAST(e.ts AS TEXT) {sign} ?")
            values.append(ts)
    for word, kinds in wanted.text:
        saying = f" OR e.kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        conditions.append(f"(instr(lower(e.kind || ' ' || e.clause || ' ' || e.data), ?) > 0{saying})")
        values += [word.lower(), *kinds]
    columns = ", ".join(f"e.{name}" for name in EventRow._fields)
    order = "DESC" if newest else "ASC"
    statement = f"SELECT {columns} FROM {table} WHERE {' AND '.join(conditions)} ORDER BY {seq} {order} LIMIT ?"
    return statement, [*values, limit]


def select_span(name: str, value: str | int, after: int, indexed: bool) -> tuple[str, list[object]]:
    """The statement that finds the first and the last event after this one with a value in its data."""
    table, seq = ("side.fields AS f", "f.seq") if indexed else ("events AS e", "e.seq")
    statement = f"SELECT min({seq}), max({seq}) FROM {table} WHERE {_field(name, indexed)} = ? AND {seq} > ?"
    return statement, [value, after]


def _select_kind(kind: str, indexed: bool, conditions: list[str], values: list[object]) -> None:
    """A kind of event, or all kinds of a topic."""
    if indexed:
        conditions.append("f.kind = ?" if "." in kind else "f.topic = ?")
        values.append(kind)
    else:
        conditions.append("(e.kind = ? OR substr(e.kind, 1, ?) = ?)")
        values += [kind, len(kind) + 1, f"{kind}."]


def _field(name: str, indexed: bool) -> str:
    """A field of an event's data. The name is one of a few that the program itself uses, never a client's text."""
    return f"f.{name}" if indexed else f"json_extract(e.data, '$.\"{name}\"')"
