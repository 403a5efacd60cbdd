"""Deadlines: device cycles that overrun, links that do not come back, decks that reach their age limit.

The core has no clock: the current time comes with every report.
"""

# mypyc
from __future__ import annotations

import math
from typing import Final

from controller.core.decision import Decision
from controller.core.enforcement import enforces
from controller.core.events.decks import DeckChangeDue
from controller.core.events.devices import CycleLost
from controller.core.machines import DeviceState
from controller.core.names import cycle_name
from controller.core.rules.guards import STOPS, age_ms, left_ms, life_ms
from controller.core.rules.stopping import failed, stopped
from controller.core.rules.warnings import warn
from controller.core.state import Device, State
from controller.games.rulebook import Rule

NEVER: Final = math.inf


def _cycle_ends_ms(device: Device) -> float:
    return device.doing.until_ms if device.state is DeviceState.WORKING and device.doing else NEVER


def _grace_ends_ms(state: State, name: str, device: Device) -> float:
    if device.state is not DeviceState.LOST or f"{name}.lost" in state.warnings:
        return NEVER
    return device.lost_ms + state.setup.limits.grace_ms


def _announced_after_ms(state: State) -> int:
    """How long after a deck's first round its change is announced."""
    return life_ms(state) - state.setup.limits.change_ahead_ms


def deadline_ms(state: State) -> float:
    """The next time at which something is due without a report."""
    first = NEVER
    for name, device in state.devices.items():
        at = _cycle_ends_ms(device) if device.doing else NEVER
        if device.state is DeviceState.LOST:
            at = min(at, _grace_ends_ms(state, name, device))
        if at < first:
            first = at
    oldest = NEVER
    for deck in state.decks.values():
        if 0 <= deck.in_play_ms < oldest and not deck.change_due:
            oldest = float(deck.in_play_ms)
    if oldest < NEVER:
        at = oldest + _announced_after_ms(state)
        if at < first:
            first = at
    return first


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS, Rule.DECK_AGE)
def check_deadlines(d: Decision) -> None:
    """Decide everything that is due by now."""
    state = d.state
    if deadline_ms(state) > d.now_ms:
        return
    for name, device in state.devices.items():
        if _cycle_ends_ms(device) <= d.now_ms and device.doing:
            failed(d, name, f"did not finish its {cycle_name(device.doing.name)} in time")
        elif _grace_ends_ms(state, name, device) <= d.now_ms:
            _link_not_back(d, name)
    for name, deck in state.decks.items():
        age = age_ms(deck, d.now_ms)
        if age is not None and age >= _announced_after_ms(state) and not deck.change_due:
            d.emit(DeckChangeDue(deck=name, left_ms=left_ms(state, age)), Rule.DECK_AGE)


def _link_not_back(d: Decision, name: str) -> None:
    """A link did not come back within its grace period."""
    doing, rule = d.state.devices[name].doing, STOPS[name]
    warn(d, "lost", rule, device=name, text=f"the {name} does not answer")
    if doing:
        d.emit(CycleLost(device=name, id=doing.id, reason="the link did not come back"), rule)
    stopped(d, name, doing, "does not answer", cards_inside=False)
