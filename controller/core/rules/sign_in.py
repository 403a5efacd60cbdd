"""PINs and sign-ins: after too many wrong PINs at one place, that person is locked out there for a while.

The PIN itself is checked elsewhere; the core only receives whether it was right. Because lock-outs are journal events,
they survive a restart. Wrong PINs are forgotten one by one as time passes; a right one does not make up for them.
"""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core.actions import UnlockPerson
from controller.core.decision import Decision, Refusal, handles
from controller.core.events.table import AccessConfirmed, AccessDenied, AccessEnded, AccessGranted, AccessUnlocked
from controller.core.reports import SignIn, SignOut
from controller.core.state import State

TRIES: Final = 5  # wrong PINs that are remembered before a lock-out
FORGET_MS: Final = 300_000  # one wrong PIN is forgotten in this time; it is also the length of a lock-out
UNKNOWN_NAME: Final = ""  # all unknown names share one count


def locked_until_ms(state: State, who: str, via: str, now_ms: int) -> int:
    """When the lock-out of this name at this place ends; 0 if it is not locked out there."""
    wrong = state.wrong_pins.get(who, {}).get(via)
    return wrong.until_ms if wrong and wrong.until_ms > now_ms else 0


def sign_in(d: Decision, report: SignIn) -> None:
    """Record a sign-in or a failed attempt. Attempts during a lock-out are not recorded."""
    who = report.who if report.known else UNKNOWN_NAME
    if locked_until_ms(d.state, who, report.via, d.now_ms):
        return
    if report.known and report.right:
        if report.action:
            d.emit(AccessConfirmed(who=who, action=report.action, via=report.via))
        else:
            d.emit(AccessGranted(who=who, roles=list(report.roles), via=report.via))
        return
    wrong = d.state.wrong_pins.get(who, {}).get(report.via)
    forgotten_ms = max(wrong.forgotten_ms if wrong else 0, d.now_ms) + FORGET_MS
    count = -(-(forgotten_ms - d.now_ms) // FORGET_MS)
    d.emit(
        AccessDenied(
            who=who,
            via=report.via,
            reason="wrong PIN" if report.known else "unknown name",
            count=count,
            until_ms=d.now_ms + FORGET_MS if count >= TRIES else 0,
            forgotten_ms=forgotten_ms,
        )
    )


def sign_out(d: Decision, report: SignOut) -> None:
    """Record that a person is no longer signed in."""
    d.emit(AccessEnded(who=report.who, roles=list(report.roles), via=report.via, reason=report.reason))


@handles(UnlockPerson)
def unlock(d: Decision, act: UnlockPerson) -> Refusal | None:
    """Somebody ends the lock-outs of a person, but not their own."""
    if act.person not in d.state.wrong_pins:
        return Refusal(f"{act.person or 'nobody'} is not locked out", "that person is locked out")
    if act.person == act.who:
        return Refusal("nobody can end their own lock-out", "another floorperson or a technician does it")
    d.emit(AccessUnlocked(who=act.who, person=act.person))
    return None
