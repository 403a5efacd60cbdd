"""Rounds of play in virtual time: the core alone, and the whole stack down to the frames and the physical cards."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import tests.core.driver as core_driver
from controller.core.reports import Report
from controller.core.state import Event
from simulators.house import House
from simulators.people import People
from tests.bench.measure import Row

YEAR_ROUNDS = 525_600  # one a minute
NEEDED_PER_S = YEAR_ROUNDS / (15 * 60)  # a table-year in a quarter of an hour
SEATS = (1, 2, 3, 4, 5, 6)
CORE_ROUNDS = 100
WHOLE_ROUNDS = 20


def core_alone() -> tuple[float, float]:
    """Rounds and decisions a second of the core, with devices and people that answer at once."""
    house = core_driver.House().open()
    decisions = 0
    handle = house.table.handle
    spent = 0.0

    def counted(report: Report, now: float) -> list[Event]:
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


def whole_stack() -> float:
    """Rounds a second through people, core, a durable journal, sessions, links, frames, firmware and cards."""
    with tempfile.TemporaryDirectory() as folder:
        house = House(Path(folder) / "journal.db")
        people = People(house)
        assert people.open()
        start = time.perf_counter()
        for _ in range(WHOLE_ROUNDS):
            assert people.play(SEATS)
        rate = WHOLE_ROUNDS / (time.perf_counter() - start)
        house.close()
        return rate


def rows() -> list[Row]:
    """Against what a table-year in fifteen minutes needs."""
    rounds, decisions = core_alone()
    peer = "a table-year in 15 minutes"
    return [
        Row("rounds of the core alone", "/s", rounds, NEEDED_PER_S, peer),
        Row("decisions of the core", "/s", decisions, decisions / rounds * NEEDED_PER_S, peer),
        Row("whole rounds through the frames", "/s", whole_stack(), NEEDED_PER_S, peer, ">= 1"),
    ]
