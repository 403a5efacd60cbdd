"""`make test-appliance`: the package on a real Debian with kernel, systemd, udev and USB, in an emulated machine.

Exit 0 when every check holds, 1 when one does not, 3 when this computer cannot run the test.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from debian.releases import parse
from tests.appliance.checks import CHECKS, Appliance
from tests.appliance.image import CannotRun, Image, get_image, get_tools
from tests.appliance.machine import Machine, cores
from tests.appliance.table import PlayedTable

HERE = Path(__file__).parent
CANNOT = 3
NEEDED = (0, 2)  # the others depend on these: installation and connecting the devices


def main(words: list[str]) -> int:
    """Run all checks, or only those whose names contain one of the words; that does not count as a pass."""
    try:
        get_tools()
        (release,) = parse(os.environ.get("DEBIAN", "").split())
        package = release.package
        if not package.exists():
            raise CannotRun(f"{package} is missing; run `make deb`")
        fields = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, capture_output=True, text=True)
        image = get_image(release, tuple(re.findall(r"(?:^|, )([a-z0-9.+-]+)", fields.stdout.strip())))
    except CannotRun as error:
        print(f"make test-appliance: not run: {error}", file=sys.stderr)
        return CANNOT
    # Short: the path of a Unix socket has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="shoe-") as folder:
        return _run(Path(folder), package, image, words)


def _payload(folder: Path, package: Path) -> tuple[Path, str]:
    """A second disk with the package, the same package with a higher version, and the programs that run inside."""
    files, tree = folder / "payload", folder / "upgrade"
    files.mkdir()
    for source in (package, HERE / "person.py", HERE / "probe.py"):
        shutil.copy(source, files)
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^(Version: .*)$", r"\1+upgrade", control.read_text()))
    subprocess.run(
        ["dpkg-deb", "-Znone", "--root-owner-group", "-b", tree, files], check=True, stdout=subprocess.DEVNULL
    )
    disk = folder / "payload.img"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", files, disk, "128M"], check=True, capture_output=True)
    return disk, next(path.name for path in files.glob("*+upgrade_*.deb"))


def _run(folder: Path, package: Path, image: Image, words: list[str]) -> int:
    payload, upgrade = _payload(folder, package)
    machine = Machine(image, folder, payload, cores())
    table = PlayedTable(machine)
    appliance = Appliance(machine, table, package.name, upgrade)
    took: dict[str, float] = {}
    failed: list[str] = []
    chosen = {
        name: run
        for number, (name, run) in enumerate(CHECKS.items())
        if number in NEEDED or not words or any(word in name for word in words)
    }
    try:
        print(f"booting ({cores()} processors, no KVM) ...", flush=True)
        machine.switch_on()
        machine.run("systemctl", "is-system-running", "--wait")
        appliance.boot_s = time.monotonic() - machine.started_at
        print(f"up after {appliance.boot_s:.1f} s", flush=True)
        for name, run in chosen.items():
            begun = time.monotonic()
            appliance.notes.clear()
            try:
                run(appliance)
                word = "passed"
            except Exception as error:
                word = "FAILED"
                failed.append(name)
                appliance.notes.append(f"{type(error).__name__}: {error}")
                appliance.notes.append(_diagnosis(machine))
            took[name] = time.monotonic() - begun
            print(f"{word}  {took[name]:6.1f} s  {name}", flush=True)
            for note in appliance.notes:
                print(f"        {note}", flush=True)
            if failed and name == next(iter(CHECKS)):
                break  # the others depend on it
    finally:
        machine.close()
        table.close()
    _summarise(appliance, took, failed)
    return 0 if not failed and len(took) == len(CHECKS) else 1


def _diagnosis(machine: Machine) -> str:
    try:
        said = machine.out("journalctl", "--no-pager", "-o", "short-monotonic", "-n", "60")
    except Exception as error:  # the machine is off or hangs: show its console
        said = f"{error}\n{machine.console()}"
    return "\n        ".join(said.splitlines())


def _summarise(appliance: Appliance, took: dict[str, float], failed: list[str]) -> None:
    boot_s = appliance.boot_s
    print(f"\nThe machine's own boot takes {boot_s:.1f} s; ratios to it are in parentheses.")
    for name, seconds in took.items():
        print(f"  {'FAILED' if name in failed else 'passed'} {seconds:7.1f} s ({seconds / boot_s:5.2f})  {name}")
    for name in [name for name in CHECKS if name not in took]:
        print(f"  not run                    {name}")
    for what, figures in appliance.figures.items():
        figures.sort()
        middle = figures[len(figures) // 2]
        spread = f", {figures[0]:.1f} to {figures[-1]:.1f} s in {len(figures)}" if len(figures) > 1 else ""
        print(f"  {what}: {middle:.1f} s ({middle / boot_s:.2f}){spread}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the machine is stopped too
    sys.exit(main(sys.argv[1:]))
