"""Opens the files that verbs write: completely or not at all, and never over an existing one without --force."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
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
    """FileExistsError if the file exists and must not be overwritten. Only regular files ever are."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise click.ClickException(f"{file} is a symbolic link; give the path of the file itself")
    if not stat.S_ISREG(mode):
        raise click.ClickException(f"{file} is not a regular file; give another path")
    if not force:
        raise FileExistsError


@contextlib.contextmanager
def unfinished(file: Path, mode: int = 0o666) -> Iterator[Path]:
    """A new file beside this one, which gets its name at the end; after an error neither exists.

    Its name cannot be guessed and it is never opened if it exists, so nobody can place a link there.
    """
    part = file.with_name(f".{file.name}.{secrets.token_hex(8)}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
    try:
        yield part
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def complete_file(file: Path, force: bool, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file to write to. It gets its name once everything is on the disk; after an error it does not exist."""
    with file_errors(file):
        check_overwrite(file, force)
        with unfinished(file, mode) as part, part.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
