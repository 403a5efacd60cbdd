"""The verbs that ask the daemon: status, devices, counters, frames, events, rounds. Those that do: actions_cli.py."""

from __future__ import annotations

import contextlib
import functools
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec, TypeVar

import click
from click.shell_completion import CompletionItem

from controller.cli import terminal
from controller.cli.client import Answered, Client, ClientError, find_socket, named
from controller.cli.options import json_option, lines_option, socket_option
from controller.cli.table_text import Line, clauses, in_a_line, lines
from firmware_bridge.wire.health import RoundTrip

P = ParamSpec("P")
R = TypeVar("R")

COMPLETE_WITHIN_S = 1.0  # a person is waiting at the prompt


def asks(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb, what the daemon had against it told in a line: wrong usage where the question was wrong."""

    @functools.wraps(verb)
    def wrapped(*args: P.args, **given: P.kwargs) -> R:
        try:
            return verb(*args, **given)
        except Answered as error:
            raise (click.UsageError if error.is_usage else click.ClickException)(str(error)) from None
        except ClientError as error:
            raise click.ClickException(str(error)) from None

    return wrapped


def _complete_device(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    try:
        given = ctx.params.get("daemon")
        path = given.path if isinstance(given, Client) else find_socket()
        names = [device["name"] for device in Client(path, COMPLETE_WITHIN_S).get("table")["devices"]]
    except ClientError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


# --- status ---------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--watch", "-w", is_flag=True, help="Go on, live, until Ctrl-C.")
@socket_option
@lines_option
@asks
def status(watch: bool, daemon: Client, as_json: bool) -> None:
    """Show the table: what to do now, decks, devices, alarms.

    With --watch, a terminal is drawn again in place whenever something changes; elsewhere there is
    a line for every change.

    \b
    Examples:
      shoectl status
      shoectl status --watch
      shoectl status --json
    """
    if watch:
        with contextlib.suppress(KeyboardInterrupt):
            _watch(daemon, as_json)
        return
    table = daemon.get("table")
    if as_json:
        terminal.say_json(table)
        return
    _say(lines(table))


def _say(told: Iterable[Line]) -> None:
    for text, colour, bold in told:
        terminal.say(text, colour, bold)


def _watch(daemon: Client, as_json: bool) -> None:
    drawing = _Drawing() if sys.stdout.isatty() and not as_json else None
    table: dict[str, Any] = {}
    before = ""
    for message in daemon.stream(only="table"):
        if message.event == "table":
            table = message.data
        if drawing:
            if table:
                drawing.draw(lines(table, message.data["now_ms"]))
        elif message.event == "table" and as_json:
            terminal.say_json(table)
        elif message.event == "table" and (text := in_a_line(table)) != before:
            terminal.say(f"{table['seq']:>6}  {table['ts']}  {text}")
            before = text
        sys.stdout.flush()


class _Drawing:
    """Lines drawn over those before. What does not fit the terminal is left out: it could not be drawn over."""

    def __init__(self) -> None:
        self._height = 0

    def draw(self, told: Iterable[Line]) -> None:
        """In one write, so that nothing flickers."""
        columns, rows = shutil.get_terminal_size()
        fitting = [(line.text[: columns - 1], line.colour, line.bold) for line in told][: rows - 1]
        up = f"\x1b[{self._height}F" if self._height else ""
        text = "".join(f"{terminal.styled(*line)}\x1b[K\n" for line in fitting)
        click.echo(f"{up}{text}\x1b[J", nl=False, color=True)
        self._height = len(fitting)


# --- devices --------------------------------------------------------------------------------------------------------


@click.command()
@socket_option
@json_option
@asks
def devices(daemon: Client, as_json: bool) -> int:
    """Show the devices as the daemon has them.

    Whether each is connected, and if not, why; who it is; how good its link was lately.

    Exit code 0 only if all are connected.

    \b
    Example:
      shoectl devices
    """
    answer = daemon.get("devices")
    found = answer["devices"]
    if as_json:
        terminal.say_json(answer)
    elif not found:
        terminal.tell("no device is configured")
    for number, device in enumerate(() if as_json else found):
        if number:
            terminal.say()
        colour = "green" if device["online"] else "red"
        state = device["state"].replace("_", " ")
        where = f"{device['name']}: {state}, {'connected' if device['online'] else 'not connected'}"
        terminal.say(terminal.plain(f"{where}, {device['port']}"), colour, bold=True)
        for line in terminal.pairs(_device_rows(device)):
            terminal.say(line)
    return 0 if all(device["online"] for device in found) else 1


def _device_rows(device: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if device["trouble"]:
        yield "trouble", device["trouble"]
    yield "stage", device["stage"].lower()
    identity = device["identity"]
    if identity:
        yield "model", f"{identity['model']} {identity['serial']}, made by {identity['maker']}"
        can = ", ".join(word.lower().replace("_", " ") for word in identity["capabilities"])
        yield "firmware", f"{identity['firmware']}, protocol version {identity['protocol']}"
        yield "can", can or "the least"
        yield "boot", f"{device['boot']:08x}, last event {device['last_event']}"
    trip = device["round_trip"]
    yield "round trip", terminal.round_trip(RoundTrip(**trip) if trip else None)
    counters = device["counters"]
    if counters:
        bad = sum(counters[name] for name in ("crc_errors", "cobs_errors", "length_errors"))
        yield (
            "link",
            f"{terminal.count(counters['frames_in'], 'frame')} in, {bad} bad, {counters['resends']} sent again, "
            f"lost {terminal.count(counters['losses'], 'time')}",
        )
    history = device.get("history") or ()
    if history:
        yield "lately", _lately(history)


_MARKS = {"ok": "·", "degraded": "o", "down": "X"}


def _lately(history: list[dict[str, Any]]) -> str:
    """One mark for every ten seconds, the newest last, as many as a line takes."""
    marks = "".join(_MARKS.get(point["state"], "?") for point in history[-60:])
    worse = {state: sum(point["state"] == state for point in history) for state in ("degraded", "down")}
    words = ", ".join(f"{number * 10} s {state}" for state, number in worse.items() if number)
    return f"{marks} ({words or 'always ok'} in the last {terminal.duration(len(history) * 10_000)})"


# --- counters and frames --------------------------------------------------------------------------------------------


@click.command()
@click.argument("device", required=False, shell_complete=_complete_device)
@socket_option
@json_option
@asks
def counters(device: str | None, daemon: Client, as_json: bool) -> None:
    """Show what was counted on the links since the start.

    \b
    Examples:
      shoectl counters
      shoectl counters shoe --json
    """
    found = {one["name"]: one for one in daemon.get("devices")["devices"] if device in (None, one["name"])}
    if not found:
        raise click.ClickException(f"there is no device {device}" if device else "no device is configured")
    if as_json:
        terminal.say_json(
            {name: {"counters": one["counters"], "round_trip": one["round_trip"]} for name, one in found.items()}
        )
        return
    names = list(dict.fromkeys(name for one in found.values() for name in one["counters"]))
    rows = [(name.replace("_", " "), *(str(one["counters"].get(name, 0)) for one in found.values())) for name in names]
    heads, *told = terminal.table(("COUNTED", *(name.upper() for name in found)), rows)
    terminal.say(heads, bold=True)
    for line in told:
        terminal.say(line)
    trips = {name: one["round_trip"] for name, one in found.items()}
    rows = [
        (f"round trip, {name}", terminal.round_trip(RoundTrip(**trip) if trip else None))
        for name, trip in trips.items()
    ]
    for line in terminal.pairs(rows, indent=""):
        terminal.say(line)


@click.command()
@click.argument("device", shell_complete=_complete_device)
@socket_option
@json_option
@asks
def frames(device: str, daemon: Client, as_json: bool) -> None:
    """Show the last frames on the link to DEVICE.

    The daemon keeps some of them. What is in a message is never told.

    \b
    Example:
      shoectl frames shoe
    """
    answer = daemon.get(f"devices/{named(device)}/frames")
    if as_json:
        terminal.say_json(answer)
        return
    for line in answer["lines"]:
        terminal.say(terminal.plain(line))


# --- events ---------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Go on with new events as they happen, until Ctrl-C.")
@click.option("--kind", metavar="KIND", help="Only events whose kind begins so, such as round or round.voided.")
@click.option("--after", type=click.IntRange(min=0), metavar="SEQ", help="Only events after this number.")
@click.option("-n", "number", type=click.IntRange(min=1, max=500), default=20, show_default=True,
              help="At most so many: the newest, or with --after the first after it.")  # fmt: skip
@click.option("--round", "round_number", type=click.IntRange(min=1), metavar="N", help="Only events of this round.")
@click.option("--deck", metavar="NAME", help="Only events of this deck.")
@click.option("--device", metavar="NAME", shell_complete=_complete_device, help="Only events of this device.")
@click.option("--text", metavar="WORDS", help="Only events in whose text these words are.")
@socket_option
@lines_option
@asks
def events(
    follow: bool,
    kind: str | None,
    after: int | None,
    number: int,
    round_number: int | None,
    deck: str | None,
    device: str | None,
    text: str | None,
    daemon: Client,
    as_json: bool,
) -> None:
    """Show what happened at the table, oldest first.

    \b
    Examples:
      shoectl events
      shoectl events --follow
      shoectl events --round 17
      shoectl events --kind device --text jam
    """
    wanted = {"kind": kind, "round": round_number, "deck": deck, "device": device, "text": text}
    if follow and any(value is not None for name, value in wanted.items() if name != "kind"):
        raise click.UsageError("--follow goes with --kind and --after only")
    head = daemon.get("journal")["head"] if follow else 0  # before the events: none can come between
    answer = daemon.get("events", after=after, limit=number, newest=after is None or None, **wanted)
    found = sorted(answer["events"], key=lambda event: event["seq"])
    for event in found:
        _say_event(event, as_json)
    if not follow:
        return
    last = found[-1]["seq"] if found else 0
    seen = last if after is not None and len(found) == number else max(head, last)
    with contextlib.suppress(KeyboardInterrupt):
        _follow(daemon, seen, kind or "", as_json)


def _follow(daemon: Client, seen: int, kind: str, as_json: bool) -> None:
    sys.stdout.flush()
    for message in daemon.stream(after=seen, only="journal"):
        if message.event == "gap":
            terminal.tell(f"some events were passed over: {message.data}")
        if message.event != "journal" or message.data["seq"] <= seen:
            continue
        seen = message.data["seq"]
        if message.data["kind"].startswith(kind):
            _say_event(message.data, as_json)
            sys.stdout.flush()


def _say_event(event: dict[str, Any], as_json: bool) -> None:
    if as_json:
        terminal.say_json(event)
        return
    head = f"{event['seq']:>6}  {event['ts'][:19].replace('T', ' ')}  {event['kind']:<20}  "
    for line in terminal.fold(terminal.plain(f"{head}{event['text']}{clauses(event['clause'])}"), len(head)):
        terminal.say(line)


# --- rounds ---------------------------------------------------------------------------------------------------------


@click.command()
@click.option(
    "-n", "number", type=click.IntRange(min=1, max=500), default=20, show_default=True, help="At most so many."
)
@click.option("--before", type=click.IntRange(min=1), metavar="N", help="Only rounds before this one.")
@socket_option
@json_option
@asks
def rounds(number: int, before: int | None, daemon: Client, as_json: bool) -> None:
    """List the rounds, the newest first. `shoectl round N` rebuilds one.

    \b
    Example:
      shoectl rounds -n 5
    """
    answer = daemon.get("rounds", limit=number, before=before)
    if as_json:
        terminal.say_json(answer)
        return
    if not answer["rounds"]:
        terminal.tell("no round has been played yet")
        return
    rows = [
        (
            str(one["round"]),
            one["started_ts"][:19].replace("T", " "),
            one["deck"],
            ", ".join(map(str, one["seats"])),
            one["method"].replace("_", " "),
            one["ended"] or "not yet",
            str(one["seq"]),
        )
        for one in answer["rounds"]
    ]
    heads, *told = terminal.table(("ROUND", "STARTED (UTC)", "DECK", "SEATS", "METHOD", "ENDED", "EVENT"), rows)
    terminal.say(heads, bold=True)
    for one, line in zip(answer["rounds"], told, strict=True):
        terminal.say(line, "red" if one["ended"] == "voided" else None)
