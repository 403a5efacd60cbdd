"""What is open to everyone at this machine: what a bystander at the table can see, and the way to sign in.

Everything else is read by people who are signed in, and by the table's own screen, which has a token.
"""

from __future__ import annotations

from typing import Any

from controller.core import ledger

# Requests that need neither a sign-in nor the token. Those that act check a PIN themselves.
OPEN_REQUESTS: dict[str, tuple[str, ...]] = {
    "/": ("GET",),
    "/web/{path:path}": ("GET",),
    "/healthz": ("GET",),
    "/api/v1/table": ("GET",),  # the fields below
    "/api/v1/events/stream": ("GET",),  # the same fields, no journal
    "/api/v1/session": ("GET", "POST", "DELETE"),
    "/api/v1/session/screen": ("POST",),
    "/api/v1/actions": ("POST",),
    "/api/v1/people/unlock": ("POST",),
}

# The fields of the table's view that a bystander gets: no names of people, no counters, no reasons.
_STEP = ("text", "who")
_ROUND = ("number", "deck", "seats", "dealt", "stacks", "void", "acted", "collected", "stub_out", "face_up")
_HAND = ("name", "label", "cards", "kinds", "to_enter", "bets", "decisions")  # only kinds that are face up
_BLOCK = ("label", "figure", "lines", "cells", "rows", "hand", "cards", "outlined", "colours")
_RESULT = ("round", "result", "results", "payments")
_DECK = ("name", "back", "state", "state_words", "cards", "due")
_DEVICE = ("name", "state", "state_words", "online", "at_exit")
OPEN_FIELDS: dict[str, tuple[str, ...]] = {
    "name": (),
    "simulated": (),
    "now_ms": (),
    "ts": (),
    "table": (),
    "table_words": (),
    "game": (),
    "method": (),
    "seats": (),
    "backs": (),
    "wagered": (),
    "step": _STEP,
    "round": _ROUND,
    "hands": _HAND,
    "seat_bets": (),
    "button": (),
    "turn": ("hand",),
    "board": _BLOCK,
    "settled": _RESULT,
    "session_ended": _RESULT,
    "decks": _DECK,
    "devices": _DEVICE,
}

# Places where nobody can see how many cards there are: inside a device, or missing.
HIDDEN_PLACES = frozenset({
    ledger.INFEED, ledger.SHELVES, ledger.OUTPUT, ledger.SHOE, ledger.HELD, ledger.MANUAL_SHOE,
    ledger.MISSING, ledger.GONE,
})  # fmt: skip


def open_view(view: dict[str, Any]) -> dict[str, Any]:
    """The part of the table's view that a bystander gets."""
    found = {name: _part(view[name], inner) for name, inner in OPEN_FIELDS.items() if name in view}
    for deck in found["decks"]:
        deck["cards"] = {place: number for place, number in deck["cards"].items() if place not in HIDDEN_PLACES}
    return found | {"bystander": True, "stopped": "the table has stopped" if view.get("stopped") else None}


def _part(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, list) and names:
        return [_part(one, names) for one in value]
    if isinstance(value, dict) and names:
        return {name: value[name] for name in names if name in value}
    return value
