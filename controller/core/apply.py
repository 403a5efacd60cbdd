"""`apply`: the only function that changes a state. Applying the same events always gives the same state.

It depends on nothing but the state and the event, and refuses nothing. An event that the state machines do not allow in
this state is the caller's error and raises the state machine's own error.
"""

# mypyc
from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from controller.core import ledger
from controller.core.changes import decks, devices, play, rounds, table
from controller.core.changes.change import CHANGES
from controller.core.events import KINDS
from controller.core.events.event import Entry, Event
from controller.core.machines import DECK_MACHINE, DEVICE_MACHINE, TABLE_MACHINE
from controller.core.state import State

__all__ = ["MOVING_CARDS", "apply", "decks", "devices", "fold", "play", "rounds", "table"]


class _Effect(NamedTuple):
    """What every event of this kind does to a state, besides its own change function."""

    moves_table: bool
    moves_deck: bool
    moves_device: bool
    moves_cards: bool
    leads: bool  # it may name the state that comes next
    may_stay: bool  # it may leave its device in its state: a lock or light command is not a cycle


def _effect(event: type[Event]) -> _Effect:
    return _Effect(
        moves_table=event in TABLE_MACHINE.events,
        moves_deck=event in DECK_MACHINE.events,
        moves_device=event in DEVICE_MACHINE.events,
        moves_cards="moves" in event.__struct_fields__,
        leads="then" in event.__struct_fields__,
        may_stay="stays" in event.__struct_fields__,
    )


_EFFECTS: Final = {event: tuple(_effect(event)) for event in KINDS.values()}  # plain tuples are unpacked faster
MOVING_CARDS: Final = frozenset(event for event in KINDS.values() if _effect(event).moves_cards)


def fold(entries: Iterable[Entry], state: State | None = None) -> State:
    """The state after these events."""
    state = state or State()
    for entry in entries:
        apply(state, entry)
    return state


def apply(state: State, entry: Entry) -> None:
    """Apply one event: the state machines first, then the cards that moved, then the other fields."""
    event = entry.event
    kind = type(event)
    moves_table, moves_deck, moves_device, moves_cards, leads, may_stay = _EFFECTS[kind]
    state.seq = entry.seq
    state.now_ms = max(state.now_ms, event.at_ms)
    if event.of is not None:
        state.devices[event.of.device].last_event = event.of.number
    if moves_table:
        then = event.then if leads else ""  # type: ignore[attr-defined]
        state.table = TABLE_MACHINE.after(state.table, kind, then) if then else TABLE_MACHINE.after(state.table, kind)
    if moves_deck or moves_cards:
        deck = state.decks.get(event.deck)  # type: ignore[attr-defined]
        if deck is not None:
            if moves_deck:
                then = event.then if leads else ""  # type: ignore[attr-defined]
                deck.state = DECK_MACHINE.after(deck.state, kind, then)
            if moves_cards:
                ledger.move(deck.cards, event.moves or ())  # type: ignore[attr-defined]
                if state.round is not None and state.round.void:
                    rounds.note_void_places(state, state.round)
    if moves_device and not (may_stay and event.stays):  # type: ignore[attr-defined]
        device = state.devices[event.device]  # type: ignore[attr-defined]
        device.state = DEVICE_MACHINE.after(device.state, kind)
    change = CHANGES.get(kind)
    if change is not None:
        change(state, event)
