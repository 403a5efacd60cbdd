"""Plants a defect in the running code and takes it out again; no defect is in the shipped code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from controller import games
from controller.core.changes.change import CHANGES
from controller.core.decision import HANDLERS
from controller.core.rules import automatic, devices

STANDARD, COUNTS_NOT, BY_HAND, HOLDS, RECOGNISES, SHORT_LIFE = range(6)  # set-ups of Dragon Poker

Swap = tuple[Any, Any, Any]  # what is changed: an object, its attribute or key, the new value


@dataclass(frozen=True, slots=True)
class Defect:
    """One mistake that a programmer could make."""

    name: str
    text: str
    plant: Callable[[], list[Swap]]
    kinds: tuple[str, ...]  # the mishaps that bring it out; none: any shift does
    setup: int = STANDARD
    game: str = ""  # the first, if it is not named


DEFECTS: Final[dict[str, Defect]] = {}


def defect(
    text: str, *kinds: str, setup: int = STANDARD, game: str = ""
) -> Callable[[Callable[[], list[Swap]]], Callable[[], list[Swap]]]:
    """Add a defect, which is named like the function that plants it."""

    def register(plant: Callable[[], list[Swap]]) -> Callable[[], list[Swap]]:
        name = plant.__name__.removeprefix("_")
        DEFECTS[name] = Defect(name, text, plant, kinds, setup, game)
        return plant

    return register


@contextlib.contextmanager
def planted(name: str) -> Iterator[None]:
    """A build with this defect; none where the name is empty."""
    swaps = DEFECTS[name].plant() if name else []
    before = []
    for thing, key, value in swaps:
        before.append((thing, key, thing[key] if isinstance(thing, dict) else getattr(thing, key)))
        _set(thing, key, value)
    try:
        yield
    finally:
        for thing, key, value in reversed(before):
            _set(thing, key, value)


def _set(thing: Any, key: str, value: Any) -> None:
    if isinstance(thing, dict):
        thing[key] = value
    else:
        setattr(thing, key, value)


def everywhere(function: Any, other: Any) -> list[Swap]:
    """Replace a function wherever the core has it: by name, in a table or in a list of rules."""
    swaps: list[Swap] = []
    for name, module in list(sys.modules.items()):
        if name.startswith("controller."):
            swaps += [(module, key, other) for key, value in vars(module).items() if value is function]
    tables: tuple[Mapping[Any, Any], ...] = (HANDLERS, CHANGES, devices._EVENTS, devices._OF_COMMAND)
    for found in tables:
        swaps += [(found, key, other) for key, value in found.items() if value is function]
    for by_state in (automatic.RULES, automatic.RULES_WITH_LASTING_DECKS):
        for state, rules in by_state.items():
            if function in rules:
                swaps.append((by_state, state, tuple(other if rule is function else rule for rule in rules)))
    assert swaps, f"{function} was not found anywhere"
    return swaps


def described_with(name: str, **changes: Any) -> list[Swap]:
    """Replace parts of a game's description."""
    right = games.GAMES[name]
    wrong = replace(right, **changes)
    return [(games.GAMES, name, wrong), (games._DESCRIPTIONS, right.game.name, wrong)]


def never(*_: Any, **__: Any) -> None:
    """A guard that has been taken out."""
