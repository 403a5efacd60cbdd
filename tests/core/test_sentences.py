"""Every sentence of every kind of event, with all values of its fields, reads like English and says what happened."""

from __future__ import annotations

import itertools
import re
import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin

import msgspec
import pytest

from controller.api.event_text import event_text
from controller.core import ledger
from controller.core.actions import Role
from controller.core.events import KINDS, devices
from controller.core.events.devices import RecordedCommand
from controller.core.events.event import Event
from controller.core.machines import DeckState
from controller.core.names import doing_name, is_refusal, refusal_name, where
from controller.core.rules.service import OUT_HOW
from controller.core.step import ACTIONS
from controller.games.game import Method
from firmware_bridge.wire import messages as wire
from firmware_bridge.wire.messages import AnyCommand, Cycle, Outcome, Place, Reason

PLACES = [*ledger.DEVICE_OF, "manual_shoe", "hand", "rack", "stub", "aside", "taken", "freed", "missing", "table"]
REASONS = [reason.name.lower() for reason in Reason]
COMMANDS = [kind.__name__ for kind in get_args(AnyCommand)]
METHODS = [str(method) for method in Method]
HANDS = ["seat1", "dealer"]
CARDS = [0, 1, 53]
SENSOR_CARDS = [-1, *CARDS]  # -1: the device does not count
# The values of fields that are names, by the kind of event and the field, or by the field alone.
VALUES: dict[str, list[Any]] = {
    "device": ["shoe", "shuffler"],
    "deck": ["red-1"],
    "of_deck": [""],
    "by_device": ["shoe"],
    "back": ["red"],
    "backs": [["red", "blue"]],
    "who": ["Dana"],
    "person": ["Flo", ""],
    "via": ["screen", "socket"],
    "place": PLACES,
    "target": HANDS,
    "method": METHODS,
    "was": ["hand"],
    "by": ["shuffler", "stub", "gathering"],
    "came_from": ["", "the card room"],
    "how": list(OUT_HOW),
    "role": [str(role) for role in Role],
    "action": list(ACTIONS),
    "warning": ["shoe.jam", "red-1.count"],
    "text": ["cards are stuck in the shoe"],
    "possible_when": [""],
    "reason": ["the shoe jammed"],
    "detail": [""],
    "needs": ["floor"],
    "origin": [""],
    "maker": ["Maker"],
    "model": ["", "Model 1"],
    "serial": ["7"],
    "firmware": ["1.0"],
    "firmware_digest": [""],
    "software": ["0.1.0"],
    "boot_id": ["b"],
    "digest": ["d"],
    "replaces": ["", "0123456789abcdef"],
    "next_back": ["blue"],
    "cards": CARDS,
    "missing": [-2, -1, 1, 2],
    "seats": [[], [1], [1, 3]],
    "roles": [["dealer"]],
    "decks": [[], ["red-1"]],
    "command": COMMANDS,
    "depth": [None, 1, 20],
    "left_ms": [60_000, 900_000],
    "cards.counted cards": SENSOR_CARDS,
    "count.accepted cards": [53],
    "exit.emptied cards": SENSOR_CARDS,
    "stub.removed cards": SENSOR_CARDS,
    "missing.declared cards": [-2, -1, 1, 2],
    "count.corrected was": [3],
    "command.given command": [RecordedCommand(name) for name in COMMANDS],
    "command.answered answer": ["done", "refused", "unknown"],
    "command.answered reason": REASONS,
    "cycle.failed reason": [*REASONS, "no cards", "did not deal a stack"],
    "cycle.lost reason": ["the device has restarted"],
    "device.failed reason": ["has failed", "stays busy"],
    "device.hindered reason": [refusal_name(reason) for reason in REASONS],
    "device.refused reason": ["it lacks what this table needs (counts)"],
    "device.seen reason": ["", "it lacks what this table needs (counts)"],
    "device.freed who": ["", "Dana"],
    "device.freed door": ["", "closed"],
    "access.ended reason": ["", "idle for 5 minutes"],
    "access.denied who": ["", "Dana"],
    "access.denied reason": ["the PIN is wrong"],
    "deck.accepted_prepared who": ["", "Flo"],
    "deck.removed was": [str(state) for state in DeckState],
    "cut.made least": [10],
    "card.face_up target": ["", *HANDS],
    "bet": ["ante"],
    "choice": ["play", "exchange"],
    "kinds": [[], ["tiger"], ["ace of spades", "two of hearts"]],
    "card.due why": ["the player has 5 and draws"],
    "cards.corrected was": [["tiger"]],
    "cards.corrected kinds": [["rabbit"]],
    "cards.entered kinds": [["tiger"]],
    "cards.seen kinds": [["tiger"]],
    "cards.seen command": [7],
    "round.settled result": ["", "the banker wins, 7 to 5"],
    "round.settled payments": [[]],
    "round.settled carried": [None],
    "then": [""],
    "irregularity": ["foreign_card"],
    "session.ended result": ["No dragon bet has won."],
    "session.ended payments": [[]],
    "deck.finished reason": ["too few cards are left"],
}
SENSED: dict[str, dict[str, list[Any]]] = {
    "CardsPresent": {"place": [place.name.lower() for place in Place], "present": [True, False]},
    "Door": {"door": [state.name.lower() for state in wire.DoorState]},
    "Button": {"button": [button.name.lower() for button in wire.ButtonName]},
    "Fault": {"code": [code.name.lower() for code in wire.FaultCode], "text": ["", "feed motor"]},
    "PowerUp": {"cause": [cause.name.lower() for cause in wire.PowerCause], "memory_kept": [True, False]},
    "Jam": {"place": [place.name.lower() for place in Place]},
    "CycleDone": {
        "cycle": [cycle.name.lower() for cycle in Cycle],
        "outcome": [outcome.name.lower() for outcome in Outcome],
        "cards": SENSOR_CARDS,
    },
    "StackTaken": {"cards": SENSOR_CARDS},
    "StackPresented": {"cards": SENSOR_CARDS, "place": [place.name.lower() for place in Place]},
    "CardFaceUp": {},
    "CardsCounted": {"cards": SENSOR_CARDS},
}


def _of_type(kind: Any) -> list[Any]:
    """Values for a field that has no names of its own."""
    options = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    found: list[Any] = [None] if type(None) in options else []
    first = next(option for option in options if option is not type(None))
    if first is bool:
        return [*found, True, False]
    if first is int:
        return [*found, 3]
    if get_origin(first) in (list, dict):
        return [*found, get_origin(first)()]
    assert first is not str, "give this field its values above"
    return [*found, None]


def instances(kind: type[Event]) -> Iterator[Event]:
    """Events of a kind with every combination of the values of its fields."""
    if kind is devices.DeviceReported:
        for event, fields in SENSED.items():
            for chosen in itertools.product(["shoe", "shuffler"], *fields.values()):
                yield kind(device=chosen[0], event=event, **dict(zip(fields, chosen[1:], strict=True)))
        return
    names, values = [], []
    for field in msgspec.structs.fields(kind):
        if field.name in ("at_ms", "of", "origin"):
            continue
        names.append(field.name)
        values.append(VALUES.get(f"{kind.kind} {field.name}") or VALUES.get(field.name) or _of_type(field.type))
    for chosen in itertools.product(*values):
        yield kind(**dict(zip(names, chosen, strict=True)))


def sentences(kind: type[Event]) -> dict[str, Event]:
    """The different sentences of a kind, each with the first event that gives it."""
    found: dict[str, Event] = {}
    for event in instances(kind):
        found.setdefault(event_text(event), event)
    return found


BAD = {
    "an identifier": r"[a-z]_[a-z]",
    "a class name": r"\b[A-Z][a-z]+[A-Z]",
    "a gap or a space before a full stop": r"  | \.| ,|\(\)",
    "a wrong plural": r"(?<!\d)1 cards|(?<!\d)1 minutes",
    "a number that stands for something else": r"(?<![a-z])-\d",
    "nothing where something belongs": r"\bNone\b|''|\"\"|: \.|: $",
    "two full stops": r"\.\.",
    "words that contradict each other": r"accepted .*refus|took it on|The (shoe|shuffler) (no|not) ",
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind)
def test_every_sentence_of_a_kind_is_english(kind: type[Event]) -> None:
    for text, event in sentences(kind).items():
        assert re.fullmatch(r"[A-Z].*[.]", text), event
        for what, pattern in BAD.items():
            assert not re.search(pattern, text), f"{what}: {text} ({event})"


def test_no_refusal_reads_like_an_acceptance() -> None:
    """Nor an acceptance like a refusal, or a failed cycle like a completed one."""
    for event in instances(devices.CommandAnswered):
        assert isinstance(event, devices.CommandAnswered)
        text = event.sentence()
        assert ("accepted" in text) is (event.answer == "done")
        assert ("refused" in text) is (event.answer == "refused")
    for event in instances(devices.DeviceReported):
        assert isinstance(event, devices.DeviceReported)
        if event.outcome:
            assert event.sentence().endswith(f": {event.outcome}.")
    for event in instances(devices.CycleFailed):
        assert isinstance(event, devices.CycleFailed)
        assert (" refused to " in event.sentence()) is is_refusal(event.reason)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_a_clause_of_its_own(reason: str) -> None:
    """It follows a colon, so it needs a subject and a verb."""
    assert re.match(r"(it|its|cards|a part|the command|the command's) ", refusal_name(reason))
    assert is_refusal(reason)
    assert is_refusal(reason.replace("_", " ")), "as an older version may have stored it"


@pytest.mark.parametrize("place", [*PLACES, "seat3", "dealer"])
def test_every_place_has_a_preposition(place: str) -> None:
    assert re.match(r"(in|on|at|inside|among) ", where(place))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_something_to_do(command: str) -> None:
    assert doing_name(command).islower()
