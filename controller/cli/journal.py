"""The verbs about the journal. They read; none of them writes into it. Here are the group, tail and show."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from controller.cli import journal_proof, terminal
from controller.cli.journal_proof import journal_option, number_type, told
from controller.cli.options import json_option, lines_option
from controller.journal import JournalReader, StoredEvent, digest

FOLLOW_EVERY_S = 0.2


@click.group("journal")
def journal() -> None:
    """Read and verify the journal of a table.

    Every event carries the hash of the one before it, so that none can be changed or taken out
    unseen. These verbs only read, also while the daemon runs, also a copy on another machine.
    """


# --- tail and show --------------------------------------------------------------------------------------------------


@journal.command()
@click.option("-n", "number", type=click.IntRange(min=0, max=10**6), default=10, show_default=True,
              help="How many events.")  # fmt: skip
@click.option("--follow", "-f", is_flag=True, help="Go on with new events as they are written, until Ctrl-C.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only such events; may be given again.")
@journal_option
@lines_option
@told
def tail(number: int, follow: bool, kinds: tuple[str, ...], path: Path, as_json: bool) -> None:
    """Show the newest events, oldest of them first.

    \b
    Examples:
      shoectl journal tail
      shoectl journal tail -n 3 --kind round.voided
      shoectl journal tail --follow --json
    """
    with JournalReader(path) as reader, contextlib.suppress(KeyboardInterrupt) if follow else contextlib.nullcontext():
        seen = reader.head.seq
        _show_all((event for event in reader.last(number, kinds) if event.seq <= seen), as_json)
        while follow:
            sys.stdout.flush()
            time.sleep(FOLLOW_EVERY_S)
            newest = reader.head.seq
            _show_all(reader.events(seen, newest, kinds), as_json)
            seen = newest


def _show_all(events: Iterable[StoredEvent], as_json: bool) -> None:
    for event in events:
        if as_json:
            terminal.say_json(event)
            continue
        head = f"{event.seq:>6}  {event.ts}  "
        words = [event.kind, *event.clause, msgspec.json.encode(event.data).decode() if event.data else ""]
        for text in terminal.fold(terminal.plain(head + "  ".join(filter(None, words))), len(head)):
            terminal.say(text)


@journal.command("show")
@click.argument("number", metavar="SEQ", type=number_type)
@journal_option
@json_option
@told
def show_verb(number: int, path: Path, as_json: bool) -> int:
    """Show one event in full.

    Exit code 1 if there is none, or its content does not match its hash.

    \b
    Example:
      shoectl journal show 4711
    """
    with JournalReader(path) as reader:
        event = reader.event(number)
        if event is None:
            raise click.ClickException(f"{path}: there is no event {number}; the last one is {reader.head.seq}")
    fits = digest(event) == event.hash
    if as_json:
        terminal.say_json(event)
    else:
        rows = [
            ("seq", str(event.seq)),
            ("ts", event.ts),
            ("kind", event.kind),
            ("clause", ", ".join(event.clause) or "-"),
            ("prev", event.prev),
            ("hash", event.hash),
        ]
        for text in terminal.pairs(rows):
            terminal.say(text)
        for text in msgspec.json.format(msgspec.json.encode(event.data), indent=2).decode().splitlines():
            terminal.say("  " + terminal.plain(text))
    if not fits:
        terminal.tell(f"{path}: event {number}: its content does not match its hash")
    return 0 if fits else 1


for verb in (journal_proof.verify, journal_proof.export):
    journal.add_command(verb)
