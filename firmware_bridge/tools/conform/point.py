"""A point of the conformance test: its name, what the protocol requires, and the function that checks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firmware_bridge.tools.conform.link_talk import Steps
from firmware_bridge.tools.conform.talk import Talk

Check = Callable[[Talk], Steps[None]]


@dataclass(frozen=True, slots=True)
class Point:
    """`section` is a heading of the protocol's pages. A point `with_cards` runs motors and may move cards; a `slow` one
    mostly waits; `hands` are a person's."""

    name: str
    section: str
    asks: str
    check: Check
    limit_s: float
    with_cards: bool
    slow: bool
    hands: bool


POINTS: list[Point] = []


def chosen(*, with_cards: bool = False, slow: bool = False, interactive: bool = False) -> list[Point]:
    """The points of a run with these options, in order."""
    with_cards = with_cards or interactive
    return [
        point
        for point in POINTS
        if point.with_cards <= with_cards and point.slow <= slow and point.hands <= interactive
    ]


def point(
    name: str,
    section: str,
    asks: str,
    *,
    limit_s: float = 20.0,
    with_cards: bool = False,
    slow: bool = False,
    hands: bool = False,
) -> Callable[[Check], Check]:
    """Add the decorated function to the list of points."""

    def add(check: Check) -> Check:
        POINTS.append(Point(name, section, asks, check, limit_s, with_cards, slow, hands))
        return check

    return add
