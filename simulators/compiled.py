"""`python -m simulators.compiled FOLDER`: the same packages there, with the code of a round compiled.

mypyc turns typed Python into C. What comes out does the same in less than half of the time: tests/compiled plays the
same rounds with both and compares every byte. It is for simulations alone, where millions of rounds are played; a table
has all the time it needs. A C compiler and the headers of Python are needed.

    PYTHONPATH=FOLDER shoesim campaign ...
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PACKAGES = ("firmware_bridge", "controller", "simulators")
MADE = ".made"  # lies in a folder that was made here: only such a one is made anew

# A module says itself that it is compiled, with this line after its docstring. It is right for what a round goes
# through. Modules with classes made by msgspec, or that a test changes while it runs, do not have it: mypyc does not
# support the first, and does not see the second.
MARK = "# mypyc"


def marked(folder: Path) -> list[str]:
    """The modules under this folder that are to be compiled."""
    modules = [module for package in PACKAGES for module in (folder / package).rglob("*.py")]
    return sorted(str(module.relative_to(folder)) for module in modules if MARK in module.read_text().splitlines())


def copy(folder: Path) -> None:
    """The packages as they are, without what was compiled before. A folder with anything else in it is left alone."""
    if folder.exists() and not (folder / MADE).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SystemExit(f"{folder}: there is something else; name a folder that is empty or not there yet")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MADE).touch()
    for package in PACKAGES:
        source = Path(__file__).parent.parent / package
        shutil.copytree(source, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))


def build() -> None:
    """Compile what lies in this folder. It is a folder of its own: setuptools reads what it finds beside it."""
    from mypyc.build import mypycify
    from setuptools import setup

    modules = mypycify(["--config-file=", "--ignore-missing-imports", *marked(Path.cwd())], opt_level="2")
    setup(name="dragonshoe-compiled", packages=[], py_modules=[], ext_modules=modules)


def main() -> None:
    """Copy, then compile in a process that stands there."""
    if sys.argv[1:2] == ["build_ext"]:
        build()
        return
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m simulators.compiled FOLDER")
    if shutil.which(os.environ.get("CC", "cc")) is None:
        raise SystemExit("no C compiler: as root, apt-get install gcc python3-dev libc6-dev")
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        raise SystemExit(f"no headers of {sys.executable}: as root, apt-get install python3-dev")
    folder = Path(sys.argv[1]).resolve()
    copy(folder)
    command = [sys.executable, "-m", "simulators.compiled", "build_ext", "--inplace", "-q"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}not compiled: the compiler's words are above")
    shutil.rmtree(folder / "build", ignore_errors=True)


if __name__ == "__main__":
    main()
