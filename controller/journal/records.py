"""The records of a journal: events before and after they are stored, their database rows, and checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec


class NewEvent(msgspec.Struct, frozen=True):
    """An event before it has a number and a hash. link() checks `data` if it is a dict."""

    ts: str
    kind: str
    clause: Sequence[str] = ()
    data: dict[str, Any] | msgspec.Struct = {}


class StoredEvent(msgspec.Struct, frozen=True):
    """An event in the journal. For a command to a device, `seq` is the command's id."""

    seq: int
    ts: str
    kind: str
    clause: tuple[str, ...]
    data: dict[str, Any]
    prev: str
    hash: str


class Checkpoint(msgspec.Struct, frozen=True):
    """A position in the chain: the number and the hash of an event."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


START = Checkpoint(0, "0" * 64)
"""The position before the first event."""


class EventRow(NamedTuple):
    """An event as the database stores it: hashes as bytes, clause and data as canonical JSON."""

    seq: int
    ts: str
    kind: str
    prev: bytes
    hash: bytes
    clause: str
    data: str

    @property
    def checkpoint(self) -> Checkpoint:
        """This event's position in the chain."""
        return Checkpoint(self.seq, self.hash.hex())


def timestamp(when: datetime) -> str:
    """A time in the form that events use. It must have a time zone."""
    if when.tzinfo is None:
        raise ValueError(f"{when} has no time zone")
    return when.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?Z?)?", re.ASCII)


def moment(text: str, *, end: bool = False) -> str:
    """The time that a person gave, in the form that events use: UTC, as 2026-01-31, 2026-01-31 23:59 or longer.

    It is the beginning of the day, minute or second that was given, or its end. ValueError if it is not a time.
    """
    found = _MOMENT.fullmatch(text.strip())
    if not found:
        raise ValueError(
            f"{text!r} is not a time; write it in UTC as 2026-01-31, 2026-01-31 23:59 or 2026-01-31T23:59:59"
        )
    day, minute, second, fraction = found.groups()
    minute = minute or ("23:59" if end else "00:00")
    second = second or ("59" if end else "00")
    fraction = (fraction or "").ljust(6, "9" if end else "0")
    try:
        return timestamp(datetime.fromisoformat(f"{day}T{minute}:{second}.{fraction}+00:00"))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


JOURNAL_ID = "[0-9a-f]{16}"  # as a regular expression


def journal_id(first: StoredEvent) -> str:
    """The id of the journal that begins with this event."""
    return first.hash[:16]
