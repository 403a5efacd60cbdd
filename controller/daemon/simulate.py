"""The one place where the controller loads the simulators: `shoed --simulate`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

    from controller.daemon.daemon import Daemon

KEPT_JOURNALS = 5
SETS = 12  # of decks in the cupboard


def simulated_config(folder: Path, listen: str) -> Config:
    """A table with a counting shuffler that feeds an automated shoe, both played, everything in one folder."""
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
    """Simulated cards begin anew with every start, so does their journal; the last few are kept."""
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
async def simulated(daemon: Daemon, folder: Path, seed: int, speed: float, robot: bool) -> AsyncIterator[Any]:
    """Play the devices on ptys in this folder, and a dealer at the table."""
    from simulators.control import running
    from simulators.devices.device import SimulatedTable
    from simulators.pipes.endpoints import Endpoint, PtyEndpoint
    from simulators.table.house import capabilities, deck_names
    from simulators.table.simulation import Simulation

    setup = daemon.setup
    table = SimulatedTable(
        seed,
        now=daemon.clock.now(),
        decks=deck_names(setup, SETS),
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
            yield simulation
        finally:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
            await daemon.close()  # before its devices are gone: else it would miss them, and write that down


def shoesim_command() -> click.Command:
    """The command `shoesim`, for its manual page."""
    from simulators.shoesim import cli

    return cli
