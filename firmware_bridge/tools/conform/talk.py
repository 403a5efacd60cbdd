"""The vocabulary of the points: a host that greets, asks and commands exactly as the point requires."""

from __future__ import annotations

from collections.abc import Callable

from firmware_bridge.tools.conform.link_talk import (
    ANSWER_S,
    QUIET_S,
    SHORT_TIMEOUT_S,
    SOON_S,
    TIMEOUT_S,
    LinkTalk,
    Steps,
    T,
)
from firmware_bridge.tools.conform.person import ANSWER_WITHIN_S, HandTask
from firmware_bridge.tools.conform.reading import (
    COUNTERS,
    DONE,
    DOOR,
    IDENTITY,
    NO_ANSWER,
    REFUSED,
    STATUS,
    UNWELCOME,
    WELCOME,
    Failed,
    Greeting,
    Skipped,
    fields_of,
    in_words,
    integer,
    longer,
    must_be_refused,
    number_of,
    read,
)
from firmware_bridge.tools.conform.trace import CycleTrace
from firmware_bridge.wire.frame import encode_frame
from firmware_bridge.wire.messages import (
    VERSION,
    AskCounters,
    AskStatus,
    Capability,
    Command,
    Counters,
    Done,
    DoorState,
    EventsStored,
    Hello,
    Identify,
    Indicate,
    Light,
    Lock,
    Message,
    Question,
    Reason,
    Status,
    Unlock,
    describe_message,
)
from firmware_bridge.wire.packet import Packet, PacketType, ResetReason, pack

Turn = type[Lock | Unlock]
OPPOSITE: dict[Turn, Turn] = {Lock: Unlock, Unlock: Lock}
LEADS_TO: dict[Turn, DoorState] = {Lock: DoorState.LOCKED, Unlock: DoorState.UNLOCKED}
EVENTS_KEPT_AT = 14  # in Status
FILL_MAX = 200  # events after which a device is considered impossible to fill


class Talk(LinkTalk):
    """A conversation with a device, over any number of link sessions."""

    def __init__(self, host_boot: int, now: float) -> None:
        super().__init__(host_boot, now)
        self.highest_id = 0  # of the commands given or seen in Welcome: ids only increase
        self.unlock_with: Turn | None = None  # what restores the lock
        self.indicated = False
        self.interactive = False
        self.task: HandTask | None = None  # what a person is asked to do now
        self.task_done: bool | None = None  # what the person answered
        self.traces: dict[str, CycleTrace] = {}  # the last cycle of each kind that ended, by the name of its work
        self.stacks: list[int] = []  # the commands of all points that dealt cards
        self._last_ref = 0

    def begin(self) -> None:
        """Forget everything from the previous point."""
        super().begin()
        self.note = ""  # a remark on a point that passed
        self._found_locked = False
        self._refusing = False
        self.task = self.task_done = None

    def by_hand(self, task: HandTask) -> Steps[None]:
        """Have a person do this; without one, the point cannot be tested."""
        if not self.interactive:
            raise Skipped(f"needs a person (--interactive): {task.value}")
        self.task, self.task_done = task, None
        done = yield from self.until(lambda: self.task_done, ANSWER_WITHIN_S)
        self.task = None
        if not done:
            raise Skipped(f"the person did not do this: {task.value}")

    def greet(self, events_boot: int = 0, events_stored: int = 0, extra: tuple[object, ...] = ()) -> Steps[Greeting]:
        """Open a new link session and greet."""
        yield from self.open()
        return (yield from self.hello(events_boot, events_stored, extra))

    def hello(self, events_boot: int = 0, events_stored: int = 0, extra: tuple[object, ...] = ()) -> Steps[Greeting]:
        """Greet in the current link session."""
        self.say(longer(Hello(VERSION, VERSION, events_boot, events_stored, "conform"), extra))
        answer = yield from self.message((WELCOME, UNWELCOME), None, self.timeout_s)
        if answer is None:
            expected = f"no Welcome within {self.timeout_s:g} s of Hello"
            self.timeout_s = SHORT_TIMEOUT_S
            raise Failed(f"{expected}, but {self.received()}")
        if fields_of(answer)[0] == UNWELCOME:
            raise Failed(f"Hello was answered by {in_words(answer)}")
        self.timeout_s = TIMEOUT_S
        greeting = Greeting(answer, fields_of(answer), self.boot)
        self.highest_id = max(self.highest_id, greeting.last_command)
        return greeting

    # --- questions and commands -------------------------------------------------------------------------------------

    def next_ref(self) -> int:
        """A ref that no question has used yet."""
        self._last_ref += 1
        return self._last_ref

    def probe_frame(self) -> tuple[bytes, bytes]:
        """A probe, and the frame that carries it next; the frame counts as sent."""
        probe = self.probe()
        frame = encode_frame(pack(self.data(probe)))
        self.next_seq += 1
        return probe, frame

    def probe(self) -> bytes:
        """The simplest question: its answer shows that a packet was acted on."""
        return Identify(self.next_ref()).encode()

    def answered(self, why: str) -> Steps[None]:
        """Ask the probe; the point fails if it is not answered."""
        message = self.probe()
        self.say(message)
        yield from self.answer_to(message, why)

    def answer_to(self, probe: bytes, why: str) -> Steps[None]:
        """Wait for the answer to a probe that was sent."""
        if (yield from self.message((IDENTITY,), number_of(probe))) is None:
            raise Failed(f"{why}: expected Identity, but {self.received()}")

    def unacknowledged_answer(self) -> Steps[Packet]:
        """Ask the probe and stop acknowledging: the DATA packet with the answer."""
        self.acknowledges = False
        self.say(self.probe())
        answer = yield from self.packet(PacketType.DATA, within=ANSWER_S)
        if answer is None:
            raise Failed(f"expected an answer in DATA, but {self.received()}")
        return answer

    def reset_of(self, session: int, reason: ResetReason, why: str) -> Steps[None]:
        """Wait for a RESET of another session; the current one must continue."""
        if not (yield from self.packet(PacketType.RESET, session=session, where=lambda got: got.reason == reason)):
            raise Failed(
                f"{why}: expected RESET of session {session:04x} with reason {reason:d}, but {self.received()}"
            )

    def ask(self, question: Question, kind: type[T]) -> Steps[T]:
        """Ask, and check the answer."""
        self.say(question.encode())
        answer = yield from self.message((NO_ANSWER, IDENTITY, STATUS, COUNTERS), question.ref)
        if answer is None:
            raise Failed(f"{describe_message(question)} was not answered within {ANSWER_S:g} s, but {self.received()}")
        decoded = read(answer)
        if not isinstance(decoded, kind):
            raise Failed(f"{describe_message(question)} was answered by {describe_message(decoded)}")
        return decoded

    def give_again(self, command: bytes, first: bytes) -> Steps[None]:
        """Give a command once more. Its answer must be the first one."""
        again = yield from self.give(command)
        if again != first:
            raise Failed(f"the same command again: expected {in_words(first)} again, got {in_words(again)}")

    def said(self, message: bytes) -> Steps[list[bytes]]:
        """Send a message that may get no answer, and return what was received until it was acknowledged."""
        yield from self.acknowledgement(self.say(message), SOON_S)
        return list(self.messages)

    def status(self) -> Steps[Status]:
        """Ask for the status."""
        return (yield from self.ask(AskStatus(self.next_ref()), Status))

    def counters(self) -> Steps[Counters]:
        """Ask for the counters."""
        return (yield from self.ask(AskCounters(self.next_ref()), Counters))

    def effects(self) -> Steps[int]:
        """How many commands the device says it has carried out."""
        return (yield from self.counters()).effects

    def give(self, command: bytes) -> Steps[bytes]:
        """Give a command and return the answer as bytes."""
        self.say(command)
        id = number_of(command)
        answer = yield from self.message((DONE, REFUSED), id)
        if answer is None:
            raise Failed(f"command {id} was not answered within {ANSWER_S:g} s, but {self.received()}")
        return answer

    def refused(self, command: bytes, reason: Reason, why: str) -> Steps[None]:
        """Give a command that must be refused for this reason."""
        must_be_refused((yield from self.give(command)), reason, why)

    def done(self, command: bytes) -> Steps[bytes]:
        """Give a command that must be accepted."""
        answer = yield from self.give(command)
        if not isinstance(read(answer), Done):
            raise Failed(f"a command that is always accepted got {in_words(answer)}")
        return answer

    def next_id(self) -> int:
        """A command id higher than all earlier ones."""
        self.highest_id += 1
        return self.highest_id

    def greet_for_commands(self) -> Steps[Greeting]:
        """Greet, and find out which command can be given without lasting consequences."""
        greeting = yield from self.greet()
        if not greeting.can(Capability.INDICATES):
            if greeting.can(Capability.LOCKS):
                self._found_locked = (yield from self.status()).locked
            else:
                self._refusing = True
                self.note = "with refused commands: the device has neither LOCKS nor INDICATES"
        return greeting

    def carried_out(self, command: bytes) -> Steps[bytes]:
        """Give a harmless command, and return its answer: Done, or the refusal of a device that has no such command."""
        if not self._refusing:
            return (yield from self.done(command))
        answer = yield from self.give(command)
        must_be_refused(answer, Reason.NOT_ABLE, "Unlock of a device without LOCKS")
        return answer

    def effects_of(self, commands: int) -> int:
        """How many effects this many harmless commands have."""
        return 0 if self._refusing else commands

    def harmless(self, greeting: Greeting, id: int, *, boot: int | None = None) -> bytes:
        """A command whose effect is counted but harmless: a light, or the lock in its current state. On a device that
        has neither it is refused, which is remembered too."""
        boot = greeting.boot if boot is None else boot
        if greeting.can(Capability.INDICATES):
            self.indicated = True
            return Indicate(id, boot, Light.YELLOW, "conform").encode()
        kind: type[Command] = Lock if self._found_locked else Unlock
        return kind(id, boot).encode()

    # --- the lock, which causes events -------------------------------------------------------------------------------

    def lock_as_found(self) -> Steps[Turn]:
        """The command that restores the current state of the lock."""
        return Lock if (yield from self.status()).locked else Unlock

    def turn(self, greeting: Greeting, kind: Turn, as_found: Turn) -> Steps[None]:
        """Lock or unlock; the run restores the lock if the point ends before doing so."""
        self.unlock_with = as_found
        yield from self.done(kind(self.next_id(), greeting.boot).encode())
        if kind is as_found:
            self.unlock_with = None

    def turn_lock(self, greeting: Greeting) -> Steps[list[int]]:
        """Turn the lock and turn it back; returns the numbers of the two events."""
        as_found = yield from self.lock_as_found()
        numbers = []
        for kind in (OPPOSITE[as_found], as_found):
            before = len(self.events)
            yield from self.turn(greeting, kind, as_found)
            numbers.append((yield from self.door_event(LEADS_TO[kind], before)))
        return numbers

    def fill(self, greeting: Greeting) -> Steps[list[int] | None]:
        """Turn the lock until the device drops events; returns the numbers of those kept, or None if it never does."""
        yield from self.make_room()
        stored = {number_of(event) for event in self.events}

        turns = 0

        def fresh() -> list[int]:
            return sorted({number_of(event) for event in self.events} - stored)

        def all_arrived() -> bool | None:
            return True if len(self.events) >= turns and len(fresh()) >= turns else None

        as_found = yield from self.lock_as_found()
        while turns < FILL_MAX:
            for kind in (OPPOSITE[as_found], as_found):
                yield from self.turn(greeting, kind, as_found)
            turns += 2
            if not (yield from self.until(all_arrived, QUIET_S)):
                return fresh()
        return None

    def door_event(self, state: DoorState, since: int) -> Steps[int]:
        """Wait for a Door event after the first `since` events of the session; returns its number."""

        def fits(event: bytes) -> bool:
            fields = fields_of(event)
            return fields[0] == DOOR and len(fields) > 3 and fields[3] == state

        event = yield from self.until(lambda: next(filter(fits, self.events[since:]), None), ANSWER_S)
        if event is None:
            raise Failed(f"expected an event Door {state.name} within {ANSWER_S:g} s, but {self.received()}")
        return number_of(event)

    def some_events(self, greeting: Greeting, need: int = 1) -> Steps[list[int]]:
        """The numbers of events just caused, or of those that the device keeps if it has no lock."""
        if greeting.can(Capability.LOCKS):
            yield from self.make_room()
            return (yield from self.turn_lock(greeting))
        yield from self.settle()
        if len(self.events) < need:
            raise Skipped(f"the device has no LOCKS and keeps fewer than {need} events")
        return [number_of(event) for event in self.events]

    def settle(self) -> Steps[int]:
        """Wait until the events that the device keeps have arrived, in a session without stored events; returns how
        many the device says it keeps."""
        ref = self.next_ref()
        self.say(AskStatus(ref).encode())
        answer = yield from self.message((STATUS,), ref, QUIET_S)
        kept = integer(fields_of(answer or b""), EVENTS_KEPT_AT, 0)
        yield from self.until(lambda: True if len(self.events) >= kept else None, QUIET_S)
        return kept

    def make_room(self) -> Steps[None]:
        """Store the device's events: a device that is nearly full drops Door events and starts no cycle."""
        yield from self.settle()
        if self.events:
            yield from self.store(number_of(self.events[-1]))

    def store(self, number: int) -> Steps[None]:
        """Say that the events up to this one are stored, and wait for the acknowledgement, since there is no answer."""
        sent = self.say(EventsStored(number).encode())
        yield from self.acknowledgement(sent, ANSWER_S)

    def event(self, fits: Callable[[Message], bool], within: float) -> Steps[Message | None]:
        """Wait for an event of this session, including those already received."""

        def found() -> Message | None:
            return next((event for event in map(read, self.events) if fits(event)), None)

        return (yield from self.until(found, within))

    def event_number(self, number: int) -> Steps[bytes | None]:
        """Wait for the event with this number, including those already received."""

        def found() -> bytes | None:
            return next((event for event in self.events if number_of(event) == number), None)

        return (yield from self.until(found, ANSWER_S))
