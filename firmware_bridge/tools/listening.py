"""Listens to a line: yields every byte and every event on it as records, live, and survives unplugged cables.

As a host it opens a session and keeps it alive, but gives no commands and stores no events. In passive mode it sends
nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from firmware_bridge.connection import Connection
from firmware_bridge.ports.hotplug import Backoff, Hotplug
from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortError, PortLost, PortSettings, open_port
from firmware_bridge.tools.capture import LineEvent, Piece, Record, Remark
from firmware_bridge.tools.observer import observer_session
from firmware_bridge.wire.health import Direction
from firmware_bridge.wire.link import LossReason, Lost
from firmware_bridge.wire.session import Happening, Ready

OnEvent = Callable[[LineEvent, str], None]


class ConnectionReporter:
    """Describes to a technician what happens to a connection; its methods are callbacks for a `Connection`."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._ready = False

    def happened(self, happening: Happening) -> None:
        """Report what the bytes do not show: the start and end of a session."""
        if isinstance(happening, Ready):
            self._ready = True
            restarted = ", it has restarted" if happening.restarted else ""
            self._on_event(LineEvent.READY, f"ready: {happening.identity}, boot {happening.boot:08x}{restarted}")
        elif isinstance(happening, Lost):
            was_ready, self._ready = self._ready, False
            if happening.reason is LossReason.UNPLUGGED:
                self._on_event(LineEvent.PORT_LOST, f"port lost: {happening.detail}; waiting for it to come back")
            elif was_ready or happening.reason is LossReason.PROTOCOL:
                self._on_event(LineEvent.LINK_LOST, f"link lost: {happening}")

    def trouble(self, line: str) -> None:
        """Report a failed attempt to connect."""
        self._on_event(LineEvent.NOT_REACHED, f"not reached: {line}")


class LineListener:
    """Yields what happens on a line, from the first `async for` until `stop`."""

    def __init__(self, address: str, settings: PortSettings = DEFAULT_SETTINGS, *, passive: bool = False) -> None:
        self._address = address
        self._settings = settings
        self._passive = passive
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()
        self._records: asyncio.Queue[Record | BaseException | None] = asyncio.Queue()
        self._port_was_open = False
        self._reporter = ConnectionReporter(self._remark)

    def stop(self) -> None:
        """Close the session. Records of what happened before are still yielded."""
        self._records.put_nowait(None)

    async def records(self) -> AsyncGenerator[Record, None]:
        """Yield every record. Raises PortError if the port cannot be opened; if it is lost later, waits for it."""
        hotplug = Hotplug()
        await hotplug.start()
        connection = None if self._passive else self._connection(hotplug)
        running = asyncio.create_task(connection.run() if connection else self._listen_passively(hotplug))
        running.add_done_callback(self._ended)
        try:
            while (record := await self._records.get()) is not None:
                if isinstance(record, BaseException):
                    raise record
                yield record
        finally:
            if connection:
                connection.close()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            await hotplug.close()
        while not self._records.empty():  # from closing the session
            record = self._records.get_nowait()
            if isinstance(record, Piece | Remark):
                yield record

    def _connection(self, hotplug: Hotplug) -> Connection:
        session = observer_session("shoectl monitor")
        return Connection(
            self._address,
            session,
            settings=self._settings,
            hotplug=hotplug,
            on_happening=self._reporter.happened,
            on_trouble=self._not_reached,
            on_wire=self._piece,
        )

    async def _listen_passively(self, hotplug: Hotplug) -> None:
        backoff, reported = Backoff(), ""
        while True:
            plugged = hotplug.count
            lost: asyncio.Future[PortLost] = self._loop.create_future()
            try:
                port = await open_port(
                    self._address, lambda data: self._piece("in", data), lost.set_result, self._settings
                )
            except PortError as error:
                if str(error) != reported:
                    self._not_reached(str(error))
                    reported = str(error)
            else:
                self._port_was_open, reported = True, ""
                backoff.reset()
                self._remark(LineEvent.OPENED, f"listening on {self._address}, sending nothing")
                try:
                    loss = await lost
                finally:
                    port.close()
                self._remark(LineEvent.PORT_LOST, f"port lost: {loss.detail}; waiting for it to come back")
            await hotplug.wait(backoff.next(), since=plugged)

    def _piece(self, direction: Direction, data: bytes) -> None:
        self._port_was_open = True
        self._records.put_nowait(Piece(self._now(), direction, data))

    def _not_reached(self, line: str) -> None:
        if self._port_was_open:
            self._reporter.trouble(line)
        else:
            self._records.put_nowait(PortError(line))

    def _remark(self, event: LineEvent, text: str) -> None:
        self._records.put_nowait(Remark(self._now(), event, text))

    def _now(self) -> float:
        return round(self._loop.time() - self._start, 6)

    def _ended(self, running: asyncio.Task[None]) -> None:
        if not running.cancelled() and (error := running.exception()):
            self._records.put_nowait(error)
