"""`shoectl journal copy`: a complete copy of a journal in one file, also while the daemon writes."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import terminal
from controller.cli.journal_option import journal_errors, journal_option, warn_if_incomplete
from controller.cli.options import force_option, json_option
from controller.cli.output_file import check_overwrite, file_errors, unfinished
from controller.core.names import plural
from controller.journal import JournalReader


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@force_option
@journal_option
@json_option
@journal_errors()
def copy(file: Path, force: bool, path: Path, as_json: bool) -> None:
    """Copy the journal into FILE, also while the daemon is running.

    The newest events of a running daemon are in a second file, so that a plain copy of the journal
    lacks its end. This copy is complete and needs no other file. FILE is written completely or not
    at all.

    \b
    Example:
      shoectl journal copy /media/backup/journal.db
    """
    with file_errors(file):
        check_overwrite(file, force)
        with unfinished(file) as part:
            with JournalReader(path) as reader:
                reader.copy_to(part)
                warn_if_incomplete(reader)
            with JournalReader(part) as copied:
                head = copied.head
    if as_json:
        terminal.print_json({"file": str(file), "events": head.seq, "head": head.hash})
    else:
        terminal.print_line(f"{plural(head.seq, 'event')}, head {head.hash}")
