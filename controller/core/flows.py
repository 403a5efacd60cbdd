"""Flows: lead people from any state to a goal, such as a closed table, as a checklist with one step to do now.

A flow is worked out from the state alone, like the guide. Where the goal needs nothing special, the guide's own step is
the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from controller.core.decision import cite
from controller.core.guide import allowed_actions, current_step, with_correction
from controller.core.guide_gathering import gather_step, removal_step
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.gathering import GATHERED_STATES, UNABLE
from controller.core.rules.guards import (
    decks_wanted,
    in_service,
    inside,
    moved_by,
    wrong_number_of_decks,
)
from controller.core.rules.opening import UNOPENED, elsewhere
from controller.core.state import State
from controller.core.step import Offer, Step
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Deliver

_NEEDS = {"shoe": Method.AUTOMATED_SHOE, "shuffler": Method.HAND}  # the dealing method that needs this device


class Goal(StrEnum):
    """What a flow leads to."""

    CLOSE = "close"
    CHANGE_DECK = "change-deck"  # of a deck: a new one takes its place
    OUT_OF_SERVICE = "out-of-service"  # of a device


class Task(msgspec.Struct, frozen=True):
    """One line of the checklist."""

    text: str
    done: bool


class Flow(msgspec.Struct, frozen=True):
    """The way to a goal. `step` is how to do the first task that is not done; None once the goal is reached."""

    goal: Goal
    about: str  # the deck or the device; empty if the goal concerns the whole table
    title: str
    tasks: tuple[Task, ...]
    step: Step | None


_FlowPart = tuple[Task, Callable[[], Step]]  # a task, and how it is done now


def flows(state: State) -> list[tuple[Goal, str, str]]:
    """The goals that people can choose now: goal, what it is about, title."""
    found = [(Goal.CLOSE, "")] if state.table is not TableState.CLOSED else []
    found += [(Goal.CHANGE_DECK, deck) for deck in state.decks]
    found += [(Goal.OUT_OF_SERVICE, device) for device in state.devices if in_service(state, device)]
    return [(goal, about, _title(goal, about)) for goal, about in found]


def flow_to(state: State, goal: Goal, about: str, now_ms: int) -> Flow | None:
    """The way to a goal; None if the table has no such deck or device."""
    known = {Goal.CLOSE: [""], Goal.CHANGE_DECK: [*state.decks, *state.retired], Goal.OUT_OF_SERVICE: state.devices}
    if about not in known[goal]:
        return None
    parts = _PARTS[goal](state, about, now_ms)
    step = next((how() for task, how in parts if not task.done), None)
    if step:
        step = msgspec.structs.replace(step, clause=cite(state, step.clause), allowed_actions=allowed_actions(state))
    return Flow(goal, about, _title(goal, about), tuple(task for task, _ in parts), step)


def _title(goal: Goal, about: str) -> str:
    if goal is Goal.CLOSE:
        return "Close the table"
    return f"Change deck {about}" if goal is Goal.CHANGE_DECK else f"Take the {about} out of service"


# --- the goals ------------------------------------------------------------------------------------------------------


def _close(state: State, about: str, now_ms: int) -> list[_FlowPart]:
    close: Offer = {"action": "close_table"}
    why = "All cards are out of the devices. The decks leave the table."
    closed = Task("A floorperson closes the table", state.table is TableState.CLOSED)
    return [
        *_round_over(state, now_ms),
        *(_deck_out(state, deck) for deck in state.decks),
        (closed, lambda: Step("A floorperson closes the table.", why, do=(close,))),
    ]


def _change_deck(state: State, deck: str, now_ms: int) -> list[_FlowPart]:
    gone = deck in state.retired
    enough = gone and len(state.decks) >= decks_wanted(state)
    opened = all(found.state not in {*UNOPENED, DeckState.LOCKED_OUT} for found in state.decks.values())
    out = _deck_out(state, deck) if not gone else (Task(f"Take out deck {deck}", True), _never)
    why = "All its cards are together."
    return [
        *_round_over(state, now_ms),
        out,
        (
            Task(f"A floorperson takes deck {deck} off the table", gone),
            lambda: removal_step(deck, why, (Rule.DECK_AGE,)),
        ),
        (Task("Bring the new deck", enough), lambda: current_step(state, now_ms)),
        (Task("Inspect, verify, spread, wash and stack it", enough and opened), lambda: current_step(state, now_ms)),
    ]


def _out_of_service(state: State, device: str, now_ms: int) -> list[_FlowPart]:
    out, decks = not in_service(state, device), inside(state, device)
    unable = state.devices[device].state in UNABLE or bool(state.devices[device].hindered)
    covered = (
        Task(f"A floorperson covers, removes or marks the {device}", out),
        lambda: _take_out(state, device),
    )
    emptied = (
        Task(f"Take all cards out of the {device}", not decks and (out or not unable)),
        lambda: _deck_out(state, decks[0])[1](),
    )
    parts = [covered, emptied] if unable else [emptied, covered]  # a device that works brings its cards out itself
    if state.table is TableState.VOIDING or (device == "shoe" and state.method is Method.AUTOMATED_SHOE):
        parts = [*_round_over(state, now_ms), *parts]
    if state.table is TableState.CLOSED:
        return parts
    if device == "shuffler" and len(state.setup.backs) > 1:
        one_left = out and wrong_number_of_decks(state) is None
        parts.append((Task("One deck leaves the table", one_left), lambda: current_step(state, now_ms)))
    if state.method is _NEEDS[device]:
        parts.append((Task("A floorperson chooses another dealing method", False), lambda: current_step(state, now_ms)))
    return parts


_PARTS = {Goal.CLOSE: _close, Goal.CHANGE_DECK: _change_deck, Goal.OUT_OF_SERVICE: _out_of_service}


# --- tasks of several goals -----------------------------------------------------------------------------------------


def _round_over(state: State, now_ms: int) -> list[_FlowPart]:
    """A round is played to its end, or its void is completed."""
    if state.round is None:
        return [(Task("No round is in progress", True), _never)]
    text = (
        f"Finish void round {state.round.number}" if state.round.void else f"Play round {state.round.number} to its end"
    )
    return [(Task(text, False), lambda: current_step(state, now_ms))]


def _deck_out(state: State, name: str) -> _FlowPart:
    """A deck comes out of the device, the manual shoe or the hand."""
    deck = state.decks[name]
    done = not elsewhere(deck) and deck.state not in (DeckState.IN_PLAY, DeckState.VOIDED)

    def how() -> Step:
        moving = moved_by(state, name)
        if deck.state in GATHERED_STATES:
            return with_correction(state, gather_step(state, name))
        if moving:
            return Step(f"Wait for the {moving}.", f"It is moving deck {name}.")
        out: Offer = {"action": "unload_deck", "deck": name}
        first = "Return the wagers, and t" if state.seats and state.table is TableState.BETTING else "T"
        return Step(f"{first}ake deck {name} out.", "Its cards must be together.", (Rule.SHUFFLE,), (out,))

    return Task(f"Take out deck {name}", done), how


def _take_out(state: State, device: str) -> Step:
    for name, found in state.devices.items():
        fed = device == "shoe" and found.doing is not None and isinstance(found.doing.command, Deliver)
        if fed or (name == device and found.state is DeviceState.WORKING):
            return Step(f"Wait for the {name}.", "It is working.")
    out: Offer = {"action": "take_out_of_service", "device": device}
    text = f"Cover, remove or mark the {device}; a floorperson records it."
    return Step(text, "Until then no other method is allowed.", (Rule.OUT_OF_SERVICE,), (out,))


def _never() -> Step:
    raise AssertionError("a task that is done is not done again")
