"""How the Debian package is put together; that it works once installed is tested in tests/package."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DEBIAN = ROOT / "debian"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def builder() -> Any:
    """debian/build.py, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("build", DEBIAN / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILDER = builder()

LOCK = """\
alone==1 \\
    --hash=sha256:aa
    # via it (pyproject.toml)
below==2 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
    # via
    #   middle
    #   tests-only
middle==3 \\
    --hash=sha256:dd
    # via wanted-one
tests-only==4 \\
    --hash=sha256:ee
    # via it (pyproject.toml)
wanted-one==5 \\
    --hash=sha256:ff
    # via it (pyproject.toml)
"""


def names(lock: str) -> list[str]:
    return re.findall(r"^([\w.-]+)==", lock, re.M)


def test_only_what_runs_is_shipped_with_what_it_depends_on() -> None:
    assert names(BUILDER.needed(LOCK, ["Wanted_One[extra]>=4"])) == ["below", "middle", "wanted-one"]
    assert BUILDER.needed(LOCK, ["tests-only"]).count("--hash") == 3
    with pytest.raises(SystemExit, match="no absent; run `make lock`"):
        BUILDER.needed(LOCK, ["absent"])


def test_the_real_lock_gives_no_test_tools() -> None:
    shipped = set(names(BUILDER.needed((ROOT / "requirements.lock").read_text(), PROJECT["dependencies"])))
    assert {"pyserial", "pyusb", "transitions", "six", "structlog"} <= shipped
    assert not shipped & {"pytest", "hypothesis", "mypy", "ruff", "hatchling", "pymodbus"}


@pytest.mark.parametrize("script", BUILDER.SCRIPTS)
def test_the_package_scripts_are_shell(script: str) -> None:
    subprocess.run(["sh", "-n", str(DEBIAN / script)], check=True)


def test_every_unit_and_rule_is_shipped() -> None:
    shipped = {path for pattern in BUILDER.SHIPPED for path in ROOT.glob(pattern)}
    assert {*(ROOT / "systemd").iterdir(), *(ROOT / "udev").iterdir()} <= shipped
    assert all(list(ROOT.glob(pattern)) for pattern in BUILDER.SHIPPED)
