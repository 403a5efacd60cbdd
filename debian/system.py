"""Debian systems in build/, made by mmdebstrap, in which the package is built and the tests run on Debian's Python.

`python -m debian.system 13 make test` runs a command in a copy of this checkout, on Debian 13.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from debian.releases import CURRENT, ROOT, DebianRelease, parse

# The compiler builds libraries that have no wheel; with the wheels of setuptools and wheel, pip does that offline.
FOR_BUILDING = (
    "gcc",
    "libc6-dev",
    "python3-dev",
    "python3-pip",
    "python3-setuptools-whl",
    "python3-venv",
    "python3-wheel-whl",
)
# Without these, tests would be skipped.
FOR_TESTS = ("e2fsprogs", "libusb-1.0-0", "make", "mount", "systemd", "udev", "umockdev")
TOOLS = {"mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container"}  # command: its Debian package
WHEELS = "/wheels"  # inside
CHECKOUT = "/dragonshoe"  # inside
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"{WHEELS} /usr/share/python-wheels"}


def run(*command: str | Path) -> None:
    """Run a command that reports its own errors."""
    if subprocess.run([str(word) for word in command], cwd=ROOT, check=False).returncode:
        raise SystemExit(f"Failed: {' '.join(map(str, command))}")


def bootstrap(release: DebianRelease, target: Path, packages: tuple[str, ...], *options: str) -> None:
    """Make a Debian with these packages, as a folder or as a tar file. DEBIAN_MIRROR names another mirror."""
    mirror = os.environ.get("DEBIAN_MIRROR")
    done = subprocess.run(
        ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--dpkgopt=force-unsafe-io",
         f"--include={','.join(packages)}", *options, release.codename, str(target), *([mirror] if mirror else [])],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"mmdebstrap failed:\n{done.stdout}{done.stderr}")


def check_tools() -> None:
    """End with a message where no system can be made."""
    missing = sorted(package for command, package in TOOLS.items() if shutil.which(command) is None)
    if missing:
        raise SystemExit(f"Not installed: {', '.join(missing)}; run `apt install {' '.join(missing)}`")
    if os.geteuid() != 0:
        raise SystemExit("Only root can make a Debian system in a folder; run this as root")


@contextmanager
def made_from(path: Path, recipe: str) -> Iterator[bool]:
    """Whether something must be made because there is none from this recipe; two processes do not make it at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    note = path.with_name(f"{path.name}.recipe")
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        needed = not note.exists() or note.read_text() != recipe
        if needed:
            note.unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)
        yield needed
        note.write_text(recipe)


def system(release: DebianRelease) -> Path:
    """The Debian in which packages are built and tests run, made where it is missing."""
    check_tools()
    path = release.folder / "system"
    packages = FOR_BUILDING + (FOR_TESTS if release == CURRENT else ())
    with made_from(path, " ".join(packages)) as needed:
        if needed:
            print(f"making a Debian {release.number} in {path} ...", flush=True)
            bootstrap(release, path, packages)
    return path


def wheels(release: DebianRelease) -> Path:
    """Everything that requirements.lock names, for the Python of a release, downloaded where it is missing.

    Nothing else is in that folder. pip checks hashes of what it installs, but not of what it builds a library with.
    """
    lock = ROOT / "requirements.lock"
    path = release.folder / "wheels"
    with made_from(path, hashlib.sha256(lock.read_bytes()).hexdigest()) as needed:
        if needed:
            print(f"downloading libraries for Python {release.python_version} ...", flush=True)
            run(
                sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps",
                "--no-build-isolation", "--require-hashes", "--python-version", release.python_version,
                "-d", path, "-r", lock,
            )  # fmt: skip
        check_hashes(path, lock.read_text())
    return path


def check_hashes(folder: Path, lock: str) -> None:
    """End with a message if a folder contains a file whose hash is not in a lock file."""
    known = set(re.findall(r"--hash=sha256:([0-9a-f]{64})", lock))
    for file in sorted(folder.iterdir()):
        if hashlib.sha256(file.read_bytes()).hexdigest() not in known:
            raise SystemExit(f"{file}: requirements.lock does not name this file; delete {folder} and build again")


def run_inside(
    release: DebianRelease, *command: str, folder: Path, at: str, environment: dict[str, str] | None = None
) -> int:
    """Run a command on a Debian, without a network, in a folder of this machine; nothing else there is changed."""
    return subprocess.run(
        ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--console=pipe",
         "--as-pid2", "--volatile=overlay", f"--machine=dragonshoe-{os.getpid()}", f"--directory={system(release)}",
         f"--bind={folder}:{at}", f"--bind-ro={wheels(release)}:{WHEELS}", f"--chdir={at}",
         *(f"--setenv={name}={value}" for name, value in (OFFLINE | (environment or {})).items()), *command],
        stdin=subprocess.DEVNULL, check=False,
    ).returncode  # fmt: skip


def copy_checkout(release: DebianRelease) -> Path:
    """A copy of this checkout without what was built in it. What an earlier copy has built stays there."""
    path = release.folder / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    path.mkdir(parents=True, exist_ok=True)
    for old in path.iterdir():
        if old.name not in (".venv", "build", ".mypy_cache"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, path / name, follow_symlinks=False)
    return path


def main(words: list[str]) -> int:
    """Run a command in a copy of this checkout, on the Debian whose number comes first."""
    (release,) = parse(words[:1])
    return run_inside(release, *words[1:], folder=copy_checkout(release), at=CHECKOUT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
