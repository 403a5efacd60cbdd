"""Why something is not done."""

from __future__ import annotations

import msgspec


class Refusal(msgspec.Struct, frozen=True):
    """Why something is not done, for the person who asked, and what would make it possible."""

    reason: str
    possible_when: str
    clause: tuple[str, ...] = ()
