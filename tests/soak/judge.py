"""What the samples of a soak say: flat, or growing. Pure."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

import msgspec

WARM_UP = 0.3  # of the rounds: caches fill, pools of memory find their size
RSS_KB_A_ROUND = 1.0  # more than this is a leak: a round has some hundred events, and each is half a kilobyte
RSS_NOISE_KB = 2048  # the allocator's own; a short soak cannot distinguish a leak from it
FDS_NOISE = 3  # somebody may be asking just now
JOURNAL_TOLERANCE = 0.1  # of the events and bytes in a round, between the two halves


class Sample(msgspec.Struct):
    """The daemon at one moment, after this many rounds."""

    rounds: int
    at_s: float
    rss_kb: int
    fds: int
    threads: int
    events: int
    journal_bytes: int  # of events alone, whatever is in the log and what in the file
    answer_ms: float  # of GET /api/v1/table
    write_ms: float  # of the daemon's own appends, the median


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes between all pairs (Theil-Sen): a few odd samples do not bend it."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.combinations(points, 2) if b[0] != a[0]]
    return statistics.median(slopes) if slopes else 0.0


def figures(samples: Sequence[Sample]) -> dict[str, float]:
    """What is judged."""
    last = samples[-1].rounds
    warm = [sample for sample in samples if sample.rounds >= WARM_UP * last]
    cold = [sample for sample in samples if sample.rounds <= WARM_UP * last] or warm[:1]
    middle = warm[len(warm) // 2]

    def a_round(name: str, begin: Sample, end: Sample) -> float:
        return float((getattr(end, name) - getattr(begin, name)) / max(1, end.rounds - begin.rounds))

    return {
        "rounds": last,
        "rounds_a_second": round(last / samples[-1].at_s, 2),
        "rss_kb_a_round": round(slope([(one.rounds, one.rss_kb) for one in warm]), 4),
        "rss_kb_grown": round(
            statistics.median(one.rss_kb for one in warm[-5:]) - statistics.median(one.rss_kb for one in warm[:5])
        ),
        "rss_kb_most": max(one.rss_kb for one in samples),
        "fds_warming_up": max(one.fds for one in cold),
        "fds_most": max(one.fds for one in warm),
        "threads_most": max(one.threads for one in warm),
        "events_a_round_first": round(a_round("events", warm[0], middle), 2),
        "events_a_round_last": round(a_round("events", middle, warm[-1]), 2),
        "bytes_a_round_first": round(a_round("journal_bytes", warm[0], middle)),
        "bytes_a_round_last": round(a_round("journal_bytes", middle, warm[-1])),
        "answer_ms_first": round(statistics.median(one.answer_ms for one in warm[: len(warm) // 2 + 1]), 2),
        "answer_ms_last": round(statistics.median(one.answer_ms for one in warm[len(warm) // 2 :]), 2),
    }


def problems(samples: Sequence[Sample]) -> list[str]:
    """What grows and must not; nothing where all is well."""
    found, findings = figures(samples), []
    if found["rss_kb_grown"] > RSS_NOISE_KB and found["rss_kb_a_round"] > RSS_KB_A_ROUND:
        findings.append(f"memory grows by {found['rss_kb_a_round']:.2f} kB a round")
    if found["fds_most"] > found["fds_warming_up"] + FDS_NOISE:
        findings.append(f"open files grew from {found['fds_warming_up']:.0f} to {found['fds_most']:.0f}")
    for name in ("events", "bytes"):
        first, last = found[f"{name}_a_round_first"], found[f"{name}_a_round_last"]
        if abs(last - first) > JOURNAL_TOLERANCE * first:
            findings.append(f"the journal's {name} in a round went from {first:g} to {last:g}")
    return findings
