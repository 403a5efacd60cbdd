"""The disk of disk.c: built with the C compiler of the machine, loaded into a process, and controlled from there."""

from __future__ import annotations

import ctypes
import enum
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("disk.c")


class Fault(enum.IntEnum):
    """What happens to the disk."""

    NOTHING = 0
    POWER_CUT = 1
    WRITE_FAILS = 2
    FLUSH_FAILS = 3
    FULL = 4


def compiler() -> str | None:
    """The C compiler, if there is one."""
    return shutil.which("cc") or shutil.which("gcc")


@functools.cache
def library() -> Path:
    """The library, built once for all tests of a run."""
    found = compiler()
    assert found
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    built = folder / "disk.so"
    subprocess.run(
        [found, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", built, SOURCE, "-ldl"], check=True
    )
    return built


def under_disk() -> dict[str, str]:
    """The environment of a process that runs on this disk."""
    return {**os.environ, "LD_PRELOAD": str(library()), "PYTHONPATH": str(Path(__file__).parents[2])}


class Disk:
    """Controls the disk from inside such a process."""

    def __init__(self, folder: Path, seed: int, fault: Fault, at: int) -> None:
        self._lib = ctypes.CDLL(None)
        self._lib.disk_begin.argtypes = (ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_long)
        self._lib.disk_next.argtypes = (ctypes.c_int, ctypes.c_long)
        self._lib.disk_begin(os.fsencode(folder), seed, fault, at)

    def then(self, fault: Fault, after: int) -> None:
        """What happens to it next, after this many calls."""
        self._lib.disk_next(fault, after)
