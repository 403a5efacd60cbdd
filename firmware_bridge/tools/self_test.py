"""Runs a device's own test of its motors and sensors for a technician, and reports the result."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from firmware_bridge.connection import Connection, DeviceError
from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortSettings
from firmware_bridge.tools.listening import ConnectionReporter, OnEvent
from firmware_bridge.tools.observer import observer_session
from firmware_bridge.wire.link import Lost
from firmware_bridge.wire.messages import AskCounters, AskStatus, Counters, CycleDone, Done, Fault, SelfTest, Status
from firmware_bridge.wire.session import DeviceIdentity, Happening, Ready

WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class SelfTested:
    """The result of a self-test. Its events stay in the device, for the controller."""

    identity: DeviceIdentity
    done: CycleDone
    faults: list[Fault]
    status: Status
    counters: Counters


async def self_test(
    address: str,
    settings: PortSettings = DEFAULT_SETTINGS,
    *,
    on_event: OnEvent = lambda event, text: None,
    within_s: float = WITHIN_S,
) -> SelfTested:
    """Test the device at this address. Raises DeviceError if the test does not start or does not end."""
    return await _Run(address, settings, on_event).run(within_s)


class _Run:
    """One self-test. If the link is lost, it waits for the device; a device that restarted has forgotten the test."""

    def __init__(self, address: str, settings: PortSettings, on_event: OnEvent) -> None:
        self._address = address
        self._on_event = on_event
        self._reporter = ConnectionReporter(on_event)
        session = observer_session("shoectl self-test")
        self._connection = Connection(
            address, session, settings=settings, on_happening=self._happened, on_trouble=self._trouble
        )
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Ready] = loop.create_future()
        self._done: asyncio.Future[CycleDone] = loop.create_future()
        self._failed: asyncio.Future[str] = loop.create_future()
        self._id = 0  # of the command: higher than any the device has seen, since an id is never reused
        self._accepted = False
        self._faults: list[Fault] = []

    async def run(self, within_s: float) -> SelfTested:
        connected = asyncio.create_task(self._connection.run())
        testing = asyncio.create_task(self._test())
        try:
            ends: list[asyncio.Future[Any]] = [connected, testing, self._failed]
            await asyncio.wait(ends, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if self._failed.done():
                raise DeviceError(self._failed.result())
            if connected.done():
                await connected  # raises the error that ended it
            if not testing.done():
                missing = "the self-test did not end" if self._ready.done() else "the device did not answer"
                raise DeviceError(f"{self._address}: {missing} within {within_s:g} s")
            return await testing
        finally:
            self._connection.close()
            for task in (connected, testing):
                task.cancel()
            await asyncio.gather(connected, testing, return_exceptions=True)

    async def _test(self) -> SelfTested:
        ready = await self._ready
        await self._connection.command(SelfTest(self._id, ready.boot))
        done = await self._done
        status = await self._connection.ask(AskStatus)
        counters = await self._connection.ask(AskCounters)
        assert isinstance(status, Status)
        assert isinstance(counters, Counters)
        return SelfTested(ready.identity, done, self._faults, status, counters)

    def _happened(self, happening: Happening) -> None:
        if isinstance(happening, Lost):
            self._reporter.happened(happening)
        elif isinstance(happening, Ready):
            if not self._ready.done():
                self._id = happening.last_command + 1
                self._ready.set_result(happening)
            elif happening.restarted:
                self._fail(f"{self._address}: the device restarted during its self-test and has lost the result")
        elif isinstance(happening, Done):
            self._accepted = happening.id == self._id
        elif isinstance(happening, Fault) and self._accepted:  # earlier reports do not belong to this test
            self._faults.append(happening)
        elif isinstance(happening, CycleDone) and happening.command == self._id and self._accepted:
            self._done.set_result(happening)

    def _trouble(self, line: str) -> None:
        if self._ready.done():
            self._reporter.trouble(line)
        else:
            self._fail(line)

    def _fail(self, why: str) -> None:
        if not self._failed.done():
            self._failed.set_result(why)
