"""`python -m tests.bench.stamping FILE WORDS`: shoed, with a line in FILE for every lock that a jam has caused.

A line has two times in nanoseconds: from the call with the last bytes of the event to the call that writes the first
byte of the lock command, and the journal's write in between. Nothing but these clocks is added.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from controller.cli import shoed
from controller.journal import Journal, NewEvent
from firmware_bridge.connection import Connection
from firmware_bridge.ports.serial_port import FdPort
from firmware_bridge.wire.messages import AnyCommand, Lock

now = time.perf_counter_ns


class Clocks:
    """When things happened last."""

    def __init__(self, file: Path) -> None:
        self._out = file.open("a", buffering=1)
        self._came = self._stored = 0
        self._locking = self._jam = False

    def install(self) -> None:
        """Look at the clock where bytes come, events are stored and bytes go."""
        came, stored, give, write = Connection._bytes, Journal.append, Connection.give, FdPort.write

        def bytes_came(connection: Connection, data: bytes) -> None:
            self._came = now()
            came(connection, data)
            self._came = 0

        def append(journal: Journal, events: Sequence[NewEvent]) -> int:
            begun = now()
            last = stored(journal, events)
            self._stored = now() - begun
            self._jam = any(event.kind == "device.jammed" for event in events)
            return last

        def given(connection: Connection, command: AnyCommand) -> None:
            self._locking = isinstance(command, Lock) and self._jam and self._came > 0
            give(connection, command)
            self._locking = False

        def bytes_go(port: FdPort, data: bytes) -> None:
            if self._locking:
                self._out.write(f"{now() - self._came} {self._stored}\n")
                self._locking, self._came = False, 0
            write(port, data)

        for owner, name, what in (
            (Connection, "_bytes", bytes_came),
            (Journal, "append", append),
            (Connection, "give", given),
            (FdPort, "write", bytes_go),
        ):
            setattr(owner, name, what)


if __name__ == "__main__":
    Clocks(Path(sys.argv[1])).install()
    sys.argv = ["shoed", *sys.argv[2:]]
    shoed.main()
