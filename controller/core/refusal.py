"""Why something is not done."""

from __future__ import annotations

import msgspec

from controller.games.rulebook import Rule


class Refusal(msgspec.Struct, frozen=True):
    """Why something is not done, for the person who asked, what would make it possible, and the rules behind it.

    A rule may also be a clause that an earlier event has cited, such as a warning's.
    """

    reason: str
    possible_when: str
    rules: tuple[Rule | str, ...] = ()
