"""Converts commands to devices between wire messages, which the core holds, and their form in the journal."""

from __future__ import annotations

from typing import Any, Final

from controller.core.events.devices import RecordedCommand
from firmware_bridge.wire.messages import AnyCommand, Indicate, Light, Sound

COMMANDS: Final[dict[str, type[AnyCommand]]] = {kind.__name__: kind for kind in AnyCommand.__args__}
_STORED_IN_EVENT: Final = ("id", "boot")  # stored in the event, next to the command
_ARGUMENTS: Final = {
    kind: [name for name in kind.__struct_fields__ if name not in _STORED_IN_EVENT] for kind in COMMANDS.values()
}


def recorded(command: AnyCommand) -> RecordedCommand:
    """A command as it is stored in the journal."""
    kind = type(command)
    return RecordedCommand(name=kind.__name__, **{name: getattr(command, name) for name in _ARGUMENTS[kind]})


def command_of(id: int, boot: int, found: RecordedCommand) -> AnyCommand:
    """The command recorded in a `command.given` event; the number of that event is the command's id."""
    kind = COMMANDS[found.name]
    arguments: dict[str, Any] = {
        name: value for name in _ARGUMENTS[kind] if (value := getattr(found, name)) is not None
    }
    if kind is Indicate:
        arguments |= {"light": Light(arguments["light"]), "sound": Sound(arguments["sound"])}
    return kind(id=id, boot=boot, **arguments)
