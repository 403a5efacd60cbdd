"""Locks and lights: compares what each device should show with the last command it was sent, and sends the difference.

A device is locked while there is a warning about it, or while it holds cards of a void round or of a locked-out deck.
It is not locked while it works, while cards are at its exit, or after a person has reported that they are opening it.
The light has only three states, so a round without trouble needs none of these commands.
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
from controller.core.state import Deck, State
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Indicate, Light, Lock, Sound, Unlock

_NOT_TO_BE_DEALT: Final = frozenset({DeckState.VOIDED, DeckState.LOCKED_OUT})
_LONGEST: Final = 64  # characters of text that a device accepts
_ALL_WELL: Final = (Light.GREEN, "", Sound.NONE)


def to_be_locked(state: State, name: str, void: bool) -> bool:
    """Whether this device should be locked now; `void`: it holds cards that must not be dealt."""
    device = state.devices[name]
    if device.state is DeviceState.OUT_OF_SERVICE or device.doing or device.at_exit or device.opened_by:
        return False
    return void or warned(state, name)


def not_to_be_dealt(state: State) -> list[Deck]:
    """The decks of which no card must be dealt: that of a void round, and those that are locked out."""
    return [deck for deck in state.decks.values() if deck.state in _NOT_TO_BE_DEALT]


def holds(decks: list[Deck], name: str) -> bool:
    """Whether this device holds cards of these decks."""
    return any(ledger.count(deck.cards, ledger.IN_DEVICE[name]) > 0 for deck in decks)


def _light(state: State, name: str, void: bool) -> tuple[Light, str, Sound]:
    """What a device should show: red if it cannot work, yellow if a person must act, otherwise green."""
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
    if void:
        return Light.YELLOW, "do not deal these cards", Sound.CHIME
    return _ALL_WELL


@lru_cache(maxsize=64)
def _shown(shown: Light, text: str) -> str:
    return f"{int(shown)} {text[:_LONGEST]}"


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def update_locks(d: Decision) -> None:
    """Send each device the lock and light commands that it needs, the lock first."""
    decks = not_to_be_dealt(d.state)
    for name, device in d.state.devices.items():
        if not device.online:
            continue
        void = bool(decks) and holds(decks, name)
        if device.can_lock and device.locked is not to_be_locked(d.state, name, void):
            give_side_command(d, name, Unlock if device.locked else Lock, STOPS[name])
        if device.can_show:
            shown, text, sound = _light(d.state, name, void)
            if device.shown != _shown(shown, text):
                give_side_command(d, name, Indicate, light=int(shown), sound=int(sound), text=text[:_LONGEST])
