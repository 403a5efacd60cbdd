"""The targets themselves: what was found once stays fixed, and a short search for more, the same in every run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st

from tests.fuzz import asked
from tests.fuzz.targets import TARGETS, run, seeds

CORPUS = Path(__file__).with_name("corpus")
FOUND = sorted(path for path in CORPUS.rglob("*") if path.is_file())
EXAMPLES = {"api": 60, "journal_file": 60, "journal_log": 60}  # the slow ones
CHANGES = st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 40), st.binary(max_size=40)), max_size=6)


@pytest.fixture(scope="module", autouse=True)
def _one_daemon_for_all() -> Iterator[None]:
    yield
    asked.over()


def changed(seed: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """A seed with some of its bytes taken out and others put in."""
    for at, length, new in changes:
        at %= len(seed) + 1
        seed = seed[:at] + new + seed[at + length :]
    return seed


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_was_found_stays_mended(path: Path) -> None:
    run(path.parent.name, path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_are_good_beginnings(name: str) -> None:
    assert any(run(name, seed) > 0 for seed in seeds(name))


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_search(name: str) -> None:
    @settings(max_examples=EXAMPLES.get(name, 150), suppress_health_check=list(HealthCheck), database=None)
    @given(st.sampled_from(seeds(name)), CHANGES)
    def search(seed: bytes, changes: list[tuple[int, int, bytes]]) -> None:
        target(float(run(name, changed(seed, changes))))

    search()
