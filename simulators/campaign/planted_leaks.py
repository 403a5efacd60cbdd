"""Defects to plant that reveal a card: one that was not dealt, or one of a hand that is still face down."""

from __future__ import annotations

from typing import Any

from controller.core import decision
from controller.core.actions import RequestHands, Role
from controller.core.changes.change import CHANGES
from controller.core.decision import Decision
from controller.core.events.devices import CardsPresented, DeviceCounted
from controller.core.events.event import Entry, Event
from controller.core.events.rounds import HandsRequested, RoundVoided, StackDispensed, StackTakenToHand
from controller.core.reports import Report
from controller.core.rules import devices, recognising
from controller.core.state import State
from controller.daemon import live_table
from controller.games.rulebook import Rule
from simulators.campaign.planting import RECOGNISES, Swap, defect, everywhere


@defect("the kinds that a recognising shuffler has counted are in an event", setup=RECOGNISES)
def _counted_kinds_leaked() -> list[Swap]:
    right = decision.Decision.emit
    seen: dict[str, list[int]] = {}

    def of_command(d: Decision, name: str, happened: Any) -> None:
        seen["kinds"] = list(getattr(happened, "kinds", []))
        right_event(d, name, happened)

    def emit(self: Decision, event: Event, *cited: Rule | str) -> Entry:
        if isinstance(event, DeviceCounted):
            names = self.state.setup.game.kinds
            event.place = ", ".join(
                f"{number} {name}" for name, number in zip(names, seen.get("kinds", []), strict=False)
            )
        return right(self, event, *cited)

    right_event = devices._of_command
    return [(decision.Decision, "emit", emit), *everywhere(right_event, of_command)]


@defect("the next card of a recognising shoe is named in an event", setup=RECOGNISES)
def _next_card_named() -> list[Swap]:
    right = decision.Decision.emit

    def emit(self: Decision, event: Event, *cited: Rule | str) -> Entry:
        if isinstance(event, CardsPresented | StackDispensed):
            event.target += " (next: gold dragon)"
        return right(self, event, *cited)

    return [(decision.Decision, "emit", emit)]


@defect("the cards of a hand are stored as soon as they are taken", setup=RECOGNISES)
def _hand_stored_when_taken() -> list[Swap]:
    right = decision.Decision.emit

    def emit(self: Decision, event: Event, *cited: Rule | str) -> Entry:
        if isinstance(event, StackTakenToHand):
            event.kinds = ["rabbit"] * event.cards
        return right(self, event, *cited)

    return [(decision.Decision, "emit", emit)]


@defect("the shoe is asked for the cards of a hand as soon as they are taken", setup=RECOGNISES)
def _hand_asked_for_early() -> list[Swap]:
    return _asked_for_with(StackTakenToHand)


@defect("the shoe is asked for the hands of a round as soon as it is void", "jam", setup=RECOGNISES)
def _void_hands_asked_for() -> list[Swap]:
    return _asked_for_with(RoundVoided)


def _asked_for_with(kind: type[Event]) -> list[Swap]:
    """The shoe is asked for all hands that it knows when an event of this kind is stored."""
    change, decide = CHANGES[kind], live_table.LiveTable._decide

    def wanted(state: State, event: Event) -> None:
        change(state, event)
        for stack in state.devices["shoe"].dealt:
            stack.wanted = True

    def asking(self: live_table.LiveTable, report: Report, now: float, ts: str) -> list[Entry]:
        entries = decide(self, report, now, ts)
        if any(isinstance(entry.event, kind) for entry in entries):
            for question in self.questions("shoe"):
                self._ask("shoe", question)
        return entries

    return [(CHANGES, kind, wanted), (live_table.LiveTable, "_decide", asking)]


@defect("the hands of a round that is being played can be requested", setup=RECOGNISES)
def _hands_requested_in_play() -> list[Swap]:
    def request(d: Decision, act: RequestHands) -> None:
        d.emit(HandsRequested(round=act.round, reason=act.reason, who=act.who), Rule.COLLECT_HANDS)

    return everywhere(recognising.request_hands, request)


@defect("a dealer can request the hands of a void round", "jam", setup=RECOGNISES)
def _hands_requested_by_a_dealer() -> list[Swap]:
    return [(RequestHands, "roles", (Role.FLOOR, Role.DEALER))]
