"""Locks and lights: what each device should be, put against what it was last told. A difference is a command.

A device is locked while a warning of it stands, or while cards in it belong to a void round or to a deck that is locked
out; not while it works, not while cards lie at its exit, and not once a person has said that they reach into it.
The light has three states only, so that a round without trouble gives none of these commands.
"""

# mypyc
from __future__ import annotations

from functools import lru_cache
from typing import Final

from controller.core import ledger
from controller.core.decision import Decision
from controller.core.enforcement import enforces
from controller.core.machines import DeckState, DeviceState
from controller.core.rules.commands import give_side_command
from controller.core.rules.guards import STOPS, warned
from controller.core.state import State
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Indicate, Light, Lock, Sound, Unlock

_NOT_TO_BE_DEALT: Final = frozenset({DeckState.VOIDED, DeckState.LOCKED_OUT})
_LONGEST: Final = 64  # characters that a device takes
_ALL_WELL: Final = (Light.GREEN, "", Sound.NONE)


def to_be_locked(state: State, name: str) -> bool:
    """Whether this device should be locked now."""
    device = state.devices[name]
    if device.state is DeviceState.OUT_OF_SERVICE or device.doing or device.at_exit or device.opened_by:
        return False
    return warned(state, name) or _holds_void(state, name)


def _holds_void(state: State, name: str) -> bool:
    """Whether cards lie in it that must not be dealt."""
    for deck in state.decks.values():
        if deck.state in _NOT_TO_BE_DEALT and ledger.count(deck.cards, ledger.IN_DEVICE[name]) > 0:
            return True
    return False


def light(state: State, name: str) -> tuple[Light, str, Sound]:
    """What a device shows: red, it stands still; yellow, a person must act; green, all is well."""
    device = state.devices[name]
    if device.state is DeviceState.OUT_OF_SERVICE:
        return Light.RED, "out of service", Sound.NONE
    warnings = [warning for warning in state.warnings.values() if warning.device == name] if state.warnings else []
    for warning in warnings:
        if not warning.gone:
            return Light.RED, warning.text, Sound.ALARM
    for warning in warnings:
        return Light.YELLOW, f"clear the warning: {warning.text}", Sound.CHIME
    if device.hindered:
        return Light.YELLOW, device.hindered, Sound.CHIME
    if _holds_void(state, name):
        return Light.YELLOW, "these cards are not dealt", Sound.CHIME
    return _ALL_WELL


@lru_cache(maxsize=64)
def _shown(shown: Light, text: str) -> str:
    return f"{int(shown)} {text[:_LONGEST]}"


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def update_locks(d: Decision) -> None:
    """Give the commands that make every device what it should be: the lock first."""
    for name, device in d.state.devices.items():
        if not device.online:
            continue
        if device.can_lock and device.locked is not to_be_locked(d.state, name):
            give_side_command(d, name, Unlock if device.locked else Lock, STOPS[name])
        if device.can_show:
            shown, text, sound = light(d.state, name)
            if device.shown != _shown(shown, text):
                give_side_command(d, name, Indicate, light=int(shown), sound=int(sound), text=text[:_LONGEST])
