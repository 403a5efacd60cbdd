"""A decision: the events that one report leads to. Each event is applied to the state as soon as it is emitted."""

# mypyc
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

from controller.core import ledger
from controller.core.actions import Action, name_of
from controller.core.apply import MOVING_CARDS, apply
from controller.core.events.decks import LedgerBroken
from controller.core.events.event import Cause, Entry, Event
from controller.core.events.table import ActionRefused
from controller.core.machines import DECK_MACHINE, DEVICE_MACHINE, TABLE_MACHINE, StateMachine
from controller.core.names import state_name
from controller.core.refusal import Refusal as Refusal
from controller.core.registry import register
from controller.core.state import Round, State
from controller.games import rulebook_of
from controller.games.rulebook import Rule

DEVICE: Final = "device"  # the origin of what people could also have reported


class Decision:
    """What one report leads to, in order: entries for the journal, among them the commands to send afterwards."""

    def __init__(self, state: State, now_ms: int) -> None:
        self.state = state
        self.now_ms = now_ms
        self.entries: list[Entry] = []
        self.cause: Cause | None = None  # the device's event that led to this decision
        self.origin = ""  # where the report came from that is being handled: screen, socket, device

    def emit(self, event: Event, *cited: Rule | str) -> Entry:
        """Emit an event and cite these rules. Instead of a rule, a clause that an earlier event cited may be given."""
        state = self.state
        event.at_ms = self.now_ms
        event.of, self.cause = self.cause, None
        if self.origin and (self.origin != DEVICE or event.seen_by_devices):
            event.origin = self.origin
        entry = Entry(state.seq + 1, cite(state, cited), event)
        apply(state, entry)
        self.entries.append(entry)
        if type(event) in MOVING_CARDS and event.moves is not None:  # type: ignore[attr-defined]
            self._check_cards(entry, event.deck)  # type: ignore[attr-defined]
        return entry

    def _check_cards(self, entry: Entry, name: str) -> None:
        deck = self.state.decks.get(name)
        wrong = ledger.fault(deck.cards, self.state.setup.game.deck_size) if deck else ""
        if wrong:
            self.emit(LedgerBroken(deck=name, reason=wrong, by_event=entry.seq), Rule.DECK_COMPOSITION)

    def refuse(self, action: Action, refusal: Refusal, event: type[ActionRefused] = ActionRefused) -> None:
        """Record that an action is refused, and why."""
        self.emit(
            event(
                action=name_of(action),
                who=action.who,
                role=str(action.role),
                reason=refusal.reason,
                possible_when=refusal.possible_when,
                confirm=refusal.confirm,
                cards=getattr(action, "cards", None) if refusal.confirm else None,
            ),
            *refusal.rules,
        )

    def record_person(self, who: str, first: int) -> None:
        """Every action is recorded with the person: if no event since this one has, the first that can does."""
        events: list[Any] = [entry.event for entry in self.entries[first:] if hasattr(entry.event, "who")]
        if events and not any(event.who for event in events):
            events[0].who = who

    def may(self, event: type[Event], deck: str = "", device: str = "") -> bool:
        """Whether all state machines concerned allow this event now."""
        return why_not(self.state, event, deck, device) is None

    @property
    def round(self) -> Round:
        """The current round."""
        assert self.state.round is not None
        return self.state.round


def cite(state: State, cited: tuple[Rule | str, ...]) -> tuple[str, ...]:
    """The clauses of these rules in the table's game, for its dealing method."""
    return rulebook_of(state.setup.game).cite(cited, state.method) if cited else ()


def why_not(state: State, event: type[Event], deck: str = "", device: str = "") -> Refusal | None:
    """Why the state machines do not allow this event now; None if they do."""
    if not TABLE_MACHINE.allows(state.table, event):
        return _not_now(TABLE_MACHINE, f"the table is {state_name(state.table)}", event)
    found = state.decks.get(deck)
    if found and not DECK_MACHINE.allows(found.state, event):
        return _not_now(DECK_MACHINE, f"deck {deck} is {state_name(found.state)}", event)
    thing = state.devices.get(device)
    if thing and not DEVICE_MACHINE.allows(thing.state, event):
        return _not_now(DEVICE_MACHINE, f"the {device} is {state_name(thing.state)}", event)
    return None


def _not_now(machine: StateMachine[Any], now: str, event: type[Event]) -> Refusal:
    return Refusal(now, _when(machine, event))


@functools.cache  # every view of the table needs it 25 times
def _when(machine: StateMachine[Any], event: type[Event]) -> str:
    states = [state_name(state) for state in machine.when(event)]
    when = " or ".join(filter(None, [", ".join(states[:-1]), states[-1]]))
    return f"the {machine.name} is {when}"


ActionHandler = Callable[[Decision, Any], Refusal | None]
HANDLERS: Final[dict[type, ActionHandler]] = {}  # the handler of each type of action
F = TypeVar("F", bound=ActionHandler)


def handles(*types: type) -> Callable[[F], F]:
    """Mark the function that handles actions of these types: it emits what follows, or returns why it refuses."""
    return register(HANDLERS, types)
