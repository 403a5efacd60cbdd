"""Why an action is refused."""

from __future__ import annotations

import msgspec

from controller.games.rulebook import Rule


class Refusal(msgspec.Struct, frozen=True):
    """Why an action is refused, when it would be possible, and the rules behind it.

    The texts are fragments: they are shown as "Refused: REASON. Possible when POSSIBLE_WHEN." Instead of a rule, a
    clause that an earlier event cited may be given, such as that of a warning.
    """

    reason: str
    possible_when: str
    rules: tuple[Rule | str, ...] = ()
    confirm: bool = False  # possible at once if the person confirms it
