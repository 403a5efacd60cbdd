"""A Debian machine in a container: it has its own systemd and everything else except a kernel."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from debian.releases import DebianRelease
from debian.system import bootstrap, made_from

BOOT_S = 120.0  # a generous deadline, because the host may be busy
PACKAGES = ("systemd", "systemd-sysv", "udev", "dbus", "python3", "libusb-1.0-0", "init-system-helpers", "sqlite3")


def make_root(release: DebianRelease, root: Path) -> None:
    """Unpack a bare Debian, which is made once and kept, into memory: it is gone when `root` is unmounted."""
    archive = release.folder / "bare.tar"
    with made_from(archive, " ".join(PACKAGES)) as needed:
        if needed:
            bootstrap(release, archive, PACKAGES)
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1G,mode=755", "tmpfs", str(root)], check=True)
    subprocess.run(["tar", "-xf", str(archive), "-C", str(root)], check=True)


def until(what: str, true: Callable[[], bool], within_s: float = BOOT_S) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.1)


class Machine:
    """A running container."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        self.log = root.parent / "machine.log"
        with self.log.open("wb") as log:
            self._outer = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--console=pipe",
                 f"--machine=shoed-{time.monotonic_ns()}", "--boot", f"--directory={root}", *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._inner = 0

    def wait_for_boot(self) -> None:
        """Return once commands can be run."""
        until(f"the container runs; see {self.log}", self._find_inner)
        until("it has booted", lambda: self.run("systemctl is-system-running", check=False) in ("running", "degraded"))

    def _find_inner(self) -> bool:
        assert self._outer.poll() is None, self.log.read_text(errors="replace")
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text().split()
        for child in children:
            if Path(f"/proc/{child}/comm").read_text() == "systemd\n":
                self._inner = int(child)
        return self._inner != 0

    def run(self, command: str, check: bool = True) -> str:
        """Run a command line as root inside; return its standard output and error."""
        inside = ["nsenter", "--target", str(self._inner), "--all"]
        clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        done = subprocess.run(
            [*inside, *clean, "sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
        return done.stdout.strip()

    def unit(self, name: str, key: str) -> str:
        """A property of a unit."""
        return self.run(f"systemctl show --value --property={shlex.quote(key)} {shlex.quote(name)}")

    def close(self) -> None:
        """Cut the power."""
        if self._inner:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._inner, signal.SIGKILL)
        try:
            self._outer.wait(30)
        except subprocess.TimeoutExpired:
            self._outer.kill()
            self._outer.wait()
