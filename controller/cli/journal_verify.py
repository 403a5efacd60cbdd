"""`shoectl journal verify`: checks the chain of a journal or of an export."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click
import msgspec

from controller.cli import terminal
from controller.cli.journal_option import journal_errors, journal_option, warn_if_incomplete
from controller.cli.options import json_option
from controller.cli.output_file import file_errors
from controller.cli.progress import Progress
from controller.core.names import plural
from controller.daemon.live_table import CODE_VERSION
from controller.journal import Checkpoint, JournalDamaged, JournalForeign, JournalReader, StoredEvent, journal_id
from controller.journal.export import LONGEST_LINE, Span, verify_lines


class _CheckpointType(click.ParamType[Checkpoint]):
    """SEQ:HASH."""

    name = "checkpoint"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Checkpoint:
        """The checkpoint; UsageError if the text is not one."""
        if isinstance(value, Checkpoint):
            return value
        found = re.fullmatch(r"([1-9][0-9]{0,15}):([0-9a-fA-F]{64})", str(value))
        if not found:
            self.fail(f"{value!r} is not an event number, a colon and 64 hexadecimal digits", param, ctx)
        return Checkpoint(int(found[1]), found[2].lower())


@click.command()
@click.argument("file", metavar="[PATH]", type=click.Path(path_type=Path), required=False)
@journal_option
@click.option("--expect", type=_CheckpointType(), metavar="SEQ:HASH",
              help="Also check that this event exists and has this hash.")  # fmt: skip
@json_option
@journal_errors()
def verify(file: Path | None, path: Path, expect: Checkpoint | None, as_json: bool) -> int:
    """Check the chain of a journal or of an export.

    PATH is a journal, or a file written by `shoectl journal export` (- for standard input). All
    events are checked, and the first bad one is named. A journal also contains a mark up to where
    the daemon has verified it, and saved states of the table; they are compared with the events. An
    end that was cut off after the mark cannot be detected from the file alone: compare the head with
    one that was written down before, or pass that one to --expect.

    \b
    Examples:
      shoectl journal verify
      shoectl journal verify night.jsonl
      shoectl journal verify --expect 4711:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    source = file or path
    verification = _Verification(expect)
    try:
        with verification.progress:
            found = _verify(source, verification)
        verification.check_expected(found)
    except JournalDamaged as damage:
        if as_json:
            terminal.print_json({"ok": False, "bad": damage.seq, "reason": damage.reason})
        else:
            terminal.print_line(terminal.printable(f"{source}: {damage}"), "red")
        return 1
    if as_json:
        identity = {"id": verification.journal_id} if verification.journal_id else {}
        terminal.print_json({"ok": True, "events": found.count, **identity, **msgspec.to_builtins(found)})
        return 0
    if not found.count:
        terminal.print_line("0 events: there is nothing to verify", "yellow")
        return 0
    part = "" if found.first == 1 else f" from {found.first} to {found.last}, after {found.prev}"
    terminal.print_line(f"{plural(found.count, 'event')}{part}, chain intact, head {found.head}", "green")
    if verification.journal_id:
        terminal.print_line(f"journal id {verification.journal_id}")
    return 0


class _Verification:
    """Receives every good event: shows the progress, and looks for the expected event."""

    def __init__(self, expected: Checkpoint | None) -> None:
        self.progress = Progress("verified {} events")
        self.journal_id = ""  # if the first event was among those verified
        self._expected = expected
        self._found: str | None = None

    def take(self, event: StoredEvent) -> None:
        """Count an event, and keep its hash if it is the expected one."""
        if event.seq == 1:
            self.journal_id = journal_id(event)
        if self._expected is not None and event.seq == self._expected.seq:
            self._found = event.hash
        self.progress.step()

    def check_expected(self, found: Span) -> None:
        """JournalDamaged unless the expected event was found."""
        expected = self._expected
        if expected is None or self._found == expected.hash:
            return
        if self._found is None and expected.seq > found.last:
            reason = f"expected, but the last event is {found.last}: the end was cut off"
        elif self._found is None:
            reason = f"expected, but the first event is {found.first}"
        else:
            reason = f"its hash is {self._found}, not the expected one"
        raise JournalDamaged(expected.seq, reason)


def _verify(source: Path, verification: _Verification) -> Span:
    if str(source) == "-":
        return verify_lines(_lines(sys.stdin.buffer), verification.take)
    try:
        reader = JournalReader(source)
    except JournalForeign:
        return _verify_export(source, verification)
    with reader:
        verification.progress.length = reader.head.seq
        head = reader.verify(on_event=verification.take)
        reader.check_snapshots(CODE_VERSION)
        warn_if_incomplete(reader)
        return Span(1, head.seq, "0" * 64, head.hash)


def _verify_export(source: Path, verification: _Verification) -> Span:
    with file_errors(source), source.open("rb") as file:
        if file.read(1) != b"{":
            raise click.ClickException(f"{source}: neither a journal nor an export of one")
        file.seek(0)
        return verify_lines(_lines(file), verification.take)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.readline(LONGEST_LINE), b"")
