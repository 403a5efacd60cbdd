"""The marker that names the clauses a test covers."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "clause(*names): the clauses of the rules that the test covers")
