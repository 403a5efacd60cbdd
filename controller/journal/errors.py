"""The errors of a journal. Every message says what is wrong and what to do about it."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path


class JournalError(Exception):
    """The journal cannot do what was asked. The message is one line."""


class JournalAbsent(JournalError):
    """There is no journal at this path."""


class JournalForbidden(JournalError):
    """This user may not read it."""


class JournalReadOnly(JournalError):
    """The file, its folder or its medium can be read but not written."""


class JournalForeign(JournalError):
    """The file is not a Dragonshoe journal, or is one of a newer version."""


class JournalIncomplete(JournalError):
    """The file was copied without its write-ahead log, which has all its events."""


class JournalBusy(JournalError):
    """Another program is writing it. The only failure after which an append may be retried."""


class JournalFull(JournalError):
    """The disk is full."""


class JournalDiskFailed(JournalError):
    """The disk failed to read, write or flush."""


class JournalReadTooLong(JournalError):
    """Reading took longer than it may; the journal is all right."""


class JournalStopped(JournalError):
    """An earlier append failed; nothing more is written until the journal is opened again."""


class JournalDamaged(JournalError):
    """The journal is not what was written. `seq` is the first bad event, None if no single one can be named.

    The only message that does not begin with the path, since it is also used for exports.
    """

    def __init__(self, seq: int | None, reason: str) -> None:
        super().__init__(f"event {seq}: {reason}" if seq is not None else reason)
        self.seq = seq
        self.reason = reason


class BadEvent(ValueError):
    """An event that is not valid: an error in the calling program. Nothing was written."""


ROOM_BYTES = 1 << 20  # with less than this free, a failed write is reported as a full disk
INDEX_BYTES = 64 << 10  # the index of a write-ahead log; without room for it SQLite crashes the process
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
    JournalReadOnly: "it cannot be written; check the owner of the file and its folder, and how the disk is mounted",
    JournalForeign: "not a Dragonshoe journal; check the path",
    JournalBusy: "another program has locked it; stop that program, or try again",
    JournalFull: "the disk is full; free some space, then start again",
    JournalDiskFailed: "the disk failed; see `dmesg`, copy the journal, and replace the disk",
}


def from_os(error: OSError, path: Path) -> JournalError:
    """The JournalError for an error of the operating system."""
    kind = _BY_ERRNO.get(error.errno or 0, JournalDiskFailed)
    return kind(f"{path}: {_WHAT_TO_DO[kind]} ({error.strerror})")


def from_sqlite(error: sqlite3.Error, path: Path) -> JournalError:
    """The JournalError for an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if code == sqlite3.SQLITE_INTERRUPT:
        return JournalReadTooLong(f"{path}: reading took too long and was ended")
    if code == sqlite3.SQLITE_CORRUPT:
        return JournalDamaged(None, f"the file is damaged ({error}); keep it unchanged and restore the last copy")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return JournalDamaged(None, f"another program has written to it ({error}); find out which")
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
    else:  # such as a missing table
        return JournalDamaged(None, f"its tables were changed ({error}); keep it unchanged and restore the last copy")
    return kind(f"{path}: {_WHAT_TO_DO[kind]} ({name}: {error})")


def no_room(path: Path, wanted: int) -> bool:
    """Whether the disk of this path has less free space than this."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < wanted


def check_room(path: Path) -> None:
    """JournalFull if there is no room for the index that SQLite maps into memory, which would crash the process."""
    if no_room(path, INDEX_BYTES):
        raise JournalFull(f"{path}: {_WHAT_TO_DO[JournalFull]}")
