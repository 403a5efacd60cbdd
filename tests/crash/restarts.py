"""A daemon that is restarted whenever it has died: a real process each time, with its own memory."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.daemon.test_shoed import config_file

LIMIT_S = 120.0  # generous: only a hang runs into it


class Restarts:
    """One run of the daemon after the other; the program, such as shoed_program.py, determines how each ends."""

    def __init__(
        self, folder: Path, program: str = "tests.crash.shoed_program", env: dict[str, str] | None = None
    ) -> None:
        self.file = folder / "points"
        self.starts = 0
        self._socket = folder / "run/control.sock"
        self._pid = 0
        words = [sys.executable, "-m", program, str(self.file), "--", "--config", config_file(folder)]
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **(env or {})}
        with (folder / "log").open("ab") as log:
            self._forking = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=env,
                bufsize=0,  # unread output stays in the pipe, where `select` sees it
            )

    def begin(self, point: int) -> None:
        """End the current run, and begin one that lasts until this point of a round; it answers when this returns."""
        assert self._forking.stdin is not None
        self.end()
        self.starts += 1
        self.file.unlink(missing_ok=True)
        self._forking.stdin.write(b"%d\n" % point)
        self._pid = self._read()
        end = time.monotonic() + LIMIT_S
        while not self._answers() and not self.dead():
            assert time.monotonic() < end, "the daemon never answered"
            time.sleep(0.005)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as sock:
            return sock.connect_ex(str(self._socket)) == 0

    def _read(self) -> int:
        assert self._forking.stdout is not None
        return int(self._forking.stdout.readline())

    def dead(self) -> bool:
        """Whether this run is over."""
        assert self._forking.stdout is not None
        if self._pid and select.select([self._forking.stdout], [], [], 0)[0]:
            assert self._read() == -signal.SIGKILL, "it ended by itself"
            self._pid = 0
        return self._pid == 0

    def kill(self) -> None:
        """Kill it now, whatever it is doing."""
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def points(self) -> list[str]:
        """The points that this run has reached."""
        return self.file.read_text().splitlines() if self.file.exists() else []

    def end(self) -> None:
        """Kill it and wait for it."""
        if self._pid:
            self.kill()
            assert self._read() == -signal.SIGKILL, "it ended by itself"
            self._pid = 0

    def close(self) -> None:
        """End the program."""
        self.end()
        assert self._forking.stdin is not None
        self._forking.stdin.close()
        self._forking.wait(LIMIT_S)
        assert self._forking.stdout is not None
        self._forking.stdout.close()
