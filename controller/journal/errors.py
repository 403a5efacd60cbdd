"""What can go wrong with a journal, as types. Every text says what is wrong and what to do about it."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path


class JournalError(Exception):
    """The journal cannot do what was asked. The text is one line for a person."""


class JournalAbsent(JournalError):
    """There is no journal at this path."""


class JournalForbidden(JournalError):
    """This user may not read it."""


class JournalReadOnly(JournalError):
    """It can be read but not written: the file, its folder or its medium."""


class JournalForeign(JournalError):
    """The file is no journal of Dragonshoe, or of a newer version."""


class JournalBusy(JournalError):
    """Another program writes it. The one failure after which an append may be tried again."""


class JournalFull(JournalError):
    """The disk is full."""


class JournalDiskFailed(JournalError):
    """The disk failed to read, write or flush."""


class JournalStopped(JournalError):
    """An append failed before; nothing more is written until the journal has been opened anew."""


class JournalDamaged(JournalError):
    """The journal is not what was written. `seq` is the first bad event, None where no single one can be named.

    The one text that does not begin with the path: it is also said of exports and of events from elsewhere.
    """

    def __init__(self, seq: int | None, reason: str) -> None:
        super().__init__(f"event {seq}: {reason}" if seq is not None else reason)
        self.seq = seq
        self.reason = reason


class BadEvent(ValueError):
    """An event that cannot be written as it is: a mistake in the program, nothing was written."""


ROOM_BYTES = 1 << 20  # with less than this free, a failed write is told as a full disk
INDEX_BYTES = 64 << 10  # what the index of a write-ahead log needs; without room for it SQLite ends the process
_BY_ERRNO: dict[int, type[JournalError]] = {
    errno.ENOSPC: JournalFull,
    errno.EDQUOT: JournalFull,
    errno.EROFS: JournalReadOnly,
    errno.EACCES: JournalReadOnly,
    errno.EPERM: JournalReadOnly,
    errno.ENOENT: JournalAbsent,
    errno.ENOTDIR: JournalAbsent,
}
_WHAT_TO_DO: dict[type[JournalError], str] = {
    JournalAbsent: "there is no journal here; check the path",
    JournalReadOnly: "it cannot be written here; check the owner of the file and of its folder, and how the disk is "
    "mounted",
    JournalForeign: "this is no journal of Dragonshoe; check the path",
    JournalBusy: "another program holds it; end that program, or try again",
    JournalFull: "the disk is full; make room on it, then start again",
    JournalDiskFailed: "the disk failed; look at `dmesg`, keep a copy of the journal, and replace the disk",
}


def from_os(error: OSError, path: Path) -> JournalError:
    """The journal's own failure for one of the operating system."""
    kind = _BY_ERRNO.get(error.errno or 0, JournalDiskFailed)
    return kind(f"{path}: {_WHAT_TO_DO[kind]} ({error.strerror})")


def from_sqlite(error: sqlite3.Error, path: Path) -> JournalError:
    """The journal's own failure for one of SQLite."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if code == sqlite3.SQLITE_CORRUPT:
        return JournalDamaged(None, f"the file is damaged ({error}); keep it as it is and fetch the last copy")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return JournalDamaged(None, f"another program has written into it ({error}); find out which")
    if code == sqlite3.SQLITE_NOTADB:
        kind: type[JournalError] = JournalForeign
    elif code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and no_room(path, ROOM_BYTES)):
        kind = JournalFull
    elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        kind = JournalBusy
    elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        kind = JournalReadOnly
    elif code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOLFS):
        kind = JournalDiskFailed
    else:  # such as a table that is gone
        return JournalDamaged(None, f"it is not as it was made ({error}); keep it and fetch the last copy")
    return kind(f"{path}: {_WHAT_TO_DO[kind]} ({name}: {error})")


def no_room(path: Path, wanted: int) -> bool:
    """Whether less than this is free on the disk under this path."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < wanted


def check_room(path: Path) -> None:
    """JournalFull where SQLite would map an index into memory that has no place on the disk: the end of the process."""
    if no_room(path, INDEX_BYTES):
        raise JournalFull(f"{path}: {_WHAT_TO_DO[JournalFull]}")
