"""`python -m tests.powercut.shoed_program FILE -- WORDS`: runs shoed again and again on the disk of disk.c.

Every number N on standard input starts a run, as in tests/crash/shoed_program.py; the power is cut at the Nth call.
The disk is the folder `run` beside FILE.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from controller.cli import shoed
from tests.powercut.disk import Disk, Fault


def main() -> None:
    folder = Path(sys.argv[1]).parent / "run"
    for number, line in enumerate(sys.stdin):
        child = os.fork()
        if child == 0:
            os.close(0)
            Disk(folder, number << 32 | int(line), Fault.POWER_CUT, int(line))
            sys.argv = ["shoed", *sys.argv[3:]]
            shoed.main()
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
