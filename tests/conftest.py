"""Settings for all tests: the same examples in every run; a test that fails only sometimes tells nobody anything."""

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
