"""The `shoesim` command: runs simulated devices, injects faults and moves cards while they run, plays scenarios."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from firmware_bridge.wire.link import LinkTiming
from firmware_bridge.wire.messages import Capability
from simulators import faulty_firmware
from simulators.control import ControlError, ask, running
from simulators.devices.device import SHOE_CAPABILITIES, SHUFFLER_CAPABILITIES, SimulatedDevice, SimulatedTable
from simulators.devices.faults import OF_THE_MECHANICS, FaultName, FaultPlan, ScriptError, read_script
from simulators.devices.firmware import Firmware
from simulators.devices.shuffling import Shelf, Uniform
from simulators.pipes.endpoints import Endpoint, PtyEndpoint, TcpEndpoint
from simulators.pipes.qemu import QemuSerialEndpoint, QemuUsbEndpoint
from simulators.pipes.usb_backend import SoftwareUsbDevice

DEFAULT_FOLDER = Path("build/run")
NO_FAULTS = b"fault = []"
DEVICES = click.Choice(["shuffler", "shoe"])


def _place(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    kind, colon, socket = (value or "pty").partition(":")
    if (kind in ("pty", "tcp") and not colon) or (kind in ("qemu-serial", "qemu-usb") and socket):
        return value
    raise click.BadParameter(f"unknown place {value!r}; expected pty, tcp, qemu-serial:SOCKET or qemu-usb:SOCKET")


def _defect(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is None or value in faulty_firmware.MECHANICAL or value in faulty_firmware.DEFECTS:
        return value
    raise click.BadParameter(f"unknown defect {value!r}; expected a defect or a point of docs/conformance.md")


folder_option = click.option(
    "--dir", "folder", type=click.Path(path_type=Path), default=DEFAULT_FOLDER, show_default=True,
    help="Folder for the ports and the control socket.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dragonshoe")
def cli() -> None:
    """Simulated shuffler and shoe: the hardware for a machine without devices."""


@cli.command()
@folder_option
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of every random choice.")
@click.option("--speed", type=click.FloatRange(min=0.1, max=1000), default=1.0, show_default=True,
              help="How many times faster than real devices to run.")  # fmt: skip
@click.option("--tcp", is_flag=True, help="Use TCP ports of this machine instead of ptys.")
@click.option("--shuffler", "shuffler_at", callback=_place, metavar="PLACE",
              help="Where the shuffler is, if not on a pty: tcp, or in a virtual machine: qemu-serial:SOCKET or "
              "qemu-usb:SOCKET.")  # fmt: skip
@click.option("--shoe", "shoe_at", callback=_place, metavar="PLACE", help="The same for the shoe.")
@click.option("--shelves", type=click.IntRange(1, 100), default=10, show_default=True, help="Shelves in the shuffler.")
@click.option("--passes", type=click.IntRange(1, 20), default=3, show_default=True, help="Passes per shuffle.")
@click.option("--uniform", is_flag=True, help="Use a perfect shuffle, unlike any real machine.")
@click.option("--recognises", is_flag=True, help="Both devices recognise cards.")
@click.option("--keeps-memory", is_flag=True, help="Both devices keep their memory through a loss of power.")
@click.option("--faults", "fault_rate", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="Chance of each mechanical fault in each cycle.")  # fmt: skip
@click.option("--script", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="TOML file with planned faults; docs/simulators.md explains it.")  # fmt: skip
@click.option("--defect", callback=_defect, metavar="NAME",
              help="A firmware defect; docs/conformance.md lists them.")  # fmt: skip
@click.option("--announce", is_flag=True, help="Print what to try next.")
def run(folder: Path, announce: bool, script: Path | None, **options: Any) -> None:
    """Run a shuffler and a shoe until Ctrl-C."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(_run(folder, announce, script=script.read_bytes() if script else NO_FAULTS, **options))
    except ScriptError as error:
        raise click.ClickException(f"{script}: {error}") from None
    except OSError as error:
        raise click.ClickException(str(error)) from None


async def _run(
    folder: Path,
    announce: bool,
    *,
    seed: int,
    speed: float,
    tcp: bool,
    shuffler_at: str | None,
    shoe_at: str | None,
    shelves: int,
    passes: int,
    uniform: bool,
    recognises: bool,
    keeps_memory: bool,
    fault_rate: float,
    script: bytes,
    defect: str | None,
) -> None:
    now = asyncio.get_running_loop().time()
    planned = read_script(script, start=now)
    more = {Capability.RECOGNISES} if recognises else set()
    more |= {Capability.KEEPS_MEMORY} if keeps_memory else set()
    rates = {fault: fault_rate for fault in FaultName if fault in OF_THE_MECHANICS} if fault_rate else {}
    mechanical = faulty_firmware.MECHANICAL.get(defect or "")
    lacks = mechanical.lacks if mechanical else frozenset()
    more |= mechanical.gains if mechanical else set()
    table = SimulatedTable(
        seed,
        build=mechanical.build if mechanical else faulty_firmware.DEFECTS.get(defect or "", Firmware),
        shuffler_capabilities=(SHUFFLER_CAPABILITIES | more) - lacks,
        shoe_capabilities=(SHOE_CAPABILITIES | more) - lacks,
        way=Uniform() if uniform else Shelf(shelves, passes),
        shuffler_plan=FaultPlan(planned["shuffler"], rates, seed=f"{seed}/shuffler faults"),
        shoe_plan=FaultPlan(planned["shoe"], rates, seed=f"{seed}/shoe faults"),
        timing=LinkTiming().scaled(speed),
        now=now,
    )
    wanted = {"shuffler": shuffler_at, "shoe": shoe_at}
    devices = {"shuffler": table.shuffler, "shoe": table.shoe}
    endpoints = {
        name: _endpoint(wanted[name] or ("tcp" if tcp else "pty"), name, device, folder, speed)
        for name, device in devices.items()
    }
    stop = asyncio.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, stop.set)
    async with running(table, endpoints, folder):
        _announce(endpoints, folder, announce)
        await stop.wait()
    click.echo("stopped", err=True)


def _endpoint(place: str, name: str, device: SimulatedDevice, folder: Path, speed: float) -> Endpoint:
    kind, _, socket = place.partition(":")
    if kind == "tcp":
        return TcpEndpoint(device, speed=speed)
    if kind == "qemu-serial":
        return QemuSerialEndpoint(device, Path(socket), speed=speed)
    if kind == "qemu-usb":
        usb = SoftwareUsbDevice(serial=f"SIM-{name.upper()}", product_name=f"Dragonshoe {name.title()}")
        return QemuUsbEndpoint(device, Path(socket), usb, speed=speed)
    return PtyEndpoint(device, folder / name, speed=speed)


def _announce(endpoints: dict[str, Endpoint], folder: Path, announce: bool) -> None:
    for name, endpoint in endpoints.items():
        click.echo(f"{name:<9} {endpoint.address}")
    if announce:
        where = "" if folder == DEFAULT_FOLDER else f" --dir {folder}"
        shoe = endpoints["shoe"].address
        click.echo(
            "\nA simulated shuffler and shoe are running. In another terminal, in this folder, try:\n"
            f"  .venv/bin/shoectl probe {shoe}\n      who is there?\n"
            f"  .venv/bin/shoectl monitor {shoe}\n      watch the wire\n"
            f"  .venv/bin/shoesim inject shoe unplug --for 3{where}\n      pull its cable for three seconds meanwhile\n"
            "Ctrl-C ends it."
        )
    sys.stdout.flush()


def _request(as_json: bool, folder: Path, **request: Any) -> None:
    try:
        answer = ask(folder, **request)
    except ControlError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps(answer))
    elif request["do"] == "status":
        _print_status(answer)
    else:
        for name, value in answer.items():
            click.echo(f"{name}: {', '.join(value) or 'none' if isinstance(value, list) else value}")


def _print_status(answer: dict[str, Any]) -> None:
    for name, device in answer["devices"].items():
        state = "no power" if not device["power"] else "unplugged" if not device["plugged"] else device["mode"]
        click.echo(f"{name:<9} {state:<10} {device['address']}  faults: {', '.join(device['faults']) or 'none'}")
    for spot, count in answer["cards"].items():
        click.echo(f"{count:>4} cards {spot.lower()}")


@cli.command("angel-eye")
@click.option("--port", "link", type=click.Path(path_type=Path), default=DEFAULT_FOLDER / "angel-eye",
              show_default=True, help="Where the pty appears.")  # fmt: skip
@click.option("--tcp", type=click.IntRange(0, 65535), help="A TCP port instead, as of a device server; 0 for any.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of every random choice.")
@click.option("--speed", type=click.FloatRange(min=0.1, max=1000), default=1.0, show_default=True,
              help="How many times faster than a real dealer.")  # fmt: skip
@click.option("--lose", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="Chance that a copy of a report is lost.")  # fmt: skip
@click.option("--corrupt", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="Chance that a bit of it is flipped.")  # fmt: skip
@click.option("--faults", "fault_rate", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="Chance that something goes wrong with a card.")  # fmt: skip
def angel_eye(
    link: Path, tcp: int | None, seed: int, speed: float, lose: float, corrupt: float, fault_rate: float
) -> None:
    """Run an Angel Eye II-EX until Ctrl-C, with a dealer who deals round after round from it.

    \b
    Examples:
      shoesim angel-eye
      shoesim angel-eye --tcp 4001 --lose 0.1 --corrupt 0.05 --faults 0.02
    """
    from simulators import angel_eye as simulated

    async def deal() -> None:
        stop = asyncio.Event()
        for ending in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(ending, stop.set)
        dealer = simulated.Dealer(seed, lose=lose, corrupt=corrupt, fault_rate=fault_rate)
        await simulated.run(
            dealer, simulated.endpoint_for(dealer, link if tcp is None else None, tcp or 0, speed), speed, stop
        )

    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        asyncio.run(deal())
    except OSError as error:
        raise click.ClickException(str(error)) from None


def device_command(function: Callable[..., None]) -> click.Command:
    """A command that does something to a running device."""
    for option in (json_option, folder_option, click.argument("device", type=DEVICES)):
        function = option(function)
    return cli.command()(function)


fault_argument = click.argument("fault", type=click.Choice([str(fault) for fault in FaultName]))


@cli.command()
@folder_option
@json_option
def status(folder: Path, as_json: bool) -> None:
    """Show where the cards are and what is wrong with the devices."""
    _request(as_json, folder, do="status")


@device_command
@fault_argument
@click.option("--after-cards", type=click.IntRange(0, 1000), default=0, help="Trigger after N cards have moved.")
@click.option("--for", "for_s", type=click.FloatRange(min=0),
              help="Seconds, for power and wire faults; default: until it is removed with mend.")  # fmt: skip
def inject(device: str, fault: str, after_cards: int, for_s: float | None, folder: Path, as_json: bool) -> None:
    """Inject a fault into a running device."""
    _request(as_json, folder, do="inject", device=device, fault=fault, after_cards=after_cards, for_s=for_s)


@device_command
@fault_argument
def mend(device: str, fault: str, folder: Path, as_json: bool) -> None:
    """Remove a fault: plug in, switch on, free the jam."""
    _request(as_json, folder, do="mend", device=device, fault=fault)


@device_command
@click.argument("deck", default="")
def load(device: str, deck: str, folder: Path, as_json: bool) -> None:
    """Put a deck from the table into a device."""
    _request(as_json, folder, do="load", device=device, deck=deck)


@device_command
@click.argument("seat", type=click.IntRange(0, 7), default=0)
def take(device: str, seat: int, folder: Path, as_json: bool) -> None:
    """Take the cards at a device's exit: to a seat, or to the table."""
    _request(as_json, folder, do="take", device=device, seat=seat)


@cli.command()
@folder_option
@json_option
def gather(folder: Path, as_json: bool) -> None:
    """Bring all loose cards back to the table, each to its deck."""
    _request(as_json, folder, do="gather")


@device_command
@click.argument("button", type=click.Choice(["green", "red"]))
def press(device: str, button: str, folder: Path, as_json: bool) -> None:
    """Press a button on a device."""
    _request(as_json, folder, do="press", device=device, button=button)


@device_command
@click.argument("state", type=click.Choice(["open", "close"]))
def door(device: str, state: str, folder: Path, as_json: bool) -> None:
    """Open or close a device's door."""
    _request(as_json, folder, do="door", device=device, is_open=state == "open")


@cli.command("play")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print the journal as JSON Lines.")
@click.option("-v", "--verbose", is_flag=True, help="Print the story: each step, and what followed from it.")
def play_scenarios(files: tuple[Path, ...], as_json: bool, verbose: bool) -> None:
    """Play scenarios through the real stack, in virtual time. Exit 0 when all of them pass.

    \b
    Examples:
      shoesim play tests/scenarios/*.toml
      shoesim play --verbose tests/scenarios/shoe_jams_in_the_deal.toml
    """
    from simulators.table.scenario import ScenarioError, play, read_scenario, story

    failed = False
    for file in files:
        try:
            played = play(read_scenario(file.read_text(encoding="utf-8")))
        except (ScenarioError, UnicodeDecodeError, OSError) as error:
            raise click.ClickException(f"{file}: {error}") from None
        failed |= bool(played.problems)
        if as_json:
            for event in played.events:
                click.echo(msgspec.json.encode(event))
        if verbose:
            for line in story(played):
                click.echo(line, err=as_json)
        click.echo(f"{'failed' if played.problems else 'passed'}  {file}: {played.title}", err=as_json)
        for problem in played.problems:
            click.echo(f"        {problem}", err=as_json)
    sys.exit(1 if failed else 0)


@cli.command("campaign")
@click.option("--game", default="", metavar="NAME",
              help="Play only this game.  [default: all games; with --shift, Dragon Poker]")  # fmt: skip
@click.option("--seed", type=int, help="Seed of every random choice.  [default: a random one, which is printed]")
@click.option("--rounds", type=click.IntRange(min=0), default=1000, show_default=True,
              help="Rounds to play, divided between the games.")  # fmt: skip
@click.option("--faults", default="", metavar="RATE|N",
              help="How much goes wrong: a rate per round (0.5), or a number for all rounds (10000).")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True,
              help="Number of processes; the result does not depend on it.")  # fmt: skip
@click.option("--shift", type=click.IntRange(min=0), help="Play only this shift, to repeat a failure.")
@click.option("--only", default="", metavar="N,N", help="With --shift: only these mishaps occur; `none` for none.")
@click.option("--defect", default="", metavar="NAME", help="Plant this defect and check that it is caught.")
@click.option("--defects", is_flag=True, help="Plant every defect, one after another, after the rounds.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the report as one page with plots.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def campaign_(as_json: bool, **options: Any) -> None:
    """Play rounds with faults and mistakes of every kind. Exit 0 when every check has held.

    \b
    Examples:
      shoesim campaign --seed 7 --rounds 2000 --jobs 2 --html build/campaign.html
      shoesim campaign --rounds 0 --defects
      shoesim campaign --defect turn_not_passed
    """
    from simulators.campaign.command import run_campaign
    from simulators.campaign.planted_defects import DEFECTS

    defect = options["defect"]
    if defect and defect not in DEFECTS:
        known = ", ".join(DEFECTS)
        raise click.BadParameter(f"unknown defect {defect!r}; expected one of {known}", param_hint="--defect")
    try:
        good = run_campaign(json=as_json, **options)
    except OSError as error:
        raise click.ClickException(str(error)) from None
    sys.exit(0 if good else 1)


def main() -> None:
    """The command."""
    cli(prog_name="shoesim")
