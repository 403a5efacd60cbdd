"""`python -m tests.fuzz [TARGET ...] --seconds N`: look for bytes that break a contract, guided by coverage.

With atheris where it is installed, else with hypothesis and an aim. What is found is put into tests/fuzz/corpus, and
the exit code is 1: fix it, and keep the file as a test.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
import subprocess
import sys
import time
from pathlib import Path

import click

CORPUS = Path(__file__).with_name("corpus")
SLOWEST_S = 60  # for one input, then it is a hang
MEMORY_MB = 1024
LONGEST = {"export": 70_000, "config": 8_000, "scenario": 8_000}  # bytes of an input; 2,000 for the others


def keep(name: str, data: bytes) -> Path:
    """Put an input where the tests find it."""
    path = CORPUS / name / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def guided(name: str, seconds: int) -> None:
    """Search by coverage, in this process, which atheris ends by itself."""
    import atheris

    with atheris.instrument_imports(include=["firmware_bridge", "controller", "simulators", "tomllib"]):
        from tests.fuzz import targets
    folder = Path("build/fuzz") / name
    folder.mkdir(parents=True, exist_ok=True)
    for data in targets.seeds(name):
        (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)

    def one(data: bytes) -> None:
        try:
            targets.TARGETS[name](data)
        except BaseException:
            click.echo(f"{name}: found {keep(name, data)}", err=True)
            raise

    words = [
        f"-max_total_time={seconds}",
        f"-timeout={SLOWEST_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={LONGEST.get(name, 2000)}",
    ]
    atheris.Setup(
        [sys.argv[0], "-seed=1", "-print_final_stats=1", *words, f"-artifact_prefix={folder}-", str(folder)], one
    )
    atheris.Fuzz()


def aimed(name: str, seconds: int) -> None:
    """Search with hypothesis, one seed after the other."""
    from hypothesis import HealthCheck, given, seed, settings, target
    from hypothesis import strategies as st

    from tests.fuzz import asked
    from tests.fuzz.targets import run, seeds
    from tests.fuzz.test_targets import CHANGES, changed

    end, inputs = time.monotonic() + seconds, 0
    while time.monotonic() < end:

        @seed(random.Random(inputs).randrange(2**32))
        @settings(
            max_examples=500,
            deadline=None,
            derandomize=False,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.sampled_from(seeds(name)), CHANGES)
        def search(good: bytes, changes: list[tuple[int, int, bytes]]) -> None:
            nonlocal inputs
            inputs += 1
            data = changed(good, changes)
            try:
                target(float(run(name, data)))
            except BaseException:
                keep(name, data)
                raise

        search()
    asked.over()
    click.echo(f"{name}: {inputs} inputs, nothing found")


@click.command()
@click.argument("names", nargs=-1)
@click.option("--seconds", type=int, default=60, show_default=True, help="For each target.")
@click.option("--here", is_flag=True, hidden=True)
def main(names: tuple[str, ...], seconds: int, here: bool) -> None:
    """Look for bytes that break a contract."""
    with_atheris = importlib.util.find_spec("atheris") is not None
    if here:
        (guided if with_atheris else aimed)(names[0], seconds)
        return
    from tests.fuzz.targets import TARGETS

    click.echo(f"each target for {seconds} s, with {'atheris' if with_atheris else 'hypothesis (no atheris here)'}")
    broken = []
    for name in names or TARGETS:
        begun = time.monotonic()
        words = [sys.executable, "-m", "tests.fuzz", name, "--here", "--seconds", str(seconds)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = (done.stdout + done.stderr).splitlines()
        summary = [line for line in lines if "number_of_executed_units" in line or "inputs" in line]
        click.echo(f"{name}: {time.monotonic() - begun:.0f} s, {' '.join(summary)}")
        if done.returncode:
            click.echo("\n".join(lines[-60:]), err=True)
            broken.append(name)
    if broken:
        raise SystemExit(f"contracts broken: {', '.join(broken)}; the inputs are in {CORPUS}")


if __name__ == "__main__":
    main()
