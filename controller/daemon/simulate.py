"""`shoed --simulate`: a table with simulated devices and a robot dealer. Only this module loads the simulators."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from controller.daemon.config import (
    Config,
    ControlConfig,
    JournalConfig,
    ScreenConfig,
    ShoeConfig,
    ShufflerConfig,
    TableConfig,
)
from firmware_bridge.wire.link import LinkTiming

if TYPE_CHECKING:
    import click

    from controller.core.actions import Action
    from controller.daemon.daemon import Daemon
    from controller.daemon.people import PeopleFile

KEPT_JOURNALS = 5
DECKS_PER_BACK = 12  # in the cupboard


class TableSimulation(Protocol):
    """What the daemon and the API use of a simulated table."""

    people: PeopleFile

    def followed(self, action: Action) -> None:
        """Let the simulated cards follow an action that the table has accepted from a person."""

    def describe(self) -> dict[str, Any]:
        """The state of the simulation, for the screen's panel."""

    def carry_out(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request of the screen's panel and describe the result; ValueError if the request is wrong."""


def simulated_config(folder: Path, listen: str) -> Config:
    """A table with a simulated counting shuffler that feeds a simulated shoe, with all files in one folder."""
    return Config(
        name="Simulated table",
        table=TableConfig(),
        shuffler=ShufflerConfig(port=str(folder / "shuffler")),
        shoe=ShoeConfig(port=str(folder / "shoe")),
        journal=JournalConfig(file=str(folder / "journal.db")),
        control=ControlConfig(socket=str(folder / "control.sock")),
        screen=ScreenConfig(listen=listen, people=""),
    )


def put_journal_aside(folder: Path) -> None:
    """Start with a new journal, as simulated cards start over too. The last few journals are kept."""
    old = sorted(folder.glob("journal-*.db"), key=lambda path: path.stat().st_mtime)
    for path in old[: max(0, len(old) - KEPT_JOURNALS + 1)]:
        path.unlink()
    number = max((int(path.stem.rpartition("-")[2]) for path in old), default=0) + 1
    for suffix in ("", "-wal", "-shm", ".lock"):
        path = folder / f"journal.db{suffix}"
        if path.exists():
            if suffix in ("", "-wal"):
                path.rename(folder / f"journal-{number}.db{suffix}")
            else:
                path.unlink()


@contextlib.asynccontextmanager
async def simulated(daemon: Daemon, folder: Path, seed: int, speed: float, robot: bool) -> AsyncIterator[None]:
    """Run simulated devices on ptys in this folder, and a robot dealer at the table."""
    from simulators.control import running
    from simulators.devices.device import SimulatedTable
    from simulators.pipes.endpoints import Endpoint, PtyEndpoint
    from simulators.table.house import capabilities, deck_names
    from simulators.table.simulation import Simulation

    setup = daemon.setup
    table = SimulatedTable(
        seed,
        now=daemon.clock.now(),
        decks=deck_names(setup, DECKS_PER_BACK),
        shuffler_capabilities=capabilities(setup, "shuffler"),
        shoe_capabilities=capabilities(setup, "shoe"),
        timing=LinkTiming().scaled(speed),  # the devices' clocks run faster, the link does not
    )

    def clock() -> float:
        return daemon.clock.now()

    endpoints: dict[str, Endpoint] = {
        "shuffler": PtyEndpoint(table.shuffler, folder / "shuffler", speed=speed, clock=clock),
        "shoe": PtyEndpoint(table.shoe, folder / "shoe", speed=speed, clock=clock),
    }
    async with running(table, endpoints, folder) as hands:
        simulation = Simulation(daemon, table, endpoints, hands, playing=robot)
        daemon.simulation = simulation
        playing = asyncio.create_task(simulation.run(), name="robot dealer")
        try:
            yield
        finally:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
            await daemon.close()  # before its devices go away, which it would otherwise journal as lost


def shoesim_command() -> click.Command:
    """The command `shoesim`, for its manual page."""
    from simulators.shoesim import cli

    return cli
