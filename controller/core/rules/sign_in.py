"""PINs and sign-ins: after too many wrong PINs, that person is locked out for a while.

The PIN itself is checked elsewhere; the core only receives whether it was right. Because lock-outs are journal events,
they survive a restart.
"""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core.actions import UnlockPerson
from controller.core.decision import Decision, Refusal, handles
from controller.core.events.table import AccessConfirmed, AccessDenied, AccessEnded, AccessGranted, AccessUnlocked
from controller.core.reports import SignIn, SignOut
from controller.core.state import State

TRIES: Final = 5  # wrong PINs in a row before a lock-out
LOCK_MS: Final = 300_000  # the first lock-out; each further wrong PIN doubles it
LONGEST_LOCK_MS: Final = 4 * 3_600_000
UNKNOWN_NAME: Final = ""  # all unknown names share one count


def locked_until_ms(state: State, who: str, now_ms: int) -> int:
    """When the lock-out of this name ends; 0 if it is not locked out."""
    wrong = state.wrong_pins.get(who)
    return wrong.until_ms if wrong and wrong.until_ms > now_ms else 0


def sign_in(d: Decision, report: SignIn) -> None:
    """Record a sign-in or a failed attempt. Attempts during a lock-out are not recorded."""
    who = report.who if report.known else UNKNOWN_NAME
    if locked_until_ms(d.state, who, d.now_ms):
        return
    if report.known and report.right:
        if report.action:
            d.emit(AccessConfirmed(who=who, action=report.action, via=report.via))
        else:
            d.emit(AccessGranted(who=who, roles=list(report.roles), via=report.via))
        return
    wrong = d.state.wrong_pins.get(who)
    count = (wrong.count if wrong else 0) + 1
    lock_ms = min(LOCK_MS << min(count - TRIES, 16), LONGEST_LOCK_MS) if count >= TRIES else 0
    reason = "wrong PIN" if report.known else "unknown name"
    until_ms = d.now_ms + lock_ms if lock_ms else 0
    d.emit(AccessDenied(who=who, via=report.via, reason=reason, count=count, until_ms=until_ms))


def sign_out(d: Decision, report: SignOut) -> None:
    """Record that a person is no longer signed in."""
    d.emit(AccessEnded(who=report.who, roles=list(report.roles), via=report.via, reason=report.reason))


@handles(UnlockPerson)
def unlock(d: Decision, act: UnlockPerson) -> Refusal | None:
    """A floorperson ends a lock-out, but not their own."""
    if act.person not in d.state.wrong_pins:
        return Refusal(f"{act.person or 'nobody'} is not locked out", "that person is locked out")
    if act.person == act.who:
        return Refusal("nobody can end their own lock-out", "another floorperson does it")
    d.emit(AccessUnlocked(who=act.who, person=act.person))
    return None
