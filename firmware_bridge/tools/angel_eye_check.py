"""Checks an Angel Eye II-EX for a technician: it is locked and unlocked, and must accept both and report both."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from firmware_bridge.connection import DeviceError
from firmware_bridge.drivers.angel_eye.line import (
    AngelEyeLine,
    Answered,
    LineCounters,
    NotAnswered,
    Reported,
    ShoeCommand,
)
from firmware_bridge.drivers.angel_eye.reports import ErrorOccurred, LockChanged
from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortError, PortLost, PortSettings, Transport, open_port

REPORT_WITHIN_S = 3.0  # how soon the shoe must report its lock; it may repeat the report until then


@dataclass(frozen=True, slots=True)
class AngelEyeChecked:
    """What a check has shown."""

    faults: list[str]  # what was not as it should be; empty if the shoe has passed
    errors: list[str]  # which the shoe reported meanwhile
    counters: LineCounters


async def lock_and_unlock(
    address: str, settings: PortSettings = DEFAULT_SETTINGS, within_s: float = REPORT_WITHIN_S
) -> AngelEyeChecked:
    """Lock and unlock the shoe at this address; raises DeviceError if it cannot be reached or is lost."""
    inbox: asyncio.Queue[bytes | PortLost] = asyncio.Queue()
    try:
        port = await open_port(address, inbox.put_nowait, inbox.put_nowait, settings)
    except PortError as error:
        raise DeviceError(str(error)) from None
    try:
        return await _Check(port, inbox, within_s).run()
    finally:
        port.close()


class _Check:
    def __init__(self, port: Transport, inbox: asyncio.Queue[bytes | PortLost], within_s: float) -> None:
        self._port = port
        self._inbox = inbox
        self._within_s = within_s
        self._line = AngelEyeLine()
        self._faults: list[str] = []
        self._errors: list[str] = []

    async def run(self) -> AngelEyeChecked:
        for command, locked in ((ShoeCommand.LOCK, True), (ShoeCommand.UNLOCK, False)):
            fault = await self._do(command, locked)
            if fault:
                self._faults.append(f"{command.name.lower()}: {fault}")
        return AngelEyeChecked(self._faults, self._errors, self._line.counters)

    async def _do(self, command: ShoeCommand, locked: bool) -> str:
        """Give a command, and wait for its answer and the report of the lock; returns what is wrong."""
        loop, line = asyncio.get_running_loop(), self._line
        line.give(command.value, loop.time())
        accepted = reported = False
        give_up_at = loop.time() + self._within_s
        while not (accepted and reported):
            self._port.write(line.take_output())
            try:
                async with asyncio.timeout_at(min(line.deadline, give_up_at)):
                    arrived = await self._inbox.get()
            except TimeoutError:
                happenings = line.tick(loop.time())
            else:
                if isinstance(arrived, PortLost):
                    raise DeviceError(f"{arrived.detail} during the check")
                happenings = line.receive(arrived, loop.time())
            for happening in happenings:
                match happening:
                    case NotAnswered():
                        return "no answer"
                    case Answered(refused=refused) if refused:
                        return f"refused, {refused}"
                    case Answered():
                        accepted = True
                    case Reported(report=LockChanged(locked=now_locked)):
                        reported = now_locked is locked
                    case Reported(report=ErrorOccurred() as error):
                        self._errors.append(f"error {error.code}: {error}")
            if loop.time() >= give_up_at and not (accepted and reported):
                return "no answer" if not accepted else "accepted, but the shoe has not reported its lock"
        return ""
