"""The judge of a soak: flat is flat, a leak is a leak, and noise is neither."""

from __future__ import annotations

import random

import pytest

from tests.soak.judge import Sample, figures, problems
from tests.soak.plot import page


def samples(
    *, kb_a_round: float = 0.0, fds_a_round: float = 0.0, longer: float = 0.0, rounds: int = 2000
) -> list[Sample]:
    """A daemon that warms up by 6 MB, with noise, and with what else is asked for."""
    rng, made, size = random.Random(1), [], 0.0
    for number in range(rounds // 100, rounds + 1, rounds // 100):
        warm = 6000 * min(1.0, number / (0.2 * rounds))
        size += 13_000 * (1 + longer * number / rounds) * rounds / 100
        made.append(
            Sample(
                rounds=number,
                at_s=number / 5,
                rss_kb=round(40_000 + warm + kb_a_round * number + rng.uniform(-500, 500)),
                fds=25 + rng.randrange(3) + round(fds_a_round * number),
                threads=5,
                events=52 * number,
                journal_bytes=round(size),
                answer_ms=2 + rng.random(),
                write_ms=0.3,
            )
        )
    return made


def test_a_daemon_that_is_flat() -> None:
    assert problems(samples()) == []
    assert abs(figures(samples())["rss_kb_a_round"]) < 0.3


@pytest.mark.parametrize(
    ("what", "finding"),
    [
        ({"kb_a_round": 3.0}, "memory grows by"),
        ({"fds_a_round": 0.01}, "open files grew"),
        ({"longer": 1.0}, "the journal's bytes in a round"),
    ],
)
def test_what_grows_is_told(what: dict[str, float], finding: str) -> None:
    found = problems(samples(**what))  # type: ignore[arg-type]
    assert len(found) == 1
    assert finding in found[0]


def test_the_page_shows_it() -> None:
    drawn = page(samples(kb_a_round=3.0), figures(samples()), problems(samples(kb_a_round=3.0)))
    assert "memory grows by" in drawn
    assert drawn.count("<polyline") == 6
