"""Tests, and the measurements of `make bench`."""
