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

# What a round goes through. Modules whose classes are made by msgspec, or that a test changes while it runs, stay as
# they are: mypyc does not take the first, and does not see the second.
COMPILED = (
    "firmware_bridge/wire/frame.py",
    "firmware_bridge/wire/health.py",
    "firmware_bridge/wire/link.py",
    "firmware_bridge/wire/link_types.py",
    "firmware_bridge/wire/packet.py",
    "firmware_bridge/wire/session.py",
    "controller/core/rules/sign_in.py",
    "controller/core/apply.py",
    "controller/core/rules/clock.py",
    "controller/core/concerns.py",
    "controller/core/rules/dealing.py",
    "controller/core/decision.py",
    "controller/core/rules/devices.py",
    "controller/core/rules/automatic.py",
    "controller/core/rules/gathering.py",
    "controller/core/rules/guards.py",
    "controller/core/rules/irregular.py",
    "controller/core/ledger.py",
    "controller/core/rules/locks.py",
    "controller/core/machines.py",
    "controller/core/rules/opening.py",
    "controller/core/rules/service.py",
    "controller/core/rules/shuffling.py",
    "controller/core/state.py",
    "controller/core/table.py",
    "controller/journal/chain.py",
    "controller/journal/memory.py",
    "controller/daemon/live_table.py",
    "simulators/campaign/checks.py",
    "simulators/campaign/unlucky_house.py",
    "simulators/campaign/clumsy_people.py",
    "simulators/campaign/witness.py",
    "simulators/devices/cards.py",
    "simulators/devices/device.py",
    "simulators/devices/firmware.py",
    "simulators/table/house.py",
    "simulators/devices/mechanics.py",
    "simulators/table/people.py",
    "simulators/devices/shoe.py",
    "simulators/devices/shuffler.py",
    "simulators/devices/shuffling.py",
    "simulators/pipes/wires.py",
)


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

    modules = mypycify(["--config-file=", "--ignore-missing-imports", *COMPILED], opt_level="2")
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
