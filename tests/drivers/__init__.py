"""Tests of the drivers for other makers' devices."""
