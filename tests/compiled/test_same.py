"""The same seed, compiled and not: the journals and the reports are equal, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulators.compiled import marked

FAST = Path(os.environ.get("FAST", "build/fast")).resolve()

ROUNDS = """
import sys
from simulators.pipes.wires import WireQuality
from simulators.table.house import CALM_LINK, House
from simulators.table.people import People

timing, quality = (CALM_LINK, WireQuality()) if sys.argv[1] == "calm" else (None, WireQuality(lose=0.02, flip=1e-4))
house = House(None, timing=timing, quality=quality, seed=7)
people = People(house)
assert people.open()
for _ in range(12):
    assert people.play((1, 2, 3, 4, 5, 6))
print(house.journal.head, house.cards.snapshot(), sys.modules["controller.core.table"].__file__)
"""


def run(*args: str, compiled: bool) -> str:
    """What a program prints, with the packages of one of the two places."""
    place = FAST if compiled else Path.cwd()
    done = subprocess.run(
        [sys.executable, *args],
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_named_was_compiled() -> None:
    modules = marked(FAST)
    assert len(modules) > 30
    assert [path for path in modules if not list(FAST.glob(path.removesuffix(".py") + ".*.so"))] == []


@pytest.mark.parametrize("wires", ["calm", "bad"])
def test_the_same_rounds_are_played(wires: str) -> None:
    head, _, place = run("-P", "-c", ROUNDS, wires, compiled=True).rpartition(" ")
    assert place.strip().endswith(".so")
    assert run("-P", "-c", ROUNDS, wires, compiled=False).rpartition(" ")[0] == head


def test_the_same_campaign_is_played() -> None:
    def report(compiled: bool) -> dict[str, Any]:
        script = str(Path(sys.executable).with_name("shoesim"))
        outcome: dict[str, Any] = json.loads(
            run(script, "campaign", "--seed", "5", "--rounds", "100", "--json", compiled=compiled)
        )
        return {key: value for key, value in outcome.items() if key not in ("seconds", "rounds_per_second")}

    assert report(compiled=True) == report(compiled=False)
