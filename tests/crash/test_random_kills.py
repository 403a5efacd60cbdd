"""SIGKILL at random instants, a thousand times in a row: no stored event is ever lost, no command is done twice."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

from controller.core.events import read
from controller.core.events.event import Entry
from controller.core.machines import TableState
from controller.core.setup import Setup
from controller.journal import JournalReader
from simulators.table.house import deck_names
from tests.crash.outside import SEATS, Outside
from tests.crash.restarts import LIMIT_S, Restarts
from tests.support.plugged import Plugged

KILLS = int(os.environ.get("KILLS", "1000"))
SPEED = 100.0
LONGEST_S = 0.6  # of a run, from its first answer
NEVER = 10**9


def test_a_daemon_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    rng = random.Random(7)
    plugged = Plugged(tmp_path, speed=SPEED, decks=deck_names(Setup(), 4))
    daemon = Restarts(tmp_path)
    outside = Outside(tmp_path, plugged)
    when: Counter[str] = Counter()
    try:
        for _ in range(KILLS):
            daemon.begin(NEVER)
            end = time.monotonic() + rng.uniform(0, LONGEST_S)
            while time.monotonic() < end:
                outside.work()
            daemon.kill()
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
    state = outside.state
    print(f"\n{KILLS} kills in {state.rounds} rounds, while: {dict(when)}; {outside.unanswered} requests unanswered")
    with JournalReader(tmp_path / "run/journal.db") as reader:
        reader.verify()
        stored = [read(event.seq, event.kind, event.clause, event.data) for event in reader.events()]
    assert stored == outside.events  # what was once read is still there, and nothing else
    check_rounds(stored)


def check_rounds(events: list[Entry]) -> None:
    """Every stack of every round once, to the right hand; nothing void, since no device was at fault."""
    hands = [f"seat{seat}" for seat in SEATS] + ["dealer"]
    done: dict[int, list[tuple[str, int]]] = {}
    for event in events:
        assert event.kind != "round.voided", event
        if event.kind == "stack.taken":
            done.setdefault(event.data["round"], []).append((event.data["target"], event.data["kept"]))
    finished = {event.data["round"] for event in events if event.kind == "round.completed"}
    for number in finished:
        assert done[number] == [(hand, 3) for hand in hands], number
    answered = Counter(event.data["id"] for event in events if event.kind == "cycle.completed")
    assert max(answered.values()) == 1
