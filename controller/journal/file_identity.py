"""Which files are at some paths, checked with every commit.

`os.stat` also asks for a file's times. Since Linux 6.13 the kernel then records a new time at the next write, and the
flush takes longer: a quarter fewer commits per second were measured. statx(2) can be asked for less.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

_AT_FDCWD: Final = -100
_STATX_INO: Final = 0x100
_STX_INO: Final = slice(32, 40)  # within struct statx
_STX_DEV: Final = slice(136, 144)  # stx_dev_major and stx_dev_minor
_STATX_BYTES: Final = 256

_statx: Final = ctypes.CDLL(None, use_errno=True).statx


class FileIdentity:
    """Checks whether the files at some paths are still the same ones. For one thread at a time."""

    def __init__(self, *paths: str) -> None:
        self._paths = [os.fsencode(path) for path in paths]
        self._status = ctypes.create_string_buffer(_STATX_BYTES)

    def read(self) -> bytes:
        """What distinguishes these files from all others on this machine. OSError if one of them is missing."""
        identity = b""
        for path in self._paths:
            if _statx(_AT_FDCWD, path, 0, _STATX_INO, self._status):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), os.fsdecode(path))
            status = self._status.raw
            identity += status[_STX_INO] + status[_STX_DEV]
        return identity
