"""The releases of Debian that the package is built for."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build"
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def architecture() -> str:
    """Debian's name for the processor of this machine."""
    try:
        shown = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise SystemExit("dpkg is not installed; packages are built and tested on Debian") from None
    return shown.stdout.strip()


@dataclass(frozen=True, slots=True)
class DebianRelease:
    """A release of Debian and its Python, which the package's environment is made for."""

    number: int
    codename: str
    python: tuple[int, int]

    @property
    def python_version(self) -> str:
        """For example `3.13`."""
        return "{}.{}".format(*self.python)

    @property
    def folder(self) -> Path:
        """Where everything that is made for this release is kept."""
        return BUILD / f"debian{self.number}"

    @property
    def version(self) -> str:
        """The package's version: higher for a newer release, so that upgrading Debian upgrades the package."""
        return f"{VERSION}+deb{self.number}"

    @property
    def package(self) -> Path:
        """The file that `make deb` writes on this machine."""
        return BUILD / f"dragonshoe_{self.version}_{architecture()}.deb"


RELEASES = {
    release.number: release
    for release in (DebianRelease(12, "bookworm", (3, 11)), DebianRelease(13, "trixie", (3, 13)))
}
CURRENT = RELEASES[13]


def parse(words: list[str]) -> list[DebianRelease]:
    """Releases by number; the current one if none is named."""
    if unknown := [word for word in words if word not in map(str, RELEASES)]:
        raise SystemExit(f"Unknown Debian release {', '.join(unknown)}; expected {' or '.join(map(str, RELEASES))}")
    return [RELEASES[int(word)] for word in words] or [CURRENT]
