"""Floods and attacks on a real daemon: `make test-attack`."""
