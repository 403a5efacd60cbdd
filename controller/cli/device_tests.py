"""The verbs that test a device at a port, without a daemon: self-test, conform."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from controller.cli import terminal
from controller.cli.options import Address, baud_option, driver_option, json_option, lines_option, of_driver
from controller.cli.probe import counter_pairs, identity_fields, status_pairs
from controller.core.names import plural
from firmware_bridge.connection import DeviceError
from firmware_bridge.ports.transport import PortError, PortSettings
from firmware_bridge.tools.angel_eye_check import lock_and_unlock
from firmware_bridge.tools.capture import message_fields
from firmware_bridge.tools.self_test import SelfTested, self_test
from firmware_bridge.wire.messages import Outcome

if TYPE_CHECKING:
    from firmware_bridge.tools.conform import HandTask


class Prompter:
    """Asks the person at the terminal. A thread reads the answers, because standard input cannot be awaited."""

    def __init__(self) -> None:
        self._answer: Callable[[bool], object] | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._ended = False

    def ask(self, task: HandTask, answer: Callable[[bool], None]) -> None:
        """Print the task. Enter means that it is done, s that it is skipped, and so does the end of the input."""
        loop = asyncio.get_running_loop()
        self._answer = lambda done: loop.call_soon_threadsafe(functools.partial(answer, done))
        terminal.print_message(f"{task.value} (Enter: done, s: skip)")
        if self._ended:
            answer(False)
        elif not self._reader.is_alive():
            self._reader.start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._pass_on(line.strip().lower() != "s")
        self._ended = True
        self._pass_on(False)

    def _pass_on(self, done: bool) -> None:
        """Answer the current question; ignore a line typed when none was asked."""
        answer, self._answer = self._answer, None
        if answer:
            with contextlib.suppress(RuntimeError):  # the run has ended
                answer(done)


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
@driver_option
@click.option("--yes", is_flag=True, help="Start without asking whether the motors may turn.")
@click.option("--within", "within_s", type=click.FloatRange(min=1), default=60.0, show_default=True, metavar="SECONDS",
              help="How long to wait for the end of the test.")  # fmt: skip
@json_option
def self_test_verb(address: str, settings: PortSettings, driver: str, yes: bool, within_s: float, as_json: bool) -> int:
    """Make the device at PORT test its motors and sensors.

    No card moves, but motors turn: keep hands out. The device keeps the events of the test for the
    controller. Exit code 0 only if the test was completed without a fault. An Angel Eye II-EX has
    no such test: it is locked and unlocked, and must accept and report both.

    \b
    Examples:
      shoectl self-test /dev/ttyUSB0
      shoectl self-test /dev/ttyUSB0 --yes --json
      shoectl self-test socket://10.0.0.7:4001 --driver angel-eye
    """
    if driver:
        return _check_angel_eye(address, of_driver(driver, settings), yes, within_s, as_json)
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


def _check_angel_eye(address: str, settings: PortSettings, yes: bool, within_s: float, as_json: bool) -> int:
    _confirm(f"the shoe at {address} will be locked and unlocked", yes)
    try:
        checked = asyncio.run(lock_and_unlock(address, settings, within_s))
    except DeviceError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; the shoe may be locked") from None
    counters = dataclasses.asdict(checked.counters)
    if as_json:
        errors, faults = checked.errors, checked.faults
        terminal.print_json({"port": address, "faults": faults, "errors": errors, "counters": counters})
    else:
        text = "; ".join(checked.faults) or "it was locked and unlocked"
        terminal.print_line(f"{address}: {text}", "red" if checked.faults else "green")
        reported = [("errors", "; ".join(checked.errors) or "none")]
        terminal.print_pairs([*reported, *((name.replace("_", " "), str(n)) for name, n in counters.items())])
    return 1 if checked.faults else 0


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
@click.option("--interactive", is_flag=True, help="As --with-cards, and ask for hands: doors, cards, a jam, the power.")
@click.option("--only", metavar="POINT", multiple=True, help="Only this test; can be repeated.")
@click.option("--yes", is_flag=True, help="Start without asking whether cards may move.")
@lines_option
def conform_verb(
    address: str,
    settings: PortSettings,
    with_cards: bool,
    slow: bool,
    interactive: bool,
    only: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> int:
    """Test whether the device at PORT conforms to the protocol.

    The requirements of docs/protocol.md are tested one by one, in about half a minute, except
    those that need cards, a restart, a jam or hands: for these use --interactive, which asks you to
    take and put in cards, open the door, block the card path and switch the device off and on.
    Answer with Enter when it is done, or with s to skip. At the end, what the run did not cover is
    listed. For the bench, not for a table in play: events of the device are lost. Exit code 0 only
    if nothing failed.

    \b
    Examples:
      shoectl conform /dev/ttyUSB0
      shoectl conform /dev/ttyUSB0 --with-cards --yes --json
      shoectl conform /dev/ttyUSB0 --interactive
    """
    from firmware_bridge.tools.conform import AFTERWARDS, OUTSIDE, PointResult, chosen, conform, not_covered

    names = [point.name for point in chosen(with_cards=with_cards, slow=slow, interactive=interactive)]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise click.UsageError(f"unknown test {', '.join(unknown)}; expected one of {', '.join(names)}")
    if with_cards or interactive:
        except_for = ", except when you are asked" if interactive else ""
        _confirm(f"the device at {address} will move its cards; keep hands out of it{except_for}", yes)
    width = max(len(name) for name in names)

    def report(result: PointResult) -> None:
        if as_json:
            terminal.print_json(result)
            return
        text = f"{result.asks}: {result.detail}" if result.detail else result.asks
        terminal.print_wrapped(f"{result.verdict:<7}  {result.name:<{width}}  ", text, _COLOURS[result.verdict])

    ask = Prompter().ask if interactive else None
    try:
        testing = conform(
            address, report=report, with_cards=with_cards, slow=slow, ask=ask, only=only, settings=settings
        )
        results = asyncio.run(testing)
    except PortError as error:
        raise click.ClickException(str(error)) from None
    counts = {verdict: sum(result.verdict == verdict for result in results) for verdict in _COLOURS}
    missing = not_covered(results, only=only)
    if as_json:
        terminal.print_json({"summary": counts, "not_covered": missing, "cannot_be_tested": OUTSIDE})
    else:
        for why in dict.fromkeys(point.why for point in missing):
            points = ", ".join(point.name for point in missing if point.why == why)
            terminal.print_wrapped("not covered  ", f"{points}: {why}", "yellow")
        if not only:
            terminal.print_wrapped("not covered  ", f"No message shows {'; '.join(OUTSIDE)}.", "yellow")
        text = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        terminal.print_line(f"{plural(len(results), 'test')}: {text}", "red" if counts["failed"] else "green")
    terminal.print_message(AFTERWARDS)
    return 1 if counts["failed"] else 0
