"""Converts commands to devices between wire messages, which the core holds, and their form in the journal."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from controller.core.events.devices import RecordedCommand
from firmware_bridge.wire.messages import AnyCommand, Indicate, Light, Sound

COMMANDS: Final[dict[str, type[AnyCommand]]] = {kind.__name__: kind for kind in AnyCommand.__args__}
_STORED_IN_EVENT: Final = ("id", "boot")  # stored in the event, next to the command


def recorded(command: AnyCommand) -> RecordedCommand:
    """A command as it is stored in the journal."""
    fields = msgspec.structs.asdict(command)
    arguments = {name: value for name, value in fields.items() if name not in _STORED_IN_EVENT}
    return RecordedCommand(name=type(command).__name__, **arguments)


def command_of(id: int, boot: int, found: RecordedCommand) -> AnyCommand:
    """The command recorded in a `command.given` event; the number of that event is the command's id."""
    arguments: dict[str, Any] = {
        name: value for name, value in msgspec.structs.asdict(found).items() if name != "name" and value is not None
    }
    kind = COMMANDS[found.name]
    if kind is Indicate:
        arguments |= {"light": Light(arguments["light"]), "sound": Sound(arguments["sound"])}
    return kind(id=id, boot=boot, **arguments)
