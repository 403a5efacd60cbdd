"""`python -m tests.powercut.journal_program`: writes a journal on the disk of disk.c, in one run after the other.

Every line on standard input starts a run, as a process of its own: a story, the folder, a seed, the fault of the disk
and the call at which it happens. It reports what it is about to write (`tries`), and after the append what was promised
(`kept`); a failure of the journal is `failed`. `over` with the exit code ends a run.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import controller.daemon.live_table  # noqa: F401 - loaded once, for all runs
from controller.journal import Checkpoint, Journal, JournalError, NewEvent
from controller.journal.chain import link
from simulators.table.house import House
from simulators.table.people import People
from tests.powercut.disk import Disk, Fault

TS = "2026-01-31T23:59:59.000000Z"
ENOUGH = 80  # appends by which a failure must have occurred


def report(word: str, *more: Any) -> None:
    os.write(1, json.dumps([word, *more]).encode() + b"\n")


class Writer(Journal):
    """The journal itself, which reports what it does."""

    flushes = True

    def _connect(self) -> Any:
        connection = super()._connect()
        if not self.flushes:  # the defect that the test must find
            connection.execute("PRAGMA synchronous = OFF")
        return connection

    def append(self, new: Sequence[NewEvent]) -> int:
        events = [[row.seq, row.hash.hex()] for row in link(new, self.head)]
        report("tries", events)
        last = super().append(new)
        report("kept", events)
        return last


def some_events(rng: random.Random) -> list[NewEvent]:
    """Mostly a few small ones, sometimes one that fills many pages, so that the log is checkpointed early."""
    size = rng.choice((10, 10, 10, 300, 5000, 60_000))
    return [
        NewEvent(TS, "stack.dispensed", ("10.B",), {"n": rng.randrange(1000), "text": "x" * rng.randrange(size)})
        for _ in range(rng.choice((1, 1, 2, 7)))
    ]


def write_on(journal: Journal, rng: random.Random) -> Journal:
    """One more operation of a daemon on its journal."""
    journal.append(some_events(rng))
    chance = rng.random()
    if chance < 0.05:
        journal.save_snapshot(journal.head.seq, rng.randbytes(rng.randrange(20_000)), "v1")
    elif chance < 0.10:
        journal.mark_verified(Checkpoint(journal.head.seq, journal.head.hash))
    elif chance < 0.15:
        journal.close()
        journal = Writer(journal.path)
    return journal


def appends(path: Path, rng: random.Random, disk: Disk) -> None:
    """Write until the power is cut."""
    journal: Journal = Writer(path, create=True)
    while True:
        journal = write_on(journal, rng)


def failures(path: Path, rng: random.Random, disk: Disk) -> None:
    """Write until the disk fails; open the journal again, as the daemon does; continue until the power is cut."""
    journal: Journal | None = None
    failed = done = 0
    while True:
        if (done := done + 1) == ENOUGH:  # SQLite recovered from the failure by itself
            disk.then(Fault.POWER_CUT, rng.randrange(1, 60))
        try:
            journal = journal or Writer(path, create=not failed)
            journal = write_on(journal, rng)
        except JournalError as error:
            report("failed", type(error).__name__, str(error))
            failed += 1
            if failed % 3 == 1:  # there is room again, and soon a power cut
                disk.then(Fault.POWER_CUT, rng.randrange(1, 60))
            if journal is not None:
                journal.close()
                journal = None


def rounds(path: Path, rng: random.Random, disk: Disk) -> None:
    """A whole table in virtual time, round after round."""
    sys.modules["simulators.table.house"].Journal = Writer  # type: ignore[attr-defined]
    house = House(path, seed=rng.randrange(1000))
    people = People(house)
    people.open()
    while True:
        people.play((1, 3, 6))


STORIES = {"appends": appends, "failures": failures, "rounds": rounds}


def run(story: str, folder: str, seed: int, fault: int, at: int, flushes: bool) -> None:
    """One run."""
    Writer.flushes = flushes
    disk = Disk(Path(folder), seed, Fault(fault), at)
    STORIES[story](Path(folder) / "journal.db", random.Random(seed), disk)


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.close(0)
            try:
                run(*json.loads(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        report("over", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
