"""What a run of the conformance test did not cover, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from firmware_bridge.tools.conform.point import POINTS, Point
from firmware_bridge.tools.conform.run import PointResult

# What no message shows, so that no test from the outside can find it.
OUTSIDE = (
    "whether the order after a Shuffle is random, and different each time",
    "whether a Dispense takes the top cards, in their order",
    "whether light, text and sound are what Indicate asks for, and whether a lock holds the door",
    "whether the motors stop before a jam or an open door is reported",
)


@dataclass(frozen=True, slots=True)
class NotCovered:
    """A point that a run did not test."""

    name: str
    asks: str
    why: str


def not_covered(results: Iterable[PointResult], *, only: Collection[str] = ()) -> list[NotCovered]:
    """The points without a verdict in these results: skipped, or not part of the run."""
    verdicts = {result.name: result for result in results}
    skipped = {name: result.detail for name, result in verdicts.items() if result.verdict == "skipped"}
    return [
        NotCovered(point.name, point.asks, skipped.get(point.name) or _left_out(point))
        for point in POINTS
        if point.name in skipped or (point.name not in verdicts and not only)
    ]


def _left_out(point: Point) -> str:
    option = "--interactive" if point.hands else "--with-cards" if point.with_cards else "--slow"
    return f"only tested with {option}"
