"""The points that need the mechanics: they run motors, and move cards if any are loaded."""

from __future__ import annotations

from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.person import ANSWER_WITHIN_S, HandTask
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import (
    Failed,
    Greeting,
    Skipped,
    explains,
    in_words,
    must_be_refused,
    number_of,
    read,
)
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.tools.conform.trace import CycleTrace
from firmware_bridge.wire.messages import (
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
    StackCommand,
    StackPresented,
    Status,
    describe_message,
)
from firmware_bridge.wire.sequences import work_of

CYCLE_S = 180.0  # longer than any shuffle that a casino would accept
LIMIT_S = CYCLE_S + 30
WITH_HANDS_S = LIMIT_S * 4 + ANSWER_WITHIN_S * 6
POLL_S = 1.0
OFFLINE_S = 3.0  # without a link: long enough for a short cycle to end


def _movement(talk: Talk, greeting: Greeting) -> Steps[Command]:
    """A command that moves a card in the current state of the device; a self-test if none can be moved."""
    status = yield from talk.status()
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
    """Give a command that starts a cycle. A device that refuses cannot be tested; its Status must show why."""
    before = yield from talk.status()
    answer = yield from talk.give(command.encode())
    refused = read(answer)
    if not isinstance(refused, Done):
        said = f"{describe_message(command)} got {in_words(answer)}"
        after = yield from talk.status()  # a hand may have been there in between
        if isinstance(refused, Refused) and not any(explains(one, command, refused.reason) for one in (before, after)):
            raise Failed(f"{said}, but Status shows no reason for it: {describe_message(after)}")
        raise Skipped(said)
    talk.note = f"with {type(command).__name__}"
    if isinstance(command, StackCommand):
        talk.stacks.append(command.id)
    return answer


def greet_idle(talk: Talk) -> Steps[Greeting]:
    """Greet, make room for events, and wait for the end of a cycle that an earlier point or a person started."""
    greeting = yield from talk.greet()
    yield from talk.make_room()
    give_up = talk.now + CYCLE_S
    while (yield from talk.status()).mode is Mode.WORKING:
        if talk.now >= give_up:
            raise Skipped(f"the device has been busy for {CYCLE_S:g} s")
        yield from talk.rest(POLL_S)
    return greeting


def clear_exit(talk: Talk) -> Steps[None]:
    """Have a person take the cards at the exit."""
    if (yield from talk.status()).exit_cards > 0:
        yield from talk.by_hand(HandTask.TAKE)
        if (yield from talk.status()).exit_cards > 0:
            raise Skipped("cards are still at the exit, according to Status")


def _end_of(talk: Talk, command: Command, within: float) -> Steps[Message | None]:
    def fits(event: Message) -> bool:
        return isinstance(event, CycleDone) and event.command == command.id

    return (yield from talk.event(fits, within))


def ended(talk: Talk, command: Command) -> Steps[CycleDone]:
    """Wait for the end of a cycle; once Status reports it, its event must have arrived."""
    give_up = talk.now + CYCLE_S
    while talk.now < give_up:
        status = yield from talk.status()
        end = yield from _end_of(talk, command, POLL_S)
        if isinstance(end, CycleDone):
            return end
        if status.doing != command.id:
            raise Failed(f"{describe_message(command)} has ended according to Status, but no CycleDone was received")
    raise Failed(f"expected CycleDone of {describe_message(command)} within {CYCLE_S:g} s")


def cycle(talk: Talk, greeting: Greeting, command: Command, while_it_runs: HandTask | None = None) -> Steps[CycleTrace]:
    """Run a cycle to its end, and return what the device reported of it; `meanwhile` is after the person's part."""
    before, counted, since = yield from _before(talk)
    yield from start(talk, command)
    meanwhile = yield from talk.status()
    if while_it_runs:
        yield from talk.by_hand(while_it_runs)
        meanwhile = yield from talk.status()
    yield from ended(talk, command)
    return (yield from _trace(talk, greeting, command, (before, meanwhile, counted), since))


def _before(talk: Talk) -> Steps[tuple[Status, Counters, int]]:
    """What the device says before a cycle, and the number of its newest event."""
    counted = yield from talk.counters()
    before = yield from talk.status()
    return before, counted, max(map(number_of, talk.events), default=0)


def _trace(
    talk: Talk, greeting: Greeting, command: Command, said: tuple[Status, Status, Counters], since: int
) -> Steps[CycleTrace]:
    """What was reported of a cycle that has ended; kept for the points about worked sequences."""
    before, meanwhile, counted = said
    yield from talk.rest(QUIET_S)
    after = yield from talk.status()
    counted_after = yield from talk.counters()
    work = work_of(command, DeviceRole(greeting.role), greeting.capabilities)
    if work is None:
        raise Failed(f"{describe_message(command)} was carried out, but the device lacks a capability for it")
    events = [event for event in talk.events if number_of(event) > since]
    trace = CycleTrace(greeting, command, work, before, meanwhile, after, counted, counted_after, events)
    talk.traces[work.name] = trace
    return trace


@point("cards.busy", "Commands", "While a cycle runs a second one gets BUSY, and questions are answered.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_busy(talk: Talk) -> Steps[None]:
    """A self-test is a cycle like any other."""
    greeting = yield from greet_idle(talk)
    running = SelfTest(talk.next_id(), greeting.boot)
    yield from start(talk, running)
    answer = yield from _second_cycle(talk, greeting, running)
    must_be_refused(answer, Reason.BUSY, "a second cycle while one runs")
    status = yield from talk.status()
    if status.mode is not Mode.WORKING or status.doing != running.id:
        yield from _not_ended(talk, running)
        raise Failed(f"command {running.id} is running: expected mode WORKING, got {describe_message(status)}")
    yield from ended(talk, running)


@point("cards.lock_while_busy", "Commands", "While a cycle runs, Lock stops nothing, and BUSY comes before LOCKED.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_lock_while_busy(talk: Talk) -> Steps[None]:
    """The order in which the reasons to refuse a second cycle are checked."""
    greeting = yield from greet_idle(talk)
    greeting.require(Capability.LOCKS)
    as_found = yield from talk.lock_as_found()
    running = SelfTest(talk.next_id(), greeting.boot)
    yield from start(talk, running)
    yield from talk.turn(greeting, Lock, as_found)
    answer = yield from _second_cycle(talk, greeting, running)
    refusal = read(answer)
    if isinstance(refusal, Refused) and refusal.reason is Reason.LOCKED:  # cards.busy checks for other answers
        raise Failed(f"a second cycle while one runs and the device is locked: got {describe_message(refusal)}")
    yield from talk.turn(greeting, as_found, as_found)
    end = yield from ended(talk, running)
    if end.outcome is Outcome.STOPPED:
        raise Failed(f"Lock was given while a cycle ran, which must continue: {describe_message(end)}")


def _second_cycle(talk: Talk, greeting: Greeting, running: Command) -> Steps[bytes]:
    """The answer to a second cycle; the point cannot be tested if the first has already ended."""
    answer = yield from talk.give(SelfTest(talk.next_id(), greeting.boot).encode())
    yield from _not_ended(talk, running)
    return answer


def _not_ended(talk: Talk, running: Command) -> Steps[None]:
    if (yield from _end_of(talk, running, 0)):
        raise Skipped("the self-test ended before a second command could be given")


@point("cards.once", "Commands", "A command that moves cards moves them once, however often it is given.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_once(talk: Talk) -> Steps[None]:
    """Repeated while its cycle runs, over a new link, and after its end."""
    greeting = yield from greet_idle(talk)
    command = yield from _movement(talk, greeting)
    found, before, since = yield from _before(talk)
    first = yield from start(talk, command)
    meanwhile = yield from talk.status()
    yield from talk.give_again(command.encode(), first)
    talk.leave()
    yield from talk.greet()
    yield from talk.give_again(command.encode(), first)
    yield from ended(talk, command)
    yield from talk.give_again(command.encode(), first)
    yield from talk.rest(QUIET_S)
    status = yield from talk.status()
    if status.doing:
        raise Failed(f"{describe_message(command)} was repeated after its end, and started another cycle")
    yield from talk.rest(QUIET_S)
    after = yield from talk.counters()
    wanted = {"effects": 1, "cycles": 1}
    yield from _trace(talk, greeting, command, (found, meanwhile, before), since)
    if isinstance(command, Dispense):
        wanted["cards_moved"] = command.cards
        _one_stack(talk, command)
    for name, growth in wanted.items():
        was, is_now = getattr(before, name), getattr(after, name)
        if is_now - was != growth:
            given = f"{describe_message(command)} was given four times"
            raise Failed(f"{given}: expected {name} {was + growth}, got {is_now}")


def _one_stack(talk: Talk, command: Command) -> None:
    events = {event for event in talk.events if getattr(read(event), "command", 0) == command.id}
    stacks = [event for event in events if isinstance(read(event), StackPresented)]
    if len(stacks) != 1:
        raise Failed(f"{describe_message(command)}: expected one StackPresented, got {len(stacks)}")


@point("cards.replay", "Events", "What a cycle does without a link is reported after the next greeting.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_replay(talk: Talk) -> Steps[None]:
    """The link ends right after the command was accepted."""
    greeting = yield from greet_idle(talk)
    command = yield from _movement(talk, greeting)
    before, counted, since = yield from _before(talk)
    yield from start(talk, command)
    meanwhile = yield from talk.status()
    talk.leave()
    yield from talk.rest(OFFLINE_S)
    yield from talk.greet()
    yield from ended(talk, command)
    yield from _trace(talk, greeting, command, (before, meanwhile, counted), since)
    if isinstance(command, Dispense):
        _one_stack(talk, command)


@point("cards.locked", "Commands", "While the device is locked no cycle starts.", limit_s=LIMIT_S, with_cards=True)
def cards_locked(talk: Talk) -> Steps[None]:
    """The lock is restored afterwards."""
    greeting = yield from greet_idle(talk)
    greeting.require(Capability.LOCKS)
    as_found = yield from talk.lock_as_found()
    yield from talk.turn(greeting, Lock, as_found)
    test = SelfTest(talk.next_id(), greeting.boot)
    yield from talk.refused(test.encode(), Reason.LOCKED, "a self-test while locked")
    yield from talk.turn(greeting, as_found, as_found)
