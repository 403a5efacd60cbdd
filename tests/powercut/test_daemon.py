"""The real daemon on a disk that loses power, while a table plays: nothing that was once visible is ever undone."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from controller.core.events import read
from controller.core.machines import TableState
from controller.core.setup import Setup
from controller.journal import JournalError, JournalReader
from simulators.table.house import deck_names
from tests.crash.outside import Outside
from tests.crash.restarts import LIMIT_S, Restarts
from tests.crash.test_random_kills import check_rounds
from tests.powercut.disk import compiler, under_disk
from tests.support.plugged import Plugged

CUTS = int(os.environ.get("CUTS", "40"))
FURTHEST = 600  # calls to the disk in the longest run
SPEED = 100.0
NEVER = 10**9
PROGRAM = "tests.powercut.shoed_program"
pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler for the disk")


def test_a_daemon_that_loses_power_again_and_again(tmp_path: Path) -> None:
    rng = random.Random(11)
    plugged = Plugged(tmp_path, speed=SPEED, decks=deck_names(Setup(), 4))
    daemon = Restarts(tmp_path, PROGRAM, under_disk())
    outside = Outside(tmp_path, plugged)
    when: Counter[str] = Counter()
    try:
        for _ in range(CUTS):
            daemon.begin(rng.randrange(1, FURTHEST))
            end = time.monotonic() + LIMIT_S
            while not daemon.dead():
                outside.work()
                assert time.monotonic() < end, outside.state
            when[outside.state.table] += 1
        daemon.begin(NEVER)
        rounds = outside.state.rounds + 1
        end = time.monotonic() + LIMIT_S
        while not (outside.state.rounds > rounds and outside.state.table is TableState.BETTING):
            outside.work()
            assert time.monotonic() < end, outside.state
        outside.check_truth()
    finally:
        daemon.close()
        plugged.close()
    print(f"\n{CUTS} power cuts in {outside.state.rounds} rounds, while: {dict(when)}; {outside.unanswered} unanswered")
    with JournalReader(tmp_path / "run/journal.db") as reader:
        reader.verify()
        stored = [read(event.seq, event.kind, event.clause, event.data) for event in reader.events()]
    assert stored == outside.events  # what was once read is still there, and nothing else
    check_rounds(stored)


@pytest.mark.parametrize("point", range(1, 25))
def test_the_first_start_cut_short(tmp_path: Path, point: int) -> None:
    """A journal whose creation was interrupted is created by the next start, without anybody's help."""
    daemon = Restarts(tmp_path, PROGRAM, under_disk())
    try:
        daemon.begin(point)
        end = time.monotonic() + LIMIT_S
        while not daemon.dead():
            assert time.monotonic() < end, "the power never went"
            time.sleep(0.01)
        daemon.begin(NEVER)
        while not configured(tmp_path / "run/journal.db"):
            assert time.monotonic() < end, (tmp_path / "log").read_text()[-2000:]
            time.sleep(0.01)
    finally:
        daemon.close()


def configured(path: Path) -> bool:
    """Whether the table is up."""
    try:
        with JournalReader(path) as reader:
            reader.verify()
            return bool(reader.last(1, ("table.configured",)))
    except JournalError:  # it is being created
        return False
