"""`python -m tests.crash.shoed_program FILE -- WORDS`: runs shoed again and again, and kills it at a given point.

Every number N on standard input starts a run, as a process of its own that shares nothing with the ones before: shoed
with these arguments, killed with SIGKILL at the Nth point of a round. The answer is its process id and, when it has
ended, its exit code. Forking saves the time that Python takes to load everything a thousand times.

There is a point before each statement of a transaction and after its commit, and before and after bytes are sent to a
device. They are counted from the closing of the bets; FILE gets a line for each, so that a run that is not killed shows
how many there are.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from controller.cli import shoed
from controller.journal import store
from firmware_bridge.ports import serial_port


class Points:
    """Counts the points, and kills the process at one of them."""

    def __init__(self, last: int, file: str) -> None:
        self._left = last
        self._armed = False
        self._fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def arm(self) -> None:
        self._armed = True

    def disarm(self) -> None:
        if self._armed:
            self._armed = False
            os.write(self._fd, b"over\n")

    def reach(self, name: str) -> None:
        """Count a point."""
        if not self._armed:
            return
        os.write(self._fd, name.encode() + b"\n")
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def run(last: int, file: str, words: list[str]) -> None:
    """One run."""
    points = Points(last, file)
    write_events, write = store.Journal._write_events, serial_port.FdPort.write

    def killed_write_events(journal: store.Journal, rows: list[Any]) -> None:
        kinds = {row[2] for row in rows}
        if "bets.closed" in kinds:
            points.arm()
        journal._connection.set_trace_callback(lambda sql: points.reach(f"before {sql.split()[0].lower()}"))
        write_events(journal, rows)
        journal._connection.set_trace_callback(None)
        points.reach(f"after commit of {rows[0][2]}")
        if "round.completed" in kinds:
            points.disarm()

    def killed_write(port: serial_port.FdPort, data: bytes) -> None:
        points.reach("before send")
        write(port, data)
        points.reach("after send")

    setattr(store.Journal, "_write_events", killed_write_events)  # noqa: B010
    setattr(serial_port.FdPort, "write", killed_write)  # noqa: B010
    sys.argv = ["shoed", *words]
    shoed.main()


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.close(0)
            run(int(line), sys.argv[1], sys.argv[3:])
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
