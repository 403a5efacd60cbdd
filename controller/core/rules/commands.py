"""Gives commands to devices: cycles that move cards or test the device, and lock and light commands."""

# mypyc
from __future__ import annotations

from typing import Any, Final

from controller.core.commands import recorded
from controller.core.decision import Decision
from controller.core.events.devices import CommandGiven
from controller.core.setup import RANGES_MS, Limits
from controller.core.state import State
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import (
    AnyCommand,
    ClearJam,
    Cycle,
    Deliver,
    Dispense,
    DispenseFaceUp,
    Eject,
    Indicate,
    Lock,
    Release,
    SelfTest,
    Shuffle,
    Unlock,
)

# The cycle of each command, and the field of the set-up's limits that says how long it may take.
_LIMITS: Final[dict[type[AnyCommand], tuple[Cycle, str]]] = {
    Shuffle: (Cycle.SHUFFLE, "shuffle_ms"),
    Deliver: (Cycle.DELIVER, "deliver_ms"),
    Dispense: (Cycle.DISPENSE, "dispense_ms"),
    DispenseFaceUp: (Cycle.DISPENSE, "dispense_ms"),
    Release: (Cycle.RELEASE, "release_ms"),
    Eject: (Cycle.EJECT, "eject_ms"),
    ClearJam: (Cycle.CLEAR_JAM, "clear_jam_ms"),
    SelfTest: (Cycle.SELF_TEST, "self_test_ms"),
}
_DEFAULTS: Final = Limits()
_LONGEST: Final[dict[str, type[AnyCommand]]] = {"shuffler": Shuffle, "shoe": SelfTest}


def _limit_ms(state: State, device: str, command: type[AnyCommand]) -> int:
    """How long this cycle may take: as configured, otherwise as the device says, within the range that makes sense."""
    cycle, name = _LIMITS[command]
    limit: int = getattr(state.setup.limits, name)
    stated = state.devices[device].longest_ms
    if limit != getattr(_DEFAULTS, name) or len(stated) < cycle or stated[cycle - 1] == 0:
        return limit
    least, most = RANGES_MS[name]
    return min(max(stated[cycle - 1], least), most)


def longest_cycle_ms(state: State, device: str) -> int:
    """The longest time that a cycle of this device may take."""
    return _limit_ms(state, device, _LONGEST[device])


def give(
    d: Decision, device: str, command: type[AnyCommand], *rules: Rule, deck: str = "", target: str = "", **args: Any
) -> None:
    """Command a cycle, after unlocking the device if necessary."""
    if d.state.devices[device].locked:
        give_side_command(d, device, Unlock)
    given = _command(d, device, command, args)
    given.deck, given.target, given.until_ms = deck, target, d.now_ms + _limit_ms(d.state, device, command)
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
