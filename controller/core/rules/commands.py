"""Gives commands to devices: cycles that move cards or test the device, and lock and light commands."""

# mypyc
from __future__ import annotations

from typing import Any, Final

from controller.core.commands import recorded
from controller.core.decision import Decision
from controller.core.events.devices import CommandGiven
from controller.core.state import State
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import (
    AnyCommand,
    ClearJam,
    Deliver,
    Dispense,
    Eject,
    Indicate,
    Lock,
    Release,
    SelfTest,
    Shuffle,
    Unlock,
)

# The field of the set-up's limits that says how long each cycle may take.
_LIMITS: Final[dict[type[AnyCommand], str]] = {
    Shuffle: "shuffle_ms",
    Deliver: "deliver_ms",
    Dispense: "dispense_ms",
    Release: "release_ms",
    Eject: "eject_ms",
    ClearJam: "clear_jam_ms",
    SelfTest: "self_test_ms",
}
_LONGEST: Final[dict[str, type[AnyCommand]]] = {"shuffler": Shuffle, "shoe": SelfTest}


def _limit_ms(state: State, command: type[AnyCommand]) -> int:
    limit: int = getattr(state.setup.limits, _LIMITS[command])
    return limit


def longest_cycle_ms(state: State, device: str) -> int:
    """The longest time that a cycle of this device may take."""
    return _limit_ms(state, _LONGEST[device])


def give(
    d: Decision, device: str, command: type[AnyCommand], *rules: Rule, deck: str = "", target: str = "", **args: Any
) -> None:
    """Command a cycle, after unlocking the device if necessary."""
    if d.state.devices[device].locked:
        give_side_command(d, device, Unlock)
    given = _command(d, device, command, args)
    given.deck, given.target, given.until_ms = deck, target, d.now_ms + _limit_ms(d.state, command)
    d.emit(given, *rules)


def give_side_command(
    d: Decision, device: str, command: type[Lock | Unlock | Indicate], *rules: Rule, **args: Any
) -> None:
    """Lock, unlock or indicate. These are not cycles: possible at any time, they leave the device's state unchanged."""
    given = _command(d, device, command, args)
    given.stays = True
    d.emit(given, *rules)


def _command(d: Decision, device: str, command: type[AnyCommand], args: dict[str, Any]) -> CommandGiven:
    """The event that gives this command; its number is the command's id."""
    boot = d.state.devices[device].boot
    message = command(id=d.state.seq + 1, boot=boot, **args)
    return CommandGiven(device=device, command=recorded(message), boot=boot)
