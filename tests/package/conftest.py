"""The package under test, and the release of Debian that it is for; everything runs once for each release in DEBIAN."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from debian.releases import RELEASES, DebianRelease, parse

CHOSEN = parse(os.environ.get("DEBIAN", "").split()) if "DEBIAN" in os.environ else list(RELEASES.values())


@pytest.fixture(scope="module", params=CHOSEN, ids=lambda release: f"debian{release.number}")
def release(request: pytest.FixtureRequest) -> DebianRelease:
    """The Debian of the machine."""
    chosen: DebianRelease = request.param
    return chosen


@pytest.fixture(scope="module")
def package(release: DebianRelease) -> Path:
    """The package for it."""
    for tool in ("mmdebstrap", "systemd-nspawn", "nsenter"):
        assert shutil.which(tool), f"{tool} is missing: apt install mmdebstrap systemd-container util-linux"
    if not release.package.exists():
        pytest.skip(f"{release.package.name} is not built; run `make test-deb`")
    return release.package
