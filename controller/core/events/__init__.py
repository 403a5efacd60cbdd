"""All kinds of events: `KINDS` maps the name under which a kind is stored to its struct."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from controller.core.events import decks, devices, play, rounds, table
from controller.core.events.event import Entry, Event, UnreadableEvent


def _kinds(base: type[Event]) -> Iterator[type[Event]]:
    for found in base.__subclasses__():
        if found.kind:
            yield found
        yield from _kinds(found)


KINDS: dict[str, type[Event]] = {found.kind: found for found in _kinds(Event)}


def read(seq: int, kind: str, clause: Sequence[str], data: dict[str, Any], ts: str = "") -> Entry:
    """The entry with this number, kind, clauses and fields, as stored in the journal.

    Raises UnreadableEvent for a kind or fields that only another version knows.
    """
    if kind not in KINDS:
        raise UnreadableEvent(f"event {seq} has the unknown kind {kind}")
    try:
        return Entry(seq, tuple(clause), msgspec.convert(data, KINDS[kind]), ts)
    except msgspec.ValidationError as error:
        raise UnreadableEvent(f"event {seq} ({kind}): {error}") from None


__all__ = ["KINDS", "Entry", "Event", "UnreadableEvent", "decks", "devices", "play", "read", "rounds", "table"]
