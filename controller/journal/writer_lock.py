"""The lock that allows one writer of a journal at a time."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

from controller.journal.errors import JournalBusy, from_os
from controller.journal.records import JOURNAL_ID

MODE = 0o640  # the daemon writes, its group reads
_PID_BYTES = 11


def was_made(path: Path) -> bool:
    """Whether a journal was ever created here, even if it is gone now: its writer has signed the lock file."""
    lock = _lock_path(path)
    return lock.exists() and lock.stat().st_size > 0


def recorded_beside(link: Path) -> str:
    """The id of the journal that was last written at the path of this link; empty if it is not known."""
    try:
        found = _lock_path(link).read_bytes()
    except OSError:
        return ""
    return _journal_id(found[_PID_BYTES:])


def record_beside(link: Path, journal_id: str) -> None:
    """Write the journal's id where recorded_beside() found another one."""
    try:
        with _lock_path(link).open("r+b") as lock:
            lock.seek(_PID_BYTES)
            lock.write(f"{journal_id}\n".encode())
    except OSError as error:
        raise from_os(error, link) from None


def _journal_id(data: bytes) -> str:
    found = data[:64].decode(errors="replace").strip()
    return found if re.fullmatch(JOURNAL_ID, found) else ""


def _lock_path(journal: Path) -> Path:
    return journal.with_name(journal.name + ".lock")


class WriterLock:
    """Held by the one writer, in a file of its own: closing a second descriptor of a database drops SQLite's locks.

    The file is empty until a journal has been created here, and never again: see was_made(). Its first line is the id
    of the writing process, its second that of the journal.
    """

    def __init__(self, journal: Path) -> None:
        self._path = path = _lock_path(journal)
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        except OSError as error:
            raise from_os(error, path) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, _PID_BYTES, 0).decode(errors="replace").strip() or "unknown"
            self.release()
            raise JournalBusy(
                f"{journal}: process {holder} is already writing it; stop that process first "
                "(the daemon: systemctl stop shoed)"
            ) from None
        except OSError as error:
            self.release()
            raise from_os(error, path) from None

    def sign(self) -> None:
        """Write this process's id into the file, once the journal exists.

        The file is never shortened, so that a power cut cannot leave it empty.
        """
        try:
            first = os.fstat(self._fd).st_size == 0
            os.pwrite(self._fd, b"%-*d\n" % (_PID_BYTES - 1, os.getpid()), 0)
            if first:
                os.fsync(self._fd)
        except OSError as error:
            raise from_os(error, self._path) from None

    def recorded(self) -> str:
        """The id of the journal that was last written here; empty if it is not known, or was not written to its end."""
        return _journal_id(os.pread(self._fd, 64, _PID_BYTES))

    def record(self, journal_id: str) -> None:
        """Write the journal's id behind the process's, for recorded()."""
        try:
            os.pwrite(self._fd, f"{journal_id}\n".encode(), _PID_BYTES)
            os.fsync(self._fd)
        except OSError as error:
            raise from_os(error, self._path) from None

    def release(self) -> None:
        """Let another process write; may be called more than once."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
