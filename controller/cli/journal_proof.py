"""The verbs of an auditor: verify and export; and what all verbs about the journal share."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

import click
import msgspec

from controller.cli import terminal
from controller.cli.client import Client, ClientError, find_socket
from controller.cli.options import json_option
from controller.cli.progress import Progress
from controller.journal import Checkpoint, JournalDamaged, JournalError, JournalForeign, JournalReader, StoredEvent
from controller.journal.export import LONGEST_LINE, Span, csv_lines, json_lines, span, verify_lines

DEFAULT = Path("/var/lib/shoed/journal.db")
SIMULATED = Path("build/run/journal.db")
ASK_WITHIN_S = 1.0

P = ParamSpec("P")
R = TypeVar("R")


def _where(ctx: click.Context, param: click.Parameter, given: Path | None) -> Path:
    """The journal that was given, the usual one, or the one of a daemon that runs here."""
    if given is not None:
        return given
    try:
        DEFAULT.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:
        return DEFAULT  # this user may not see it: to open it will say so
    else:
        return DEFAULT
    try:
        return Path(Client(find_socket(), ASK_WITHIN_S).get("journal")["path"])
    except ClientError:
        return SIMULATED if SIMULATED.exists() else DEFAULT


journal_option = click.option(
    "--journal", "path", type=click.Path(path_type=Path, readable=False), metavar="PATH", callback=_where,
    help=f"The journal to read; otherwise {DEFAULT}, or that of the daemon that runs here.",
)  # fmt: skip
number_type = click.IntRange(min=1, max=2**53 - 1)


def told(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb, its failures told in a line."""

    @functools.wraps(verb)
    def wrapped(*args: P.args, **named: P.kwargs) -> R:
        try:
            return verb(*args, **named)
        except JournalDamaged as error:
            raise click.ClickException(f"{named.get('path')}: {error}") from None
        except JournalError as error:
            raise click.ClickException(str(error)) from None

    return wrapped


# --- verify ---------------------------------------------------------------------------------------------------------


class _Place(click.ParamType[Checkpoint]):
    """SEQ:HASH."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Checkpoint:
        """Wrong usage if it is none."""
        if isinstance(value, Checkpoint):
            return value
        found = re.fullmatch(r"([1-9][0-9]{0,15}):([0-9a-fA-F]{64})", str(value))
        if not found:
            self.fail(f"{value!r} is not a number, a colon and 64 hexadecimal digits", param, ctx)
        return Checkpoint(int(found[1]), found[2].lower())


@click.command()
@click.argument("file", metavar="[PATH]", type=click.Path(path_type=Path), required=False)
@journal_option
@click.option("--expect", type=_Place(), metavar="SEQ:HASH", help="Also ask that this event is there with this hash.")
@json_option
@told
def verify(file: Path | None, path: Path, expect: Checkpoint | None, as_json: bool) -> int:
    """Check the chain of the journal, or of an export, from its first event to its last.

    PATH is a journal or a file that `shoectl journal export` made (- for standard input). Names the
    first bad event. What cannot be seen from inside is an end that was cut off: compare the head
    with the one that was written down before, or give that one to --expect.

    \b
    Examples:
      shoectl journal verify
      shoectl journal verify night.jsonl
      shoectl journal verify --expect 4711:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    where = file or path
    watch = _Watch(expect)
    try:
        with watch.progress:
            found = _verify(where, watch)
        watch.conclude(found)
    except JournalDamaged as damage:
        if as_json:
            terminal.say_json({"whole": False, "bad": damage.seq, "reason": damage.reason})
        else:
            terminal.say(terminal.plain(f"{where}: {damage}"), "red")
        return 1
    if as_json:
        terminal.say_json({"whole": True, "events": found.count, **msgspec.to_builtins(found)})
        return 0
    part = "" if found.first == 1 else f" from {found.first} to {found.last}, after {found.prev}"
    terminal.say(f"{terminal.count(found.count, 'event')}{part}, chain whole, head {found.head}", "green")
    return 0


def _verify(where: Path, watch: _Watch) -> Span:
    if str(where) == "-":
        return verify_lines(_lines(sys.stdin.buffer), watch.take)
    try:
        reader = JournalReader(where)
    except JournalForeign:
        return _verify_file(where, watch)
    with reader:
        watch.progress.length = reader.head.seq
        head = reader.verify(on_event=watch.take)
        return Span(1, head.seq, "0" * 64, head.hash)


def _verify_file(where: Path, watch: _Watch) -> Span:
    """It is no database; an export begins like JSON."""
    try:
        with where.open("rb") as file:
            if file.read(1) != b"{":
                raise click.ClickException(f"{where}: this is neither a journal nor an export of one")
            file.seek(0)
            return verify_lines(_lines(file), watch.take)
    except OSError as error:
        raise click.ClickException(f"{where}: {error.strerror}") from None


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.readline(LONGEST_LINE), b"")


class _Watch:
    """Sees every good event go by: tells how far it is, and looks for the one that is expected."""

    def __init__(self, expect: Checkpoint | None) -> None:
        self.progress = Progress("verified {} events")
        self._expect = expect
        self._found: str | None = None

    def take(self, event: StoredEvent) -> None:
        """One more."""
        if self._expect is not None and event.seq == self._expect.seq:
            self._found = event.hash
        self.progress.step()

    def conclude(self, found: Span) -> None:
        """JournalDamaged unless what is expected was there."""
        if self._expect is None or self._found == self._expect.hash:
            return
        if self._found is None and self._expect.seq > found.last:
            raise JournalDamaged(self._expect.seq, f"it is expected, but the end is event {found.last}: it was cut off")
        if self._found is None:
            raise JournalDamaged(self._expect.seq, f"it is expected, but the first is event {found.first}")
        raise JournalDamaged(self._expect.seq, f"its hash is {self._found}, which is not the expected one")


# --- export ---------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("file", metavar="FILE|-", type=click.Path(path_type=Path))
@click.option("--from", "first", type=number_type, metavar="SEQ", help="The first event; otherwise 1.")
@click.option("--to", "last", type=number_type, metavar="SEQ", help="The last event; otherwise the newest.")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True,
              help="JSON Lines, or CSV for a spreadsheet.")  # fmt: skip
@click.option("--proof", is_flag=True, help="Check the chain, and begin with a header that says what is there.")
@click.option("--force", is_flag=True, help="Overwrite FILE if it is there.")
@journal_option
@json_option
@told
def export(
    file: Path, first: int | None, last: int | None, form: str, proof: bool, force: bool, path: Path, as_json: bool
) -> None:
    """Write events into FILE, or to standard output for -.

    `shoectl journal verify FILE` checks JSON Lines anywhere, without the journal. With --proof, also
    that nothing is missing at the end of FILE; compare the head it tells with the one that was
    handed out. FILE is there whole, or not at all.

    \b
    Examples:
      shoectl journal export --proof night.jsonl
      shoectl journal export --from 4000 --to 4999 --format csv rounds.csv
      shoectl journal export - | jq .kind
    """
    if form == "csv" and proof:
        raise click.UsageError("--proof is for JSON Lines")
    to_stdout = str(file) == "-"
    if as_json and to_stdout and form == "csv":
        raise click.UsageError("CSV on standard output is no JSON")
    with JournalReader(path) as reader, Progress("wrote {} events") as progress:
        part = span(reader, first, last)
        progress.length = part.count
        lines = progress.over(csv_lines(reader, part) if form == "csv" else json_lines(reader, part, proof=proof))
        if to_stdout:
            out = sys.stdout.buffer
            for text in lines:
                out.write(text)
        else:
            _write_whole(file, lines, force)
    if as_json and not to_stdout:
        terminal.say_json({"file": str(file), "events": part.count, **msgspec.to_builtins(part)})
        return
    summary = f"{terminal.count(part.count, 'event')} from {part.first} to {part.last}, head {part.head}"
    terminal.tell(summary) if to_stdout else terminal.say(summary)


def _write_whole(file: Path, lines: Iterable[bytes], force: bool) -> None:
    """Under another name first, so that no half of it ever has the right one."""
    part = file.with_name(file.name + ".part")
    try:
        if file.exists() and not force:
            raise click.ClickException(f"{file} is there already; --force overwrites it")
        try:
            with part.open("wb") as out:
                out.writelines(lines)
                out.flush()
                os.fsync(out.fileno())
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from None
