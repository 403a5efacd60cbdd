"""Commands to devices, as the core holds them and as the journal has them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from controller.core.events.devices import RecordedCommand
from firmware_bridge.wire.messages import AnyCommand, Indicate, Light, Sound

COMMANDS: Final[dict[str, type[AnyCommand]]] = {kind.__name__: kind for kind in AnyCommand.__args__}
_OF_THE_EVENT: Final = ("id", "boot")  # the journal has them beside the command


def recorded(command: AnyCommand) -> RecordedCommand:
    """A command as the journal has it."""
    fields = msgspec.structs.asdict(command)
    arguments = {name: value for name, value in fields.items() if name not in _OF_THE_EVENT}
    return RecordedCommand(name=type(command).__name__, **arguments)


def command_of(id: int, boot: int, found: RecordedCommand) -> AnyCommand:
    """The command that a `command.given` event has recorded; the number of that event is the command's id."""
    arguments: dict[str, Any] = {
        name: value for name, value in msgspec.structs.asdict(found).items() if name != "name" and value is not None
    }
    kind = COMMANDS[found.name]
    if kind is Indicate:
        arguments |= {"light": Light(arguments["light"]), "sound": Sound(arguments["sound"])}
    return kind(id=id, boot=boot, **arguments)
