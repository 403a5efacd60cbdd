"""The table of whom an event concerns saves questions, never a decision: the same reports with it and without it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from controller.core import concerns
from controller.core.actions import Role
from controller.core.apply import _CHANGES
from controller.core.machines import MACHINES
from controller.core.reports import Report
from controller.core.state import Event, State, decode, encode
from controller.core.table import Table
from controller.games.game import Method
from tests.core.test_property import ACTIONS, COMMANDS, FAULTS, PLACES, SETUPS
from tests.support.core_driver import House

Told = list[tuple[Report, float]]
FIELDS: dict[str, list[Any]] = {
    "back": ["red", "blue"],
    "deck": ["red-1", "blue-1", "red-2"],
    "device": ["shuffler", "shoe"],
    "target": ["seat1", "dealer"],
    "cards": [0, 1, 3, 44],
    "depth": [5, 20],
    "seats": [(1,), (1, 2)],
    "place": PLACES,
    "misdealt": [True, False],
    "prepared": [True, False],
    "good": [True],
    "how": ["covered"],
    "reason": ["bent"],
    "method": list(Method),
    "warning": ["shuffler.jam", "shoe.jam", "shoe.lost", "shuffler.cycle"],
}


def taken_down(seed: int) -> tuple[State, Told, list[list[Event]], list[float]]:
    """A table, what it is told in wild hours, what it decides, and when it wants to be asked again."""
    rng = random.Random(f"concerns/{seed}")
    house = House(SETUPS[seed % len(SETUPS)])
    told: Told = []
    made: list[list[Event]] = []
    due: list[float] = []
    begin, handle = copy.deepcopy(house.state), house.table.handle

    def noted(report: Report, now: float) -> list[Event]:
        told.append((report, now))
        made.append(handle(report, now))
        due.append(house.table.deadline)
        return made[-1]

    house.table.handle = noted  # type: ignore[method-assign]
    house.open()
    steps: list[Callable[[], object]] = [
        lambda: _action(house, rng),
        lambda: house.faults.update({(rng.choice(["shuffler", "shoe"]), rng.choice(COMMANDS)): rng.choice(FAULTS)}),
        lambda: (house.restart if rng.random() < 0.5 else house.lose)(rng.choice(list(house.devices))),
        lambda: [house.connect(name) for name, device in house.devices.items() if not device.online],
        lambda: house.tick(rng.choice([1, 20, 200, 3600, 8 * 3600])),
        lambda: [house.chore() for _ in range(12)],
        lambda: [house.chore() for _ in range(12)],
        lambda: house.play((1, 2, 5)),
    ]
    for _ in range(60):
        try:
            rng.choice(steps)()
        except (AssertionError, KeyError, StopIteration, IndexError):
            continue  # the driver's people do not know their way out of everything; the table goes on
    return begin, told, made, due


def _action(house: House, rng: random.Random) -> None:
    kind = rng.choice(ACTIONS)
    names = [field.name for field in msgspec.structs.fields(kind) if field.name not in ("who", "role")]
    if all(name in FIELDS for name in names):
        role = rng.choice([*kind.roles, Role.FLOOR])
        house.attempt(kind, role=role, **{name: rng.choice(FIELDS[name]) for name in names})


@pytest.mark.parametrize("seed", range(27))
def test_who_is_always_asked_decides_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, told, made, due = taken_down(seed)
    assert len(told) > 30
    for kind in list(concerns.CONCERNS):
        monkeypatch.delitem(concerns.CONCERNS, kind)
    table = Table(begin)
    for (report, now), events, at in zip(told, made, due, strict=True):
        assert table.handle(report, now) == events
        assert table.deadline == at


@pytest.mark.parametrize("seed", range(9))
def test_who_starts_from_a_snapshot_before_every_report_decides_the_same(seed: int) -> None:
    begin, told, made, _ = taken_down(seed)
    table = Table(begin)
    for (report, now), events in zip(told, made, strict=True):
        table = Table(decode(encode(table.state)))
        assert table.handle(report, now) == events


def test_a_kind_that_is_named_is_one_that_the_table_knows() -> None:
    known = {*_CHANGES, *(kind for machine in MACHINES for kind in machine.kinds)}
    assert set(concerns.CONCERNS) - known == {"action.refused", "device.reported", "hand.collected"} - known
