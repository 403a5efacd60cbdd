"""Events of the table as a whole: opening and closing, betting, warnings, the host, and who signed in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from controller.core.events.event import Actor, Entry, Event, PersonEvent
from controller.core.names import spoken
from controller.core.warning_kinds import warning_name

# --- the table ------------------------------------------------------------------------------------------------------


class TableConfigured(PersonEvent):
    """The table was set up; this applies until the next set-up."""

    kind = "table.configured"
    setup: dict[str, Any]

    def sentence(self) -> str:
        return "The table was set up from its configuration."


class TableOpened(PersonEvent):
    """The table opened for gaming."""

    kind = "table.opened"

    def sentence(self) -> str:
        return f"{self.who} opened the table."


class OpeningCompleted(Event):
    """Every deck has been through the opening procedure."""

    kind = "opening.completed"
    decks: list[str]

    def sentence(self) -> str:
        return "The decks are ready for play."


class TableClosed(PersonEvent):
    """The table closed; its decks were removed. `wagers`: the seats whose wagers no longer count."""

    kind = "table.closed"
    wagers: list[int] = msgspec.field(default_factory=list)

    def sentence(self) -> str:
        return f"{self.who} closed the table."


class TableIdled(PersonEvent):
    """The table is open but has no players. `wagers`: the seats whose wagers no longer count."""

    kind = "table.idled"
    wagers: list[int] = msgspec.field(default_factory=list)

    def sentence(self) -> str:
        return f"{self.who} reported that the table has no players."


class PlayerCame(PersonEvent):
    """The first player arrived at an idle table."""

    kind = "player.arrived"

    def sentence(self) -> str:
        return "A player arrived."


class TableSuspended(Event):
    """A warning prevents the next round."""

    kind = "table.suspended"
    reason: str
    warnings: list[str]

    def sentence(self) -> str:
        return f"The table is suspended: {self.reason}."


class TableResumed(Event):
    """No warning prevents the next round any more."""

    kind = "table.resumed"

    def sentence(self) -> str:
        return "The table resumed."


class MethodChanged(PersonEvent):
    """The dealing method was changed."""

    kind = "method.changed"
    method: str
    was: str

    def sentence(self) -> str:
        return f"{self.who} changed the dealing method from {spoken(self.was)} to {spoken(self.method)}."


class TurnPassed(Event):
    """The other deck is next, out of turn."""

    kind = "turn.passed"
    back: str

    def sentence(self) -> str:
        return f"The deck with {self.back} backs is next."


# --- bets -----------------------------------------------------------------------------------------------------------


class BettingOpened(Event):
    """The deck is loaded and a round can start."""

    kind = "betting.opened"
    deck: str

    def sentence(self) -> str:
        return "Betting is open."


class BettingWithdrawn(Event):
    """A round can no longer start."""

    kind = "betting.withdrawn"
    reason: str

    def sentence(self) -> str:
        return f"Betting is withdrawn: {self.reason}."


class SeatsWagered(PersonEvent):
    """The seats that have wagered so far."""

    kind = "seats.wagered"
    seats: list[int]

    def sentence(self) -> str:
        if not self.seats:
            return "No seat has wagered."
        return f"Wagers at seat{'s' * (len(self.seats) > 1)} {', '.join(map(str, self.seats))}."


class BetsClosed(PersonEvent):
    """No more bets."""

    kind = "bets.closed"
    seats: list[int]

    def sentence(self) -> str:
        return "No more bets."


# --- refusals and warnings ------------------------------------------------------------------------------------------


class ActionRefused(PersonEvent):
    """A person asked for something that is not allowed now.

    `confirm`: it would be allowed if the person confirmed the number, which is in `cards`.
    """

    kind = "action.refused"
    action: str
    role: str
    reason: str
    possible_when: str
    confirm: bool = False
    cards: int | None = None

    def sentence(self) -> str:
        return f'Refused "{spoken(self.action).capitalize()}" by {self.who}: {self.reason}.'


class CutRefused(ActionRefused):
    """A cut at the wrong depth."""

    kind = "cut.refused"

    def sentence(self) -> str:
        return f"The cut was refused: {self.reason}."


def refusals(made: Iterable[Entry]) -> list[Entry]:
    """The refusals among the events that a report led to."""
    return [entry for entry in made if isinstance(entry.event, ActionRefused)]


class WarningRaised(Event):
    """A warning, which stays until its cause is gone and a person has cleared it."""

    kind = "warning.raised"
    warning: str
    text: str
    why: list[str]
    needs: str
    by_device: str
    of_deck: str
    gone: bool

    def sentence(self) -> str:
        return f"Warning: {self.text}."


class WarningCauseGone(Event):
    """The cause of a warning is gone, so it can be cleared."""

    kind = "warning.cause_gone"
    warning: str
    text: str = ""

    def sentence(self) -> str:
        return f"The cause of the warning is gone: {self.text or warning_name(self.warning)}."


class WarningCleared(PersonEvent):
    """A person cleared a warning."""

    kind = "warning.cleared"
    warning: str
    role: str
    text: str = ""

    def sentence(self) -> str:
        return f"{self.who} cleared the warning: {self.text or warning_name(self.warning)}."


# --- the host and its people ----------------------------------------------------------------------------------------


class HostStarted(Event):
    """The daemon started: the computer's boot id, the time since its boot, and how long the daemon was down.

    `wall_ms` is what the computer's wall clock said, in milliseconds since 1970; `replaces` the id of the
    previous journal, if the daemon was started with --new-journal.
    """

    kind = "host.started"
    actor = Actor.HOST
    boot_id: str
    up_ms: int
    away_ms: int
    software: str
    wall_ms: int = -1
    replaces: str = ""

    def sentence(self) -> str:
        instead = f"; this journal takes the place of journal {self.replaces}" if self.replaces else ""
        return f"The controller started, version {self.software}{instead}."


class SnapshotTaken(Event):
    """The state after an event is saved for a faster start. A saved state with another digest is never used."""

    kind = "snapshot.taken"
    actor = Actor.HOST
    of_event: int
    digest: str

    def sentence(self) -> str:
        return f"The controller saves the state after event {self.of_event}."


class AccessGranted(PersonEvent):
    """A person signed in with their PIN."""

    kind = "access.granted"
    roles: list[str]
    via: str

    def sentence(self) -> str:
        return f"{self.who} signed in at the {self.via}."


class AccessConfirmed(PersonEvent):
    """A person entered their PIN for one action, which follows."""

    kind = "access.confirmed"
    action: str
    via: str

    def sentence(self) -> str:
        return f'{self.who} confirmed "{spoken(self.action)}" with their PIN at the {self.via}.'


class AccessEnded(PersonEvent):
    """A person is no longer signed in; `reason` is empty if they signed out themselves."""

    kind = "access.ended"
    roles: list[str]
    via: str
    reason: str = ""

    def sentence(self) -> str:
        if not self.reason:
            return f"{self.who} signed out at the {self.via}."
        return f"{self.who} was signed out at the {self.via}: {self.reason}."


class AccessDenied(PersonEvent):
    """A wrong PIN, or an unknown name (`who` is empty): locked at `via` until `until_ms`, forgotten `forgotten_ms`."""

    kind = "access.denied"
    via: str
    reason: str
    count: int
    until_ms: int
    forgotten_ms: int = 0

    def sentence(self) -> str:
        whom = f" of {self.who}" if self.who else ""
        return f"Sign-in{whom} refused at the {self.via}: {self.reason}."


class AccessUnlocked(PersonEvent):
    """Somebody ended the lock-outs of a person."""

    kind = "access.unlocked"
    person: str

    def sentence(self) -> str:
        return f"{self.who} ended the lock-out of {self.person or 'unknown names'}."
