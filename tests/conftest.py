"""Settings for all tests: the same examples in every run; a test that fails only sometimes proves nothing."""

import gc

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the garbage collector need not walk through it each time."""
    gc.collect()
    gc.freeze()
