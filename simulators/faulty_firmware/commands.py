"""Defects in what a device does with commands."""

from __future__ import annotations

from typing import Any

from firmware_bridge.wire.messages import (
    COMMANDS,
    AnyCommand,
    BadMessage,
    Done,
    Indicate,
    Lock,
    Reason,
    Unlock,
    message_number,
)
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware.defect_lists import done_instead, fails

INDICATE = message_number(Indicate)


def harmless(command: AnyCommand) -> bool:
    return isinstance(command, Lock | Unlock | Indicate)


class ActsAgain(Firmware):
    """Carries out a repeated command again, and gives the answer that it remembers."""

    def _repeats(self, command: AnyCommand, data: bytes) -> bool:
        raise NotImplementedError

    def _command(self, command: AnyCommand, data: bytes) -> None:
        if self._repeats(command, data):
            self._act(command)
        super()._command(command, data)

    def _remembers(self, command: AnyCommand, data: bytes) -> bool:
        return self._answers.get(command.id, (b"", b""))[0] == data


@fails("command.at_most_once")
class ActsOnEveryCopy(ActsAgain):
    """Carries out a command as often as it comes over one link."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._given_on: dict[int, int] = {}  # command → link session

    def _repeats(self, command: AnyCommand, data: bytes) -> bool:
        given_on = self._given_on.setdefault(command.id, self.link.session)
        return self._remembers(command, data) and given_on == self.link.session and harmless(command)


@fails("command.across_links")
class ForgetsWithTheLink(ActsAgain):
    """Carries out a command again when it comes over another link."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._given_on: dict[int, int] = {}

    def _repeats(self, command: AnyCommand, data: bytes) -> bool:
        given_on = self._given_on.setdefault(command.id, self.link.session)
        return self._remembers(command, data) and given_on != self.link.session and harmless(command)


@fails("command.remembered")
class RemembersEight(Firmware):
    """Remembers the last 8 answers only."""

    def _command(self, command: AnyCommand, data: bytes) -> None:
        super()._command(command, data)
        while len(self._answers) > 8:
            del self._answers[next(iter(self._answers))]


class _TakesLowerIds(Firmware):
    """Carries out what has a lower id than the highest one."""

    def _takes(self, id: int) -> bool:
        raise NotImplementedError

    def _command(self, command: AnyCommand, data: bytes) -> None:
        highest = self._last_command
        if command.id <= highest and command.id not in self._answers and self._takes(command.id):
            self._last_command = 0
        super()._command(command, data)
        self._last_command = max(highest, self._last_command)


@fails("command.forgotten")
class ActsOnForgotten(_TakesLowerIds):
    """Treats a command whose answer it has forgotten as a new one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seen: set[int] = set()

    def _takes(self, id: int) -> bool:
        return id in self._seen

    def _act(self, command: AnyCommand) -> None:
        self._seen.add(command.id)
        super()._act(command)


@fails("command.lower_id")
class ActsOnLowerIds(ActsOnForgotten):
    """Treats every id that it has not seen as new, even a lower one."""

    def _takes(self, id: int) -> bool:
        return not super()._takes(id)


@fails("command.id_reused")
class LooksAtTheIdAlone(Firmware):
    """Gives the remembered answer to another command with the same id."""

    def _command(self, command: AnyCommand, data: bytes) -> None:
        if command.id in self._answers and command.boot == self.boot:
            self._send(self._answers[command.id][1])
        else:
            super()._command(command, data)


@fails("command.other_boot")
class IgnoresBoot(Firmware):
    """Carries out a command that was meant for an earlier boot."""

    def _command(self, command: AnyCommand, data: bytes) -> None:
        command.boot = self.boot
        super()._command(command, data)


@fails("command.unknown")
class SilentOnUnknownCommands(Firmware):
    """Does not answer a command that it does not know."""

    def _unreadable(self, bad: BadMessage) -> None:
        if bad.number <= INDICATE or bad.number not in COMMANDS:
            super()._unreadable(bad)


@fails("command.bad_argument")
class SilentOnBadArguments(Firmware):
    """Does not answer a command with a field that is missing or has the wrong type."""

    def _unreadable(self, bad: BadMessage) -> None:
        if not str(bad).startswith(("Expected `int`", "Expected `array`")):
            super()._unreadable(bad)


@fails("command.bad_light")
class TakesAnyLight(Firmware):
    """Accepts an Indicate with a light that it does not have."""

    def _unreadable(self, bad: BadMessage) -> None:
        if bad.number == INDICATE and "enum" in str(bad):
            self._send(Done(bad.id).encode())
        else:
            super()._unreadable(bad)


@fails("command.bad_text")
class TakesAnyText(Firmware):
    """Shows as much of a text as it can."""

    def _unreadable(self, bad: BadMessage) -> None:
        if bad.number == INDICATE and ("utf-8" in str(bad) or "length" in str(bad)):
            self._send(Done(bad.id).encode())
        else:
            super()._unreadable(bad)


@fails("command.not_remembered")
class RemembersTheUnreadable(Firmware):
    """Treats the id of a command that it could not read as used."""

    def _unreadable(self, bad: BadMessage) -> None:
        super()._unreadable(bad)
        if bad.number in COMMANDS:
            self._last_command = max(self._last_command, bad.id)


@fails("command.refusal_remembered")
class ForgetsRefusals(Firmware):
    """Remembers what it has done, but not what it refused."""

    def _command(self, command: AnyCommand, data: bytes) -> None:
        before = self._last_command
        super()._command(command, data)
        _, answer = self._answers.get(command.id, (b"", b""))
        if self._last_command > before and answer != Done(command.id).encode():
            del self._answers[command.id]
            self._last_command = before


@fails("command.not_able")
class SaysDoneWhenNotAble(Firmware):
    """Answers Done to a command of the other kind of device, and does nothing."""

    def _send(self, message: bytes) -> None:
        super()._send(done_instead(message, Reason.NOT_ABLE))
