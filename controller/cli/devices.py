"""The verbs that show the devices as the daemon sees them: devices, counters, frames.

Those that talk to a device directly are in probe.py, device_tests.py and wire.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from controller.api.spelling import nearest
from controller.cli import terminal
from controller.cli.client import Client, path_part
from controller.cli.daemon_option import complete_device, daemon_errors, socket_option
from controller.cli.options import json_option
from controller.core.names import plural
from firmware_bridge.wire.health import RoundTrip

BAD_FRAMES = ("crc_errors", "cobs_errors", "length_errors")  # the counters of frames that arrived damaged
SAMPLE_S = 10  # the daemon records the state of a link this often
SAMPLES_SHOWN = 60

_MARKS = {"ok": "·", "degraded": "o", "down": "X"}


def bad_frames(counters: dict[str, int]) -> int:
    """How many frames arrived damaged."""
    return sum(counters[name] for name in BAD_FRAMES)


@click.command()
@socket_option
@json_option
@daemon_errors()
def devices(daemon: Client, as_json: bool) -> int:
    """Show the table's devices and their links.

    Whether each device is connected, and if not, why; its identity; the quality of its link.

    Exit code 0 only if all of them are connected.

    \b
    Example:
      shoectl devices
    """
    answer = daemon.get("devices")
    found = answer["devices"]
    if as_json:
        terminal.print_json(answer)
    elif not found:
        terminal.print_message("no device is configured")
    else:
        _print_devices(found)
    return 0 if all(device["online"] for device in found) else 1


def _print_devices(devices: list[dict[str, Any]]) -> None:
    for number, device in enumerate(devices):
        if number:
            terminal.print_line()
        state = device["state"].replace("_", " ")
        text = f"{device['name']}: {state}, {'connected' if device['online'] else 'not connected'}, {device['port']}"
        terminal.print_line(terminal.printable(text), "green" if device["online"] else "red", bold=True)
        terminal.print_pairs(_device_pairs(device))


def _device_pairs(device: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if device["trouble"]:
        yield "problem", device["trouble"]
    yield "stage", device["stage"].lower()
    identity = device["identity"]
    if identity:
        yield "model", f"{identity['model']} {identity['serial']}, made by {identity['maker']}"
        yield "firmware", f"{identity['firmware']}, protocol version {identity['protocol']}"
        yield "features", ", ".join(word.lower().replace("_", " ") for word in identity["capabilities"]) or "none"
        yield "boot", f"{device['boot']:08x}, last event {device['last_event']}"
    yield "round trip", _round_trip(device)
    counters = device["counters"]
    if counters:
        yield (
            "link",
            f"{plural(counters['frames_in'], 'frame')} received, {bad_frames(counters)} damaged, "
            f"{counters['resends']} resent, lost {plural(counters['losses'], 'time')}",
        )
    history = device.get("history")
    if history:
        yield "history", _history(history)


def _round_trip(device: dict[str, Any]) -> str:
    measured = device["round_trip"]
    return terminal.round_trip(RoundTrip(**measured) if measured else None)


def _history(history: list[dict[str, Any]]) -> str:
    """One mark for every sample, the newest last, as many as fit on a line."""
    marks = "".join(_MARKS.get(sample["state"], "?") for sample in history[-SAMPLES_SHOWN:])
    not_ok = {state: sum(sample["state"] == state for sample in history) for state in ("degraded", "down")}
    text = ", ".join(f"{number * SAMPLE_S} s {state}" for state, number in not_ok.items() if number)
    return f"{marks} ({text or 'always ok'} in the last {terminal.duration(len(history) * SAMPLE_S * 1000)})"


@click.command()
@click.argument("device", required=False, shell_complete=complete_device)
@socket_option
@json_option
@daemon_errors()
def counters(device: str | None, daemon: Client, as_json: bool) -> None:
    """Show the counters of the links since the daemon started.

    \b
    Examples:
      shoectl counters
      shoectl counters shoe --json
    """
    known = {one["name"]: one for one in daemon.get("devices")["devices"]}
    found = {name: one for name, one in known.items() if device in (None, name)}
    if not found:
        all_names = ", ".join(known)
        raise click.ClickException(
            f"unknown device {device!r}{nearest(device, list(known))}; this table's devices: {all_names}"
            if device and known
            else "no device is configured"
        )
    if as_json:
        terminal.print_json(
            {name: {"counters": one["counters"], "round_trip": one["round_trip"]} for name, one in found.items()}
        )
        return
    names = list(dict.fromkeys(name for one in found.values() for name in one["counters"]))
    rows = [(name.replace("_", " "), *(str(one["counters"].get(name, 0)) for one in found.values())) for name in names]
    terminal.print_table(("COUNTER", *(name.upper() for name in found)), rows)
    terminal.print_pairs([(f"round trip, {name}", _round_trip(one)) for name, one in found.items()], indent="")


@click.command()
@click.argument("device", shell_complete=complete_device)
@socket_option
@json_option
@daemon_errors()
def frames(device: str, daemon: Client, as_json: bool) -> None:
    """Show the last frames on the link to DEVICE.

    The daemon keeps the most recent ones. The content of messages is never shown.

    \b
    Example:
      shoectl frames shoe
    """
    answer = daemon.get(f"devices/{path_part(device)}/frames")
    if as_json:
        terminal.print_json(answer)
        return
    for line in answer["lines"]:
        terminal.print_line(terminal.printable(line))
