"""Whom an event concerns: after most events of ordinary play the clock, the rules or the locks need not be asked again.

Data, not code. A kind that is not named concerns all of them, so a new one is safe. tests/core/test_concerns.py plays
with this table and without it, and compares.
"""

# mypyc
from __future__ import annotations

from typing import Final

CLOCK: Final = 1  # what `clock.deadline_ms` looks at: what devices do, since when a deck is played, warnings
RULES: Final = 2  # what the rules of `follow` wait for
LOCKS: Final = (
    4  # what can put an end to `locks.all_well`: a warning, a hindrance, a void deck, a device that comes back
)
ALL: Final = CLOCK | RULES | LOCKS

CONCERNS: Final[dict[str, int]] = {
    "command.given": CLOCK | RULES,
    "cycle.completed": CLOCK | RULES,
    "round.started": CLOCK | RULES,
    # They move cards or change what is done next, and leave times and warnings as they are.
    "bets.closed": RULES,
    "betting.opened": RULES,
    "cards.presented": RULES,
    "count.accepted": RULES,
    "dealer.revealed": RULES,
    "dealing.completed": RULES,
    "deck.inserted": RULES,
    "deck.loaded": RULES,
    "exit.emptied": RULES,
    "hand.collected": RULES,
    "players.acted": RULES,
    "round.completed": RULES,
    "shuffle.completed": RULES,
    "shuffle.started": RULES,
    "stack.taken": RULES,
    "stub.removed": RULES,
    # A device is still at work, and the rules wait for its end.
    "dealer.held": 0,
    "stack.dispensed": 0,
    # No rule looks at what they change.
    "action.refused": 0,
    "cards.counted": 0,
    "command.answered": 0,
    "device.reported": 0,
    "seats.wagered": 0,
}
