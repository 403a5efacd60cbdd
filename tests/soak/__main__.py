"""`python -m tests.soak`: the real daemon, devices on real ptys, people outside, SOAK_ROUNDS rounds at five hundred
times the natural speed. Samples go to build/soak.json, plots to build/soak.html; the exit code is 1 if something grows.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

import click
import msgspec

from controller.core.machines import TableState
from controller.core.setup import Setup
from simulators.table.house import deck_names
from tests.crash.outside import Outside
from tests.daemon.test_shoed import config_file
from tests.soak.judge import Sample, figures, problems
from tests.soak.plot import page
from tests.support.plugged import Plugged
from tests.support.served import Served, UnixConnection

ROUNDS = int(os.environ.get("SOAK_ROUNDS", "2000"))
SPEED = 500.0
STUCK_S = 120.0  # without a round, something hangs
BUILD = Path("build")


class Onlooker(threading.Thread):
    """A screen that listens all the time, and reads what it is sent."""

    def __init__(self, socket: Path) -> None:
        super().__init__(name="onlooker", daemon=True)
        self._connection = UnixConnection(socket)
        self.heard = 0

    def run(self) -> None:
        self._connection.request("GET", "/api/v1/events/stream")
        answer = self._connection.getresponse()
        while piece := answer.read1(65536):
            self.heard += len(piece)


def looked_in(socket: Path) -> None:
    """A screen that comes, hears a little, and goes away without a word."""
    connection = UnixConnection(socket)
    connection.request("GET", "/api/v1/events/stream?after=1")
    connection.getresponse().read1(100)
    connection.close()


def sample(served: Served, rounds: int, begun: float) -> Sample:
    """The daemon now."""
    looked_in(served.socket)
    asked = time.perf_counter()
    served.table()
    answer_ms = (time.perf_counter() - asked) * 1e3
    journal = served.get("/api/v1/journal")
    proc = Path(f"/proc/{served.process.pid}")
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    with sqlite3.connect(f"file:{served.folder}/run/journal.db?mode=ro", uri=True) as reading:
        (data_bytes,) = reading.execute("SELECT sum(length(data) + length(clause) + 150) FROM events").fetchone()
    reading.close()
    return Sample(
        rounds=rounds,
        at_s=round(time.monotonic() - begun, 3),
        rss_kb=int(status["VmRSS"].split()[0]),
        fds=len(list((proc / "fd").iterdir())),
        threads=int(status["Threads"]),
        events=journal["head"],
        journal_bytes=data_bytes,
        answer_ms=round(answer_ms, 3),
        write_ms=journal["write_ms"]["median"],
    )


def soak(folder: Path, rounds: int) -> list[Sample]:
    """Play this many rounds, and look at the daemon a hundred times on the way."""
    plugged = Plugged(folder, speed=SPEED, decks=deck_names(Setup(), 4))
    served = Served(folder, "--config", config_file(folder))
    samples: list[Sample] = []
    try:
        served.until("ready")
        outside = Outside(folder, plugged)
        onlooker = Onlooker(served.socket)
        onlooker.start()
        begun = moved = time.monotonic()
        every, seen = max(1, rounds // 100), 0
        while seen < rounds:
            outside.work()
            state = outside.state
            outside.events.clear()  # this program's own memory is not what is looked at
            if state.rounds > seen and state.table is TableState.BETTING:
                seen, moved = state.rounds, time.monotonic()
                if seen // every > len(samples):
                    samples.append(sample(served, seen, begun))
                    if sys.stderr.isatty():
                        click.echo(f"\r{seen} of {rounds} rounds, {samples[-1].rss_kb} kB ", nl=False, err=True)
            assert time.monotonic() - moved < STUCK_S, f"stuck after {seen} rounds: {state.table}, {state.warnings}"
            assert not state.round or not state.round.void, "a round is void, and nothing was wrong"
        outside.check_truth()
        outside.verify()
        assert onlooker.heard > 0
        assert served.end() == 0
    finally:
        served.close()
        plugged.close()
    return samples


def main() -> int:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        samples = soak(Path(folder), ROUNDS)
    found, findings = figures(samples), problems(samples)
    BUILD.mkdir(exist_ok=True)
    whole = {"load": [round(load, 1), round(os.getloadavg()[0], 1)], "figures": found, "problems": findings}
    whole["samples"] = [msgspec.structs.asdict(one) for one in samples]
    (BUILD / "soak.json").write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1))
    (BUILD / "soak.html").write_text(page(samples, found, findings))
    for name, value in found.items():
        click.echo(f"{name:24}{value:12g}")
    click.echo("; ".join(findings) or "nothing grows")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
