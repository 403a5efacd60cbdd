"""SIGKILL at every journal write and every send of a whole round; then the round is finished and checked."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from pathlib import Path

from controller.core.machines import TableState
from controller.core.setup import Setup
from simulators.table.house import deck_names
from tests.crash.outside import SEATS, Outside
from tests.crash.restarts import LIMIT_S, Restarts
from tests.support.plugged import Plugged

SPEED = 100.0
NEVER = 10**9
FIRST = int(os.environ.get("FIRST", "1"))  # to go on from a point that failed
STEP = int(os.environ.get("STEP", "1"))  # every point, or every second, third …


def finish(outside: Outside, daemon: Restarts, rounds: int) -> str:
    """Play this many rounds, until bets can be made again; returns the point at which the daemon died, if it did."""
    end = time.monotonic() + LIMIT_S
    died_at = ""
    while True:
        state = outside.state
        if daemon.dead():
            died_at = next(iter(daemon.points()[-1:]), "")
            daemon.begin(NEVER)
        if state.rounds >= rounds and state.table is TableState.BETTING and state.round is None:
            return died_at
        outside.work()
        assert time.monotonic() < end, f"round {rounds}: {state.table}, {state.devices}, {state.warnings}"


def test_every_point_of_a_round(tmp_path: Path) -> None:
    plugged = Plugged(tmp_path, speed=SPEED, decks=deck_names(Setup(), 4))
    daemon = Restarts(tmp_path)
    outside = Outside(tmp_path, plugged)
    died: Counter[str] = Counter()
    try:
        finish(outside, daemon, 1)
        for point in itertools.count(FIRST, STEP):
            number = outside.state.rounds + 1
            daemon.begin(point)
            died_at = finish(outside, daemon, number)
            check_round(outside, number)
            if not died_at:  # the round was over first: there is no such point
                break
            died[died_at.partition(" of ")[0]] += 1
        outside.verify()
    finally:
        daemon.close()
        plugged.close()
    print(f"\nkilled at {died.total()} points: {dict(died)}; {outside.unanswered} requests got no answer")
    assert set(died) >= {"before begin", "before insert", "before commit", "after commit", "before send", "after send"}
    assert died.total() * STEP > 100


def check_round(outside: Outside, number: int) -> None:
    """Every stack once, to the right hand, and nothing void: a host that comes back has lost nothing."""
    outside.check_truth()
    of_round = [event for event in outside.events if event.data.get("round") == number]
    kinds = Counter(event.kind for event in of_round)
    assert kinds["round.voided"] == 0, number
    assert kinds["round.completed"] == 1
    hands = [f"seat{seat}" for seat in SEATS] + ["dealer"]
    taken = [event for event in of_round if event.kind == "stack.taken"]
    assert [(event.data["target"], event.data["kept"]) for event in taken] == [(hand, 3) for hand in hands]
