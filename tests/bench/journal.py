"""Durable appends against a bare SQLite connection, and the start with few events against the start with many.

The long journal has a million events; DRAGONSHOE_BENCH_EVENTS=10000000 makes it ten million, which takes a few minutes
and 4 GB of the disk. It lies in DRAGONSHOE_BENCH_FOLDER (otherwise the folder for temporary files), so that the disk
that is meant can be measured.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from controller.journal import START, Checkpoint, Journal, NewEvent
from controller.journal.chain import link
from controller.journal.schema import SCHEMA
from tests.bench.measure import Row, interleave
from tests.support.long_journal import INSERT, fill
from tests.support.snapshots import save_state

# Many short rounds: what else the disk does comes in bursts. Bare SQLite against itself, on a busy machine with two
# cores, came out between 0.92 and 1.06 in 15 rounds of 200 commits, and between 0.98 and 1.02 in 150 rounds of 20.
ROUNDS = 150
COMMITS = 20  # in each round
START_ROUNDS = 15
GROUP = 16
FEW = 10_000
MANY = int(os.environ.get("DRAGONSHOE_BENCH_EVENTS", "1000000"))
STARTS = 20  # in each round
SINCE_SNAPSHOT = 200  # events that a start reads and verifies


def new_event(number: int) -> NewEvent:
    """As a table writes them."""
    data: dict[str, Any] = {"round": number // 16, "box": number % 6 + 1, "cards": 4, "device": "DS-SHOE-000017"}
    return NewEvent(f"2026-01-31T20:{number // 60 % 60:02}:{number % 60:02}.{number % 10**6:06}Z", "stack.dispensed",
                    ("13.G",), data)  # fmt: skip


def bare(path: Path, group: int) -> tuple[sqlite3.Connection, Callable[[], float]]:
    """The same rows, made beforehand, into the same table without its triggers, with the same settings."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(SCHEMA["events"])
    head = START

    def run() -> float:
        nonlocal head
        rows = link((new_event(number) for number in range(COMMITS * group)), head)
        head = rows[-1].checkpoint
        groups = [rows[at : at + group] for at in range(0, len(rows), group)]
        start = time.perf_counter()
        for some in groups:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERT, some)
            connection.execute("COMMIT")
        return COMMITS * group / (time.perf_counter() - start)

    return connection, run


def ours(path: Path, group: int) -> tuple[Journal, Callable[[], float]]:
    """Checked, chained and recorded, as the daemon does it with every decision."""
    journal = Journal(path, create=True)

    def run() -> float:
        events = [new_event(number) for number in range(COMMITS * group)]
        groups = [events[at : at + group] for at in range(0, len(events), group)]
        start = time.perf_counter()
        for some in groups:
            journal.append(some)
        return COMMITS * group / (time.perf_counter() - start)

    return journal, run


def build(path: Path, count: int) -> None:
    """A journal of this many events."""
    with Journal(path, create=True) as journal:
        fill(journal, count, new_event)
    with Journal(path) as journal:
        event = journal.event(count - SINCE_SNAPSHOT)
        assert event is not None
        save_state(journal, event.seq, bytes(20_000), "1")
        journal.mark_verified(Checkpoint(event.seq, event.hash))


def start(path: Path) -> Callable[[], float]:
    """What the daemon does with a journal when it starts, in milliseconds: open, snapshot, tail verified and read."""

    def once() -> None:
        with Journal(path) as journal:
            snapshot = journal.latest_snapshot()
            assert snapshot is not None
            journal.verify(journal.verified())
            assert sum(1 for _ in journal.events(snapshot.seq)) == SINCE_SNAPSHOT + 1

    def run() -> float:
        begun = time.perf_counter()
        for _ in range(STARTS):
            once()
        return (time.perf_counter() - begun) / STARTS * 1e3

    return run


def rows() -> list[Row]:
    """Events per second, and milliseconds of a start."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("DRAGONSHOE_BENCH_FOLDER")) as name, ExitStack() as stack:
        folder = Path(name)
        contenders: dict[str, Callable[[], float]] = {}
        for group in (1, GROUP):
            for maker in (ours, bare):
                opened, run = maker(folder / f"{maker.__name__}{group}.db", group)
                stack.enter_context(closing(opened))
                run()  # warm up
                contenders[f"{maker.__name__} {group}"] = run
        figures = interleave(contenders, ROUNDS)
        build(folder / "few.db", FEW)
        build(folder / "many.db", MANY)
        starts = interleave({"few": start(folder / "few.db"), "many": start(folder / "many.db")}, START_ROUNDS)
    peer = "bare sqlite3, the same rows and settings"
    return [
        Row("durable appends of one event", "/s", figures["ours 1"], figures["bare 1"], peer, ">= 0.8"),
        Row(f"events appended {GROUP} in a commit", "/s", figures[f"ours {GROUP}"], figures[f"bare {GROUP}"], peer),
        Row(f"start with {MANY:,} events", "ms", starts["many"], starts["few"], f"with {FEW:,}", "<= 1.5"),
    ]
