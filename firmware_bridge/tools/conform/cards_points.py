"""The points that need the mechanics: they run motors, and move cards where cards lie ready."""

from __future__ import annotations

from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import Failed, Greeting, Skipped, in_words, read
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.messages import (
    AskCounters,
    AskStatus,
    Capability,
    Command,
    Counters,
    CycleDone,
    DeviceRole,
    Dispense,
    Done,
    Lock,
    Message,
    Mode,
    Outcome,
    Reason,
    Refused,
    SelfTest,
    Shuffle,
    StackPresented,
    Status,
    describe_message,
)

CYCLE_S = 180.0  # the longest shuffle a casino would wait for
LIMIT_S = CYCLE_S + 30
POLL_S = 1.0
UNHEARD_S = 3.0  # without a link: long enough for a short cycle to end


def _movement(talk: Talk, greeting: Greeting) -> Steps[Command]:
    """The command that moves a card as the cards lie now; a self test where none can be moved."""
    status = yield from talk.ask(AskStatus(talk.next_ref()), Status)
    id, boot = talk.next_id(), greeting.boot
    if greeting.role == DeviceRole.SHOE and status.inside_cards != 0:
        if status.exit_cards <= 0:
            return Dispense(id, boot, 1)
        if greeting.can(Capability.HOLDS_STACK) and status.held_cards <= 0:
            return Dispense(id, boot, 1, hold=True)
    shuffled = max(status.inside_cards, status.output_cards)
    if greeting.role == DeviceRole.SHUFFLER and status.infeed_cards > 0 and shuffled <= 0:
        return Shuffle(id, boot)
    return SelfTest(id, boot)


def start(talk: Talk, command: Command) -> Steps[bytes]:
    """Give a command that starts a cycle; a device that stands locked, open or jammed cannot be tested."""
    answer = yield from talk.give(command.encode())
    if not isinstance(read(answer), Done):
        raise Skipped(f"{describe_message(command)} got {in_words(answer)}")
    talk.note = f"with {type(command).__name__}"
    return answer


def greet_idle(talk: Talk) -> Steps[Greeting]:
    """Greet, make room for events, and wait until no cycle runs any more that an earlier point or a person began."""
    greeting = yield from talk.greet()
    yield from talk.make_room()
    give_up = talk.now + CYCLE_S
    while (yield from talk.ask(AskStatus(talk.next_ref()), Status)).mode is Mode.WORKING:
        if talk.now >= give_up:
            raise Skipped(f"the device has been busy for {CYCLE_S:g} s")
        yield from talk.rest(POLL_S)
    return greeting


def _end_of(talk: Talk, command: Command, within: float) -> Steps[Message | None]:
    def fits(event: Message) -> bool:
        return isinstance(event, CycleDone) and event.command == command.id

    return (yield from talk.event(fits, within))


def ended(talk: Talk, command: Command) -> Steps[CycleDone]:
    """Wait for the end of a cycle; once Status knows of it, its event must be there."""
    give_up = talk.now + CYCLE_S
    while talk.now < give_up:
        status = yield from talk.ask(AskStatus(talk.next_ref()), Status)
        end = yield from _end_of(talk, command, POLL_S)
        if isinstance(end, CycleDone):
            return end
        if status.doing != command.id:
            raise Failed(f"{describe_message(command)} has ended by Status, but no CycleDone came")
    raise Failed(f"expected CycleDone of {describe_message(command)} within {CYCLE_S:g} s")


@point("cards.busy", "Commands", "While a cycle runs a second one gets BUSY, and questions are answered.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_busy(talk: Talk) -> Steps[None]:
    """A self test is a cycle like any other."""
    greeting = yield from greet_idle(talk)
    running = SelfTest(talk.next_id(), greeting.boot)
    yield from start(talk, running)
    answer = yield from _second_cycle(talk, greeting, running)
    if not isinstance(answer, Refused) or answer.reason is not Reason.BUSY:
        raise Failed(f"a second cycle while one runs: expected Refused BUSY, got {describe_message(answer)}")
    status = yield from talk.ask(AskStatus(talk.next_ref()), Status)
    if status.mode is not Mode.WORKING or status.doing != running.id:
        yield from _not_ended(talk, running)
        raise Failed(f"command {running.id} is running: expected mode WORKING, got {describe_message(status)}")
    yield from ended(talk, running)


@point("cards.lock_while_busy", "Commands", "While a cycle runs, Lock stops nothing, and BUSY comes before LOCKED.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_lock_while_busy(talk: Talk) -> Steps[None]:
    """The order in which the hindrances of a second cycle are looked at."""
    greeting = yield from greet_idle(talk)
    if not greeting.can(Capability.LOCKS):
        raise Skipped("the device has no LOCKS")
    as_found = yield from talk.lock_as_found()
    running = SelfTest(talk.next_id(), greeting.boot)
    yield from start(talk, running)
    yield from talk.turn(greeting, Lock, as_found)
    answer = yield from _second_cycle(talk, greeting, running)
    if isinstance(answer, Refused) and answer.reason is Reason.LOCKED:  # anything else is the matter of cards.busy
        raise Failed(f"a second cycle while one runs and the device is locked: got {describe_message(answer)}")
    yield from talk.turn(greeting, as_found, as_found)
    end = yield from ended(talk, running)
    if end.outcome is Outcome.STOPPED:
        raise Failed(f"Lock was given while a cycle ran, which must go on: {describe_message(end)}")


def _second_cycle(talk: Talk, greeting: Greeting, running: Command) -> Steps[Message]:
    """The answer to a second cycle; the point cannot be tested where the first has ended already."""
    answer = yield from talk.give(SelfTest(talk.next_id(), greeting.boot).encode())
    yield from _not_ended(talk, running)
    return read(answer)


def _not_ended(talk: Talk, running: Command) -> Steps[None]:
    if (yield from _end_of(talk, running, 0)):
        raise Skipped("the self test has ended before a second command could be given")


@point("cards.once", "Commands", "A command that moves cards moves them once, however often it is given.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_once(talk: Talk) -> Steps[None]:
    """Again while its cycle runs, again over a new link, and again after its end."""
    greeting = yield from greet_idle(talk)
    command = yield from _movement(talk, greeting)
    before = yield from talk.ask(AskCounters(talk.next_ref()), Counters)
    first = yield from start(talk, command)
    yield from _again(talk, command, first)
    talk.leave()
    yield from talk.greet()
    yield from _again(talk, command, first)
    yield from ended(talk, command)
    yield from _again(talk, command, first)
    yield from talk.rest(QUIET_S)
    status = yield from talk.ask(AskStatus(talk.next_ref()), Status)
    if status.doing:
        raise Failed(f"{describe_message(command)} was given again after its end, and a cycle runs again")
    yield from talk.rest(QUIET_S)
    after = yield from talk.ask(AskCounters(talk.next_ref()), Counters)
    wanted = {"effects": 1, "cycles": 1}
    if isinstance(command, Dispense):
        wanted["cards_moved"] = command.cards
        _one_stack(talk, command)
    for name, growth in wanted.items():
        was, is_now = getattr(before, name), getattr(after, name)
        if is_now - was != growth:
            given = f"{describe_message(command)} was given four times"
            raise Failed(f"{given}: expected {name} {was + growth}, got {is_now}")


def _again(talk: Talk, command: Command, first: bytes) -> Steps[None]:
    again = yield from talk.give(command.encode())
    if again != first:
        raise Failed(f"{describe_message(command)} again: expected {in_words(first)} again, got {in_words(again)}")


def _one_stack(talk: Talk, command: Command) -> None:
    events = {event for event in talk.events if getattr(read(event), "command", 0) == command.id}
    stacks = [event for event in events if isinstance(read(event), StackPresented)]
    if len(stacks) != 1:
        raise Failed(f"{describe_message(command)}: expected one StackPresented, got {len(stacks)}")


@point("cards.replay", "Events", "What a cycle does while nobody listens is told after the next greeting.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_replay(talk: Talk) -> Steps[None]:
    """The link ends right after the command was taken on."""
    greeting = yield from greet_idle(talk)
    command = yield from _movement(talk, greeting)
    yield from start(talk, command)
    talk.leave()
    yield from talk.rest(UNHEARD_S)
    yield from talk.greet()
    yield from ended(talk, command)
    if isinstance(command, Dispense):
        _one_stack(talk, command)


@point("cards.locked", "Commands", "While the device is locked no cycle starts.", limit_s=LIMIT_S, with_cards=True)
def cards_locked(talk: Talk) -> Steps[None]:
    """The lock is left as it was found."""
    greeting = yield from greet_idle(talk)
    if not greeting.can(Capability.LOCKS):
        raise Skipped("the device has no LOCKS")
    as_found = yield from talk.lock_as_found()
    yield from talk.turn(greeting, Lock, as_found)
    test = SelfTest(talk.next_id(), greeting.boot)
    yield from talk.refused(test.encode(), Reason.LOCKED, "a self test while locked")
    yield from talk.turn(greeting, as_found, as_found)
