"""Every target of the Makefile can be made: each of its prerequisites has a rule. Nothing is run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOORS = [
    door
    for line in re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for door in line.split()
]

if shutil.which("make") is None:
    pytest.skip("no make here", allow_module_level=True)


def test_the_doors_that_the_readme_names_are_there() -> None:
    """The list is read from the file: an empty one would test nothing."""
    assert {"run", "test", "campaign", "bench"} <= set(DOORS)


@pytest.mark.parametrize("door", DOORS)
def test_a_door_has_all_that_it_stands_on(door: str) -> None:
    """`make -n` says what would be done, or that there is no rule for something."""
    said = subprocess.run(["make", "-n", door], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert said.returncode == 0, said.stderr


def test_one_file_is_tested_without_lint() -> None:
    file = "tests/core/test_round.py"
    said = subprocess.run(
        ["make", "-n", "test", f"ARGS={file}"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert f"pytest {file}\n" in said.stdout
    assert "mypy" not in said.stdout


@pytest.mark.parametrize(("given", "seed"), [(["SEED=7"], "campaign --seed 7 --rounds"), ([], "campaign  --rounds")])
def test_a_campaign_takes_a_seed_and_has_none_of_its_own(
    given: list[str], seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SEED", "MAKEFLAGS"):  # as `make test SEED=5` would set them
        monkeypatch.delenv(name, raising=False)
    said = subprocess.run(
        ["make", "-n", "campaign", *given], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert seed in said.stdout
