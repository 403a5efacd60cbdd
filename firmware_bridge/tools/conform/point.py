"""A point of the conformance test: its name, what the protocol asks there, and the script that finds out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firmware_bridge.tools.conform.link_talk import Steps
from firmware_bridge.tools.conform.talk import Talk

Check = Callable[[Talk], Steps[None]]


@dataclass(frozen=True, slots=True)
class Point:
    """`section` is a heading of docs/protocol.md. A point `with_cards` runs motors, and may move cards; one that is
    `slow` does nothing but wait most of its time."""

    name: str
    section: str
    asks: str
    check: Check
    limit_s: float
    with_cards: bool
    slow: bool


POINTS: list[Point] = []


def chosen(*, with_cards: bool = False, slow: bool = False) -> list[Point]:
    """The points of such a run, in their order."""
    return [point for point in POINTS if point.with_cards <= with_cards and point.slow <= slow]


def point(
    name: str, section: str, asks: str, *, limit_s: float = 20.0, with_cards: bool = False, slow: bool = False
) -> Callable[[Check], Check]:
    """Put the check that follows into the list of points."""

    def book(check: Check) -> Check:
        POINTS.append(Point(name, section, asks, check, limit_s, with_cards, slow))
        return check

    return book
