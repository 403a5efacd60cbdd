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
LIVES = 4  # one after the other on the same journal
FURTHEST = 150  # calls to the disk before the power goes
pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler for the disk")

Mark = tuple[int, str]


class Told:
    """What a life has said: what was promised, and what was under way when it ended."""

    def __init__(self) -> None:
        self.kept: dict[int, str] = {}
        self.trying: dict[int, str] = {}
        self.failed: list[str] = []


class Writing:
    """The program of life.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.powercut.life"],
            env=under_disk(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def live(
        self, story: str, folder: Path, seed: int, fault: Fault, at: int, told: Told, *, flushes: bool = True
    ) -> None:
        """One life, to its end by the power cut; it adds to what was told before."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([story, str(folder), seed, fault, at, flushes]) + "\n")
        told.trying = {}
        for line in self._process.stdout:
            word, *more = json.loads(line)
            if word == "tries":
                told.trying = dict(more[0])
            elif word == "kept":
                told.kept |= dict(more[0])
                told.trying = {}
            elif word == "failed":
                told.failed.append(more[0])
            else:
                assert more == [-signal.SIGKILL], f"seed {seed}, {fault!r} at {at}: it ended by itself"
                return
        raise AssertionError("life.py has ended")

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def writing() -> Iterator[Writing]:
    one = Writing()
    yield one
    one.close()


def check(folder: Path, told: Told) -> State | None:
    """The journal after the cut: it opens, it is whole, it holds all that was promised and no half of anything."""
    path = folder / "journal.db"
    if not told.kept and not told.trying:  # cut short while it was made: then it can be made again
        Journal(path, create=True).close()
        return None
    with JournalReader(path) as reader:  # before a writer has tidied up
        before = {event.seq: event.hash for event in reader.events()}
    with Journal(path) as journal:
        journal.verify()
        found = {event.seq: event.hash for event in journal.events()}
        state = restore(journal) if "table.opened" in {event.kind for event in journal.events()} else None
    assert found == before
    assert found in (told.kept, told.kept | told.trying), f"{len(found)} events are there"
    told.kept = found
    return state


def cuts(writing: Writing, folder: Path, seed: int, *, story: str = "appends", flushes: bool = True) -> None:
    """A few lives on one journal, each cut short somewhere."""
    rng = random.Random(seed)
    told = Told()
    for _ in range(LIVES):
        at = rng.randrange(1, FURTHEST)
        writing.live(story, folder, rng.randrange(2**32), Fault.POWER_CUT, at, told, flushes=flushes)
        check(folder, told)


@pytest.mark.parametrize("part", range(4))
def test_nothing_promised_is_lost_and_nothing_half_written_is_believed(
    writing: Writing, tmp_path: Path, part: int
) -> None:
    for seed in range(part, SEEDS, 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        cuts(writing, folder, seed)


def test_a_journal_that_does_not_flush_is_found_out(writing: Writing, tmp_path: Path) -> None:
    """Without it, the tests above could not fail."""
    caught: Counter[str] = Counter()
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            cuts(writing, folder, seed, flushes=False)
        except (AssertionError, JournalError) as error:
            caught[type(error).__name__] += 1
    assert caught.total() >= 10, caught


@pytest.mark.parametrize("fault", [Fault.WRITE_FAILS, Fault.FLUSH_FAILS, Fault.FULL], ids=lambda fault: fault.name)
def test_a_disk_that_fails_and_then_loses_power(writing: Writing, tmp_path: Path, fault: Fault) -> None:
    """A flush that failed leaves pages in memory that look written and are not: they must not be built upon."""
    failed: Counter[str] = Counter()
    for seed in range(SEEDS // 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng, told = random.Random(seed), Told()
        writing.live("failures", folder, rng.randrange(2**32), fault, rng.randrange(12, FURTHEST), told)
        check(folder, told)
        failed.update(told.failed)
    assert failed["JournalFull" if fault is Fault.FULL else "JournalDiskFailed"] > 0, failed


def test_a_table_after_the_cut_is_where_it_was(writing: Writing, tmp_path: Path) -> None:
    """Whole rounds: the state is the fold of what was kept."""
    folded = 0
    for seed in range(max(4, SEEDS // 10)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng, told = random.Random(seed), Told()
        writing.live("rounds", folder, rng.randrange(2**32), Fault.POWER_CUT, rng.randrange(12, 1500), told)
        state = check(folder, told)
        if state is not None:
            folded += 1
            assert state.seq == max(told.kept)
    assert folded > 0
