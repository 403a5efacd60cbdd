"""Who was let in at the screen, and who was not: a PIN that is wrong too often locks its owner out for a while.

The PIN itself is looked at outside; here is only whether it was right. So a lock-out survives a restart.
"""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core.actions import UnlockPerson
from controller.core.decision import Decision, Refusal, handles
from controller.core.events.table import AccessDenied, AccessGranted, AccessUnlocked
from controller.core.reports import SignIn
from controller.core.state import State

TRIES: Final = 5  # wrong PINs in a row before a lock-out
LOCK_MS: Final = 300_000  # the first lock-out; each further wrong PIN doubles it
LONGEST_LOCK_MS: Final = 4 * 3_600_000
UNKNOWN_NAME: Final = ""  # all names that nobody here has count as one


def locked_until_ms(state: State, who: str, now_ms: int) -> int:
    """Until when nobody gets in under this name; 0 if the door is open."""
    wrong = state.wrong_pins.get(who)
    return wrong.until_ms if wrong and wrong.until_ms > now_ms else 0


def sign_in(d: Decision, report: SignIn) -> None:
    """Let a person in, or note that somebody was not who they said. Nothing is noted of tries during a lock-out."""
    who = report.who if report.known else UNKNOWN_NAME
    if locked_until_ms(d.state, who, d.now_ms):
        return
    if report.known and report.right:
        d.emit(AccessGranted(who=who, roles=list(report.roles), via=report.via))
        return
    wrong = d.state.wrong_pins.get(who)
    count = (wrong.count if wrong else 0) + 1
    lock_ms = min(LOCK_MS << min(count - TRIES, 16), LONGEST_LOCK_MS) if count >= TRIES else 0
    reason = "wrong PIN" if report.known else "nobody here has that name"
    until_ms = d.now_ms + lock_ms if lock_ms else 0
    d.emit(AccessDenied(who=who, via=report.via, reason=reason, count=count, until_ms=until_ms))


@handles(UnlockPerson)
def unlock(d: Decision, act: UnlockPerson) -> Refusal | None:
    """A floorperson ends a lock-out; never their own."""
    if act.person not in d.state.wrong_pins:
        return Refusal(f"{act.person or 'nobody'} is not locked out", "somebody is")
    if act.person == act.who:
        return Refusal("nobody ends their own lock-out", "another floorperson does it")
    d.emit(AccessUnlocked(who=act.who, person=act.person))
    return None
