"""The verbs that show the table as the daemon sees it: status, events, rounds."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterable
from typing import Any

import click

from controller.cli import terminal
from controller.cli.client import Client
from controller.cli.daemon_option import complete_device, daemon_errors, socket_option
from controller.cli.options import json_option, lines_option
from controller.cli.table_text import TextLine, clauses, one_line, table_lines

# --- status ---------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--watch", "-w", is_flag=True, help="Keep showing it, live, until Ctrl-C.")
@socket_option
@lines_option
@daemon_errors()
def status(watch: bool, daemon: Client, as_json: bool) -> None:
    """Show the table: what to do next, decks, devices, alarms.

    With --watch, a terminal is redrawn in place whenever something changes; otherwise one line is
    printed for every change.

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
        terminal.print_json(table)
        return
    for line in table_lines(table):
        terminal.print_line(*line)


def _watch(daemon: Client, as_json: bool) -> None:
    drawing = _Drawing() if sys.stdout.isatty() and not as_json else None
    table: dict[str, Any] = {}
    before = ""
    for message in daemon.stream(only="table"):
        if message.event == "table":
            table = message.data
        if drawing:
            if table:
                drawing.draw(table_lines(table, message.data["now_ms"]))
        elif message.event == "table" and as_json:
            terminal.print_json(table)
        elif message.event == "table" and (text := one_line(table)) != before:
            terminal.print_line(f"{table['seq']:>6}  {table['ts']}  {text}")
            before = text
        sys.stdout.flush()


class _Drawing:
    """Draws lines over the previous ones. Lines that do not fit the terminal are left out: they would scroll away."""

    def __init__(self) -> None:
        self._height = 0

    def draw(self, lines: Iterable[TextLine]) -> None:
        """Draw in a single write, so that nothing flickers."""
        columns, rows = shutil.get_terminal_size()
        fitting = [(line.text[: columns - 1], line.colour, line.bold) for line in lines][: rows - 1]
        up = f"\x1b[{self._height}F" if self._height else ""
        text = "".join(f"{terminal.styled(*line)}\x1b[K\n" for line in fitting)
        click.echo(f"{up}{text}\x1b[J", nl=False, color=True)
        self._height = len(fitting)


# --- events ---------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Continue with new events as they happen, until Ctrl-C.")
@click.option("--kind", metavar="KIND", help="Only events whose kind starts with this: round, or round.voided.")
@click.option("--after", type=click.IntRange(min=0), metavar="SEQ", help="Only events after this number.")
@click.option("-n", "number", type=click.IntRange(min=1, max=500), default=20, show_default=True, metavar="N",
              help="Maximum number of events: the newest, or the first ones after --after.")  # fmt: skip
@click.option("--round", "round_number", type=click.IntRange(min=1), metavar="N", help="Only events of this round.")
@click.option("--deck", metavar="NAME", help="Only events of this deck.")
@click.option("--device", metavar="NAME", shell_complete=complete_device, help="Only events of this device.")
@click.option("--text", metavar="WORDS", help="Only events whose text contains these words.")
@socket_option
@lines_option
@daemon_errors()
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
    filters = {"kind": kind, "round": round_number, "deck": deck, "device": device, "text": text}
    if follow and any(value is not None for name, value in filters.items() if name != "kind"):
        raise click.UsageError("--follow can only be combined with --kind and --after")
    head = daemon.get("journal")["head"] if follow else 0  # asked first, so that no event is missed in between
    answer = daemon.get("events", after=after, limit=number, newest=after is None or None, **filters)
    found = sorted(answer["events"], key=lambda event: event["seq"])
    for event in found:
        _print_event(event, as_json)
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
            terminal.print_message(f"some events were skipped: {message.data}")
        if message.event != "journal" or message.data["seq"] <= seen:
            continue
        seen = message.data["seq"]
        if message.data["kind"].startswith(kind):
            _print_event(message.data, as_json)
            sys.stdout.flush()


def _print_event(event: dict[str, Any], as_json: bool) -> None:
    if as_json:
        terminal.print_json(event)
        return
    head = f"{event['seq']:>6}  {_time(event['ts'])}  {event['kind']:<20}  "
    terminal.print_wrapped(head, f"{event['text']}{clauses(event['clause'])}")


def _time(ts: str) -> str:
    """A time of the journal to the second, such as `2026-03-14 15:09:26`."""
    return ts[:19].replace("T", " ")


# --- rounds ---------------------------------------------------------------------------------------------------------


@click.command()
@click.option("-n", "number", type=click.IntRange(min=1, max=500), default=20, show_default=True, metavar="N",
              help="Maximum number of rounds.")  # fmt: skip
@click.option("--before", type=click.IntRange(min=1), metavar="N", help="Only rounds before this one.")
@socket_option
@json_option
@daemon_errors()
def rounds(number: int, before: int | None, daemon: Client, as_json: bool) -> None:
    """List the rounds, newest first. `shoectl round N` shows one of them.

    \b
    Example:
      shoectl rounds -n 5
    """
    answer = daemon.get("rounds", limit=number, before=before)
    if as_json:
        terminal.print_json(answer)
        return
    found = answer["rounds"]
    if not found:
        terminal.print_message("no round has been played yet")
        return
    rows = [
        (
            str(one["round"]),
            _time(one["started_ts"]),
            one["deck"],
            ", ".join(map(str, one["seats"])),
            one["method"].replace("_", " "),
            one["ended"] or "not yet",
            str(one["seq"]),
        )
        for one in found
    ]
    heads = ("ROUND", "STARTED (UTC)", "DECK", "SEATS", "METHOD", "ENDED", "EVENT")
    terminal.print_table(heads, rows, ["red" if one["ended"] == "voided" else None for one in found])
