"""The version of the installed package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("dragonshoe")
except PackageNotFoundError:  # a source tree that was never installed
    VERSION = "0"
