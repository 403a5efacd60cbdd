"""`python -m simulators.compiled FOLDER`: copies the packages there, with the code of a round compiled.

mypyc turns typed Python into C. The result does the same in less than half the time: tests/compiled plays the
same rounds with both and compares every byte. It is for simulations alone, where millions of rounds are played; a table
has all the time it needs. A C compiler and the headers of Python are needed.

    PYTHONPATH=FOLDER shoesim campaign ...

The environment variable OPT is the C compiler's level of optimisation: 2, or 0 to compile in half of the time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PACKAGES = ("firmware_bridge", "controller", "simulators")
MADE = ".made"  # marks a folder that was made here: only such a folder is replaced

# A module with this line after its docstring is compiled: those that take part in a round. Modules with msgspec
# structs or with names that a test replaces at run time are not marked: mypyc does not support the former, and does
# not see the latter.
MARK = "# mypyc"


def marked(folder: Path) -> list[str]:
    """The modules under this folder that are to be compiled."""
    modules = [module for package in PACKAGES for module in (folder / package).rglob("*.py")]
    return sorted(str(module.relative_to(folder)) for module in modules if MARK in module.read_text().splitlines())


def copy(folder: Path) -> None:
    """Copy the packages, without compiled files. A folder with anything else in it is left alone."""
    if folder.exists() and not (folder / MADE).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SystemExit(f"{folder} contains something else; name an empty or new folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MADE).touch()
    for package in PACKAGES:
        source = Path(__file__).parent.parent / package
        shutil.copytree(source, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))


def build() -> None:
    """Compile the packages in the current folder, which is separate because setuptools reads what is beside them."""
    from mypyc.build import mypycify
    from setuptools import setup

    level = os.environ.get("OPT", "2")
    modules = mypycify(
        ["--config-file=", "--ignore-missing-imports", *marked(Path.cwd())], opt_level=level, debug_level="0"
    )
    for module in modules:  # Python's own flags ask for warnings, and looking for them takes longer than compiling
        module.extra_compile_args.append("-Wno-all")
    setup(name="dragonshoe-compiled", packages=[], py_modules=[], ext_modules=modules)


def main() -> None:
    """Copy, then compile in a process that runs in the folder."""
    if sys.argv[1:2] == ["build_ext"]:
        build()
        return
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m simulators.compiled FOLDER")
    if shutil.which(os.environ.get("CC", "cc")) is None:
        raise SystemExit("no C compiler: as root, apt-get install gcc python3-dev libc6-dev")
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        raise SystemExit(f"the headers of {sys.executable} are missing: as root, apt-get install python3-dev")
    folder = Path(sys.argv[1]).resolve()
    copy(folder)
    command = [sys.executable, "-m", "simulators.compiled", "build_ext", "--inplace", "-q"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}compilation failed; see the compiler's output above")
    shutil.rmtree(folder / "build", ignore_errors=True)


if __name__ == "__main__":
    main()
