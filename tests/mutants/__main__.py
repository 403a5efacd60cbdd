"""`python -m tests.mutants`: changes conditions in the rules of the core, one at a time, and runs the tests.

A mutant is one condition in `controller/core/rules/` that is forced false, or one comparison that is flipped. The seed
picks a number of them. Each is put into a copy of this checkout, where the tests run until the first that fails. The
figure is caught / number: the mutants after which a test fails or does not end, of those that were tried. The exit code
is 0 if at least 95 of 100 are caught. It takes hours on a small machine, and is not part of `make test`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.mutation import Mutant, all_mutants

ROOT = Path(__file__).parents[2]
RULES = "controller/core/rules"
WANTED = 0.95
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".mypy_cache", ".ruff_cache", "node_modules")
# The fastest that catch most come first. What only reads the source, such as tests/core/test_rules.py, is left out.
STAGES = (
    ("tests/core", "--ignore=tests/core/test_property.py", "--ignore=tests/core/test_rules.py"),
    ("tests/simulators/test_scenarios.py", "tests/simulators/test_house.py", "tests/core/test_property.py"),
    ("tests/campaign/test_found.py", "tests/campaign/test_planted_defects.py", "tests/simulators/test_campaign.py"),
    ("tests/api", "tests/daemon", "tests/journal", "tests/cli"),
)


class Checkout:
    """A copy of this checkout in which tests run. One mutant is in it at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        self._written = time.time() - 1_000_000

    def write(self, file: str, source: str) -> None:
        """Write a module with a new time, so that Python does not take its bytecode from before."""
        self._written += 2
        path = self.folder / file
        path.write_text(source)
        os.utime(path, (self._written, self._written))

    def failure(self, stage: tuple[str, ...], limit_s: float) -> str:
        """The first test that fails; empty if none does."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-rfE", *stage]
        where = {**os.environ, "PYTHONPATH": str(self.folder), "EXAMPLES": "220"}
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=where, capture_output=True, text=True, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            return f"does not end in {limit_s:.0f} s: {' '.join(stage)}"
        if done.returncode == 0:
            return ""
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0].split(" - ")[0] if failed else f"pytest ended with {done.returncode}"


def limits(checkout: Checkout, stages: tuple[tuple[str, ...], ...]) -> list[float]:
    """How long each stage may take. The tests must pass without a mutant."""
    found = []
    for stage in stages:
        began = time.monotonic()
        failure = checkout.failure(stage, 3600)
        if failure:
            raise SystemExit(f"The tests must pass before mutants are tried: {failure}")
        found.append(60 + 4 * (time.monotonic() - began))
    return found


def main() -> None:
    """Try a number of mutants."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--number", type=int, default=100, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at the same time")
    parser.add_argument("--stages", type=int, default=len(STAGES), help="run only the first of the four sets of tests")
    parser.add_argument("--list", action="store_true", help="only print them")
    options = parser.parse_args()
    every = all_mutants(ROOT, RULES)
    chosen = sorted(random.Random(options.seed).sample(every, min(options.number, len(every))))
    print(f"{len(chosen)} of {len(every)} mutants, seed {options.seed}", flush=True)
    if options.list:
        print(*chosen, sep="\n")
        return
    free: SimpleQueue[Checkout] = SimpleQueue()
    for number in range(options.jobs):
        free.put(Checkout(ROOT / "build" / "mutants" / str(number)))
    first = free.get()
    stages = STAGES[: options.stages]
    limits_s = limits(first, stages)
    free.put(first)

    def caught_by(mutant: Mutant) -> str:
        checkout = free.get()
        source = (checkout.folder / mutant.file).read_text()
        checkout.write(mutant.file, mutant.applied_to(source))
        try:
            for stage, limit_s in zip(stages, limits_s, strict=True):
                failure = checkout.failure(stage, limit_s)
                if failure:
                    return failure
            return ""
        finally:
            checkout.write(mutant.file, source)
            free.put(checkout)

    survivors = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, failure in zip(chosen, pool.map(caught_by, chosen), strict=True):
            print(
                f"{'caught' if failure else 'MISSED'}  {mutant}\n        {failure or 'every test passed'}", flush=True
            )
            if not failure:
                survivors.append(mutant)
    caught = len(chosen) - len(survivors)
    print(f"\ncaught {caught} of {len(chosen)}, seed {options.seed}", *survivors, sep="\n")
    sys.exit(caught < WANTED * len(chosen))


if __name__ == "__main__":
    main()
