"""A session for tools that look at a device without taking it over from its controller."""

from __future__ import annotations

import secrets

from firmware_bridge.wire.session import HostSession


def random_boot() -> int:
    """A host boot id for one run of a tool."""
    return secrets.randbelow(2**32 - 1) + 1


def observer_session(software: str) -> HostSession:
    """A session that stores no events, so that the controller still gets them all."""
    return HostSession(host_boot=random_boot(), stored=None, software=software)
