"""What the verbs that read a journal share: --journal, --since, --until, --who, and error messages."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from controller.cli import terminal
from controller.cli.client import VARIABLE, Client, ClientError, NoDaemon, find_socket
from controller.journal import JournalDamaged, JournalError, JournalIncomplete, JournalReader, moment
from controller.journal.schema import LACKS_EVENTS

DEFAULT = Path("/var/lib/shoed/journal.db")
SIMULATED = Path("build/run/journal.db")
TIMEOUT_S = 1.0

MOST_FROM_DAEMON = 500

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

LACKS_END = (
    "it ends with event {}, and the daemon had not closed it; a running daemon keeps its newest events in a second "
    "file, journal.db-wal, which is missing here; `shoectl journal copy FILE` makes a complete copy"
)

number_type = click.IntRange(min=1, max=2**53 - 1)


def _find_journal(ctx: click.Context, param: click.Parameter, given: Path | None) -> Path:
    """The given journal, the installed one, or that of the running daemon."""
    if given is not None:
        return given
    try:
        DEFAULT.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:
        return DEFAULT  # this user may not see it; opening it will report that
    else:
        return DEFAULT
    try:
        return Path(Client(find_socket(), TIMEOUT_S).get("journal")["path"])
    except ClientError:
        return SIMULATED if SIMULATED.exists() else DEFAULT


_option = partial(click.option, "--journal", "path", type=click.Path(path_type=Path, readable=False), metavar="PATH")
journal_option = _option(
    help=f"The journal to read. Default: {DEFAULT}, or that of the running daemon.", callback=_find_journal
)
optional_journal_option = _option(  # for verbs that ask the daemon
    is_eager=True,  # before -n, which depends on it
    help="Read this journal, such as a copy. Default: ask the daemon; if none runs, read its journal.",
)


class MomentType(click.ParamType[str]):
    """A time in UTC, as precise as the person wants to be; converted to the form that events use."""

    name = "time"

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The first moment of the time given, or its last; UsageError if it is not a time."""
        try:
            return moment(value, end=self._end)
        except ValueError as error:
            self.fail(str(error), param, ctx)


since_option = click.option("--since", type=MomentType(), metavar="TIME",
                            help="Only from this time on, in UTC: 2026-01-31, or '2026-01-31 23:59'.")  # fmt: skip
until_option = click.option("--until", type=MomentType(end=True), metavar="TIME",
                            help="Only up to this time, inclusive.")  # fmt: skip
who_option = click.option("--who", metavar="NAME", help="Only what this person did.")


def number_option(noun: str, more: str = "") -> Callable[[F], F]:
    """-n, the maximum number of results. The daemon gives at most 500 at once; a file has no such limit."""

    def check(ctx: click.Context, param: click.Parameter, number: int) -> int:
        if number > MOST_FROM_DAEMON and ctx.params.get("path") is None:
            raise click.UsageError(f"-n can be more than {MOST_FROM_DAEMON} only with --journal PATH", ctx)
        return number

    return click.option(
        "-n", "number", type=click.IntRange(min=1, max=10**6), default=20, show_default=True, metavar="N",
        callback=check, help=f"Maximum number of {noun}{more}; more than {MOST_FROM_DAEMON} only with --journal.",
    )  # fmt: skip


def from_records(
    path: Path | None,
    daemon: Client | None,
    ask: Callable[[Client], T],
    read: Callable[[JournalReader], T],
) -> T:
    """What the daemon answers, or what the given journal says, or the daemon's journal if no daemon is running."""
    if path is None:
        try:
            return ask(daemon or Client(find_socket()))
        except NoDaemon as error:
            path = SIMULATED if SIMULATED.exists() else DEFAULT
            if daemon or VARIABLE in os.environ or not _is_there(path):
                raise
            terminal.print_message(f"{error.args[0].partition(';')[0]}; this is from {path}")
    with JournalReader(path) as reader:
        if reader.may_lack_its_end and not reader.head.seq:
            raise JournalIncomplete(f"{path}: {LACKS_EVENTS}")
        found = read(reader)
        warn_if_incomplete(reader)
    return found


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # this user may not see it; opening it will report that


def warn_if_incomplete(reader: JournalReader) -> None:
    """Print a message if newer events may be missing from a copied journal."""
    if lacks := what_may_be_missing(reader):
        terminal.print_message(f"{reader.path}: {lacks}")


def no_such(reader: JournalReader, what: str, otherwise: str = "") -> click.ClickException:
    """The error for something that is not in a journal: it may be in the part that is missing from a copy."""
    why = what_may_be_missing(reader) or otherwise
    return click.ClickException(f"{reader.path}: {what}{why and f'; {why}'}")


def what_may_be_missing(reader: JournalReader) -> str:
    """Why newer events may be missing from a copied journal, and what to do; empty if it is complete."""
    if not reader.may_lack_its_end:
        return ""
    return LACKS_END.format(reader.head.seq) if reader.head.seq else LACKS_EVENTS


@contextlib.contextmanager
def journal_errors() -> Iterator[None]:
    """Turn errors of the journal into errors of the command; used as a decorator of verbs."""
    try:
        yield
    except JournalDamaged as error:
        path = click.get_current_context().params.get("path")
        raise click.ClickException(f"{path}: {error}" if path else str(error)) from None
    except JournalError as error:
        raise click.ClickException(str(error)) from None
