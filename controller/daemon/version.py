"""The version of this program, as the package says it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("dragonshoe")
except PackageNotFoundError:  # a source tree that was never installed
    VERSION = "0"
