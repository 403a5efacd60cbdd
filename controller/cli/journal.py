"""`shoectl journal`: the group and its verbs tail and show; verify, export and copy have their own modules."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from controller.cli import terminal
from controller.cli.events import checked_kind
from controller.cli.journal_copy import copy
from controller.cli.journal_export import export
from controller.cli.journal_option import (
    journal_errors,
    journal_option,
    no_such,
    number_type,
    warn_if_incomplete,
)
from controller.cli.journal_verify import verify
from controller.cli.options import json_option, lines_option
from controller.core.events import KINDS
from controller.journal import JournalReader, StoredEvent, digest

FOLLOW_EVERY_S = 0.2


@click.group("journal")
def journal() -> None:
    """Read and verify the journal of a table.

    Every event carries the hash of the one before it, so that none can be changed or removed
    unnoticed. These verbs only read. They also work while the daemon runs, and on a copy on
    another machine.
    """


journal.add_command(verify)
journal.add_command(export)
journal.add_command(copy)


def _kinds(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of events that were given, those of a group one by one."""
    checked_kind(ctx, param, given)
    return tuple(kind for kind in KINDS for one in given if kind == one or kind.startswith(f"{one.rstrip('.')}."))


@journal.command()
@click.option("-n", "number", type=click.IntRange(min=0, max=10**6), default=10, show_default=True, metavar="N",
              help="Number of events.")  # fmt: skip
@click.option("--follow", "-f", is_flag=True, help="Continue with new events as they are written, until Ctrl-C.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", callback=_kinds,
              help="Only events of this kind or group of kinds; can be repeated.")  # fmt: skip
@journal_option
@lines_option
@journal_errors()
def tail(number: int, follow: bool, kinds: tuple[str, ...], path: Path, as_json: bool) -> None:
    """Show the newest events, in the order in which they happened.

    \b
    Examples:
      shoectl journal tail
      shoectl journal tail -n 3 --kind round.voided
      shoectl journal tail --follow --json
    """
    with JournalReader(path) as reader, contextlib.suppress(KeyboardInterrupt) if follow else contextlib.nullcontext():
        seen = reader.head.seq
        _print_events((event for event in reader.last(number, kinds) if event.seq <= seen), as_json)
        if not follow:
            warn_if_incomplete(reader)
        while follow:
            sys.stdout.flush()
            time.sleep(FOLLOW_EVERY_S)
            newest = reader.head.seq
            _print_events(reader.events(seen, newest, kinds), as_json)
            seen = newest


def _print_events(events: Iterable[StoredEvent], as_json: bool) -> None:
    for event in events:
        if as_json:
            terminal.print_json(event)
            continue
        data = msgspec.json.encode(event.data).decode() if event.data else ""
        text = "  ".join(filter(None, [event.kind, *event.clause, data]))
        terminal.print_wrapped(f"{event.seq:>6}  {event.ts}  ", text)


@journal.command("show")
@click.argument("number", metavar="SEQ", type=number_type)
@journal_option
@json_option
@journal_errors()
def show_verb(number: int, path: Path, as_json: bool) -> int:
    """Show one event in full.

    Exit code 1 if it does not exist or its content does not match its hash.

    \b
    Example:
      shoectl journal show 4711
    """
    with JournalReader(path) as reader:
        event = reader.event(number)
        if event is None:
            raise no_such(reader, f"no event {number}", f"the last event is {reader.head.seq}")
    intact = digest(event) == event.hash
    if as_json:
        terminal.print_json(event)
    else:
        terminal.print_pairs(
            [
                ("seq", str(event.seq)),
                ("ts", event.ts),
                ("kind", event.kind),
                ("clause", ", ".join(event.clause) or "-"),
                ("prev", event.prev),
                ("hash", event.hash),
            ]
        )
        for text in msgspec.json.format(msgspec.json.encode(event.data), indent=2).decode().splitlines():
            terminal.print_line("  " + terminal.printable(text))
    if not intact:
        terminal.print_message(f"{path}: event {number}: its content does not match its hash")
    return 0 if intact else 1
