"""Keeps a device connected: opens its port, greets it, passes messages, and reconnects after every loss.

This connects the pure session to asyncio. Received bytes go straight into the session, and its output goes straight to
the port; one timer serves all of its deadlines.
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
    AskCounters,
    AskStatus,
    Counters,
    Identify,
    Identity,
    Reason,
    Refused,
    Status,
    describe_message,
)
from firmware_bridge.wire.session import (
    DISTRUST_S,
    Ahead,
    EventMark,
    Flooding,
    Happening,
    HostSession,
    Ready,
    Rejected,
    Untrusted,
    WrongRole,
)

Log = structlog.typing.FilteringBoundLogger

STEADY_S = 1.0  # after a session of at least this length, reconnect at once and reset the pauses


class Stage(enum.Enum):
    """The stage of a connection."""

    CLOSED = "closed"
    OPENING = "opening the port"
    GREETING = "greeting the device"
    READY = "ready"
    WAITING = "waiting for the device"


# All transitions between the stages; docs/design.md shows them as a diagram.
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
    """The model of the state machine; its triggers are those in STAGES."""

    state: Stage
    trigger: Callable[[str], bool]


class DeviceError(Exception):
    """A device did not do what it was asked; the text is one line for the user."""


class CommandRefused(DeviceError):
    """The device refused the command and will not carry it out."""

    def __init__(self, command: AnyCommand, refusal: Refused) -> None:
        self.command, self.reason = command, refusal.reason
        words = refusal.reason.name.lower().replace("_", " ")
        super().__init__(f"{describe_message(command)}: refused, {words}{': ' if refusal.text else ''}{refusal.text}")


class OutcomeUnknown(DeviceError):
    """The device does not know the outcome of the command, so it must not be guessed."""

    def __init__(self, command: AnyCommand, refusal: Refused) -> None:
        self.command, self.reason = command, refusal.reason
        why = "it has restarted" if refusal.reason is Reason.OTHER_BOOT else "it was too long ago"
        super().__init__(f"{describe_message(command)}: the device does not know its outcome, {why}")


class NotReady(DeviceError):
    """There is currently no session with the device."""


class Connection:
    """One device, by its address. `run` keeps it connected until `close`.

    `on_happening` receives everything that the session reports. `on_trouble` receives one line on why an attempt to
    connect failed, once, and again only when the reason changes. `on_wire` receives every byte in both directions.
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
        self._closed = False  # permanently; before `run` the stage is CLOSED too
        self._task: asyncio.Task[None] | None = None
        self._port: Transport | None = None
        self._answers: dict[int, asyncio.Future[AnyAnswer]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._ack_delay_s = session.link.timing.ack_delay_s
        self._over: asyncio.Future[str] | None = None  # the reason to open the port again
        self._backoff = Backoff()
        self._distrusted = False
        self._ready_at = math.inf
        self._next_ref = 0
        self._complained = ""

    # --- lifecycle ----------------------------------------------------------------------------------------------------

    @property
    def stage(self) -> Stage:
        """The current stage."""
        return self._stages.state

    def _is_closed(self) -> bool:  # not a property: it may change at every await
        return self._closed

    async def run(self) -> None:
        """Connect, and reconnect after each loss, until closed. However it ends, no waiting call is left hanging."""
        if self._closed:
            return
        self._stages.trigger("begin")
        self._task = asyncio.create_task(self._keep_connected(), name=f"{self.address} connection")
        try:
            await self._task
        except asyncio.CancelledError:
            if not self._is_closed():  # cancelled by the caller, not by close()
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
            pause_s = DISTRUST_S if self._distrusted else self._backoff.next()
            self._distrusted = False
            if self._hotplug:
                await self._hotplug.wait(pause_s, since=plugged)
            else:
                await asyncio.sleep(pause_s)
            self._stages.trigger("again")

    async def _once(self) -> str:
        """Open the port and serve it until it ends; returns the reason why it ended."""
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
        """End the session and release the port permanently. Calls waiting for an answer raise `NotReady`."""
        if self._closed:
            return
        self._closed = True
        self._stages.trigger("close")
        now = self._loop.time()
        self.session.close(now)
        self._flush(now)
        self._drop_port()
        if self._task:
            self._task.cancel()
        for waiter in self._answers.values():
            if not waiter.done():
                waiter.set_exception(self._is_over())
        self._answers.clear()

    # --- commands and questions ---------------------------------------------------------------------------------------

    def give(self, command: AnyCommand) -> None:
        """Give a command without waiting: its answer goes to `on_happening`, even after a lost link."""
        now = self._loop.time()
        self.session.send(command, now)
        self._flush(now)

    def put(self, question: AnyQuestion) -> None:
        """Ask a question without waiting: its answer goes to `on_happening`, even after a lost link.

        Its ref is the caller's own: do not mix it with `ask`, which counts from 1.
        """
        now = self._loop.time()
        self.session.ask(question, now)
        self._flush(now)

    async def command(self, command: AnyCommand) -> None:
        """Give a command and wait until the device accepts it, even after a lost link; raises `DeviceError` otherwise.

        Cancelling the wait does not withdraw the command: it is repeated until the device answers.
        """
        answer = await self._answer_to(command.id, partial(self.session.send, command))
        if isinstance(answer, Refused):
            if answer.reason in (Reason.OTHER_BOOT, Reason.FORGOTTEN):
                raise OutcomeUnknown(command, answer)
            raise CommandRefused(command, answer)

    async def ask(self, question: type[Identify | AskStatus | AskCounters]) -> Identity | Status | Counters:
        """Ask a question and wait for the answer, even after a lost link."""
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
        """Send, and wait for the answer; the key is the id of a command, or the negative ref of a question."""
        if self._closed:
            raise self._is_over()
        if key in self._answers:
            raise DeviceError(f"{self.address}: another call is already waiting for the answer to command {key}")
        waiter: asyncio.Future[AnyAnswer] = self._loop.create_future()
        self._answers[key] = waiter
        try:
            now = self._loop.time()
            send(now)
            self._flush(now)
            return await waiter
        finally:
            if self._answers.get(key) is waiter:  # the wait was cancelled
                del self._answers[key]

    def _is_over(self) -> NotReady:
        return NotReady(f"{self.address}: the connection was closed")

    # --- bytes and time -----------------------------------------------------------------------------------------------

    def _bytes(self, data: bytes) -> None:
        if self._on_wire:
            self._on_wire("in", data)
        now = self._loop.time()
        happenings = self.session.receive(data, now)
        self._flush(now)
        if happenings:
            self._took(happenings)

    def _flush(self, now: float) -> None:
        """Send the session's output, and make sure that the timer is set for its next deadline."""
        data = self.session.take_output()
        if data and self._port:
            self._port.write(data)
            if self._on_wire:
                self._on_wire("out", data)
        # Lazily: a timer that fires too early does nothing and is set again, which costs less than moving it with
        # every frame. Nothing that was just set is due before the acknowledgement delay is over, so a timer within
        # that time needs no check.
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
            elif isinstance(happening, Rejected | Ahead | Untrusted):
                self._distrusted = isinstance(happening, Untrusted)
                if self._distrusted:
                    self._log.error("device not trusted", reason=str(happening), frames=self._last_frames())
                self._ready_at = math.inf
                self.on_happening(happening)
                self._end(f"{self.address}: {happening}")
            elif isinstance(happening, Flooding):
                self._log.warning("too many events", reason=str(happening))
                self.on_happening(happening)
            elif isinstance(happening, WrongRole):
                self.on_happening(happening)
                self._end(f"{self.address}: {happening}")
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

    # --- losses -------------------------------------------------------------------------------------------------------

    def _lost(self, lost: Lost) -> None:
        """The link has ended. The port may still work: greet again at once if the session had been stable."""
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
        """Whether the session that has ended had lasted for a while; if so, the pauses and complaints are reset.

        A device that repeatedly welcomes us and then drops the link must not cause a busy loop.
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
        """Log a failure: a warning the first time, debug if repeated. Returns True the first time."""
        first = why != self._complained
        self._complained = why
        note = self._log.warning if first else self._log.debug
        note(what, reason=why, **more)
        return first
