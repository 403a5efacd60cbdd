"""What the points are told in: a host that greets, asks and commands, and does exactly what it is told to."""

from __future__ import annotations

from collections.abc import Callable

from firmware_bridge.tools.conform.link_talk import ANSWER_S, HURRY_S, PATIENCE_S, QUIET_S, SOON_S, LinkTalk, Steps, T
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
    number_of,
    read,
)
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
    Refused,
    Status,
    Unlock,
    describe_message,
)

Turn = type[Lock | Unlock]
OPPOSITE: dict[Turn, Turn] = {Lock: Unlock, Unlock: Lock}
LEADS_TO: dict[Turn, DoorState] = {Lock: DoorState.LOCKED, Unlock: DoorState.UNLOCKED}
EVENTS_KEPT_AT = 14  # in Status
FILL_MAX = 200  # events after which a device counts as one that cannot be filled


class Talk(LinkTalk):
    """One talk with a device, over as many link sessions as it takes."""

    def __init__(self, host_boot: int, now: float) -> None:
        super().__init__(host_boot, now)
        self.highest_id = 0  # of the commands given or seen in Welcome: ids only grow
        self.unlock_with: Turn | None = None  # what brings the lock back as it was found
        self.indicated = False
        self._last_ref = 0

    def begin(self) -> None:
        """Forget everything of the point before."""
        super().begin()
        self.note = ""  # what a person should know of a point that passed
        self._found_locked = False

    def greet(self, events_boot: int = 0, events_stored: int = 0, extra: tuple[object, ...] = ()) -> Steps[Greeting]:
        """Open a new link session and greet."""
        yield from self.open()
        return (yield from self.hello(events_boot, events_stored, extra))

    def hello(self, events_boot: int = 0, events_stored: int = 0, extra: tuple[object, ...] = ()) -> Steps[Greeting]:
        """Greet in the present link session."""
        self.say(longer(Hello(VERSION, VERSION, events_boot, events_stored, "conform"), extra))
        answer = yield from self.message((WELCOME, UNWELCOME), None, self.patience_s)
        if answer is None:
            expected = f"no Welcome within {self.patience_s:g} s of Hello"
            self.patience_s = HURRY_S
            raise Failed(f"{expected}, but {self.heard()}")
        if fields_of(answer)[0] == UNWELCOME:
            raise Failed(f"Hello was answered by {in_words(answer)}")
        self.patience_s = PATIENCE_S
        greeting = Greeting(answer, fields_of(answer), self.boot)
        self.highest_id = max(self.highest_id, greeting.last_command)
        return greeting

    # --- questions and commands -------------------------------------------------------------------------------------

    def next_ref(self) -> int:
        """A ref that no question had yet."""
        self._last_ref += 1
        return self._last_ref

    def probe(self) -> bytes:
        """The plainest question: whether it is answered shows whether a packet was acted on."""
        return Identify(self.next_ref()).encode()

    def answered(self, why: str) -> Steps[None]:
        """Ask the probe; the point fails where no answer comes."""
        message = self.probe()
        self.say(message)
        yield from self.answer_to(message, why)

    def answer_to(self, probe: bytes, why: str) -> Steps[None]:
        """Wait for the answer to a probe that was sent."""
        if (yield from self.message((IDENTITY,), number_of(probe))) is None:
            raise Failed(f"{why}: expected Identity, but {self.heard()}")

    def ask(self, question: Question, kind: type[T]) -> Steps[T]:
        """Ask, and read the answer within its bounds."""
        self.say(question.encode())
        answer = yield from self.message((NO_ANSWER, IDENTITY, STATUS, COUNTERS), question.ref)
        if answer is None:
            raise Failed(f"{describe_message(question)} was not answered within {ANSWER_S:g} s, but {self.heard()}")
        told = read(answer)
        if not isinstance(told, kind):
            raise Failed(f"{describe_message(question)} was answered by {describe_message(told)}")
        return told

    def said(self, message: bytes) -> Steps[list[bytes]]:
        """Send a message that may be without an answer, and return what came until it was acknowledged."""
        yield from self.acknowledgement(self.say(message), SOON_S)
        return list(self.messages)

    def effects(self) -> Steps[int]:
        """How many commands the device says it has carried out."""
        return (yield from self.ask(AskCounters(self.next_ref()), Counters)).effects

    def give(self, command: bytes) -> Steps[bytes]:
        """Give a command and return the answer as it came."""
        self.say(command)
        id = number_of(command)
        answer = yield from self.message((DONE, REFUSED), id)
        if answer is None:
            raise Failed(f"command {id} was not answered within {ANSWER_S:g} s, but {self.heard()}")
        return answer

    def refused(self, command: bytes, reason: Reason, why: str) -> Steps[None]:
        """Give a command that must be refused for this reason."""
        answer = yield from self.give(command)
        told = read(answer)
        if not isinstance(told, Refused) or told.reason is not reason:
            raise Failed(f"{why}: expected Refused {reason.name}, got {describe_message(told)}")

    def done(self, command: bytes) -> Steps[bytes]:
        """Give a command that must be taken on."""
        answer = yield from self.give(command)
        if not isinstance(read(answer), Done):
            raise Failed(f"a command that is taken on at any time got {in_words(answer)}")
        return answer

    def next_id(self) -> int:
        """A command id higher than all before."""
        self.highest_id += 1
        return self.highest_id

    def greet_for_commands(self) -> Steps[Greeting]:
        """Greet, and find out which command can be given that changes nothing a dealer would miss."""
        greeting = yield from self.greet()
        if not greeting.can(Capability.INDICATES):
            if not greeting.can(Capability.LOCKS):
                raise Skipped("the device has neither LOCKS nor INDICATES: no command is without consequence")
            self._found_locked = (yield from self.ask(AskStatus(self.next_ref()), Status)).locked
        return greeting

    def harmless(self, greeting: Greeting, id: int, *, boot: int | None = None) -> bytes:
        """A command with an effect that is counted and does no harm: a light, or the lock as it is already."""
        boot = greeting.boot if boot is None else boot
        if greeting.can(Capability.INDICATES):
            self.indicated = True
            return Indicate(id, boot, Light.YELLOW, "conform").encode()
        kind: type[Command] = Lock if self._found_locked else Unlock
        return kind(id, boot).encode()

    # --- the lock, which makes events -------------------------------------------------------------------------------

    def lock_as_found(self) -> Steps[Turn]:
        """The command that brings the lock back as it is now."""
        return Lock if (yield from self.ask(AskStatus(self.next_ref()), Status)).locked else Unlock

    def turn(self, greeting: Greeting, kind: Turn, as_found: Turn) -> Steps[None]:
        """Lock or unlock; the run turns the lock back if the point ends before it did."""
        self.unlock_with = as_found
        yield from self.done(kind(self.next_id(), greeting.boot).encode())
        if kind is as_found:
            self.unlock_with = None

    def turn_lock(self, greeting: Greeting) -> Steps[list[int]]:
        """Turn the lock and turn it back; the numbers of the two events."""
        as_found = yield from self.lock_as_found()
        numbers = []
        for kind in (OPPOSITE[as_found], as_found):
            before = len(self.events)
            yield from self.turn(greeting, kind, as_found)
            numbers.append((yield from self._door(LEADS_TO[kind], before)))
        return numbers

    def fill(self, greeting: Greeting) -> Steps[list[int] | None]:
        """Turn the lock until the device drops the events; the numbers of those it kept, or None if it keeps on."""
        yield from self.make_room()
        stored = {number_of(event) for event in self.events}

        turns = 0

        def fresh() -> list[int]:
            return sorted({number_of(event) for event in self.events} - stored)

        def all_came() -> bool | None:
            return True if len(self.events) >= turns and len(fresh()) >= turns else None

        as_found = yield from self.lock_as_found()
        while turns < FILL_MAX:
            for kind in (OPPOSITE[as_found], as_found):
                yield from self.turn(greeting, kind, as_found)
            turns += 2
            if not (yield from self.until(all_came, QUIET_S)):
                return fresh()
        return None

    def _door(self, state: DoorState, since: int) -> Steps[int]:
        def fits(event: bytes) -> bool:
            fields = fields_of(event)
            return fields[0] == DOOR and len(fields) > 3 and fields[3] == state

        event = yield from self.until(lambda: next(filter(fits, self.events[since:]), None), ANSWER_S)
        if event is None:
            raise Failed(f"expected an event Door {state.name} within {ANSWER_S:g} s, but {self.heard()}")
        return number_of(event)

    def some_events(self, greeting: Greeting, need: int = 1) -> Steps[list[int]]:
        """The numbers of events that were just made, or that the device keeps where it has no lock."""
        if greeting.can(Capability.LOCKS):
            yield from self.make_room()
            return (yield from self.turn_lock(greeting))
        yield from self.settle()
        if len(self.events) < need:
            raise Skipped(f"the device has no LOCKS and keeps fewer than {need} events: nothing to look at")
        return [number_of(event) for event in self.events]

    def settle(self) -> Steps[int]:
        """Wait until the events that the device keeps have come, in a session whose events are all kept still;
        return how many it says there are."""
        ref = self.next_ref()
        self.say(AskStatus(ref).encode())
        answer = yield from self.message((STATUS,), ref, QUIET_S)
        kept = integer(fields_of(answer or b""), EVENTS_KEPT_AT, 0)
        yield from self.until(lambda: True if len(self.events) >= kept else None, QUIET_S)
        return kept

    def make_room(self) -> Steps[None]:
        """Store what the device keeps: one that is nearly full drops the events of doors and starts no cycle."""
        yield from self.settle()
        if self.events:
            yield from self.store(number_of(self.events[-1]))

    def store(self, number: int) -> Steps[None]:
        """Say that the events up to this one are stored. There is no answer, so the acknowledgement is awaited."""
        sent = self.say(EventsStored(number).encode())
        yield from self.acknowledgement(sent, ANSWER_S)

    def event(self, fits: Callable[[Message], bool], within: float) -> Steps[Message | None]:
        """Wait for an event of this session, also one that came already."""

        def found() -> Message | None:
            return next((event for event in map(read, self.events) if fits(event)), None)

        return (yield from self.until(found, within))

    def event_number(self, number: int) -> Steps[bytes | None]:
        """Wait for the event with this number, also one that came already."""

        def found() -> bytes | None:
            return next((event for event in self.events if number_of(event) == number), None)

        return (yield from self.until(found, ANSWER_S))
