"""Giving commands to devices: cycles that move cards or test the device, and locks and lights beside them."""

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

# How long each cycle may take: a field of the set-up's limits.
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
    """How long a device can be busy with a cycle, at most."""
    return _limit_ms(state, _LONGEST[device])


def give(
    d: Decision, device: str, command: type[AnyCommand], *rules: Rule, deck: str = "", target: str = "", **args: Any
) -> None:
    """Give a device the command for a cycle, after unlocking it."""
    if d.state.devices[device].locked:
        give_side_command(d, device, Unlock)
    given = _command(d, device, command, args)
    given.deck, given.target, given.until_ms = deck, target, d.now_ms + _limit_ms(d.state, command)
    d.emit(given, *rules)


def give_side_command(
    d: Decision, device: str, command: type[Lock | Unlock | Indicate], *rules: Rule, **args: Any
) -> None:
    """Lock, unlock or indicate: possible at any time. It is no cycle, so the device's state stays as it is."""
    given = _command(d, device, command, args)
    given.stays = True
    d.emit(given, *rules)


def _command(d: Decision, device: str, command: type[AnyCommand], args: dict[str, Any]) -> CommandGiven:
    """The event with this command. Its number is the command's id."""
    boot = d.state.devices[device].boot
    message = command(id=d.state.seq + 1, boot=boot, **args)
    return CommandGiven(device=device, command=recorded(message), boot=boot)
