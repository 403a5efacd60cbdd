"""Opens the files that verbs write: completely or not at all, and never over an existing one without --force."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click


@contextlib.contextmanager
def file_errors(file: Path) -> Iterator[None]:
    """Turn errors of the system into errors of the command that name the file."""
    try:
        yield
    except FileExistsError:
        raise click.ClickException(f"{file} already exists; --force overwrites it") from None
    except BrokenPipeError:
        raise  # of standard output, not of the file
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from None


def check_overwrite(file: Path, force: bool) -> None:
    """FileExistsError if the file exists and must not be overwritten."""
    if file.exists() and not force:
        raise FileExistsError


@contextlib.contextmanager
def complete_file(file: Path, force: bool, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file to write to. It gets its name once everything is on the disk; after an error it does not exist."""
    with file_errors(file):
        check_overwrite(file, force)
        part = file.with_name(file.name + ".part")
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
