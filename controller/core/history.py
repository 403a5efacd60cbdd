"""What the journal tells afterwards: a round as it was dealt, and what a wrong count may have touched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controller.core.clauses import enforces
from controller.core.state import Event


@enforces("11.E")
def rebuild(events: Iterable[Event], number: int) -> dict[str, Any]:
    """A round: who got which cards, in which order they were collected, how it ended. Empty if it never was."""
    found: dict[str, Any] = {}
    for event in events:
        data = event.data
        if data.get("round") != number:
            continue
        if event.kind == "round.started":
            found = {key: data[key] for key in ("round", "deck", "seats", "method")}
            found |= {"hands": {}, "collected": [], "face_up": 0, "ended": ""}
        elif event.kind == "stack.taken":
            hand = found["hands"].setdefault(data["target"], {"cards": 0, "kinds": []})
            hand["cards"] += data["kept"]
            hand["kinds"] += data.get("kinds", [])
        elif event.kind == "card.face_up":
            found["face_up"] += 1
        elif event.kind == "hand.collected":
            found["collected"].append(data["target"])
        elif event.kind in ("round.completed", "round.voided"):
            found["ended"] = event.kind
    return found


@enforces("5.D")
def impact(events: Iterable[Event], deck: str) -> list[dict[str, Any]]:
    """The rounds and stacks that were dealt from a deck since it was last counted right."""
    rounds: list[dict[str, Any]] = []
    for event in events:
        data = event.data
        if data.get("deck") != deck:
            continue
        if event.kind == "count.accepted":
            rounds = []
        elif event.kind == "round.started":
            rounds.append({"round": data["round"], "at_ms": data["at_ms"], "stacks": []})
        elif event.kind == "stack.taken" and rounds:
            rounds[-1]["stacks"].append({"target": data["target"], "cards": data["kept"]})
    return rounds
