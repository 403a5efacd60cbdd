"""Rounds of play in virtual time: the core alone, and the whole stack down to the frames and the physical cards.

    make fast && PYTHONPATH=build/fast:. .venv/bin/python -P -m tests.bench.rounds year

plays a whole table-year, round by round, and says how long it took.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tests.support.core_driver as core_driver
from controller.core.events.event import Entry
from controller.core.reports import Report
from firmware_bridge.wire.link import LinkTiming
from simulators.table.house import CALM_LINK, House
from simulators.table.people import People
from tests.bench.measure import Row

YEAR_ROUNDS = 525_600  # one a minute
NEEDED_PER_S = YEAR_ROUNDS / (15 * 60)  # a table-year in a quarter of an hour
SEATS = (1, 2, 3, 4, 5, 6)
CORE_ROUNDS = 100
WHOLE_ROUNDS, WHOLE_TURNS = 50, 7  # rounds in a turn, and turns of which the median counts
FAST_ROUNDS, FAST_TURNS = 200, 9  # the same of what is compiled: as long, and more of it
KEPT_EVENTS = 200  # in memory, and as many from snapshot to snapshot; the year has 36 million


def core_alone() -> tuple[float, float]:
    """Rounds and decisions a second of the core, with devices and people that answer at once."""
    house = core_driver.House().open()
    decisions = 0
    handle = house.table.handle
    spent = 0.0

    def counted(report: Report, now: float) -> list[Entry]:
        nonlocal decisions, spent
        decisions += 1
        start = time.perf_counter()
        made = handle(report, now)
        spent += time.perf_counter() - start
        return made

    house.table.handle = counted  # type: ignore[method-assign]
    for _ in range(CORE_ROUNDS):
        house.play(SEATS)
    return CORE_ROUNDS / spent, decisions / spent


@contextmanager
def collected() -> Iterator[None]:
    """What was made so far is not looked at again by the garbage collector, and what is made now less often."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def whole_stack(
    timing: LinkTiming | None = None, *, durable: bool = True, rounds: int = WHOLE_ROUNDS, turns: int = WHOLE_TURNS
) -> float:
    """Rounds in a second of processor time: people, core, journal, sessions, links, frames, firmware and cards."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "journal.db" if durable else None
        house = House(file, timing=timing, keep=KEPT_EVENTS, snapshot_every=None if durable else KEPT_EVENTS)
        people = People(house)
        assert people.open()
        rates = []
        with collected():
            for _ in range(turns):
                start = time.process_time()
                for _ in range(rounds):
                    assert people.play(SEATS)
                rates.append(rounds / (time.process_time() - start))
        house.close()
        return statistics.median(rates)


def compiled() -> float | None:
    """The same as in a campaign, in a process that finds the compiled packages; None where there are none."""
    fast = Path(os.environ.get("FAST", ""))
    if not (fast / ".ready").exists():
        return None
    found = {**os.environ, "PYTHONPATH": f"{fast.resolve()}:{Path.cwd()}"}
    command = [sys.executable, "-P", "-m", "tests.bench.rounds"]
    return float(subprocess.run(command, env=found, stdout=subprocess.PIPE, text=True, check=True).stdout)


def year(days: int = 365) -> None:
    """A table-year, 525,600 rounds: every day the table is opened with new decks, and plays a round a minute."""
    start = time.process_time()
    with collected():
        for day in range(1, days + 1):
            house = House(None, timing=CALM_LINK, seed=day, keep=KEPT_EVENTS, snapshot_every=KEPT_EVENTS)
            people = People(house)
            assert people.open()
            for _ in range(YEAR_ROUNDS // 365):
                assert people.play(SEATS)
            house.cards.check()
            house.journal.verify()
            house.close()
            minutes = (time.process_time() - start) / 60
            print(
                f"\r{day * (YEAR_ROUNDS // 365):,} rounds, {minutes:.1f} minutes of processor time", end="", flush=True
            )
    print()


def rows() -> list[Row]:
    """Against what a table-year in fifteen minutes needs."""
    rounds, decisions = core_alone()
    peer = "a table-year in 15 minutes"
    fast = compiled()
    whole = "whole rounds as in a campaign, chained journal in memory, calm links"
    return [
        Row("rounds of the core alone", "/s", rounds, NEEDED_PER_S, peer),
        Row("decisions of the core", "/s", decisions, decisions / rounds * NEEDED_PER_S, peer),
        Row("whole rounds, durable journal, links as in life", "/s", whole_stack(), NEEDED_PER_S, peer),
        Row("whole rounds, durable journal, calm links", "/s", whole_stack(CALM_LINK), NEEDED_PER_S, peer),
        Row(whole, "/s", whole_stack(CALM_LINK, durable=False), NEEDED_PER_S, peer, "" if fast else ">= 1"),
        *([Row(f"{whole}, compiled", "/s", fast, NEEDED_PER_S, peer, ">= 1")] if fast else []),
    ]


if __name__ == "__main__" and sys.argv[1:] == ["year"]:
    year()
elif __name__ == "__main__":
    print(whole_stack(CALM_LINK, durable=False, rounds=FAST_ROUNDS, turns=FAST_TURNS))
