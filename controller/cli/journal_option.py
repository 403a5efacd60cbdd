"""What the verbs that read a journal share: --journal, the range of event numbers, and error messages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from controller.cli.client import Client, ClientError, find_socket
from controller.journal import JournalDamaged, JournalError

DEFAULT = Path("/var/lib/shoed/journal.db")
SIMULATED = Path("build/run/journal.db")
TIMEOUT_S = 1.0

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


journal_option = click.option(
    "--journal", "path", type=click.Path(path_type=Path, readable=False), metavar="PATH", callback=_find_journal,
    help=f"The journal to read. Default: {DEFAULT}, or that of the running daemon.",
)  # fmt: skip


@contextlib.contextmanager
def journal_errors() -> Iterator[None]:
    """Turn errors of the journal into errors of the command; used as a decorator of verbs."""
    try:
        yield
    except JournalDamaged as error:
        raise click.ClickException(f"{click.get_current_context().params['path']}: {error}") from None
    except JournalError as error:
        raise click.ClickException(str(error)) from None
