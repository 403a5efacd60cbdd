"""A decision in the making: events are emitted one by one, and each is applied to the state at once."""

# mypyc
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

from controller.core import ledger
from controller.core.actions import Action, name_of
from controller.core.apply import apply
from controller.core.concerns import ALL, CONCERNS
from controller.core.machines import DECK_MACHINE, DEVICE_MACHINE, TABLE_MACHINE, Moves
from controller.core.refusal import Refusal as Refusal
from controller.core.state import Event, Round, State


class Decision:
    """What one report led to, in order. `events` go to the journal; those of kind `command.given` to the devices."""

    __slots__ = ("concerns", "events", "now_ms", "of", "state")

    def __init__(self, state: State, now_ms: int, concerns: int = ALL) -> None:
        self.state = state
        self.concerns = concerns  # who is to be asked, after what was decided so far
        self.now_ms = now_ms
        self.events: list[Event] = []
        self.of: dict[str, Any] = {}  # the device's event that this decision answers

    def emit(self, kind: str, *clause: str, **data: Any) -> Event:
        """Decide one event."""
        return self.put(kind, clause, data)

    def put(self, kind: str, clause: tuple[str, ...], data: dict[str, Any]) -> Event:
        """The same, for who has clause and data together already. The data belong to the event from now on."""
        state = self.state
        data["at_ms"] = self.now_ms
        if self.of:
            data["of"], self.of = self.of, {}
        event = Event(state.seq + 1, kind, clause, data)
        apply(state, event)
        self.events.append(event)
        self.concerns |= CONCERNS.get(kind, ALL)
        if "moves" in data:
            self._check_cards(event)
        return event

    def _check_cards(self, event: Event) -> None:
        deck = self.state.decks.get(event.data["deck"])
        wrong = ledger.broken(deck.cards, self.state.setup.game.deck_size) if deck else ""
        if wrong:
            self.emit("ledger.broken", "3.A(1)(3)", deck=event.data["deck"], reason=wrong, by_event=event.seq)

    def refuse(self, action: Action, refusal: Refusal, kind: str = "action.refused") -> None:
        """Say no, and why."""
        self.emit(
            kind,
            *refusal.clause,
            action=name_of(action),
            who=action.who,
            role=str(action.role),
            reason=refusal.reason,
            possible_when=refusal.possible_when,
        )

    def may(self, kind: str, deck: str = "", device: str = "") -> bool:
        """Whether all machines concerned allow an event of this kind now."""
        return why_not(self.state, kind, deck, device) is None

    @property
    def round(self) -> Round:
        """The round that is on."""
        assert self.state.round is not None
        return self.state.round


def why_not(state: State, kind: str, deck: str = "", device: str = "") -> Refusal | None:
    """Why the machines do not allow an event of this kind now; None if they do."""
    if not TABLE_MACHINE.allows(state.table, kind):
        return _not_now(TABLE_MACHINE, f"the table is {words(state.table)}", kind)
    found = state.decks.get(deck)
    if found and not DECK_MACHINE.allows(found.state, kind):
        return _not_now(DECK_MACHINE, f"deck {deck} is {words(found.state)}", kind)
    thing = state.devices.get(device)
    if thing and not DEVICE_MACHINE.allows(thing.state, kind):
        return _not_now(DEVICE_MACHINE, f"the {device} is {words(thing.state)}", kind)
    return None


def words(state: str) -> str:
    """A state's name as people say it."""
    return state.replace("_", " ")


def _not_now(machine: Moves[Any], now: str, kind: str) -> Refusal:
    return Refusal(now, _when(machine, kind))


@functools.cache  # a picture of the table asks for it 25 times
def _when(machine: Moves[Any], kind: str) -> str:
    states = [words(state) for state in machine.when(kind)]
    when = " or ".join(filter(None, [", ".join(states[:-1]), states[-1]]))
    return f"the {machine.name} is {when}"


Take = Callable[[Decision, Any], Refusal | None]
TAKES: Final[dict[type, Take]] = {}  # what takes an action of this type
F = TypeVar("F", bound=Take)


def takes(*types: type) -> Callable[[F], F]:
    """Mark the function that takes actions of these types. It returns why not, or emits what follows."""

    def register(function: F) -> F:
        for kind in types:
            assert kind not in TAKES, kind
            TAKES[kind] = function
        return function

    return register
