"""The marker by which a test says which clause it shows."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "clause(*names): the clauses of the rules that the test shows")
