"""The verbs that find devices on this machine's ports, without a daemon: ports, probe."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import click

from controller.cli import terminal
from controller.cli.options import Address, baud_option, json_option
from controller.cli.progress import waiting_for
from controller.core.names import plural
from firmware_bridge.ports import discovery
from firmware_bridge.ports.transport import PortError, PortSettings
from firmware_bridge.tools.capture import message_fields
from firmware_bridge.tools.probe import FoundDevice, FoundForeign, Mute, NotOurs, OtherVersion, Probed, Unruly, probe
from firmware_bridge.wire.messages import Counters, Status
from firmware_bridge.wire.session import DeviceIdentity

# --- ports ----------------------------------------------------------------------------------------------------------


@click.command()
@json_option
def ports(as_json: bool) -> None:
    """List the serial ports and USB devices of this machine.

    The address is what the other verbs take as PORT. No port is opened.

    \b
    Example:
      shoectl ports
    """
    found = [*discovery.serial_ports(), *discovery.usb_devices()]
    if as_json:
        terminal.print_json(found)
        return
    if not found:
        terminal.print_message(
            "no serial port and no matching USB device found; plug the device in, switch it on, and try again "
            "(`dmesg | tail` shows what the system detected)"
        )
        return
    rows = [
        (port.address, port.description or "-", port.vendor_product or "-", port.serial or "-", _state(port))
        for port in found
    ]
    heads, *lines = terminal.table(("ADDRESS", "DESCRIPTION", "USB ID", "SERIAL", "STATE"), rows)
    terminal.print_line(heads, bold=True)
    for port, line in zip(found, lines, strict=True):
        terminal.print_line(line, "yellow" if port.holder or not port.may_open else None)
        if port.stable not in ("", port.address):
            terminal.print_line(f"  also {port.stable}")


def _state(port: discovery.AvailablePort) -> str:
    if not port.may_open:
        return "this user may not open it"
    return f"in use by {port.holder}" if port.holder else "free"


# --- probe ----------------------------------------------------------------------------------------------------------


@click.command("probe")
@click.argument("addresses", metavar="PORT...", type=Address(), nargs=-1, required=True)
@baud_option
@click.option("--within", "within_s", type=click.FloatRange(min=0.1), default=3.0, show_default=True, metavar="SECONDS",
              help="How long to wait for a device, in each protocol.")  # fmt: skip
@json_option
def probe_verb(addresses: tuple[str, ...], settings: PortSettings, within_s: float, as_json: bool) -> int:
    """Identify the device on each PORT, or what is there instead.

    Nothing moves: a session is opened, status and counters are read, and the session is closed.
    The device keeps its events for the controller. If nothing answers, an Angel Eye II-EX is looked
    for at 4800 baud, with a command that it can only refuse. Exit code 0 only if every PORT has a
    device.

    \b
    Examples:
      shoectl probe /dev/ttyUSB0
      shoectl probe /dev/ttyUSB0 /dev/ttyUSB1 --json
    """

    async def probe_all() -> list[Probed]:
        return await asyncio.gather(*(probe(address, settings, within_s) for address in addresses))

    with waiting_for(f"waiting for {', '.join(addresses)}, at most {2 * within_s:g} s"):
        results = asyncio.run(probe_all())
    if as_json:
        terminal.print_json(
            [{"port": port, **_fields(result)} for port, result in zip(addresses, results, strict=True)]
        )
    else:
        for number, (address, result) in enumerate(zip(addresses, results, strict=True)):
            if number:
                terminal.print_line()
            _print_result(address, result)
    return 0 if all(isinstance(result, FoundDevice | FoundForeign) for result in results) else 1


_RESULTS = {
    FoundDevice: "found",
    FoundForeign: "foreign",
    OtherVersion: "other version",
    Unruly: "unruly",
    NotOurs: "not ours",
    Mute: "mute",
}


def _fields(result: Probed) -> dict[str, Any]:
    """The result for JSON."""
    if isinstance(result, PortError):
        return {"result": "port error", "kind": type(result).__name__, "text": str(result)}
    common: dict[str, Any] = {"result": _RESULTS[type(result)], "text": str(result)}
    if isinstance(result, FoundDevice):
        return {
            **common,
            "identity": identity_fields(result.identity),
            "boot": result.boot,
            "version": result.version,
            "first_event": result.first_event,
            "status": message_fields(result.status),
            "counters": message_fields(result.counters),
            "round_trip": result.round_trip,
        }
    return {**common, **{field.name: getattr(result, field.name) for field in dataclasses.fields(result)}}


def _print_result(address: str, result: Probed) -> None:
    if isinstance(result, PortError):
        terminal.print_message(str(result))
        return
    if not isinstance(result, FoundDevice):
        terminal.print_wrapped("", f"{address}: {result}", "green" if isinstance(result, FoundForeign) else "red")
        return
    identity = result.identity
    terminal.print_line(f"{address}: {identity.role.name.lower()} {terminal.printable(identity.serial)}", "green")
    digest = f"SHA-256 {identity.firmware_digest[:16]}…" if identity.firmware_digest else "no digest"
    features = sorted(capability.name.lower().replace("_", " ") for capability in identity.capabilities)
    terminal.print_pairs(
        [
            ("model", f"{identity.model}, made by {identity.maker}"),
            ("firmware", f"{identity.firmware}, {digest}"),
            ("features", ", ".join(features) or "none"),
            ("protocol", f"version {result.version}"),
            ("boot", f"{result.boot:08x}, {terminal.duration(result.status.uptime_ms)} ago"),
            *status_pairs(result.status, result.first_event),
            *counter_pairs(result.counters),
            ("round trip", terminal.round_trip(result.round_trip)),
        ]
    )


# --- shared with the tests of a device ------------------------------------------------------------------------------


def identity_fields(identity: DeviceIdentity) -> dict[str, Any]:
    """A device's identity for JSON."""
    return {
        **dataclasses.asdict(identity),
        "role": identity.role.name,
        "capabilities": sorted(capability.name for capability in identity.capabilities),
    }


def status_pairs(status: Status, first_event: int | None = None) -> list[tuple[str, str]]:
    """A device's status as names and values."""
    activity = f"{status.mode.name.lower()}{f' on command {status.doing}' if status.doing else ''}"
    door = f"door {'open' if status.door_open else 'closed'}, {'locked' if status.locked else 'not locked'}"
    places = ("infeed", "inside", "output", "exit", "held")
    counts = [(place, getattr(status, f"{place}_cards")) for place in places]
    cards = ", ".join(f"{place} {'not counted' if count < 0 else count}" for place, count in counts)
    first = f", starting with number {first_event}" if first_event and status.events_kept else ""
    last = f"command {status.last_cycle}, {status.last_outcome.name.lower()}" if status.last_cycle else "none"
    return [
        ("state", f"{activity}, {door}"),
        ("cards", cards),
        ("last cycle", last),
        ("events", f"{status.events_kept} kept for the controller{first}"),
    ]


def counter_pairs(counters: Counters) -> list[tuple[str, str]]:
    """A device's counters as names and values."""
    return [
        (
            "since boot",
            f"{plural(counters.effects, 'command')}, {plural(counters.cycles, 'cycle')}, "
            f"{plural(counters.cards_moved, 'card')}, {plural(counters.stacks, 'stack')}, "
            f"{plural(counters.jams, 'jam')}, {plural(counters.faults, 'fault')}",
        ),
        (
            "link",
            f"{plural(counters.frames_in, 'frame')} received, {counters.frames_bad} damaged, "
            f"{plural(counters.resends, 'resend')}",
        ),
    ]
