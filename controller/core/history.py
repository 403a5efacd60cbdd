"""Answers from the journal about the past: how a round was dealt, and what a wrong count may have affected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controller.core.enforcement import enforces
from controller.core.events.decks import CountAccepted
from controller.core.events.event import Entry
from controller.core.events.rounds import (
    CardFoundFaceUp,
    HandCollected,
    RoundCompleted,
    RoundStarted,
    RoundVoided,
    StackTakenToHand,
)
from controller.games.rulebook import Rule


@enforces(Rule.COLLECT_HANDS)
def rebuild(entries: Iterable[Entry], number: int) -> dict[str, Any]:
    """A round: who got which cards, in which order hands were collected, how it ended. Empty if there was none."""
    found: dict[str, Any] = {}
    for entry in entries:
        event = entry.event
        if getattr(event, "round", None) != number:
            continue
        if isinstance(event, RoundStarted):
            found = {"round": event.round, "deck": event.deck, "seats": event.seats, "method": event.method}
            found |= {"hands": {}, "collected": [], "face_up": 0, "ended": ""}
        elif isinstance(event, StackTakenToHand):
            hand = found["hands"].setdefault(event.target, {"cards": 0, "kinds": []})
            hand["cards"] += event.kept
            hand["kinds"] += event.kinds or []
        elif isinstance(event, CardFoundFaceUp):
            found["face_up"] += 1
            for place, _, cards in event.moves:
                if place == event.target:  # it lay in that hand already
                    found["hands"][place]["cards"] -= cards
        elif isinstance(event, HandCollected):
            found["collected"].append(event.target)
        elif isinstance(event, RoundCompleted | RoundVoided):
            found["ended"] = event.kind
    return found


@enforces(Rule.WRONG_COUNT)
def impact(entries: Iterable[Entry], deck: str) -> list[dict[str, Any]]:
    """The rounds and stacks that were dealt from a deck since its last correct count."""
    rounds: list[dict[str, Any]] = []
    for entry in entries:
        event = entry.event
        if getattr(event, "deck", None) != deck:
            continue
        if isinstance(event, CountAccepted):
            rounds = []
        elif isinstance(event, RoundStarted):
            rounds.append({"round": event.round, "at_ms": event.at_ms, "stacks": []})
        elif isinstance(event, StackTakenToHand) and rounds:
            rounds[-1]["stacks"].append({"target": event.target, "cards": event.kept})
    return rounds
