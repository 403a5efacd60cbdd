"""A point of the conformance test: its name, what the protocol requires, and the function that checks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firmware_bridge.tools.conform.link_talk import Steps
from firmware_bridge.tools.conform.talk import Talk

Check = Callable[[Talk], Steps[None]]


@dataclass(frozen=True, slots=True)
class Point:
    """`section` is a heading of docs/protocol.md. A point `with_cards` runs motors and may move cards; a `slow` one
    mostly waits."""

    name: str
    section: str
    asks: str
    check: Check
    limit_s: float
    with_cards: bool
    slow: bool


POINTS: list[Point] = []


def chosen(*, with_cards: bool = False, slow: bool = False) -> list[Point]:
    """The points of a run with these options, in order."""
    return [point for point in POINTS if point.with_cards <= with_cards and point.slow <= slow]


def point(
    name: str, section: str, asks: str, *, limit_s: float = 20.0, with_cards: bool = False, slow: bool = False
) -> Callable[[Check], Check]:
    """Add the decorated function to the list of points."""

    def add(check: Check) -> Check:
        POINTS.append(Point(name, section, asks, check, limit_s, with_cards, slow))
        return check

    return add
