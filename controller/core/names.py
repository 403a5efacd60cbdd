"""Turns the code's names of places, commands and states into ordinary English."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_PLACES: Final = {
    "infeed": "the shuffler's infeed",
    "shelves": "the inside of the shuffler",
    "output": "the shuffler's output",
    "tray": "the shuffler's tray",
    "shoe": "the shoe",
    "held": "the stack held in the shoe",
    "exit": "the shoe's exit",
    "manual_shoe": "the manual shoe",
    "hand": "the dealer's hand",
    "rack": "the discard rack",
    "stub": "the stub",
    "aside": "where they were set aside",
    "taken": "the stack last taken from the shoe",
    "missing": "missing",
    "gone": "gone for good",
    "dealer": "the dealer",
    "table": "the dealer's pile",
}


def place_name(place: str) -> str:
    """A place of the ledger: `seat3` becomes seat 3."""
    return f"seat {place[4:]}" if place.startswith("seat") else _PLACES.get(place, place)


# States whose names do not go with "is": the table, a deck or a device is …
_STATES: Final = {
    "waiting": "waiting for a deck",
    "acting": "waiting for players",
    "revealing": "showing the dealer's cards",
    "clearing": "collecting the hands",
    "stub_count": "checking the stub",
    "voiding": "settling a void round",
    "infeed": "in the shuffler's infeed",
    "shuffling": "being shuffled",
    "mixed": "shuffled, not cut",
    "racked": "in the rack",
    "voided": "in a void round",
    "recalled": "being gathered",
    "unknown": "not connected",
    "lost": "offline",
}
# What a warning about a device or a deck is called.
_WARNINGS: Final = {
    "jam": "{} jammed",
    "fail": "{} failed",
    "lost": "{} offline",
    "cycle": "{} did not finish",
    "restart": "{} restarted",
    "count": "count of deck {}",
    "door": "{} opened",
    "gap": "events of the {} are missing",
    "cards": "unexpected cards in the {}",
    "refused": "{} cannot be used",
    "replaced": "{} replaced",
    "flood": "{} sends too much",
}


def state_name(state: str) -> str:
    """A state of the table, a deck or a device, as in `the shoe is offline`."""
    return _STATES.get(state, spoken(state))


def warning_name(key: str) -> str:
    """A warning by its key: `shoe.lost` becomes shoe offline."""
    subject, _, name = key.rpartition(".")
    return _WARNINGS.get(name, f"{{}} {spoken(name)}").format(subject)


def role_name(role: str) -> str:
    """A role with its article: `floor` becomes a floorperson."""
    return {"floor": "a floorperson", "auditor": "an auditor"}.get(role, f"a {role}")


def sentence(text: str) -> str:
    """A reason as a sentence: with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}" if text else ""


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


def plural(number: int, one: str) -> str:
    """A number of things, such as `1 minute` or `3 minutes`."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def cards(number: int) -> str:
    """A number of cards, such as `1 card` or `3 cards`."""
    return plural(number, "card")
