"""A real pty on which a command runs, and its output."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from types import TracebackType
from typing import Self

LIMIT_S = 120.0  # generous: only a hang runs into it
SHOECTL = "from controller.cli.shoectl import main; main()"


class Terminal:
    """`shoectl` on a terminal of its own."""

    def __init__(self, *words: str, program: str = SHOECTL, columns: int = 100, rows: int = 40) -> None:
        self.shown = ""
        self._far, near = pty.openpty()
        fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *words],
            stdin=near,
            stdout=near,
            stderr=near,
            env={**environment, "TERM": "xterm"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(near)

    def until(self, pattern: str) -> str:
        """Wait until the output contains a pattern, and return the output."""
        end = time.monotonic() + LIMIT_S
        while not re.search(pattern, self.shown):
            if not self._read(end):
                raise AssertionError(f"{pattern!r} never came; shown was:\n{self.shown}")
        return self.shown

    def press(self, text: str) -> None:
        """Type text."""
        os.write(self._far, text.encode())

    def end(self) -> int:
        """Read to the end; returns the exit code."""
        end = time.monotonic() + LIMIT_S
        while self._read(end):
            pass
        return self.process.wait(LIMIT_S)

    def _read(self, end: float) -> bool:
        if not select.select([self._far], [], [], max(0.0, end - time.monotonic()))[0]:
            raise AssertionError(f"nothing more within {LIMIT_S} s; shown was:\n{self.shown}")
        try:
            read = os.read(self._far, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += read.decode(errors="replace")
        return bool(read)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(LIMIT_S)
        os.close(self._far)
