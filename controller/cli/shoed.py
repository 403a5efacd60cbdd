"""`shoed`: the command that runs the daemon with its API, and reports its state to systemd."""

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
from click.core import ParameterSource

from controller.api.app import Api
from controller.api.event_text import event_text
from controller.api.server import ApiServer, api_server, remove_socket, tcp_socket, unix_socket
from controller.cli.options import GameName
from controller.core.events.event import Entry
from controller.daemon.config import CONFIG_FILE, Config, ConfigError, listen_address, read_config
from controller.daemon.daemon import Daemon, TableStopped
from controller.daemon.logs import set_up_logs
from controller.daemon.screen_token import ensure_token, screen_url
from controller.daemon.simulate import put_journal_aside, simulated, simulated_config
from controller.daemon.systemd import notify, watchdog_s
from controller.journal import JournalError

_LOG = structlog.get_logger()
RUN_FOLDER = Path("build/run")
BEAT_S = 10.0  # interval of the heartbeat if systemd sets no watchdog
THREAD_S = 0.0005  # how long a thread that reads the journal may block the event loop; Python's default is 5 ms


async def serve(
    config: Config,
    *,
    new_journal: bool = False,
    play: tuple[Path, int, float, bool] | None = None,
    announce: bool = False,
) -> None:
    """Run the table until SIGINT or SIGTERM."""
    sys.setswitchinterval(THREAD_S)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    loop.set_exception_handler(_log_unhandled)
    daemon = Daemon(config, new_journal=new_journal)
    daemon.listen(log_events)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(daemon.close)
        api = Api(daemon)
        doors = _open_doors(config, api, stack)
        stack.push_async_callback(api.close)
        stack.callback(asyncio.create_task(api.keep_ending_sessions(), name="sessions").cancel)
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
            _LOG.info("ready", screen=config.screen.listen if config.screen else None, socket=config.control.socket)
            _freeze_memory()
            await _beat(daemon, stopping)
        notify("STOPPING=1")
    _LOG.info("stopped")


# The journal events that are also logged: not every card, but everything that may need attention.
LOGGED = ("table.", "round.", "warning.", "access.", "action.refused", "method.changed", "count.rejected", "ledger.",
        "deck.locked_out", "deck.removed", "deck.change_due", "device.", "host.")  # fmt: skip
NOT_LOGGED = ("device.reported", "device.resumed")


def log_events(ts: str, events: list[Entry]) -> None:
    """Log what happened at the table, with its device, deck and round."""
    for event in events:
        if event.kind.startswith(LOGGED) and event.kind not in NOT_LOGGED:
            bound = {key: event.data[key] for key in ("device", "deck", "round") if key in event.data}
            note = _LOG.warning if event.kind in ("warning.raised", "round.voided", "access.denied") else _LOG.info
            note(event_text(event.event), seq=event.seq, kind=event.kind, clause=list(event.clause), **bound)


def _log_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an exception that nothing has caught."""
    error = context.get("exception")
    _LOG.error("unexpected", what=context.get("message"), exc_info=error if isinstance(error, Exception) else None)


def _open_doors(config: Config, api: Api, stack: contextlib.AsyncExitStack) -> list[ApiServer]:
    """Listen at the socket, and for the screen if there is one; all of it ends with the stack."""
    path = Path(config.control.socket)
    sockets = [unix_socket(path)]
    stack.callback(remove_socket, path)
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
    """Advance the table's time and feed the watchdog, until the daemon stops."""
    every_s = watchdog_s() / 3 or BEAT_S
    while not stopping.done():
        with contextlib.suppress(TableStopped):
            daemon.beat()
        notify("WATCHDOG=1")
        await asyncio.wait([stopping], timeout=every_s)


def _freeze_memory() -> None:
    """Exclude everything loaded so far from garbage collection, which would otherwise cause pauses."""
    gc.collect()
    gc.freeze()


def _disable_core_dumps() -> None:
    """Prevent core dumps: they would contain everything the devices have reported, including undealt cards."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/coredump_filter").write_text("0")


def _announce(config: Config) -> None:
    screen = screen_url(config.screen) if config.screen else ""
    click.echo(f"The table is running at {screen}")
    click.echo("(PINs: Dana, dealer, 2580; Flo, floor, 147036)")
    click.echo("Try, in another terminal:")
    for line in ("shoectl status --watch", "shoesim inject shoe jam", "shoectl events --follow"):
        click.echo(f"  .venv/bin/{line}")
    click.echo("Ctrl-C ends it.")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    help=f"The table's TOML file. Default: {CONFIG_FILE}.",
)
@click.option("--simulate", is_flag=True, help="Simulate a whole table: devices, cards and a robot dealer.")
@click.option(
    "--game",
    type=GameName(),
    default="dragon-poker",
    show_default=True,
    help="With --simulate: the game that is played.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=RUN_FOLDER,
    show_default=True,
    help="With --simulate: folder for its files.",
)
@click.option("--listen", default="127.0.0.1:8053", show_default=True, help="With --simulate: address of the screen.")
@click.option("--seed", type=int, default=1, show_default=True, help="With --simulate: seed of the random numbers.")
@click.option(
    "--speed",
    type=click.FloatRange(0.1, 100),
    default=1.0,
    show_default=True,
    help="With --simulate: speed of the devices.",
)
@click.option("--paused", is_flag=True, help="With --simulate: start with the robot dealer paused.")
@click.option(
    "--new-journal",
    is_flag=True,
    help="Start a new journal if the old one is missing, or continue with another one. This is recorded.",
)
@click.option("--announce", is_flag=True, hidden=True)
@click.version_option(package_name="dragonshoe")
def shoed(
    config_file: Path | None,
    simulate: bool,
    game: str,
    folder: Path,
    listen: str,
    seed: int,
    speed: float,
    paused: bool,
    new_journal: bool,
    announce: bool,
) -> None:
    """Run the shuffler and the shoe of one table, and enforce its rules.

    Every event is written to the journal before a device acts on it. The screen and `shoectl` show
    the table and let people act.
    """
    set_up_logs()
    _disable_core_dumps()
    if simulate and config_file:
        raise click.UsageError("--config and --simulate cannot be combined")
    ctx = click.get_current_context()
    for name in () if simulate else ("game", "folder", "listen", "seed", "speed", "paused"):
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} is only possible with --simulate")
    try:
        if simulate:
            folder.mkdir(parents=True, exist_ok=True)
            kept = put_journal_aside(folder)
            config = simulated_config(folder.absolute(), listen, game)
            ensure_token(folder / "screen.token")
            if kept and announce:
                click.echo(
                    f"The journal of the last run is now {kept}; read it with `shoectl rounds --journal {kept}`."
                )
            asyncio.run(serve(config, play=(folder.absolute(), seed, speed, not paused), announce=announce))
        else:
            asyncio.run(serve(read_config(config_file or CONFIG_FILE), new_journal=new_journal))
    except (ConfigError, JournalError, OSError) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:  # before the signal handlers were installed
        raise SystemExit(0) from None


def main() -> None:
    """Run `shoed`."""
    shoed(prog_name="shoed")
