"""Turns the code's names of places, commands and states into ordinary English."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# A place of the ledger: its name, and where a number of cards was counted or is wrong.
_PLACES: Final = {
    "infeed": ("the shuffler's infeed", "in the shuffler's infeed"),
    "shelves": ("the inside of the shuffler", "inside the shuffler"),
    "output": ("the shuffler's output", "in the shuffler's output"),
    "tray": ("the shuffler's tray", "at the shuffler's exit"),
    "shoe": ("the shoe", "in the shoe"),
    "held": ("the stack held in the shoe", "in the stack held in the shoe"),
    "exit": ("the shoe's exit", "at the shoe's exit"),
    "manual_shoe": ("the manual shoe", "in the manual shoe"),
    "hand": ("the dealer's hand", "in the dealer's hand"),
    "rack": ("the discard rack", "in the discard rack"),
    "stub": ("the stub", "in the stub"),
    "aside": ("the cards set aside", "among those set aside"),
    "discards": ("the discards", "in the discards"),
    "burnt": ("the burnt cards", "in the burnt cards"),
    "taken": ("the stack last taken from the shoe", "in the stack last taken from the shoe"),
    "freed": ("the cards taken out of the jam", "among those taken out of the jam"),
    "missing": ("missing", "among those missing"),
    "gone": ("gone for good", "at gone for good"),
    "dealer": ("the dealer", "in the dealer's cards"),
    "table": ("the dealer's pile", "on the dealer's pile"),
}


def place_name(place: str) -> str:
    """A place of the ledger: `seat3` becomes seat 3. A name that is not among the places is that of a hand."""
    return f"seat {place[4:]}" if place.startswith("seat") else _PLACES.get(place, (f"the {place}", ""))[0]


def is_place(name: str) -> bool:
    """Whether a name stands for a place of the ledger already."""
    return name in _PLACES or name.startswith("seat")


# States whose names do not go with "is": the table, a deck or a device is …
_STATES: Final = {
    "waiting": "waiting for a deck",
    "betting": "taking bets",
    "acting": "waiting for players",
    "revealing": "showing the dealer's cards",
    "clearing": "collecting the hands",
    "stub_count": "checking the stub",
    "voiding": "settling a void round",
    "infeed": "in the shuffler's infeed",
    "shuffling": "being shuffled",
    "mixed": "waiting to be cut",
    "racked": "in the rack",
    "voided": "in a void round",
    "recalled": "being gathered",
    "unknown": "not connected",
    "lost": "offline",
}
# Why a device refuses a command: the device refused, because …
_REFUSALS: Final = {
    "unknown_command": "it does not know this command",
    "other_boot": "it has restarted since",
    "forgotten": "it no longer remembers this command",
    "id_reused": "the command's number was used before",
    "bad_argument": "the command is not valid",
    "not_able": "it was not built for this",
    "busy": "it is busy",
    "jammed": "it is jammed",
    "failed": "a part of it has failed",
    "locked": "it is locked",
    "door_open": "its door is open",
    "no_cards": "it does not have enough cards",
    "exit_occupied": "cards are at its exit or in the shoe",
    "nothing_held": "it is not holding a stack",
    "not_jammed": "it is not jammed",
    "events_full": "its event memory is full",
    "output_occupied": "cards are on its shelves or in its output",
    "not_taken": "cards have not been taken yet",
    "unknown": "its reason is not known here",
}
# What a command has a device do: the device refused to …
_DOINGS: Final = {
    "ClearJam": "clear the jam",
    "Eject": "eject its cards",
    "Indicate": "show a light",
    "Lock": "lock",
    "Release": "release the stack that it holds",
    "SelfTest": "test itself",
    "Unlock": "unlock",
}
# What a command's cycle is called: the device did not complete its …
_CYCLES: Final = {
    "ClearJam": "check for a jam",
    "Deliver": "delivery",
    "Dispense": "stack",
    "DispenseFaceUp": "stack",
    "Eject": "ejection",
    "SelfTest": "self-test",
}


def refusal_name(reason: str) -> str:
    """A device's reason for refusing, in words; a reason that is not in the protocol as it is."""
    return _REFUSALS.get(reason.replace(" ", "_"), spoken(reason))


def is_refusal(reason: str) -> bool:
    """Whether a text is the name of a device's reason for refusing."""
    return reason.replace(" ", "_") in _REFUSALS


def doing_name(command: str) -> str:
    """What a command has a device do: `SelfTest` becomes test itself."""
    return _DOINGS.get(command, command_name(command))


def cycle_name(command: str) -> str:
    """The cycle of a command: `SelfTest` becomes self-test."""
    return _CYCLES.get(command, command_name(command))


def where(place: str) -> str:
    """A place with its preposition, as in `2 cards are missing in the shoe`."""
    if place in _PLACES:
        return _PLACES[place][1]
    return f"at {place_name(place)}" if place.startswith("seat") else f"in {place_name(place)}'s hand"


def state_name(state: str) -> str:
    """A state of the table, a deck or a device, as in `the shoe is offline`."""
    return _STATES.get(state, spoken(state))


def out_name(how: str) -> str:
    """How a device was taken out of service, as in `the shoe is marked out of order`."""
    return "marked out of order" if how == "marked" else how


def role_name(role: str) -> str:
    """A role with its article: `floor` becomes a floorperson."""
    return {"floor": "a floorperson", "auditor": "an auditor"}.get(role, f"a {role}")


def capital(text: str) -> str:
    """A text with a capital at the start."""
    return f"{text[:1].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """A reason as a sentence: with a capital and a full stop."""
    return f"{capital(text)}{'' if text.endswith(('.', '!', '?')) else '.'}" if text else ""


def stored_name(name: str) -> str:
    """The form in which the names of decks and backs are stored: `Red ` becomes red."""
    return " ".join(name.split()).casefold()


def known_name(name: str, known: Iterable[str]) -> str:
    """The name that is known in another form, as an older version may have stored it; otherwise its stored form."""
    wanted = stored_name(name)
    alike = [each for each in known if stored_name(each) == wanted]
    return name if name in alike else next(iter(alike), wanted)


def command_name(name: str) -> str:
    """A command, a device's event or an action by its class: `ClearJam` becomes clear jam."""
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
