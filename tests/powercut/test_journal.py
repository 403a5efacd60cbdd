"""The real journal on a disk that loses power: what append() returned for is there, and nothing half-written counts."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.core.state import State
from controller.daemon.live_table import restore
from controller.journal import Journal, JournalError, JournalReader
from tests.powercut.disk import Fault, compiler, under_disk

SEEDS = int(os.environ.get("SEEDS", "200"))
RUNS = 4  # one after the other on the same journal
FURTHEST = 150  # calls to the disk before the power goes
pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler for the disk")

Mark = tuple[int, str]


class Reported:
    """What the program has reported: what was promised, and what was in progress when it ended."""

    def __init__(self) -> None:
        self.kept: dict[int, str] = {}
        self.trying: dict[int, str] = {}
        self.failed: list[str] = []


class Writer:
    """The program of journal_program.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.powercut.journal_program"],
            env=under_disk(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def run(
        self, story: str, folder: Path, seed: int, fault: Fault, at: int, reported: Reported, *, flushes: bool = True
    ) -> None:
        """One run, until the power cut; it adds to what was reported before."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([story, str(folder), seed, fault, at, flushes]) + "\n")
        reported.trying = {}
        for line in self._process.stdout:
            word, *more = json.loads(line)
            if word == "tries":
                reported.trying = dict(more[0])
            elif word == "kept":
                reported.kept |= dict(more[0])
                reported.trying = {}
            elif word == "failed":
                reported.failed.append(more[0])
            else:
                assert more == [-signal.SIGKILL], f"seed {seed}, {fault!r} at {at}: it ended by itself"
                return
        raise AssertionError("journal_program.py has ended")

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def writer() -> Iterator[Writer]:
    one = Writer()
    yield one
    one.close()


def check(folder: Path, reported: Reported) -> State | None:
    """The journal after the cut: it opens and verifies, and has all that was promised and no part of a group."""
    path = folder / "journal.db"
    if not reported.kept and not reported.trying:  # interrupted while it was created: then it can be created again
        Journal(path, create=True).close()
        return None
    with JournalReader(path) as reader:  # before a writer has checkpointed the log
        before = {event.seq: event.hash for event in reader.events()}
    with Journal(path) as journal:
        journal.verify()
        found = {event.seq: event.hash for event in journal.events()}
        state = restore(journal) if "table.opened" in {event.kind for event in journal.events()} else None
    assert found == before
    assert found in (reported.kept, reported.kept | reported.trying), f"{len(found)} events are there"
    reported.kept = found
    return state


def cuts(writer: Writer, folder: Path, seed: int, *, story: str = "appends", flushes: bool = True) -> None:
    """A few runs on one journal, each ended by a power cut."""
    rng = random.Random(seed)
    reported = Reported()
    for _ in range(RUNS):
        at = rng.randrange(1, FURTHEST)
        writer.run(story, folder, rng.randrange(2**32), Fault.POWER_CUT, at, reported, flushes=flushes)
        check(folder, reported)


@pytest.mark.parametrize("part", range(4))
def test_nothing_promised_is_lost_and_nothing_half_written_is_believed(
    writer: Writer, tmp_path: Path, part: int
) -> None:
    for seed in range(part, SEEDS, 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        cuts(writer, folder, seed)


def test_a_journal_that_does_not_flush_is_found_out(writer: Writer, tmp_path: Path) -> None:
    """Without it, the tests above could not fail."""
    caught: Counter[str] = Counter()
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            cuts(writer, folder, seed, flushes=False)
        except (AssertionError, JournalError) as error:
            caught[type(error).__name__] += 1
    assert caught.total() >= 10, caught


@pytest.mark.parametrize("fault", [Fault.WRITE_FAILS, Fault.FLUSH_FAILS, Fault.FULL], ids=lambda fault: fault.name)
def test_a_disk_that_fails_and_then_loses_power(writer: Writer, tmp_path: Path, fault: Fault) -> None:
    """A flush that failed leaves pages in memory that look written and are not: they must not be relied on."""
    failed: Counter[str] = Counter()
    for seed in range(SEEDS // 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng, reported = random.Random(seed), Reported()
        writer.run("failures", folder, rng.randrange(2**32), fault, rng.randrange(12, FURTHEST), reported)
        check(folder, reported)
        failed.update(reported.failed)
    assert failed["JournalFull" if fault is Fault.FULL else "JournalDiskFailed"] > 0, failed


def test_a_table_after_the_cut_is_where_it_was(writer: Writer, tmp_path: Path) -> None:
    """Whole rounds: the state is the fold of what was kept."""
    folded = 0
    for seed in range(max(4, SEEDS // 10)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng, reported = random.Random(seed), Reported()
        writer.run("rounds", folder, rng.randrange(2**32), Fault.POWER_CUT, rng.randrange(12, 1500), reported)
        state = check(folder, reported)
        if state is not None:
            folded += 1
            assert state.seq == max(reported.kept)
    assert folded > 0
