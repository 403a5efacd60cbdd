"""The host's session with a device: handshake, commands with at-most-once effect, events exactly once and in order.

A session outlives the links it runs on: cables are unplugged, and either side may restart. To make that safe, the host
keeps every command until the device has answered it, and gives it again after every handshake, with the same id and the
boot it was first meant for; the device carries out an id at most once, and answers OTHER_BOOT if it lost its memory.
The device keeps every event until the host says that it is stored; the host says in Hello what it has stored, and
ignores events that arrive twice.

A device that violates the protocol is greeted again, but not forever: after a few violations in a row it is
`Untrusted`, and is only `Ready` again once it has answered a question.

Pure: bytes and time in, bytes and happenings out.
"""

# mypyc
from __future__ import annotations

import math
from typing import Final, get_args

from firmware_bridge.wire.event_rate import EVENTS_PER_S, EventRate
from firmware_bridge.wire.happenings import (
    Ahead,
    DeviceIdentity,
    EventMark,
    Flooding,
    Happening,
    Ready,
    Rejected,
    Untrusted,
    WrongRole,
)
from firmware_bridge.wire.link import PENDING_MAX, Link, LinkState, LinkTiming, LossReason, Lost, Opened
from firmware_bridge.wire.messages import (
    COMMAND_ANSWERS,
    MAX_ID,
    QUESTION_ANSWERS,
    VERSION,
    AnyCommand,
    AnyEvent,
    AnyQuestion,
    AskCards,
    AskStatus,
    BadMessage,
    Command,
    DeviceRole,
    EventsStored,
    FromDevice,
    Hello,
    Unwelcome,
    Welcome,
    decode_from_device,
    describe_message,
    encode,
)
from firmware_bridge.wire.packet import ResetReason

__all__ = [
    "ANSWER_WITHIN_S",
    "DISTRUST_S",
    "EVENT_TYPES",
    "Ahead",
    "DeviceIdentity",
    "EventMark",
    "Flooding",
    "Happening",
    "HostSession",
    "Ready",
    "Rejected",
    "Untrusted",
    "WrongRole",
]

_OPEN: Final = LinkState.OPEN
EVENT_TYPES: Final = frozenset(get_args(AnyEvent))  # a type lookup is cheaper than `isinstance`
ANSWER_WITHIN_S: Final = 5.0  # a device that takes longer than this to answer is broken
VIOLATIONS_MAX: Final = 3  # in a row; then the device is not trusted
DISTRUST_S: Final = 60.0  # how soon a device that is not trusted should be tried again, unless it is plugged in again


class _Waiting:
    """A command or question that has no answer yet."""

    __slots__ = ("late", "message", "sent_at")

    def __init__(self, message: AnyCommand | AnyQuestion) -> None:
        self.message = message
        self.sent_at = math.inf  # not sent in this link session
        self.late = False  # it was not answered in time before


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
        events_per_s: float = EVENTS_PER_S,
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
        self._next_event = 1  # the number of the next event in this link session
        self._confirmed = stored.number  # the last number that the device was sent as stored
        self._rate = EventRate(events_per_s)
        self._violations = 0  # since the last correct event
        self._unanswered = 0  # links that ended without an answer or acknowledgement since the last answer
        self._untrusted = False
        self._proof = MAX_ID  # the ref of the question that a device must answer first if it is not trusted
        # What happened since the greeting of a device that is not trusted, and the last event delivered before that.
        self._withheld: list[Happening] | None = None
        self._before = 0
        self._overflowed = False  # a message could not be queued

    # --- called by the owner ------------------------------------------------------------------------------------------

    def connect(self, now: float) -> None:
        """The wire is connected: open a link and greet. One of these follows: `Ready`, `Rejected`,
        `WrongRole`, `Ahead`, `Untrusted`, `Lost`."""
        self._stop()
        self._next_session = self._next_session % 0xFFFF + 1
        self.link.open(self._next_session, now)

    def disconnect(self) -> None:
        """The wire is disconnected. Commands and events wait for the next `connect`."""
        self._stop()
        self.link.drop()

    def close(self, now: float) -> None:
        """End the link session and notify the device."""
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
        self._confirm(now)

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
        if self._overflowed:
            return 0.0
        if self._commands:
            deadline = min(deadline, _answer_by(self._commands))
        if self._questions:
            deadline = min(deadline, _answer_by(self._questions))
        return deadline

    def tick(self, now: float) -> list[Happening]:
        """Do what is due."""
        happenings = self._took(self.link.tick(now), now)
        if now >= self._welcome_by:
            happenings.append(self._end(LossReason.NO_ANSWER, "no answer to the greeting", now))
        for waits in (self._commands, self._questions):
            if waits and now >= _answer_by(waits):
                waiting = next(iter(waits.values()))
                waiting.late, message = True, waiting.message
                number = message.id if isinstance(message, Command) else message.ref
                detail = f"no answer to {type(message).__name__} {number} within {ANSWER_WITHIN_S:g} s"
                happenings.append(self._not_answered(Lost(LossReason.PROTOCOL, detail), now))
        if self._overflowed and self.ready:
            detail = f"it does not acknowledge messages, and {PENDING_MAX} are waiting"
            happenings.append(self._violated(detail, now))
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
                stalled = arrival.reason is LossReason.STALLED
                happenings.append(self._not_answered(arrival, now) if stalled else arrival)
        if self._confirmed < self._stored:
            self._confirm(now)
        return happenings

    def _message(self, data: bytes, now: float, happenings: list[Happening]) -> None:
        try:
            message = decode_from_device(data)
        except BadMessage as bad:
            happenings.append(self._violated(f"message {bad.number} is unreadable: {bad}", now))
            return
        if not self.ready:
            self._greeting(message, now, happenings)
        elif type(message) in EVENT_TYPES:
            self._event(message, now, happenings)  # type: ignore[arg-type]
        elif isinstance(message, COMMAND_ANSWERS):
            if self._answered(self._commands.pop(message.id, None)):
                self._happened(message, happenings)
        elif isinstance(message, QUESTION_ANSWERS):
            if self._answered(self._questions.pop(message.ref, None)):
                if message.ref == self._proof:
                    self._trust(happenings)
                else:
                    self._happened(message, happenings)
        else:
            happenings.append(self._violated(f"{type(message).__name__} arrived after Welcome", now))

    def _answered(self, waiting: _Waiting | None) -> bool:
        """Whether an answer was expected. An answer that was overdue still counts against the device."""
        if waiting and not waiting.late:
            self._unanswered = 0
        return waiting is not None

    def _event(self, event: AnyEvent, now: float, happenings: list[Happening]) -> None:
        if event.number != self._next_event:
            detail = f"event {event.number} was sent instead of event {self._next_event}"
            happenings.append(self._violated(detail, now))
            return
        if not self._only_observes:
            self._rate.count(now)
            if self._rate.too_many:
                happenings.append(self._distrust(str(Flooding(self._rate.per_s)), now))
                return
            if self._rate.warn():
                self._happened(Flooding(self._rate.per_s), happenings)
        self._next_event += 1
        if event.number > self._delivered:
            self._delivered = event.number
            if self._withheld is None:
                self._violations = 0
            self._happened(event, happenings)
        else:
            self.repeated_events += 1

    def _happened(self, happening: Happening, happenings: list[Happening]) -> None:
        """Pass on what happened, unless the device must first prove that it answers."""
        (happenings if self._withheld is None else self._withheld).append(happening)

    def _trust(self, happenings: list[Happening]) -> None:
        """The device has answered: what happened since its greeting counts."""
        self._untrusted = False
        if self._withheld is not None:
            happenings += self._withheld
            self._withheld = None

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
            happenings.append(self._violated(fault, now))
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
        self._next_event = message.first_event
        self._confirmed = self._stored
        self.identity = DeviceIdentity.of(message)
        self.ready = True
        self._welcome_by = math.inf
        ready = Ready(
            self.identity,
            message.version,
            message.boot,
            restarted,
            message.last_command,
            message.first_event,
            tuple(message.longest_ms),
        )
        if self._untrusted:
            self._withheld, self._before = [], self._delivered
            self._proof -= 1  # never the same: an answer that comes too late must not count for the next attempt
            self._questions[self._proof] = _Waiting(AskStatus(self._proof))
        self._happened(ready, happenings)
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
        if message.boot == 0:
            return "its boot id is 0"
        return ""

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _put(self, waiting: _Waiting, now: float) -> None:
        """Send a message, or end this link at the next `tick` if it cannot even be queued."""
        if self.link.full:
            self._overflowed = True
            return
        waiting.sent_at = now
        self.link.send(encode(waiting.message), now)

    def _confirm(self, now: float) -> None:
        """Send the device what is stored, if that need not wait for anything: a later mark or Hello includes it."""
        if self.ready and self.link.has_room:
            self._confirmed = self._stored
            self.link.send(EventsStored(self._stored).encode(), now)

    def _violated(self, detail: str, now: float) -> Lost | Untrusted:
        """The device violated the protocol: end this link."""
        self._violations += 1
        if self._violations >= VIOLATIONS_MAX:
            return self._distrust(detail, now)
        return self._end(LossReason.PROTOCOL, detail, now)

    def _not_answered(self, lost: Lost, now: float) -> Lost | Untrusted:
        """The device did not answer or acknowledge in time. That its events keep coming makes no difference."""
        self._unanswered += 1
        if self._unanswered >= VIOLATIONS_MAX:
            detail = lost.detail if lost.reason is LossReason.PROTOCOL else str(lost)
            return self._distrust(f"{detail}, {self._unanswered} times in a row", now)
        self._end(lost.reason, lost.detail, now)
        return lost

    def _distrust(self, detail: str, now: float) -> Untrusted:
        self._untrusted = True
        self._end(LossReason.PROTOCOL, detail, now)
        return Untrusted(detail)

    def _end(self, reason: LossReason, detail: str, now: float) -> Lost:
        """End this link, and say so."""
        self._stop()
        if self.link.state is not LinkState.CLOSED:
            self.link.close(now, ResetReason.PROTOCOL_ERROR)
            self.link.counters.losses += 1
        return Lost(reason, detail)

    def _stop(self) -> None:
        self.ready = False
        self._welcome_by = math.inf
        if self._withheld is not None:  # never passed on: the device will send it again
            self._withheld, self._delivered = None, self._before
        self._overflowed = False
        self._questions.pop(self._proof, None)
        for waits in (self._commands, self._questions):
            for waiting in waits.values():
                waiting.sent_at = math.inf
