"""The robot of a simulated daemon: a defect stops it, but neither silently nor together with the daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog

from controller.core.setup import Setup
from simulators.control import Hands
from simulators.devices.device import SimulatedTable
from simulators.table.simulation import Simulation


class Broken(Exception):
    """A defect."""


@pytest.fixture(autouse=True)
def usual_logs() -> Iterator[None]:
    """Log everything; a command that was tested before in this process may have left logging at its own level."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


def simulation() -> Simulation:
    """A simulation whose robot meets a defect at its first step."""
    daemon = SimpleNamespace(setup=Setup(), state=SimpleNamespace(decks={}, retired={}))
    hands = cast(Hands, SimpleNamespace(look=lambda: None))
    made = Simulation(daemon, SimulatedTable(1, now=0.0, decks=()), {}, hands)

    def fail() -> float:
        raise Broken("no such card")

    cast(Any, made.robot).one_thing = fail
    made.speed = 100.0
    return made


async def run_until_stopped(made: Simulation) -> list[Any]:
    """Let the robot play until it stops and looks for cards to take, as when it is paused; returns what was logged."""
    looked = asyncio.Event()
    cast(Any, made.robot).take = looked.set
    with structlog.testing.capture_logs() as lines:
        playing = asyncio.create_task(made.run())
        paused = asyncio.create_task(looked.wait())
        await asyncio.wait((playing, paused), return_when=asyncio.FIRST_COMPLETED)
        assert not playing.done(), "it can be resumed"
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
    return lines


def test_a_robot_that_meets_a_defect_stops_and_says_so_in_the_panel_and_in_the_log() -> None:
    made = simulation()
    lines = asyncio.run(run_until_stopped(made))
    assert [(line["event"], line["log_level"], line["exc_info"]) for line in lines] == [
        ("the robot stopped", "error", True)
    ]
    shown = made.describe()["robot"]
    assert (shown["running"], shown["stopped"]) == (False, "Broken: no such card")
    again = made.carry_out({"do": "resume"})["robot"]
    assert (again["running"], again["stopped"]) == (True, "")
