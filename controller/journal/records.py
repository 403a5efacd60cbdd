"""What a journal holds: events in their places, and the places themselves."""

from __future__ import annotations

from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True):
    """What happened, in its place. For a command to a device, `seq` is the command's id."""

    seq: int
    ts: str
    kind: str
    clause: tuple[str, ...]
    data: dict[str, Any]
    prev: str
    hash: str


class Checkpoint(msgspec.Struct, frozen=True):
    """A place in the chain: the number and the hash of an event."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


START = Checkpoint(0, "0" * 64)
"""Before the first event."""
