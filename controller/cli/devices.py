"""The verbs for a technician at a device, without a daemon: ports, probe, self-test, conform; watching.py has more."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from typing import Any

import click

from controller.cli import terminal
from controller.cli.options import Address, baud_option, json_option, lines_option
from controller.cli.progress import patience
from firmware_bridge.connection import DeviceError
from firmware_bridge.ports import discovery as ports_here
from firmware_bridge.ports.transport import PortError, PortSettings
from firmware_bridge.tools.capture import message_fields
from firmware_bridge.tools.probe import FoundDevice, Mute, NotOurs, OtherVersion, Probed, Unruly, probe
from firmware_bridge.tools.self_test import SelfTested, self_test
from firmware_bridge.wire.messages import Counters, Outcome, Status
from firmware_bridge.wire.session import DeviceIdentity

# --- ports ----------------------------------------------------------------------------------------------------------


@click.command()
@json_option
def ports(as_json: bool) -> None:
    """List the serial ports and USB devices here.

    The address is what to give to the other verbs. No port is opened.

    \b
    Example:
      shoectl ports
    """
    found = [*ports_here.serial_ports(), *ports_here.usb_devices()]
    if as_json:
        terminal.say_json(found)
        return
    if not found:
        terminal.tell(
            "no serial port and no fitting USB device here; plug the device in, switch it on, and look again "
            "(`dmesg | tail` tells what the system saw)"
        )
        return
    rows = [
        (here.address, here.description or "-", here.vendor_product or "-", here.serial or "-", _openable(here))
        for here in found
    ]
    heads, *lines = terminal.table(("ADDRESS", "DESCRIPTION", "USB ID", "SERIAL", "STATE"), rows)
    terminal.say(heads, bold=True)
    for here, line in zip(found, lines, strict=True):
        terminal.say(line, "yellow" if here.holder or not here.may_open else None)
        if here.stable not in ("", here.address):
            terminal.say(f"  also {here.stable}")


def _openable(here: ports_here.AvailablePort) -> str:
    if not here.may_open:
        return "this user may not open it"
    return f"held by {here.holder}" if here.holder else "free"


# --- probe ----------------------------------------------------------------------------------------------------------


@click.command("probe")
@click.argument("addresses", metavar="PORT...", type=Address(), nargs=-1, required=True)
@baud_option
@click.option("--within", "within_s", type=click.FloatRange(min=0.1), default=3.0, show_default=True, metavar="SECONDS",
              help="How long to wait for a device.")  # fmt: skip
@json_option
def probe_verb(addresses: tuple[str, ...], settings: PortSettings, within_s: float, as_json: bool) -> int:
    """Say which device is on each PORT, or what is there instead.

    Nothing moves: the device is greeted, asked for its status and counters, and left. Its events
    stay with it for the controller. Exit code 0 only if every PORT has a device.

    \b
    Examples:
      shoectl probe /dev/ttyUSB0
      shoectl probe /dev/ttyUSB0 /dev/ttyUSB1 --json
    """

    async def all_of_them() -> list[Probed]:
        return await asyncio.gather(*(probe(address, settings, within_s) for address in addresses))

    with patience(f"asking {', '.join(addresses)}, at most {within_s:g} s"):
        results = asyncio.run(all_of_them())
    if as_json:
        terminal.say_json([{"port": port, **_probed(result)} for port, result in zip(addresses, results, strict=True)])
    else:
        for number, (address, result) in enumerate(zip(addresses, results, strict=True)):
            if number:
                terminal.say()
            _show_probed(address, result)
    return 0 if all(isinstance(result, FoundDevice) for result in results) else 1


_RESULTS = {FoundDevice: "found", OtherVersion: "other version", Unruly: "unruly", NotOurs: "not ours", Mute: "mute"}


def _probed(result: Probed) -> dict[str, Any]:
    if isinstance(result, PortError):
        return {"result": "port error", "kind": type(result).__name__, "text": str(result)}
    plain: dict[str, Any] = {"result": _RESULTS[type(result)], "text": str(result)}
    if isinstance(result, FoundDevice):
        return {
            **plain,
            "identity": _identity(result.identity),
            "boot": result.boot,
            "version": result.version,
            "first_event": result.first_event,
            "status": message_fields(result.status),
            "counters": message_fields(result.counters),
            "round_trip": result.round_trip,
        }
    return {**plain, **{name.name: getattr(result, name.name) for name in dataclasses.fields(result)}}


def _identity(identity: DeviceIdentity) -> dict[str, Any]:
    return {
        **dataclasses.asdict(identity),
        "role": identity.role.name,
        "capabilities": sorted(capability.name for capability in identity.capabilities),
    }


def _show_probed(address: str, result: Probed) -> None:
    if isinstance(result, PortError):
        terminal.tell(str(result))
        return
    if not isinstance(result, FoundDevice):
        for line in terminal.fold(terminal.plain(f"{address}: {result}"), 2):
            terminal.say(line, "red")
        return
    identity = result.identity
    terminal.say(f"{address}: {identity.role.name.lower()} {terminal.plain(identity.serial)}", "green")
    rows = [
        ("model", f"{identity.model}, made by {identity.maker}"),
        ("firmware", f"{identity.firmware}, SHA-256 {identity.firmware_digest[:16]}…"),
        ("can", ", ".join(sorted(c.name.lower().replace("_", " ") for c in identity.capabilities)) or "the least"),
        ("protocol", f"version {result.version}"),
        ("boot", f"{result.boot:08x}, {terminal.duration(result.status.uptime_ms)} ago"),
        *_status_rows(result.status, result.first_event),
        *_counter_rows(result.counters),
        ("round trip", terminal.round_trip(result.round_trip)),
    ]
    for line in terminal.pairs(rows):
        terminal.say(line)


def _status_rows(status: Status, first_event: int | None = None) -> list[tuple[str, str]]:
    doing = f"{status.mode.name.lower()}{f' on command {status.doing}' if status.doing else ''}"
    door = f"door {'open' if status.door_open else 'closed'}, {'locked' if status.locked else 'not locked'}"
    places = ("infeed", "inside", "output", "exit", "held")
    counts = [(place, getattr(status, f"{place}_cards")) for place in places]
    cards = ", ".join(f"{place} {'not counted' if count < 0 else count}" for place, count in counts)
    first = f", from number {first_event} on" if first_event else ""
    last = f"command {status.last_cycle}, {status.last_outcome.name.lower()}" if status.last_cycle else "none"
    return [
        ("state", f"{doing}, {door}"),
        ("cards", cards),
        ("last cycle", last),
        ("events", f"{status.events_kept} kept for the controller{first if status.events_kept else ''}"),
    ]


def _counter_rows(counters: Counters) -> list[tuple[str, str]]:
    return [
        (
            "since boot",
            f"{terminal.count(counters.effects, 'command')}, {terminal.count(counters.cycles, 'cycle')}, "
            f"{terminal.count(counters.cards_moved, 'card')}, {terminal.count(counters.stacks, 'stack')}, "
            f"{terminal.count(counters.jams, 'jam')}, {terminal.count(counters.faults, 'fault')}",
        ),
        (
            "its link",
            f"{terminal.count(counters.frames_in, 'frame')} in, {counters.frames_bad} bad, "
            f"{terminal.count(counters.resends, 'resend')}",
        ),
    ]


# --- self-test ------------------------------------------------------------------------------------------------------


@click.command("self-test")
@click.argument("address", metavar="PORT", type=Address())
@baud_option
@click.option("--yes", is_flag=True, help="Do not ask whether the motors may turn.")
@click.option("--within", "within_s", type=click.FloatRange(min=1), default=60.0, show_default=True, metavar="SECONDS",
              help="How long to wait for the end of the test.")  # fmt: skip
@json_option
def self_test_verb(address: str, settings: PortSettings, yes: bool, within_s: float, as_json: bool) -> int:
    """Let the device at PORT test its motors and sensors.

    No card of a deck moves, but motors turn: keep hands out. The events of the test stay with the
    device for the controller. Exit code 0 only if the test was complete.

    \b
    Examples:
      shoectl self-test /dev/ttyUSB0
      shoectl self-test /dev/ttyUSB0 --yes --json
    """
    terminal.tell(f"the motors of the device at {address} will turn; keep hands out of it")
    _ask_to_start(yes)
    try:
        tested = asyncio.run(
            self_test(address, settings, on_event=lambda event, text: terminal.tell(text), within_s=within_s)
        )
    except DeviceError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; the device ends its test by itself") from None
    if as_json:
        terminal.say_json(
            {
                "port": address,
                "outcome": tested.done.outcome.name,
                "identity": _identity(tested.identity),
                "done": message_fields(tested.done),
                "faults": [message_fields(fault) for fault in tested.faults],
                "status": message_fields(tested.status),
                "counters": message_fields(tested.counters),
            }
        )
    else:
        _show_tested(address, tested)
    return 0 if tested.done.outcome is Outcome.COMPLETE else 1


def _ask_to_start(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("nobody is here to be asked; --yes starts without asking")
    if not click.confirm("Start?", err=True):
        raise click.ClickException("not started")


def _show_tested(address: str, tested: SelfTested) -> None:
    complete = tested.done.outcome is Outcome.COMPLETE
    words = f"{tested.done.outcome.name.lower()} after {terminal.duration(tested.done.duration_ms)}"
    terminal.say(f"{address}: self test {words}", "green" if complete else "red")
    faults = [f"{fault.code.name.lower()}{f', {fault.text}' if fault.text else ''}" for fault in tested.faults]
    rows = [
        ("device", str(tested.identity)),
        ("faults", "; ".join(faults) or "none"),
        *_status_rows(tested.status),
        *_counter_rows(tested.counters),
    ]
    for line in terminal.pairs(rows):
        terminal.say(line)


# --- conform --------------------------------------------------------------------------------------------------------


@click.command("conform")
@click.argument("address", metavar="PORT", type=Address())
@baud_option
@click.option("--with-cards", is_flag=True, help="Also test the commands that move cards.")
@click.option("--slow", is_flag=True, help="Also test what takes long to see: 12 s more.")
@click.option("--only", metavar="POINT", multiple=True, help="Only this point; may be given again.")
@click.option("--yes", is_flag=True, help="With --with-cards: do not ask whether the motors may turn.")
@lines_option
def conform_verb(
    address: str,
    settings: PortSettings,
    with_cards: bool,
    slow: bool,
    only: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> int:
    """Check whether the device at PORT keeps to the protocol.

    What docs/protocol.md asks of a device is tried from outside, point by point, in about half a
    minute; not what takes a restart, a jam or hands at the cards to see. For the bench, not for a
    table in play: events of the device are lost. Exit code 0 only if nothing failed.

    \b
    Examples:
      shoectl conform /dev/ttyUSB0
      shoectl conform /dev/ttyUSB0 --with-cards --yes --json
    """
    from firmware_bridge.tools.conform import AFTERWARDS, PointResult, chosen, conform

    names = [point.name for point in chosen(with_cards=with_cards, slow=slow)]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise click.UsageError(f"there is no point {', '.join(unknown)}; there are {', '.join(names)}")
    if with_cards:
        terminal.tell(f"the device at {address} will move its cards; keep hands out of it")
        _ask_to_start(yes)
    colours = {"passed": "green", "failed": "red", "skipped": "yellow"}
    width = max(len(name) for name in names)

    def report(result: PointResult) -> None:
        if as_json:
            terminal.say_json(result)
            return
        head = f"{result.verdict:<7}  {result.name:<{width}}  "
        text = f"{result.asks}: {result.detail}" if result.detail else result.asks
        for line in terminal.fold(terminal.plain(head + text), len(head)):
            terminal.say(line, colours[result.verdict])

    try:
        check = conform(address, report=report, with_cards=with_cards, slow=slow, only=only, settings=settings)
        results = asyncio.run(check)
    except PortError as error:
        raise click.ClickException(str(error)) from None
    counts = {verdict: sum(result.verdict == verdict for result in results) for verdict in colours}
    if as_json:
        terminal.say_json({"summary": counts})
    else:
        words = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        terminal.say(f"{terminal.count(len(results), 'point')}: {words}", "red" if counts["failed"] else "green")
    terminal.tell(AFTERWARDS)
    return 1 if counts["failed"] else 0
