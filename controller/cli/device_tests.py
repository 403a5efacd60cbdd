"""The verbs that test a device at a port, without a daemon: self-test, conform."""

from __future__ import annotations

import asyncio
import sys

import click

from controller.cli import terminal
from controller.cli.options import Address, baud_option, json_option, lines_option
from controller.cli.probe import counter_pairs, identity_fields, status_pairs
from firmware_bridge.connection import DeviceError
from firmware_bridge.ports.transport import PortError, PortSettings
from firmware_bridge.tools.capture import message_fields
from firmware_bridge.tools.self_test import SelfTested, self_test
from firmware_bridge.wire.messages import Outcome


def _confirm(warning: str, yes: bool) -> None:
    """Print the warning, and ask whether to start unless --yes was given."""
    terminal.print_message(warning)
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("standard input is not a terminal; --yes starts without asking")
    if not click.confirm("Start?", err=True):
        raise click.ClickException("not started")


# --- self-test ------------------------------------------------------------------------------------------------------


@click.command("self-test")
@click.argument("address", metavar="PORT", type=Address())
@baud_option
@click.option("--yes", is_flag=True, help="Start without asking whether the motors may turn.")
@click.option("--within", "within_s", type=click.FloatRange(min=1), default=60.0, show_default=True, metavar="SECONDS",
              help="How long to wait for the end of the test.")  # fmt: skip
@json_option
def self_test_verb(address: str, settings: PortSettings, yes: bool, within_s: float, as_json: bool) -> int:
    """Make the device at PORT test its motors and sensors.

    No card moves, but motors turn: keep hands out. The device keeps the events of the test for the
    controller. Exit code 0 only if the test was completed without a fault.

    \b
    Examples:
      shoectl self-test /dev/ttyUSB0
      shoectl self-test /dev/ttyUSB0 --yes --json
    """
    _confirm(f"the motors of the device at {address} will turn; keep hands out of it", yes)
    try:
        tested = asyncio.run(
            self_test(address, settings, on_event=lambda event, text: terminal.print_message(text), within_s=within_s)
        )
    except DeviceError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; the device finishes its test") from None
    if as_json:
        terminal.print_json(
            {
                "port": address,
                "outcome": tested.done.outcome.name,
                "identity": identity_fields(tested.identity),
                "done": message_fields(tested.done),
                "faults": [message_fields(fault) for fault in tested.faults],
                "status": message_fields(tested.status),
                "counters": message_fields(tested.counters),
            }
        )
    else:
        _print_self_test(address, tested)
    return 0 if tested.done.outcome is Outcome.COMPLETE else 1


def _print_self_test(address: str, tested: SelfTested) -> None:
    complete = tested.done.outcome is Outcome.COMPLETE
    text = f"self-test {tested.done.outcome.name.lower()} after {terminal.duration(tested.done.duration_ms)}"
    terminal.print_line(f"{address}: {text}", "green" if complete else "red")
    faults = [f"{fault.code.name.lower()}{f', {fault.text}' if fault.text else ''}" for fault in tested.faults]
    terminal.print_pairs(
        [
            ("device", str(tested.identity)),
            ("faults", "; ".join(faults) or "none"),
            *status_pairs(tested.status),
            *counter_pairs(tested.counters),
        ]
    )


# --- conform --------------------------------------------------------------------------------------------------------

_COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


@click.command("conform")
@click.argument("address", metavar="PORT", type=Address())
@baud_option
@click.option("--with-cards", is_flag=True, help="Also test the commands that move cards.")
@click.option("--slow", is_flag=True, help="Also run the slow tests: 12 s more.")
@click.option("--only", metavar="POINT", multiple=True, help="Only this test; can be repeated.")
@click.option("--yes", is_flag=True, help="With --with-cards: start without asking whether cards may move.")
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
    """Test whether the device at PORT conforms to the protocol.

    The requirements of docs/protocol.md are tested one by one, in about half a minute, except
    those that need a restart, a jam or hands at the cards. For the bench, not for a table in play:
    events of the device are lost. Exit code 0 only if nothing failed.

    \b
    Examples:
      shoectl conform /dev/ttyUSB0
      shoectl conform /dev/ttyUSB0 --with-cards --yes --json
    """
    from firmware_bridge.tools.conform import AFTERWARDS, PointResult, chosen, conform

    names = [point.name for point in chosen(with_cards=with_cards, slow=slow)]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise click.UsageError(f"unknown test {', '.join(unknown)}; expected one of {', '.join(names)}")
    if with_cards:
        _confirm(f"the device at {address} will move its cards; keep hands out of it", yes)
    width = max(len(name) for name in names)

    def report(result: PointResult) -> None:
        if as_json:
            terminal.print_json(result)
            return
        text = f"{result.asks}: {result.detail}" if result.detail else result.asks
        terminal.print_wrapped(f"{result.verdict:<7}  {result.name:<{width}}  ", text, _COLOURS[result.verdict])

    try:
        testing = conform(address, report=report, with_cards=with_cards, slow=slow, only=only, settings=settings)
        results = asyncio.run(testing)
    except PortError as error:
        raise click.ClickException(str(error)) from None
    counts = {verdict: sum(result.verdict == verdict for result in results) for verdict in _COLOURS}
    if as_json:
        terminal.print_json({"summary": counts})
    else:
        text = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        terminal.print_line(f"{terminal.count(len(results), 'test')}: {text}", "red" if counts["failed"] else "green")
    terminal.print_message(AFTERWARDS)
    return 1 if counts["failed"] else 0
