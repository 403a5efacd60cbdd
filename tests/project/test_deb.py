"""How the Debian package is assembled; tests/package tests that it works once installed."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from debian import build, system
from debian.releases import CURRENT, RELEASES, parse

ROOT = Path(__file__).parents[2]
DEBIAN = ROOT / "debian"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


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
    assert names(build.needed(LOCK, ["Wanted_One[extra]>=4"])) == ["below", "middle", "wanted-one"]
    assert build.needed(LOCK, ["tests-only"]).count("--hash") == 3
    with pytest.raises(SystemExit, match="no absent; run `make lock`"):
        build.needed(LOCK, ["absent"])


def test_the_real_lock_gives_no_test_tools() -> None:
    shipped = set(names(build.needed((ROOT / "requirements.lock").read_text(), PROJECT["dependencies"])))
    assert {"pyserial", "pyusb", "transitions", "six", "structlog"} <= shipped
    assert not shipped & {"pytest", "hypothesis", "mypy", "ruff", "hatchling", "pymodbus"}


def wheel(folder: Path, text: str) -> str:
    """Write a wheel with one module; returns its hash."""
    file = folder / "tiny-1-py3-none-any.whl"
    info = {"METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n", "RECORD": "",
            "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}  # fmt: skip
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("tiny.py", text)
        for name, content in info.items():
            packed.writestr(f"tiny-1.dist-info/{name}", content)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_wheel_that_was_changed_is_not_built_into_the_package(tmp_path: Path) -> None:
    store, parts = tmp_path / "store", tmp_path / "parts"
    store.mkdir()
    parts.mkdir()
    lock = f"tiny==1 \\\n    --hash=sha256:{wheel(store, 'GOOD = True')}\n"
    (parts / "requirements.txt").write_text(lock)
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PIP_NO_INDEX": "1",
                   "PIP_FIND_LINKS": str(store), "PIP_CONFIG_FILE": "/dev/null"}  # fmt: skip

    def install() -> subprocess.CompletedProcess[str]:
        for made in ("wheels", "site"):
            shutil.rmtree(parts / made, ignore_errors=True)
        command = ["sh", "-c", build.INSTALL, "sh", "site"]
        return subprocess.run(command, cwd=parts, env=environment, capture_output=True, text=True, check=False)

    done = install()
    assert done.returncode == 0, done.stderr
    assert (parts / "site/tiny.py").read_text() == "GOOD = True"
    system.check_hashes(store, lock)
    wheel(store, "GOOD = False")
    assert "DO NOT MATCH THE HASHES" in install().stderr
    (parts / "requirements.txt").write_text("tiny==1\n")
    assert "Hashes are required" in install().stderr
    with pytest.raises(SystemExit, match=r"tiny-1-py3-none-any\.whl: requirements\.lock does not name this file"):
        system.check_hashes(store, lock)
    (store / "tiny-1-py3-none-any.whl").unlink()
    wheel(store, "GOOD = True")
    (store / "setuptools-99-py3-none-any.whl").write_text("what a library would be built with")
    with pytest.raises(SystemExit, match="setuptools-99"):
        system.check_hashes(store, lock)


@pytest.mark.parametrize("script", build.SCRIPTS)
def test_the_package_scripts_are_shell(script: str) -> None:
    subprocess.run(["sh", "-n", str(DEBIAN / script)], check=True)


def test_every_unit_and_rule_is_shipped() -> None:
    shipped = {path for pattern in build.SHIPPED for path in ROOT.glob(pattern)}
    assert {*(ROOT / "systemd").iterdir(), *(ROOT / "udev").iterdir()} <= shipped
    assert all(list(ROOT.glob(pattern)) for pattern in build.SHIPPED)


def test_every_release_has_a_package_of_its_own() -> None:
    assert len({release.package for release in RELEASES.values()}) == len(RELEASES)
    older, newer = (RELEASES[number].version for number in (12, 13))
    subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)
    subprocess.run(["dpkg", "--compare-versions", PROJECT["version"], "lt", older], check=True)


def test_the_classifiers_name_the_python_of_every_release() -> None:
    named = {f"Programming Language :: Python :: {release.python_version}" for release in RELEASES.values()}
    assert named <= set(PROJECT["classifiers"])


def test_releases_are_named_by_number() -> None:
    assert parse([]) == [CURRENT]
    assert parse(["13", "12"]) == [RELEASES[13], RELEASES[12]]
    with pytest.raises(SystemExit, match="Unknown Debian release trixie; expected 12 or 13"):
        parse(["trixie"])
