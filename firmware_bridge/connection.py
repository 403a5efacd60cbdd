"""A device on a port, kept connected: opens the port, greets, listens, and comes back after every loss.

This is where asyncio meets the pure session. Bytes go straight from the port into the session and what it has to
send goes straight out again; one timer serves all of its deadlines.
"""

from __future__ import annotations

import asyncio
import enum
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import structlog
from transitions import Machine

from firmware_bridge.ports.hotplug import Backoff, Hotplug
from firmware_bridge.ports.transport import DEFAULT_SETTINGS, PortError, PortLost, PortSettings, Transport, open_port
from firmware_bridge.wire.health import Direction
from firmware_bridge.wire.link import LossReason, Lost
from firmware_bridge.wire.messages import (
    COMMAND_ANSWERS,
    QUESTION_ANSWERS,
    AnyAnswer,
    AnyCommand,
    AnyQuestion,
    Counters,
    Identity,
    Reason,
    Refused,
    Status,
    describe_message,
)
from firmware_bridge.wire.session import Ahead, EventMark, Happening, HostSession, Ready, Rejected, WrongRole

Log = structlog.typing.FilteringBoundLogger

STEADY_S = 1.0  # after a session that stood this long, the next greeting comes at once and pauses start anew


class Stage(enum.Enum):
    """How far a connection has come."""

    CLOSED = "closed"
    OPENING = "opening the port"
    GREETING = "greeting the device"
    READY = "ready"
    WAITING = "waiting for the device"


# All that changes the stage of a connection; docs/design.md shows it as a diagram.
STAGES: Final[list[dict[str, Any]]] = [
    {"trigger": "begin", "source": Stage.CLOSED, "dest": Stage.OPENING},
    {"trigger": "opened", "source": Stage.OPENING, "dest": Stage.GREETING},
    {"trigger": "welcomed", "source": Stage.GREETING, "dest": Stage.READY},
    {"trigger": "link_lost", "source": Stage.READY, "dest": Stage.GREETING},
    {"trigger": "failed", "source": [Stage.OPENING, Stage.GREETING, Stage.READY], "dest": Stage.WAITING},
    {"trigger": "again", "source": Stage.WAITING, "dest": Stage.OPENING},
    {"trigger": "close", "source": list(Stage), "dest": Stage.CLOSED},
]


class _Stages:
    """The model that the state machine moves; its triggers are the ones of the table."""

    state: Stage
    trigger: Callable[[str], bool]


class DeviceError(Exception):
    """A device did not do what it was asked; the text is one line for a person."""


class CommandRefused(DeviceError):
    """The device said no, and will not carry the command out."""

    def __init__(self, command: AnyCommand, refusal: Refused) -> None:
        self.command, self.reason = command, refusal.reason
        words = refusal.reason.name.lower().replace("_", " ")
        super().__init__(f"{describe_message(command)}: refused, {words}{': ' if refusal.text else ''}{refusal.text}")


class OutcomeUnknown(DeviceError):
    """The device cannot know what became of the command: nobody may guess."""

    def __init__(self, command: AnyCommand, refusal: Refused) -> None:
        self.command, self.reason = command, refusal.reason
        why = "it has restarted" if refusal.reason is Reason.OTHER_BOOT else "it was too long ago"
        super().__init__(f"{describe_message(command)}: the device does not know what became of it, {why}")


class NotReady(DeviceError):
    """There is no session with the device now."""


class WrongDevice(DeviceError):
    """Another kind of device answered than was expected."""


class Connection:
    """One device, by its address. `run` keeps it connected until `close`.

    `on_happening` is told everything that the session brings. `on_trouble` is told in one line why a try to connect
    has failed: once, and again only when the reason changes. `on_wire` sees every byte that comes or goes.
    """

    def __init__(
        self,
        address: str,
        session: HostSession,
        *,
        settings: PortSettings = DEFAULT_SETTINGS,
        hotplug: Hotplug | None = None,
        on_happening: Callable[[Happening], None] = lambda happening: None,
        on_trouble: Callable[[str], None] = lambda line: None,
        on_wire: Callable[[Direction, bytes], None] | None = None,
        log: Log | None = None,
    ) -> None:
        self.address = address
        self.session = session
        self.on_happening = on_happening
        self._on_trouble = on_trouble
        self._on_wire = on_wire
        self._settings = settings
        self._hotplug = hotplug
        self._log: Log = (log or structlog.get_logger()).bind(port=address)
        self._stages = _Stages()
        Machine(
            self._stages,
            states=Stage,
            transitions=STAGES,
            initial=Stage.CLOSED,
            auto_transitions=False,
            model_attribute="state",
        )
        self._loop = asyncio.get_running_loop()
        self._closed = False  # for good; the stage is CLOSED before `run` too
        self._living: asyncio.Task[None] | None = None
        self._port: Transport | None = None
        self._answers: dict[int, asyncio.Future[AnyAnswer]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._ack_delay_s = session.link.timing.ack_delay_s
        self._over: asyncio.Future[str] | None = None  # why the port must be opened again
        self._backoff = Backoff()
        self._ready_at = math.inf
        self._ready_waiters: list[asyncio.Future[None]] = []
        self._next_ref = 0
        self._complained = ""

    # --- the life of a connection -----------------------------------------------------------------------------------

    @property
    def stage(self) -> Stage:
        """How far it has come."""
        return self._stages.state

    def _is_closed(self) -> bool:  # not a property: it changes behind every await
        return self._closed

    async def run(self) -> None:
        """Connect, and connect again after each loss, until closed. However it ends, it leaves nobody waiting."""
        if self._closed:
            return
        self._stages.trigger("begin")
        self._living = asyncio.create_task(self._keep_connected(), name=f"{self.address} connection")
        try:
            await self._living
        except asyncio.CancelledError:
            if not self._is_closed():  # not our close(), which cuts short whatever was under way
                raise
        finally:
            self.close()

    async def _keep_connected(self) -> None:
        while True:
            plugged = self._hotplug.count if self._hotplug else 0
            why = await self._once()
            if self._is_closed():
                return
            self._stages.trigger("failed")
            if self._complain("device not reached", why):
                self._on_trouble(why)
            pause_s = self._backoff.next()
            if self._hotplug:
                await self._hotplug.wait(pause_s, since=plugged)
            else:
                await asyncio.sleep(pause_s)
            self._stages.trigger("again")

    async def _once(self) -> str:
        """Open the port and serve it until it ends; the answer is why it did."""
        self._over = self._loop.create_future()
        try:
            self._port = await open_port(self.address, self._bytes, self._port_lost, self._settings)
        except PortError as error:
            return str(error)
        if self._is_closed():
            self._drop_port()
            return ""
        for note in self._port.notes:
            self._log.debug("port opened", note=note)
        self._stages.trigger("opened")
        now = self._loop.time()
        self.session.connect(now)
        self._flush(now)
        try:
            return await self._over
        finally:
            self._drop_port()

    def close(self) -> None:
        """Say goodbye and give the port back, for good. Whoever waits for an answer gets `NotReady`."""
        if self._closed:
            return
        self._closed = True
        self._stages.trigger("close")
        now = self._loop.time()
        self.session.close(now)
        self._flush(now)
        self._drop_port()
        if self._living:
            self._living.cancel()
        waiters: list[asyncio.Future[Any]] = [*self._answers.values(), *self._ready_waiters]
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(self._is_over())
        self._answers.clear()
        self._ready_waiters.clear()

    async def until_ready(self) -> None:
        """Wait until the device has welcomed us; `WrongDevice` if it is another than expected."""
        if self._closed:
            raise self._is_over()
        if self.stage is not Stage.READY:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._ready_waiters.append(waiter)
            await waiter

    # --- talking ----------------------------------------------------------------------------------------------------

    def give(self, command: AnyCommand) -> None:
        """Give a command without waiting: its answer comes to `on_happening`, also over a lost link."""
        now = self._loop.time()
        self.session.send(command, now)
        self._flush(now)

    async def command(self, command: AnyCommand) -> None:
        """Give a command and wait until the device has taken it on, also over a lost link; else `DeviceError`.

        Giving up the wait does not take the command back: it is repeated until the device answers.
        """
        answer = await self._answer_to(command.id, partial(self.session.send, command))
        if isinstance(answer, Refused):
            if answer.reason in (Reason.OTHER_BOOT, Reason.FORGOTTEN):
                raise OutcomeUnknown(command, answer)
            raise CommandRefused(command, answer)

    async def ask(self, question: type[AnyQuestion]) -> Identity | Status | Counters:
        """Ask a question and wait for the answer, also over a lost link."""
        self._next_ref += 1
        ref = self._next_ref
        answer = await self._answer_to(-ref, partial(self.session.ask, question(ref)))
        if isinstance(answer, Identity | Status | Counters):
            return answer
        raise DeviceError(f"{self.address}: the device cannot answer {question.__name__}")

    def stored(self, mark: EventMark) -> None:
        """All events up to this one are stored: the device may forget them."""
        now = self._loop.time()
        self.session.stored(mark, now)
        self._flush(now)

    async def _answer_to(self, key: int, send: Callable[[float], None]) -> AnyAnswer:
        """Send, and wait for the answer: to a command by its id, to a question by its negative ref."""
        if self._closed:
            raise self._is_over()
        if key in self._answers:
            raise DeviceError(f"{self.address}: somebody waits for the answer to command {key} already")
        waiter: asyncio.Future[AnyAnswer] = self._loop.create_future()
        self._answers[key] = waiter
        try:
            now = self._loop.time()
            send(now)
            self._flush(now)
            return await waiter
        finally:
            if self._answers.get(key) is waiter:  # the wait was given up
                del self._answers[key]

    def _is_over(self) -> NotReady:
        return NotReady(f"{self.address}: the connection was closed")

    # --- bytes and time ---------------------------------------------------------------------------------------------

    def _bytes(self, data: bytes) -> None:
        if self._on_wire:
            self._on_wire("in", data)
        now = self._loop.time()
        happenings = self.session.receive(data, now)
        self._flush(now)
        if happenings:
            self._took(happenings)

    def _flush(self, now: float) -> None:
        """Send what the session has to send, and see that the timer is set for its next deadline."""
        data = self.session.take_output()
        if data and self._port:
            self._port.write(data)
            if self._on_wire:
                self._on_wire("out", data)
        # Lazily: a timer that fires too early finds nothing to do and is set again, which costs less than
        # moving it with every frame. Nothing that was just set is due before the acknowledgement's delay is over,
        # so a timer within that time is early enough without a look.
        if self._timer_at <= now + self._ack_delay_s:
            return
        deadline = self.session.deadline
        if deadline < self._timer_at:
            if self._timer:
                self._timer.cancel()
            self._timer_at = deadline
            self._timer = self._loop.call_at(deadline, self._time)

    def _time(self) -> None:
        self._timer = None
        self._timer_at = math.inf
        now = self._loop.time()
        happenings = self.session.tick(now) if now >= self.session.deadline else []
        self._flush(now)
        self._took(happenings)

    def _took(self, happenings: list[Happening]) -> None:
        for happening in happenings:
            if isinstance(happening, COMMAND_ANSWERS):
                self._answered(happening.id, happening)
            elif isinstance(happening, QUESTION_ANSWERS):
                self._answered(-happening.ref, happening)
            elif isinstance(happening, Ready):
                self._ready(happening)
            elif isinstance(happening, Rejected | Ahead):
                self.on_happening(happening)
                self._end(f"{self.address}: {happening}")
            elif isinstance(happening, WrongRole):
                self.on_happening(happening)
                self._wrong(WrongDevice(f"{self.address}: {happening}"))
            elif isinstance(happening, Lost):
                self._lost(happening)
            else:
                self.on_happening(happening)

    def _answered(self, key: int, answer: AnyAnswer) -> None:
        if self._answers:
            waiter = self._answers.pop(key, None)
            if waiter and not waiter.done():
                waiter.set_result(answer)
        self.on_happening(answer)

    def _ready(self, ready: Ready) -> None:
        self._stages.trigger("welcomed")
        self._ready_at = self._loop.time()
        note = self._log.warning if ready.restarted else self._log.info
        note("device ready", device=str(ready.identity), boot=f"{ready.boot:08x}", restarted=ready.restarted)
        self.on_happening(ready)
        for waiter in self._ready_waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._ready_waiters.clear()

    def _wrong(self, wrong: WrongDevice) -> None:
        for waiter in self._ready_waiters:
            if not waiter.done():
                waiter.set_exception(wrong)
        self._ready_waiters.clear()
        self._end(str(wrong))

    # --- losses -----------------------------------------------------------------------------------------------------

    def _lost(self, lost: Lost) -> None:
        """The link has ended. The port may still be good: greet again at once, if the session had been good."""
        was_ready, was_steady = self.stage is Stage.READY, self._was_steady()
        why = f"{self.address}: {lost}"
        if was_ready:
            self._complain("link lost", why, frames=self._last_frames())
        elif lost.reason is LossReason.PROTOCOL and why != self._complained:
            self._log.warning("link lost", reason=why, frames=self._last_frames())
        self.on_happening(lost)
        if was_ready and was_steady and self._port:
            self._stages.trigger("link_lost")
            now = self._loop.time()
            self.session.connect(now)
            self._flush(now)
        else:
            self._end(why)

    def _port_lost(self, loss: PortLost) -> None:
        self._was_steady()
        self.session.disconnect()
        self._complain("port lost", loss.detail, frames=self._last_frames())
        self.on_happening(Lost(LossReason.UNPLUGGED, loss.detail))
        self._end(loss.detail)

    def _was_steady(self) -> bool:
        """Whether the session that has ended had stood for a while: if so, earlier troubles are forgotten.

        A device that welcomes us and breaks off right after, again and again, must not keep us busy.
        """
        was_steady = self._loop.time() - self._ready_at >= STEADY_S
        self._ready_at = math.inf
        if was_steady:
            self._backoff.reset()
            self._complained = ""
        return was_steady

    def _last_frames(self) -> list[str]:
        return list(self.session.link.ring.lines())

    def _end(self, why: str) -> None:
        if self._over and not self._over.done():
            self._over.set_result(why)

    def _drop_port(self) -> None:
        self.session.disconnect()
        if self._timer:
            self._timer.cancel()
            self._timer, self._timer_at = None, math.inf
        if self._port:
            self._port.close()
            self._port = None

    def _complain(self, what: str, why: str, **more: object) -> bool:
        """The first failure is a warning, the same one again only a detail; True if it was the first."""
        first = why != self._complained
        self._complained = why
        note = self._log.warning if first else self._log.debug
        note(what, reason=why, **more)
        return first
