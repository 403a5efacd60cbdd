"""`shoectl journal export`: writes events into a file, as JSON Lines or CSV."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from controller.api.event_text import stored_text
from controller.api.history import round_at
from controller.cli import terminal
from controller.cli.journal_option import journal_errors, journal_option, number_type, warn_if_incomplete
from controller.cli.options import force_option, json_option
from controller.cli.output_file import complete_file
from controller.cli.progress import Progress
from controller.core.history import RoundNow
from controller.core.names import plural
from controller.journal import JournalReader
from controller.journal.export import Span, csv_lines, json_lines, span


@click.command()
@click.argument("file", metavar="FILE|-", type=click.Path(path_type=Path))
@click.option("--from", "first", type=number_type, metavar="SEQ", help="The first event. Default: 1.")
@click.option("--to", "last", type=number_type, metavar="SEQ", help="The last event. Default: the newest.")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]),
              help="JSON Lines, or CSV for a spreadsheet. Default: csv for FILE.csv, otherwise jsonl.")  # fmt: skip
@click.option("--proof", is_flag=True, help="Check the chain, and start with a header that says which events follow.")
@force_option
@journal_option
@json_option
@journal_errors()
def export(
    file: Path,
    first: int | None,
    last: int | None,
    form: str | None,
    proof: bool,
    force: bool,
    path: Path,
    as_json: bool,
) -> None:
    """Write events into FILE, or to standard output for -.

    `shoectl journal verify FILE` checks JSON Lines on any machine, without the journal. With
    --proof it also detects events missing from the end of FILE. The head that it prints must equal
    the one that was handed out. FILE is written completely or not at all.

    \b
    Examples:
      shoectl journal export --proof night.jsonl
      shoectl journal export --from 4000 --to 4999 rounds.csv
      shoectl journal export - | jq .kind
    """
    form = form or ("csv" if file.suffix.lower() == ".csv" else "jsonl")
    if form == "csv" and proof:
        raise click.UsageError("--proof needs --format jsonl")
    to_stdout = str(file) == "-"
    if as_json and to_stdout and form == "csv":
        raise click.UsageError("--json cannot be combined with CSV on standard output")
    with JournalReader(path) as reader, Progress("wrote {} events") as progress:
        part = span(reader, first, last)
        progress.length = part.count
        lines = progress.over(_csv(reader, part) if form == "csv" else json_lines(reader, part, proof=proof))
        if to_stdout:
            sys.stdout.buffer.writelines(lines)
        else:
            with complete_file(file, force) as out:
                out.writelines(lines)
        warn_if_incomplete(reader)
    if as_json and not to_stdout:
        terminal.print_json({"file": str(file), "events": part.count, **msgspec.to_builtins(part)})
        return
    summary = f"{plural(part.count, 'event')} from {part.first} to {part.last}, head {part.head}"
    terminal.print_message(summary) if to_stdout else terminal.print_line(summary)


def _csv(reader: JournalReader, part: Span) -> Iterator[bytes]:
    now = RoundNow(round_at(reader, part.first))
    return csv_lines(
        reader,
        part,
        lambda event: stored_text(event.kind, event.data),
        lambda event: now.after(event.kind, event.data),
    )
