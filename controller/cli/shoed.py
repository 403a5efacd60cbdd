"""`shoed`: the daemon's command. It puts journal, table, devices and doors together, and tells systemd how it does."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import click
import structlog

from controller.api.app import Api
from controller.api.event_text import line_of
from controller.api.server import ApiServer, api_server, tcp_socket, unix_socket
from controller.core.state import Event
from controller.daemon.config import CONFIG_FILE, Config, ConfigError, listen_address, read_config
from controller.daemon.daemon import Daemon, TableStopped
from controller.daemon.logs import set_up_logs
from controller.daemon.simulate import put_journal_aside, simulated, simulated_config
from controller.daemon.systemd import notify, watchdog_s

_LOG = structlog.get_logger()
RUN_FOLDER = Path("build/run")
BEAT_S = 10.0  # how often the watchdog is fed where systemd asks for nothing else
THREAD_S = 0.0005  # how long a thread that searches or verifies the journal may hold up the loop; Python's own is 5 ms


async def serve(
    config: Config,
    *,
    new_journal: bool = False,
    play: tuple[Path, int, float, bool] | None = None,
    announce: bool = False,
) -> None:
    """Run the table until the process is asked to end."""
    sys.setswitchinterval(THREAD_S)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(ending, stop.set)
    log = structlog.get_logger()
    loop.set_exception_handler(_unhandled)
    daemon = Daemon(config, new_journal=new_journal)
    daemon.listen(tell_events)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(daemon.close)
        api = Api(daemon)
        doors = _open_doors(config, api, stack)
        stack.push_async_callback(api.stream.close)
        starting = asyncio.create_task(daemon.start(), name="start")
        stopping = asyncio.create_task(stop.wait(), name="stop")
        stack.callback(starting.cancel)
        stack.callback(stopping.cancel)
        await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            if play:
                await stack.enter_async_context(simulated(daemon, *play))
            await asyncio.gather(*(one.listening.wait() for one in doors))
            if announce:
                _announce(config)
            notify("READY=1", "STATUS=the table is up")
            log.info("ready", screen=config.screen.listen if config.screen else None, socket=config.control.socket)
            _keep_for_good()
            await _beat(daemon, stopping)
        notify("STOPPING=1")
    log.info("stopped")


# What a log tells of the journal: not every card, but all that somebody may have to see to.
TOLD = ("table.", "round.", "warning.", "access.", "action.refused", "method.changed", "count.rejected", "ledger.",
        "deck.locked_out", "deck.removed", "deck.change_due", "device.", "host.")  # fmt: skip
UNTOLD = ("device.reported", "device.resumed")


def tell_events(ts: str, events: list[Event]) -> None:
    """Log what has happened at the table, bound to its device, deck and round."""
    for event in events:
        if event.kind.startswith(TOLD) and event.kind not in UNTOLD:
            bound = {key: event.data[key] for key in ("device", "deck", "round") if key in event.data}
            note = _LOG.warning if event.kind in ("warning.raised", "round.voided", "access.denied") else _LOG.info
            note(line_of(event.kind, event.data), seq=event.seq, kind=event.kind, clause=list(event.clause), **bound)


def _unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What no code has caught is logged like everything else."""
    error = context.get("exception")
    _LOG.error("unexpected", what=context.get("message"), exc_info=error if isinstance(error, Exception) else None)


def _open_doors(config: Config, api: Api, stack: contextlib.AsyncExitStack) -> list[ApiServer]:
    """Listen at the socket, and for the screen if there is one; all of it ends with the stack."""
    path = Path(config.control.socket)
    sockets = [unix_socket(path)]
    stack.callback(path.unlink, missing_ok=True)
    if config.screen:
        sockets.append(tcp_socket(*listen_address(config.screen)))
    doors = []
    for sock in sockets:
        one = api_server(api.app, api.queue)
        task = asyncio.create_task(one.serve([sock]), name="door")

        async def close(one: ApiServer = one, task: asyncio.Task[None] = task) -> None:
            one.should_exit = True
            await task

        stack.push_async_callback(close)
        doors.append(one)
    return doors


async def _beat(daemon: Daemon, stopping: asyncio.Task[bool]) -> None:
    """Let the table feel that time passes, and tell the watchdog that it did."""
    every_s = watchdog_s() / 3 or BEAT_S
    while not stopping.done():
        with contextlib.suppress(TableStopped):
            daemon.beat()
        notify("WATCHDOG=1")
        await asyncio.wait([stopping], timeout=every_s)


def _keep_for_good() -> None:
    """What is in memory now stays there: no pass of the garbage collector looks through it again, in a deal or else."""
    gc.collect()
    gc.freeze()


def _leave_no_core() -> None:
    """A core file would hold all that devices have told, undealt cards too: none is written, and none is piped away."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/coredump_filter").write_text("0")


def _announce(config: Config) -> None:
    screen = f"http://{config.screen.listen}/" if config.screen else ""
    click.echo(f"The table is open at {screen} (PINs: Dana, dealer, 2580; Flo, floor, 1470)")
    click.echo("Try, in another terminal:")
    for line in ("shoectl status --watch", "shoesim inject shoe jam", "shoectl events --follow"):
        click.echo(f"  .venv/bin/{line}")
    click.echo("Ctrl-C ends it.")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help=f"The table's TOML file (without any option: {CONFIG_FILE}).",
)
@click.option("--simulate", is_flag=True, help="Play a whole table: devices, cards and a robot dealer.")
@click.option(
    "--folder", type=click.Path(path_type=Path), default=RUN_FOLDER, show_default=True, help="For --simulate."
)
@click.option("--listen", default="127.0.0.1:8053", show_default=True, help="Where the screen of --simulate is.")
@click.option("--seed", type=int, default=1, show_default=True, help="For --simulate.")
@click.option(
    "--speed", type=click.FloatRange(0.1, 100), default=1.0, show_default=True, help="Of the simulated devices."
)
@click.option("--paused", is_flag=True, help="The robot dealer of --simulate waits until he is told to go on.")
@click.option("--new-journal", is_flag=True, help="Begin a new journal where the old one is gone.")
@click.option("--announce", is_flag=True, hidden=True)
@click.version_option(package_name="dragonshoe")
def shoed(
    config_file: Path | None,
    simulate: bool,
    folder: Path,
    listen: str,
    seed: int,
    speed: float,
    paused: bool,
    new_journal: bool,
    announce: bool,
) -> None:
    """Run the shuffler and the shoe of one table, and enforce its rules.

    Everything that happens is in the journal before anything moves. The screen and `shoectl` show
    the table and take what people do.
    """
    set_up_logs()
    _leave_no_core()
    if simulate and config_file:
        raise click.UsageError("give either --config FILE or --simulate")
    try:
        if simulate:
            folder.mkdir(parents=True, exist_ok=True)
            put_journal_aside(folder)
            config = simulated_config(folder.absolute(), listen)
            asyncio.run(serve(config, play=(folder.absolute(), seed, speed, not paused), announce=announce))
        else:
            asyncio.run(serve(read_config(config_file or CONFIG_FILE), new_journal=new_journal))
    except (ConfigError, OSError) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:  # before the loop has begun to listen for it
        raise SystemExit(0) from None


def main() -> None:
    """The command."""
    shoed(prog_name="shoed")
