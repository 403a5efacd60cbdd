"""The firmware of a simulated device: its end of the protocol, as docs/protocol.md requires of a maker.

One object is one life of the memory: a device that loses power gets a new one, with a new boot id. Pure: bytes and
time in, bytes out.
"""

# mypyc
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar, Final, get_args

from firmware_bridge.wire.link import Link, LinkFull, LinkState, LinkTiming
from firmware_bridge.wire.messages import (
    COMMANDS,
    QUESTIONS,
    VERSION,
    AnyCommand,
    AnyQuestion,
    AskCards,
    AskStatus,
    BadMessage,
    Button,
    Capability,
    CardKinds,
    Counters,
    DeviceRole,
    Done,
    Door,
    EventMessage,
    EventsStored,
    Fault,
    FaultCode,
    Hello,
    Identify,
    Identity,
    Indicate,
    Lock,
    Message,
    NoAnswer,
    PowerCause,
    PowerUp,
    Reason,
    Refused,
    Status,
    Unlock,
    Unwelcome,
    Welcome,
    decode_from_host,
    encode,
    message_number,
)
from firmware_bridge.wire.packet import ResetReason
from simulators.devices.mechanics import Mechanics, TakenStacks

ANSWERS_KEPT: Final = 32
LONGEST_MS: Final = (180_000, 30_000, 15_000, 15_000, 30_000, 30_000, 60_000)  # of each Cycle, with one deck
EVENTS_KEPT: Final = 64
_QUESTION_TYPES: Final = frozenset(get_args(AnyQuestion))
_LOCK_TYPES: Final = frozenset((Lock, Unlock))
EVENTS_FOR_A_CYCLE: Final = 8  # room kept free, so that a cycle that has started can be reported


@dataclass(frozen=True, slots=True)
class Nameplate:
    """The identity of a device."""

    role: DeviceRole
    serial: str
    model: str
    capabilities: frozenset[Capability]
    maker: str = "Dragonshoe"
    firmware: str = "sim-1.0"
    firmware_digest: bytes = bytes(range(32))
    window: int = 8
    versions: tuple[int, int] = (VERSION, VERSION)
    longest_ms: tuple[int, ...] = LONGEST_MS

    def fields(self) -> dict[str, Any]:
        """The fields that Welcome and Identity share."""
        return {
            "role": self.role,
            "maker": self.maker,
            "model": self.model,
            "serial": self.serial,
            "firmware": self.firmware,
            "firmware_digest": self.firmware_digest,
            "capabilities": sorted(self.capabilities),
        }


_OPEN: Final = LinkState.OPEN  # bound once: it is needed for every message


class Firmware:
    """The device's end of the session, over its mechanics."""

    link_type: ClassVar[type[Link]] = Link
    events_kept: ClassVar[int] = EVENTS_KEPT

    def __init__(
        self, plate: Nameplate, mechanics: Mechanics, boot: int, now: float, timing: LinkTiming | None = None
    ) -> None:
        self.plate = plate
        self.mechanics = mechanics
        self.boot = boot
        self.link = self.link_type(opens=False, boot=boot, timing=timing, window=plate.window)
        self.indication: Indicate | None = None
        self.effects = 0
        self.now = now
        self._born = now
        self._greeted = False
        self._answers: dict[int, tuple[bytes, bytes]] = {}  # id → command, answer
        self._last_command = 0
        self._events: deque[tuple[int, bytes]] = deque()
        self._next_event = 1
        self._sent_event = 0  # the last event sent in this link session
        self._newest: type[EventMessage] | None = None
        self._taken: TakenStacks = {}

    def start(self, cause: PowerCause, *, memory_kept: bool, now: float) -> None:
        """Power on. A firmware that has kept its memory reports that."""
        self.now = now
        self.link.drop()
        self.link.announce(now)
        self._greeted = False
        self.mechanics.report = self.report
        self.mechanics.taken = self._taken
        self.report(PowerUp, cause=cause, memory_kept=memory_kept)

    def used_elsewhere(self, last_command: int) -> None:
        """Set the last command that the device was given, with another journal."""
        self._last_command = last_command

    # --- time and bytes ---------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float:
        """When `tick` must be called."""
        link, cards = self.link.deadline, self.mechanics.deadline
        return link if link < cards else cards

    def tick(self, now: float) -> None:
        """Let time pass."""
        self.now = now
        self.mechanics.tick(now)
        if self.link.tick(now):
            self._greeted = False

    def receive(self, data: bytes, now: float) -> None:
        """Bytes from the host."""
        self.now = now
        arrivals = self.link.receive(data, now)
        changes = [at for at, arrival in enumerate(arrivals) if not isinstance(arrival, bytes)]
        if changes:  # a link has begun or ended: in both cases the host must greet first, and gets all events again
            self._greeted = False
            self._sent_event = 0
            # What came on a link that ended with these bytes is not answered on the next one: the host asks again.
            del arrivals[: changes[-1] + 1]
        for message in arrivals:
            assert isinstance(message, bytes)
            self._message(message)

    def _send(self, message: bytes) -> None:
        if self.link.state is not _OPEN:
            return
        try:
            self.link.send(message, self.now)
        except LinkFull:  # a host that keeps asking and never acknowledges
            self.link.close(self.now, ResetReason.PROTOCOL_ERROR)
            self._greeted = False

    # --- messages ---------------------------------------------------------------------------------------------------

    def _message(self, data: bytes) -> None:
        try:
            message = decode_from_host(data)
        except BadMessage as bad:
            if self._greeted:
                self._unreadable(bad)
            return
        kind = type(message)
        if kind is Hello:
            self._greet(message)  # type: ignore[arg-type]
        elif not self._greeted:
            return
        elif kind is EventsStored:
            self._forget_events(message.number)  # type: ignore[union-attr]
        elif kind in _QUESTION_TYPES:
            self._send(self._answer(message).encode())  # type: ignore[arg-type]
        else:
            self._command(message, data)  # type: ignore[arg-type]

    def _unreadable(self, bad: BadMessage) -> None:
        if not bad.has_id:  # there is no id that an answer could carry
            return
        known = any(bad.number == message_number(kind) for kind in (*get_args(AnyCommand), *get_args(AnyQuestion)))
        reason = Reason.BAD_ARGUMENT if known else Reason.UNKNOWN_COMMAND
        if bad.number in COMMANDS:
            self._send(Refused(bad.id, reason).encode())
        elif bad.number in QUESTIONS:
            self._send(NoAnswer(bad.id, reason).encode())

    def _greet(self, hello: Hello) -> None:
        self._greeted = False
        lowest, highest = self.plate.versions
        version = min(hello.version_max, highest)
        if version < max(hello.version_min, lowest):
            self._send(Unwelcome(lowest, highest, "no common version").encode())
            return
        if hello.events_boot == self.boot and hello.events_stored >= self._next_event:
            self._send(Unwelcome(lowest, highest, f"event {hello.events_stored} never existed").encode())
            return
        if hello.events_boot == self.boot:
            self._forget_events(hello.events_stored)
        welcome = Welcome(
            version=version,
            boot=self.boot,
            **self.plate.fields(),
            first_event=self._events[0][0] if self._events else self._next_event,
            last_command=self._last_command,
            longest_ms=list(self.plate.longest_ms),
        )
        self._send(welcome.encode())
        self._greeted = True
        for number, event in self._events:
            self._send_event(number, event)

    def _command(self, command: AnyCommand, data: bytes) -> None:
        remembered = self._answers.get(command.id)
        if command.boot != self.boot:
            answer = Refused(command.id, Reason.OTHER_BOOT).encode()
        elif remembered is not None:
            answer = remembered[1] if remembered[0] == data else Refused(command.id, Reason.ID_REUSED).encode()
        elif command.id <= self._last_command:
            answer = Refused(command.id, Reason.FORGOTTEN).encode()
        else:
            hindrance = self._hindrance(command)
            answer = encode(Refused(command.id, hindrance) if hindrance else Done(command.id))
            self._answers[command.id] = (data, answer)
            self._last_command = command.id
            if len(self._answers) > ANSWERS_KEPT:
                del self._answers[next(iter(self._answers))]
            self._send(answer)
            if hindrance is None:
                self._act(command)
            return
        self._send(answer)

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        if type(command) in _LOCK_TYPES:
            return None if self.mechanics.can(Capability.LOCKS) else Reason.NOT_ABLE
        if type(command) is Indicate:
            return None if self.mechanics.can(Capability.INDICATES) else Reason.NOT_ABLE
        hindrance = self.mechanics.hindrance(command)
        if hindrance is None and self._room < EVENTS_FOR_A_CYCLE:
            return Reason.EVENTS_FULL
        return hindrance

    def _act(self, command: AnyCommand) -> None:
        self.effects += 1
        if type(command) in _LOCK_TYPES:
            self.mechanics.set_locked(isinstance(command, Lock))
        elif type(command) is Indicate:
            self.indication = command
        else:
            self.mechanics.start(command, self.now)

    def _answer(self, question: AnyQuestion) -> Message:
        mechanics = self.mechanics
        mechanics.wake()
        if isinstance(question, Identify):
            return Identity(ref=question.ref, **self.plate.fields())
        if isinstance(question, AskStatus):
            return Status(
                ref=question.ref,
                mode=mechanics.mode,
                doing=mechanics.doing.id if mechanics.doing else 0,
                last_command=self._last_command,
                last_cycle=mechanics.last_cycle,
                last_outcome=mechanics.last_outcome,
                **mechanics.sensed(),
                door_open=mechanics.door_open,
                locked=mechanics.locked,
                events_kept=len(self._events),
                uptime_ms=self._uptime_ms(),
            )
        if isinstance(question, AskCards):
            return self._cards(question)
        return Counters(
            ref=question.ref,
            uptime_ms=self._uptime_ms(),
            effects=self.effects,
            cycles=mechanics.cycles_done,
            cards_moved=mechanics.cards_moved,
            stacks=mechanics.stacks,
            jams=mechanics.jams,
            faults=mechanics.faults,
            frames_in=self.link.counters.frames_in,
            frames_bad=self.link.counters.bad_frames,
            resends=self.link.counters.resends,
        )

    def _cards(self, question: AskCards) -> Message:
        """Which cards a command put out: only once they were taken."""
        if self.plate.role is not DeviceRole.SHOE or not self.mechanics.can(Capability.RECOGNISES):
            return NoAnswer(question.ref, Reason.NOT_ABLE)
        kinds = self._taken.get(question.command)
        if kinds is not None:
            return CardKinds(question.ref, question.command, kinds)
        hidden = self.mechanics.not_taken(question.command)
        return NoAnswer(question.ref, Reason.NOT_TAKEN if hidden else Reason.FORGOTTEN)

    # --- events -----------------------------------------------------------------------------------------------------

    def report(self, what: type[EventMessage], **fields: object) -> None:
        """Number an event, keep it, and send it if there is a session. Doors and buttons leave room for cards."""
        room = self._room
        # So does a repeated PowerUp: since the last one, no cycle can have begun that this one would end.
        again = what is PowerUp and self._newest is PowerUp
        if room < EVENTS_FOR_A_CYCLE and (again or issubclass(what, Door | Button)):
            return
        if room <= 0:  # the last place is used to report that there is no room for more
            if room < 0:
                return
            what, fields = Fault, {"code": FaultCode.MEMORY, "text": "the event memory is full"}
            self.mechanics.fail()
        self._newest = what
        event = encode(what(number=self._next_event, at_ms=self._uptime_ms(), **fields))
        self._events.append((self._next_event, event))
        self._next_event += 1
        if self._greeted:
            self._send_event(self._next_event - 1, event)

    @property
    def _room(self) -> int:
        """Room for this many more events, not counting the last place; -1 if that is taken too."""
        return self.events_kept - 1 - len(self._events)

    def _send_event(self, number: int, event: bytes) -> None:
        """Send each event once per link session, even if the host greets twice."""
        if number > self._sent_event:
            self._sent_event = number
            self._send(event)

    def _forget_events(self, number: int) -> None:
        while self._events and self._events[0][0] <= number:
            self._events.popleft()

    def _uptime_ms(self) -> int:
        return round((self.now - self._born) * 1000)
