"""Journals with many events, made fast: in one transaction, and without the triggers until it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from controller.core.state import State, encode
from controller.daemon.live_table import CODE_VERSION
from controller.journal import START, Checkpoint, Journal, NewEvent
from controller.journal.chain import link
from controller.journal.records import EventRow
from controller.journal.schema import SCHEMA
from tests.support.snapshots import save_state

INSERT = "INSERT INTO events (seq, ts, kind, prev, hash, clause, data) VALUES (?, ?, ?, ?, ?, ?, ?)"


def fill(journal: Journal, count: int, new_event: Callable[[int], NewEvent]) -> None:
    """This many events in a new journal, which must be opened again to be used."""
    connection = journal._connection
    triggers = [(name, sql) for name, sql in SCHEMA.items() if "TRIGGER" in sql]
    connection.execute("BEGIN IMMEDIATE")
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.executemany(INSERT, _rows(count, new_event))
    for _, sql in triggers:
        connection.execute(sql)
    connection.execute("COMMIT")


def _rows(count: int, new_event: Callable[[int], NewEvent]) -> Iterator[EventRow]:
    head = START
    for at in range(0, count, 1000):
        rows = link((new_event(number) for number in range(at, min(at + 1000, count))), head)
        head = rows[-1].checkpoint
        yield from rows


def refusal(number: int) -> NewEvent:
    """An event that leaves every state as it is."""
    day, second = divmod(number, 86_400)
    time_of_day = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000000"
    data = {
        "who": ("Dana", "Flo", "Frank")[number % 3],
        "action": "reveal_dealer",
        "role": "dealer",
        "reason": "the players have not decided yet",
        "possible_when": "every player has decided",
        "origin": "screen",
    }
    return NewEvent(f"2026-01-{day % 28 + 1:02}T{time_of_day}Z", "action.refused", ("11.D(2)",), data)


def past(path: Path, count: int) -> State:
    """A journal with a long past that a daemon can start from; returns its state."""
    with Journal(path, create=True) as journal:
        fill(journal, count, refusal)
    state = State(seq=count)
    with Journal(path) as journal:
        event = journal.event(count)
        assert event is not None
        save_state(journal, count, encode(state), CODE_VERSION)
        journal.mark_verified(Checkpoint(event.seq, event.hash))
    return state
