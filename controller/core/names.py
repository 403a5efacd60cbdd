"""Turns the code's names of places, commands and states into ordinary English."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_PLACES: Final = {
    "infeed": "the shuffler's infeed",
    "shelves": "the shuffler's shelves",
    "output": "the shuffler's output",
    "tray": "the shuffler's tray",
    "shoe": "the shoe",
    "held": "the stack held in the shoe",
    "exit": "the shoe's exit",
    "manual_shoe": "the manual shoe",
    "hand": "the dealer's hand",
    "rack": "the discard rack",
    "stub": "the stub",
    "aside": "the pile set aside",
    "taken": "the pile last taken from the shoe",
    "missing": "the missing cards",
    "gone": "gone for good",
    "dealer": "the dealer",
    "table": "the dealer's pile",
}


def place_name(place: str) -> str:
    """A place of the ledger: `seat3` becomes seat 3."""
    return f"seat {place[4:]}" if place.startswith("seat") else _PLACES.get(place, place)


def canonical(name: str) -> str:
    """The form in which the names of decks and backs are stored: `Red ` becomes red."""
    return " ".join(name.split()).casefold()


def known_name(name: str, known: Iterable[str]) -> str:
    """The name that is known in another form, as an older version may have stored it; otherwise its stored form."""
    wanted = canonical(name)
    alike = [each for each in known if canonical(each) == wanted]
    return name if name in alike else next(iter(alike), wanted)


def command_name(name: str) -> str:
    """A command or a device's event: `ClearJam` becomes clear jam."""
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()


def spoken(name: str) -> str:
    """A state, a method or another name in snake case: `in_play` becomes in play."""
    return name.replace("_", " ")


def cards(number: int) -> str:
    """A number of cards, such as `1 card` or `3 cards`."""
    return "1 card" if number == 1 else f"{number} cards"
