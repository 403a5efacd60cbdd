"""A sign-in, a reconnection and a deal while 60 clients search a long journal, next to the same without them.

The journal has a million events (DRAGONSHOE_BENCH_EVENTS). Daemon and devices run with ordinary priorities, the devices
on ptys; the searching clients only get what is left of the processors, but the searches themselves run in the daemon.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from controller.core.actions import Role
from controller.core.state import State, decode, encode
from controller.daemon.people import PeopleFile, Person, hash_pin, write_people
from simulators.devices.faults import FaultName
from tests.bench.daemon import SEATS, Timed, environment, p99, play, running
from tests.bench.journal import MANY
from tests.bench.measure import Row
from tests.crash.outside import Outside
from tests.support.long_journal import past
from tests.support.plugged import Plugged
from tests.support.served import LIMIT_S, Page, Served, free_port

SEARCHERS = 60
TURNS = 5  # with the searches and without, in alternation
SIGN_INS, RECONNECTIONS, ROUNDS = 8, 2, 6  # in each turn
TOKEN, PIN = "the-token-of-the-table-s-own-screen", "258013"


@contextlib.contextmanager
def searching(path: Path, there: bool) -> Iterator[None]:
    """The clients that search, or none. They count as running once each has had a response."""
    if not there:
        yield
        return
    words = [sys.executable, "-m", "tests.bench.searchers", str(path), str(SEARCHERS)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment(), text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield
        assert process.poll() is None, "a client was sent away"
    finally:
        process.kill()
        process.wait(LIMIT_S)
        process.stdout.close()


def timed(work: Callable[[], object]) -> float:
    """How long it takes, in milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3


class SearchedTable:
    """A table with a long past, whose devices and people are played by this process."""

    def __init__(self, served: Served, plugged: Plugged, folder: Path, listen: str, state: State) -> None:
        self._served, self._plugged = served, plugged
        self._page = Page(listen, TOKEN)
        self.outside = Outside(folder, plugged)
        self.outside._state = decode(encode(state))  # the past says nothing about the table
        self.outside.robot.bets = lambda: SEATS  # type: ignore[method-assign]

    def sign_in(self) -> float:
        """From the request with the name and the PIN to its answer; the PIN's hash is most of it."""

        def signed_in() -> None:
            assert self._page.sign_in("Dana", PIN).status == 200

        return timed(signed_in)

    def reconnect(self) -> float:
        """From plugging the shoe in to the table that shows it as connected; the host looks for it at intervals."""
        self._plugged.do(lambda table, now: table.shoe.inject(FaultName.UNPLUG, now))
        self._served.wait(lambda table: not table["devices"][1]["online"])
        self._plugged.do(lambda table, now: table.shoe.mend(FaultName.UNPLUG, now))
        return timed(lambda: self._served.wait(lambda table: table["devices"][1]["online"]))

    def deal(self) -> list[float]:
        """From a stack that was taken to the command for the next one, as the shoe sees it."""
        Timed.waits.clear()
        play(self.outside, ROUNDS)
        return list(Timed.waits)


def measured(folder: Path, count: int = MANY, turns: int = TURNS) -> dict[bool, dict[str, list[float]]]:
    """All figures, with the searches and without."""
    (folder / "run").mkdir()
    state = past(folder / "run/journal.db", count)
    write_people(folder / "people.toml", PeopleFile([Person("Dana", [Role.DEALER], hash_pin(PIN))]))
    (folder / "screen.token").write_text(TOKEN)
    listen = f"127.0.0.1:{free_port()}"
    more = f'[screen]\nlisten = "{listen}"\npeople = "{folder}/people.toml"\ntoken = "{folder}/screen.token"\n'
    found: dict[bool, dict[str, list[float]]] = {
        there: {"sign-in": [], "reconnection": [], "deal": []} for there in (False, True)
    }
    with running(folder, build=Timed, more=more) as (served, plugged):
        table = SearchedTable(served, plugged, folder, listen, state)
        play(table.outside, 1)
        for turn in range(2 * turns):
            there = turn % 2 == 1
            with searching(served.socket, there):
                found[there]["deal"] += table.deal()
                found[there]["sign-in"] += [table.sign_in() for _ in range(SIGN_INS)]
                found[there]["reconnection"] += [table.reconnect() for _ in range(RECONNECTIONS)]
    return found


def rows() -> list[Row]:
    """Median and worst cases, each next to the same without the searches."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("DRAGONSHOE_BENCH_FOLDER")) as name:
        found = measured(Path(name))
    peer = "without them"
    those = f"{SEARCHERS} searches over {MANY:,} events"

    def row(text: str, what: str, figure: Callable[[list[float]], float], goal: str = "") -> Row:
        return Row(text, "ms", figure(found[True][what]), figure(found[False][what]), peer, goal)

    return [
        row(f"sign-in during {those}, median", "sign-in", statistics.median, "<= 2"),
        row("the same, slowest", "sign-in", max),
        row(f"reconnection during {those}, median", "reconnection", statistics.median, "<= 1.5"),
        row(f"stack taken to next command during {those}, median", "deal", statistics.median, "<= 1.5"),
        row("the same, p99", "deal", p99),
    ]
