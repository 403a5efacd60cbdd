"""`shoectl sim`: controls the robot dealer of a simulated table, and injects faults into its devices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from controller.cli import terminal
from controller.cli.client import Client
from controller.cli.daemon_option import daemon_errors, socket_option
from controller.cli.options import json_option


@click.group("sim")
def sim() -> None:
    """Control a simulated table.

    Pause and speed up the robot dealer, and make devices fail in every possible way.

    Only for a daemon that was started with --simulate.
    """


@sim.command("status")
@socket_option
@json_option
@daemon_errors()
def sim_status(daemon: Client, as_json: bool) -> None:
    """Show the robot dealer, the devices and the available faults.

    \b
    Example:
      shoectl sim status
    """
    answer = daemon.get("simulation")
    if as_json:
        terminal.print_json(answer)
        return
    robot = answer["robot"]
    stopped = f"stopped: {robot['stopped']}" if robot["stopped"] else ""
    doing = stopped or (robot["doing"] if robot["running"] else "paused")
    terminal.print_line(terminal.printable(f"robot dealer: {doing}, speed {robot['speed']:g}"), bold=True)
    for name, device in answer["devices"].items():
        state = "no power" if not device["power"] else device["mode"].lower() if device["plugged"] else "unplugged"
        door = ", door open" if device["door_open"] else ""
        faults = ", ".join(device["faults"]) or "none"
        text = f"{name}: {state}{door}, faults: {faults}"
        terminal.print_line(terminal.printable(text), "red" if device["faults"] else None)
    rows = [(fault["name"], ", ".join(fault["devices"]), fault["text"]) for fault in answer["faults"]]
    terminal.print_table(("FAULT", "DEVICES", "EFFECT"), rows)


def _change(request: Callable[..., dict[str, Any]]) -> click.Command:
    """Make a verb of this group from a function that returns what to post to the simulation."""

    @functools.wraps(request)
    @daemon_errors()
    def verb(daemon: Client, as_json: bool, **arguments: Any) -> None:
        body = {name: value for name, value in request(**arguments).items() if value is not None}
        answer = daemon.post("simulation", body)
        if as_json:
            terminal.print_json(answer)

    return sim.command()(json_option(socket_option(verb)))


@_change
def pause() -> dict[str, Any]:
    """Pause the robot dealer, so that you can play yourself.

    \b
    Example:
      shoectl sim pause
    """
    return {"do": "pause"}


@_change
def resume() -> dict[str, Any]:
    """Let the robot dealer continue.

    \b
    Example:
      shoectl sim resume
    """
    return {"do": "resume"}


@_change
@click.argument("speed", type=click.FloatRange(min=0, min_open=True))
def speed(speed: float) -> dict[str, Any]:
    """Set the speed of the robot dealer; 1 is real time.

    \b
    Example:
      shoectl sim speed 5
    """
    return {"do": "speed", "speed": speed}


@_change
@click.argument("device")
@click.argument("fault")
@click.option("--after-cards", type=click.IntRange(min=0), metavar="N", help="Trigger after N cards have moved.")
@click.option("--for", "for_s", type=click.FloatRange(min=0), metavar="SECONDS", help="Repair it after this time.")
def inject(device: str, fault: str, after_cards: int | None, for_s: float | None) -> dict[str, Any]:
    """Inject FAULT into DEVICE. `shoectl sim status` lists the faults.

    \b
    Examples:
      shoectl sim inject shoe jam
      shoectl sim inject shuffler unplug --for 3
    """
    return {"do": "inject", "device": device, "fault": fault, "after_cards": after_cards, "for_s": for_s}


@_change
@click.argument("device")
@click.argument("fault")
def mend(device: str, fault: str) -> dict[str, Any]:
    """Repair FAULT of DEVICE: plug it in, switch it on, remove the jam.

    \b
    Example:
      shoectl sim mend shoe jam
    """
    return {"do": "mend", "device": device, "fault": fault}
