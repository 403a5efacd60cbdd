"""Time: cycles that do not end, links that stay away, decks that grow old. `now` comes with every report."""

from __future__ import annotations

import math

from controller.core.clauses import enforces
from controller.core.decision import Decision
from controller.core.devices import failed, stopped
from controller.core.guards import life_ms
from controller.core.machines import DeviceState
from controller.core.service import CLAUSE_OF, warn
from controller.core.state import Device, State


def _cycle_ends_ms(device: Device) -> float:
    working = device.state is DeviceState.WORKING and device.doing is not None
    return device.doing.until_ms if working and device.doing else math.inf


def _grace_ends_ms(state: State, name: str) -> float:
    device = state.devices[name]
    if device.state is not DeviceState.LOST or f"{name}.lost" in state.warnings:
        return math.inf
    return device.lost_ms + state.setup.limits.grace_ms


def _change_due_ms(state: State, name: str) -> float:
    deck = state.decks[name]
    if deck.in_play_ms < 0 or deck.change_due:
        return math.inf
    return deck.in_play_ms + life_ms(state) - state.setup.limits.change_ahead_ms


def deadline_ms(state: State) -> float:
    """When something will be due without a report."""
    times = [_cycle_ends_ms(device) for device in state.devices.values()]
    times += [_grace_ends_ms(state, name) for name in state.devices]
    times += [_change_due_ms(state, name) for name in state.decks]
    return min(times, default=math.inf)


@enforces("13.F", "13.G", "3.C")
def look_at_clock(d: Decision) -> None:
    """Decide what is due by now."""
    state = d.state
    for name, device in state.devices.items():
        if _cycle_ends_ms(device) <= d.now_ms and device.doing:
            failed(d, name, f"has not ended its {device.doing.name.lower()} in time")
        elif _grace_ends_ms(state, name) <= d.now_ms:
            _stays_away(d, name)
    for name in state.decks:
        if _change_due_ms(state, name) <= d.now_ms:
            left_ms = max(0, state.decks[name].in_play_ms + life_ms(state) - d.now_ms)
            d.emit("deck.change_due", "3.C", deck=name, left_ms=left_ms)


def _stays_away(d: Decision, name: str) -> None:
    """A link that did not come back in its grace time."""
    doing, clause = d.state.devices[name].doing, CLAUSE_OF[name]
    warn(d, "lost", device=name, clause=(clause,), text=f"the {name} does not answer")
    if doing:
        d.emit("cycle.lost", clause, device=name, id=doing.id, reason="the link did not come back")
    stopped(d, name, doing, "does not answer", cards_inside=False)
