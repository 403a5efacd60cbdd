"""Settings for all tests: the same examples in every run; a test that fails only sometimes proves nothing."""

import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that names the clauses a test covers, of Dragon Poker or of another game."""
    config.addinivalue_line("markers", "clause(*names, game): the clauses of the rules that the test covers")


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the garbage collector need not walk through it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def shared_path() -> Iterator[Path]:
    """A temporary folder that other users may enter. Another run may close those of pytest to them at any time."""
    with tempfile.TemporaryDirectory(prefix="shared-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
