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
from controller.games import GAMES
from controller.journal import remove_index
from controller.journal.writer_lock import WriterLock
from firmware_bridge.wire.link import LinkTiming
from firmware_bridge.wire.messages import Capability

if TYPE_CHECKING:
    import click

    from controller.core.actions import Action
    from controller.daemon.daemon import Daemon
    from controller.daemon.people import PeopleFile

DECKS_PER_BACK = 12  # in the cupboard
FAST = 10_000  # events per second: simulated devices may run many times faster than real ones


class TableSimulation(Protocol):
    """The part of a simulated table that the daemon and the API use."""

    people: PeopleFile

    def followed(self, action: Action) -> None:
        """Let the simulated cards follow an action that the table has accepted from a person."""

    def describe(self) -> dict[str, Any]:
        """The state of the simulation, for the screen's panel."""

    def carry_out(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request from the screen's panel and describe the result; ValueError if the request is wrong."""


def simulated_config(folder: Path, listen: str, game: str = "dragon-poker") -> Config:
    """A table with a simulated counting shuffler that feeds a simulated shoe, with all files in one folder."""
    description = GAMES[game]
    method = next(iter(description.game.programme))  # the usual one
    seats = min(TableConfig().seats, description.game.most_seats)
    return Config(
        name="Simulated table",
        table=TableConfig(game=game, method=method, seats=seats, options=dict(description.example_options)),
        shuffler=ShufflerConfig(port=str(folder / "shuffler"), events_per_s=FAST),
        shoe=ShoeConfig(port=str(folder / "shoe"), events_per_s=FAST),
        journal=JournalConfig(file=str(folder / "journal.db")),
        control=ControlConfig(socket=str(folder / "control.sock")),
        screen=ScreenConfig(listen=listen, people="", token=str(folder / "screen.token")),
    )


def put_journal_aside(folder: Path) -> Path | None:
    """Make room for a new journal, as simulated cards start over too. The previous journal is kept under a new name.

    Returns that name, None if there was no journal. JournalBusy if a daemon is writing it.
    """
    journal = folder / "journal.db"
    if not journal.exists():
        return None
    WriterLock(journal).release()
    numbers = [
        int(name) for path in folder.glob("journal-*.db") if (name := path.stem.removeprefix("journal-")).isdecimal()
    ]
    kept = folder / f"journal-{max(numbers, default=0) + 1}.db"
    for suffix in ("-wal", ""):  # the log first: it is useless without its journal, and the journal would lack its end
        path = folder / f"journal.db{suffix}"
        if path.exists():
            path.rename(f"{kept}{suffix}")
    for suffix in ("-shm", ".lock"):
        (folder / f"journal.db{suffix}").unlink(missing_ok=True)
    remove_index(journal)
    return kept


@contextlib.asynccontextmanager
async def simulated(daemon: Daemon, folder: Path, seed: int, speed: float, robot: bool) -> AsyncIterator[None]:
    """Run simulated devices on ptys in this folder, and a robot dealer at the table."""
    from simulators.control import running
    from simulators.devices.device import SimulatedTable
    from simulators.pipes.endpoints import Endpoint, PtyEndpoint
    from simulators.table.house import capabilities, deck_names, fed_shoe, pack_for
    from simulators.table.simulation import Simulation

    setup = daemon.setup
    table = SimulatedTable(
        seed,
        now=daemon.clock.now(),
        decks=deck_names(setup, DECKS_PER_BACK),
        pack=pack_for(setup.game),
        shuffler_capabilities=capabilities(setup, "shuffler"),
        shoe_capabilities=capabilities(setup, "shoe") | {Capability.RECOGNISES},
        feeds=fed_shoe(setup),
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
            await daemon.close()  # before its devices disappear, which it would otherwise journal as lost


def shoesim_command() -> click.Command:
    """The command `shoesim`, for its manual page."""
    from simulators.shoesim import cli

    return cli
