"""A round of Dragon Poker in this version and in the last one that had no other game, in turns on the same machine.

Both are played by their own tests/bench/rounds.py, in processes of their own, uncompiled.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.bench.measure import Row, interleave

REVISION = "5c66b109463083e79fccaafaf2dc5b5b95285f47"  # its successors have descriptions of games
FOLDER = Path("build/previous")
TURNS = 9
PROGRAM = """
import sys
sys.path.insert(0, ".")
from tests.bench import rounds
rounds.CORE_ROUNDS = 400
whole = {"durable": False, "rounds": 60, "turns": 3}
print(rounds.core_alone()[0] if sys.argv[1] == "core" else rounds.whole_stack(rounds.CALM_LINK, **whole))
"""


def _checked_out() -> bool:
    """Put the previous version into a folder of its own; False if its history is not here, as in a source archive."""
    if (FOLDER / "pyproject.toml").exists():
        return True
    found = subprocess.run(["git", "archive", REVISION], capture_output=True, check=False)
    if found.returncode:
        return False
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", FOLDER], input=found.stdout, check=True)
    return True


def _rate(folder: Path, what: str) -> float:
    """Rounds a second of the version in this folder."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, what], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout)


def rows() -> list[Row]:
    """This version against the previous one."""
    if not _checked_out():
        print(f"revision {REVISION} is not here, so nothing is compared with it", file=sys.stderr)
        return []
    found = []
    for name, what, goal in (("rounds of the core alone", "core", ">= 1"), ("whole rounds in memory", "whole", "")):
        contenders = {"now": partial(_rate, Path(), what), "before": partial(_rate, FOLDER, what)}
        rates = interleave(contenders, TURNS)
        found.append(Row(name, "/s", rates["now"], rates["before"], "the version before the other games", goal))
    return found


if __name__ == "__main__":
    for row in rows():
        print(row.name, row.ours, row.against, round(row.ratio, 3))
