"""The host's session with a device: handshake, commands with at-most-once effect, events exactly once and in order.

A session outlives the links it runs on: cables are unplugged, and either side may restart. To make that safe, the host
keeps every command until the device has answered it, and gives it again after every handshake, with the same id and the
boot it was first meant for; the device carries out an id at most once, and answers OTHER_BOOT if it lost its memory.
The device keeps every event until the host says that it is stored; the host says in Hello what it has stored, and
ignores events that arrive twice.

Pure: bytes and time in, bytes and happenings out.
"""

# mypyc
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, get_args

import msgspec

from firmware_bridge.wire.link import Link, LinkState, LinkTiming, LossReason, Lost, Opened
from firmware_bridge.wire.messages import (
    COMMAND_ANSWERS,
    QUESTION_ANSWERS,
    VERSION,
    AnyAnswer,
    AnyCommand,
    AnyEvent,
    AnyQuestion,
    AskCards,
    BadMessage,
    Capability,
    DeviceRole,
    EventsStored,
    FromDevice,
    Hello,
    Identity,
    Unwelcome,
    Welcome,
    decode_from_device,
    describe_message,
    encode,
)
from firmware_bridge.wire.packet import ResetReason

_OPEN: Final = LinkState.OPEN
EVENT_TYPES: Final = frozenset(get_args(AnyEvent))  # a type lookup is cheaper than `isinstance`
ANSWER_WITHIN_S: Final = 5.0  # a device that takes longer than this to answer is broken


class EventMark(msgspec.Struct, frozen=True, gc=False):
    """A position in the events of a device: its boot, and the number of the last event."""

    boot: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class DeviceIdentity:
    """Who a device says it is."""

    role: DeviceRole
    maker: str
    model: str
    serial: str
    firmware: str
    firmware_digest: str
    capabilities: frozenset[Capability]

    @classmethod
    def of(cls, message: Welcome | Identity) -> DeviceIdentity:
        """From a message of the device; capabilities of a later version are ignored."""
        known = frozenset(capability for capability in Capability if capability in message.capabilities)
        return cls(
            message.role,
            message.maker,
            message.model,
            message.serial,
            message.firmware,
            message.firmware_digest.hex(),
            known,
        )

    def __str__(self) -> str:
        return f"{self.role.name.lower()} {self.maker} {self.model} serial {self.serial} firmware {self.firmware}"


@dataclass(frozen=True, slots=True)
class Ready:
    """The handshake is done. `restarted` means that the device has a new boot and has lost its earlier memory.

    `first_event` is more than 1 if another host has stored the events before it; this host will not receive them.
    """

    identity: DeviceIdentity
    version: int
    boot: int
    restarted: bool
    last_command: int
    first_event: int = 1


@dataclass(frozen=True, slots=True)
class Rejected:
    """The device refuses a session with this host."""

    text: str
    version_min: int
    version_max: int

    def __str__(self) -> str:
        if self.version_min > VERSION or self.version_max < VERSION:
            return f"the device speaks protocol versions {self.version_min} to {self.version_max}, this host {VERSION}"
        return f"the device refused the session: {self.text}"


@dataclass(frozen=True, slots=True)
class WrongRole:
    """Another kind of device answered. Nothing was sent to it, and the state of the expected device is unchanged."""

    expected: DeviceRole
    identity: DeviceIdentity

    def __str__(self) -> str:
        return f"expected a {self.expected.name.lower()}, found a {self.identity}"


@dataclass(frozen=True, slots=True)
class Ahead:
    """The device no longer has events that are not stored here: most likely this host's disk has lost them.

    The host does not know what the device did in them. Once the owner has given these events up, `stored` with their
    last number lets the next greeting succeed.
    """

    boot: int
    stored: int
    last_forgotten: int  # the number of the last event that the device has deleted

    def __str__(self) -> str:
        first = self.stored + 1
        which = f"events {first} to {self.last_forgotten}" if first < self.last_forgotten else f"event {first}"
        return f"the device no longer has its {which}, which this host has not stored"


Happening = AnyAnswer | AnyEvent | Ready | Rejected | WrongRole | Ahead | Lost


class _Waiting:
    """A command or question that has no answer yet."""

    __slots__ = ("message", "sent_at")

    def __init__(self, message: AnyCommand | AnyQuestion) -> None:
        self.message = message
        self.sent_at = math.inf  # not sent in this link session


def _answer_by(waits: dict[int, _Waiting]) -> float:
    """When the oldest of them must be answered."""
    for waiting in waits.values():
        return waiting.sent_at + ANSWER_WITHIN_S
    return math.inf


class HostSession:
    """The host's end. Call `take_output` after every other call, and `tick` at `deadline`."""

    def __init__(
        self,
        *,
        host_boot: int,
        stored: EventMark | None = EventMark(),  # noqa: B008 - frozen
        timing: LinkTiming | None = None,
        software: str = "",
        expects: DeviceRole | None = None,
    ) -> None:
        """With `stored` None the session only observes: it accepts events from any number on and never confirms one.

        With `expects` None any device is accepted.
        """
        self.link = Link(opens=True, boot=host_boot, timing=timing)
        self.identity: DeviceIdentity | None = None
        self.ready = False
        self._only_observes = stored is None
        stored = stored or EventMark()
        self.boot = stored.boot
        self.repeated_events = 0
        self.take_output = self.link.take_output
        self._software = software
        self._expects = expects
        self._stored = stored.number
        self._delivered = stored.number
        self._next_session = host_boot & 0xFFFF
        self._welcome_by = math.inf
        self._commands: dict[int, _Waiting] = {}
        self._questions: dict[int, _Waiting] = {}

    # --- called by the owner ------------------------------------------------------------------------------------------

    def connect(self, now: float) -> None:
        """The wire is connected: open a link and greet. `Ready`, `Rejected`, `WrongRole`, `Ahead` or `Lost` follows."""
        self._stop()
        self._next_session = self._next_session % 0xFFFF + 1
        self.link.open(self._next_session, now)

    def disconnect(self) -> None:
        """The wire is disconnected. Commands and events wait for the next `connect`."""
        self._stop()
        self.link.drop()

    def close(self, now: float) -> None:
        """End the link session and tell the device."""
        self._stop()
        self.link.close(now)

    def send(self, command: AnyCommand, now: float) -> None:
        """Give a command, now or after the next handshake; it is repeated until the device has answered."""
        if command.id <= 0:
            raise ValueError("a command's id must be at least 1")
        waiting = self._commands.get(command.id)
        if waiting is None:
            waiting = self._commands[command.id] = _Waiting(command)
        elif waiting.message != command:
            raise ValueError(f"command id {command.id} is already in use for {describe_message(waiting.message)}")
        if self.ready and waiting.sent_at == math.inf:
            self._put(waiting, now)

    def withdraw(self, id: int) -> bool:
        """Drop a command that is no longer wanted, so that no later link carries it. False if it cannot be dropped.

        If it was already sent on the current link, its answer will still arrive. An earlier link may have delivered
        it to the device without the host knowing; then the events of its cycle will arrive like all others.
        """
        waiting = self._commands.get(id)
        if waiting is None or waiting.sent_at != math.inf:
            return False
        del self._commands[id]
        return True

    def ask(self, question: AnyQuestion, now: float) -> None:
        """Ask a question, now or after the next handshake."""
        waiting = self._questions[question.ref] = _Waiting(question)
        if self.ready:
            self._put(waiting, now)

    def stored(self, mark: EventMark, now: float) -> None:
        """The owner has stored all events up to this one: the device may forget them."""
        if self._only_observes:
            raise ValueError("a session that only observes stores no events")
        if mark.boot != self.boot or mark.number <= self._stored:
            return
        self._stored = mark.number
        if mark.number > self._delivered:  # given up without being delivered
            self._delivered = mark.number
        if self.ready and not self.link.full:  # a later mark or the next Hello includes it
            self.link.send(EventsStored(mark.number).encode(), now)

    @property
    def unanswered(self) -> list[AnyCommand]:
        """The commands without an answer."""
        return [waiting.message for waiting in self._commands.values()]  # type: ignore[misc]

    @property
    def deadline(self) -> float:
        """When `tick` must be called next, if nothing else happens first."""
        deadline = self.link.deadline
        if not self.ready:
            return min(deadline, self._welcome_by)
        if self._commands:
            deadline = min(deadline, _answer_by(self._commands))
        if self._questions:
            deadline = min(deadline, _answer_by(self._questions))
        return deadline

    def tick(self, now: float) -> list[Happening]:
        """Do what is due."""
        happenings = self._took(self.link.tick(now), now)
        if now >= self._welcome_by:
            happenings.append(self._break(LossReason.NO_ANSWER, "no answer to the greeting", now))
        for waits in (self._commands, self._questions):
            if waits and now >= _answer_by(waits):
                detail = f"{describe_message(next(iter(waits.values())).message)} within {ANSWER_WITHIN_S:g} s"
                happenings.append(self._break(LossReason.PROTOCOL, f"no answer to {detail}", now))
        return happenings

    def receive(self, data: bytes, now: float) -> list[Happening]:
        """Process received bytes."""
        return self._took(self.link.receive(data, now), now)

    # --- received messages --------------------------------------------------------------------------------------------

    def _took(self, arrivals: list[bytes | Opened | Lost], now: float) -> list[Happening]:
        happenings: list[Happening] = []
        for arrival in arrivals:
            if isinstance(arrival, bytes):
                if self.link.state is _OPEN:  # unless an earlier message in this batch ended the session
                    self._message(arrival, now, happenings)
            elif isinstance(arrival, Opened):
                if self.link.state is not LinkState.OPEN:  # ended again by the same bytes: the device restarted
                    continue
                self._welcome_by = now + self.link.timing.dead_after_s
                mark = EventMark() if self._only_observes else EventMark(self.boot, self._stored)
                hello = Hello(VERSION, VERSION, mark.boot, mark.number, self._software)
                self.link.send(hello.encode(), now)
            else:
                self._stop()
                happenings.append(arrival)
        return happenings

    def _message(self, data: bytes, now: float, happenings: list[Happening]) -> None:
        try:
            message = decode_from_device(data)
        except BadMessage as bad:
            happenings.append(self._break(LossReason.PROTOCOL, f"message {bad.number} is unreadable: {bad}", now))
            return
        if self.ready:
            if type(message) in EVENT_TYPES:
                self._event(message, now, happenings)  # type: ignore[arg-type]
            elif isinstance(message, COMMAND_ANSWERS):
                if self._commands.pop(message.id, None):
                    happenings.append(message)
            elif isinstance(message, QUESTION_ANSWERS) and message.ref in self._questions:
                del self._questions[message.ref]
                happenings.append(message)
        else:
            self._greeting(message, now, happenings)

    def _event(self, event: AnyEvent, now: float, happenings: list[Happening]) -> None:
        if event.number == self._delivered + 1:
            self._delivered = event.number
            happenings.append(event)
        elif event.number <= self._delivered:
            self.repeated_events += 1
        else:
            detail = f"event {event.number} followed event {self._delivered}"
            happenings.append(self._break(LossReason.PROTOCOL, detail, now))

    def _greeting(self, message: FromDevice, now: float, happenings: list[Happening]) -> None:
        if isinstance(message, Unwelcome):
            self.close(now)
            happenings.append(Rejected(message.text, message.version_min, message.version_max))
            return
        if isinstance(message, Welcome) and self._expects and message.role is not self._expects:
            self.close(now)
            happenings.append(WrongRole(self._expects, DeviceIdentity.of(message)))
            return
        fault = self._fault_in(message)
        if fault or not isinstance(message, Welcome):
            happenings.append(self._break(LossReason.PROTOCOL, fault, now))
            return
        restarted = self.boot not in (0, message.boot)
        stored_elsewhere = message.first_event - 1  # the events up to here, which another host has confirmed
        if message.boot == self.boot and stored_elsewhere > self._stored and not self._only_observes:
            self.close(now)
            happenings.append(Ahead(message.boot, self._stored, stored_elsewhere))
            return
        if self.boot != message.boot:
            self.boot, self._stored, self._delivered = message.boot, stored_elsewhere, stored_elsewhere
            for ref in [ref for ref, waiting in self._questions.items() if isinstance(waiting.message, AskCards)]:
                del self._questions[ref]  # another boot was given that command
        elif self._only_observes:
            self._delivered = max(self._delivered, stored_elsewhere)
        self.identity = DeviceIdentity.of(message)
        self.ready = True
        self._welcome_by = math.inf
        ready = Ready(
            self.identity, message.version, message.boot, restarted, message.last_command, message.first_event
        )
        happenings.append(ready)
        for waiting in [*self._commands.values(), *self._questions.values()]:
            self._put(waiting, now)

    def _fault_in(self, message: FromDevice) -> str:
        """What is wrong with this first message of a device; empty if nothing."""
        if not isinstance(message, Welcome):
            return f"{type(message).__name__} arrived before Welcome"
        if message.version != VERSION:
            return f"version {message.version} was chosen, {VERSION} was offered"
        if message.boot != self.link.peer_boot:
            return f"boot {message.boot:08x} in Welcome, {self.link.peer_boot:08x} in OPENED"
        return ""

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _put(self, waiting: _Waiting, now: float) -> None:
        waiting.sent_at = now
        self.link.send(encode(waiting.message), now)

    def _break(self, reason: LossReason, detail: str, now: float) -> Lost:
        """End the session with a device that violates the protocol."""
        self._stop()
        self.link.close(now, ResetReason.PROTOCOL_ERROR)
        self.link.counters.losses += 1
        return Lost(reason, detail)

    def _stop(self) -> None:
        self.ready = False
        self._welcome_by = math.inf
        for waits in (self._commands, self._questions):
            for waiting in waits.values():
                waiting.sent_at = math.inf
