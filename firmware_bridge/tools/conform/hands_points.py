"""The points that need a person: cards taken and put in, the door, a jam, and a loss of power."""

from __future__ import annotations

from firmware_bridge.tools.conform.cards_points import WITH_HANDS_S, clear_exit, cycle, ended, greet_idle, start
from firmware_bridge.tools.conform.hindrance_points import greet_ready, refused_with_cards
from firmware_bridge.tools.conform.link_talk import ANSWER_S, Steps
from firmware_bridge.tools.conform.person import HandTask
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import Failed, Greeting, Skipped, number_of, read
from firmware_bridge.tools.conform.sequence_points import SECTION, command_of, prepare, work_in
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.tools.conform.trace import cards_at, check_secrets
from firmware_bridge.wire.messages import (
    Capability,
    CardsPresent,
    ClearJam,
    Command,
    CycleDone,
    Deliver,
    DeviceRole,
    Dispense,
    Door,
    DoorState,
    Eject,
    Jam,
    Lock,
    Message,
    Outcome,
    Place,
    Reason,
    SelfTest,
    Shuffle,
    StackTaken,
    Unlock,
    describe_message,
)
from firmware_bridge.wire.sequences import Course

MANY = 20  # cards that keep the motors running long enough for a person to interrupt them


def after(talk: Talk, since: int, kind: type[Message]) -> Steps[Message | None]:
    """Wait for an event of this type with a higher number than `since`."""

    def fits(event: Message) -> bool:
        return isinstance(event, kind) and getattr(event, "number", 0) > since

    return (yield from talk.event(fits, ANSWER_S))


def newest(talk: Talk) -> int:
    return max(map(number_of, talk.events), default=0)


def _moving(talk: Talk, greeting: Greeting) -> Steps[Command]:
    """A command that moves cards, with the cards where it needs them."""
    kind = Shuffle if greeting.role == DeviceRole.SHUFFLER else Dispense
    yield from prepare(talk, greeting, work_in(greeting, command_of(talk, greeting, kind)))
    return command_of(talk, greeting, kind)


def whole_deck_moving(talk: Talk, greeting: Greeting) -> Steps[Command]:
    """The command that takes longest, with the cards where it needs them: a person has to interrupt it."""
    kind = Shuffle if greeting.role == DeviceRole.SHUFFLER else Eject
    work = work_in(greeting, command_of(talk, greeting, kind))
    yield from prepare(talk, greeting, work)
    status = yield from talk.status()
    there = [cards_at(status, place) for place in work.sources]
    if -1 not in there and sum(there) < MANY:
        yield from clear_exit(talk)
        yield from cycle(talk, greeting, Eject(talk.next_id(), greeting.boot))
        yield from clear_exit(talk)
        yield from talk.by_hand(HandTask.LOAD)
    return command_of(talk, greeting, kind)


# --- cards ----------------------------------------------------------------------------------------------------------


@point("hands.take", SECTION, "Cards that are taken from the exit are reported by StackTaken.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_take(talk: Talk) -> Steps[None]:
    """With the command that moved them and their number. Afterwards the exit is empty."""
    greeting = yield from greet_idle(talk)
    yield from clear_exit(talk)
    if greeting.role == DeviceRole.SHOE:
        yield from _taken(talk, greeting, command_of(talk, greeting, Dispense))
    yield from _taken(talk, greeting, command_of(talk, greeting, Eject))
    status = yield from talk.status()
    if status.infeed_cards or status.inside_cards or status.output_cards or status.held_cards:
        return  # sequence.eject fails
    yield from refused_with_cards(talk, Eject(talk.next_id(), greeting.boot), Reason.NO_CARDS, status)


def _taken(talk: Talk, greeting: Greeting, command: Command) -> Steps[None]:
    yield from prepare(talk, greeting, work_in(greeting, command))  # gives no other command for these two
    yield from start(talk, command)
    done = yield from ended(talk, command)
    since, at_exit = newest(talk), (yield from talk.status()).exit_cards
    yield from talk.by_hand(HandTask.TAKE)
    taken = yield from after(talk, since, StackTaken)
    if not isinstance(taken, StackTaken):
        raise Failed(f"the cards of {describe_message(command)} were taken: expected StackTaken, but {talk.received()}")
    for data in talk.events:
        if number_of(data) == taken.number:
            check_secrets(data, greeting, dealt=isinstance(command, Dispense))
    if (taken.command, taken.place) != (command.id, Place.EXIT):
        raise Failed(f"expected command {command.id} and place EXIT in {describe_message(taken)}")
    if done.cards >= 0 and taken.cards != done.cards:
        raise Failed(f"{done.cards} cards were taken, but the device reported {describe_message(taken)}")
    left = (yield from talk.status()).exit_cards
    if at_exit >= 0 and left != 0:
        raise Failed(f"the exit is empty, but exit_cards is {left} in Status")


@point("hands.put_in", SECTION, "Cards that are put into an empty infeed or shoe are reported by CardsPresent.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_put_in(talk: Talk) -> Steps[None]:
    """The device is emptied first, if it has cards."""
    greeting = yield from greet_idle(talk)
    place = Place.SHOE if greeting.role == DeviceRole.SHOE else Place.INFEED
    status = yield from talk.status()
    if any((status.infeed_cards, status.inside_cards, status.output_cards, status.held_cards)):
        yield from clear_exit(talk)
        yield from cycle(talk, greeting, Eject(talk.next_id(), greeting.boot))
    yield from clear_exit(talk)
    since = newest(talk)
    yield from talk.by_hand(HandTask.LOAD)
    present = yield from after(talk, since, CardsPresent)
    if not isinstance(present, CardsPresent) or (present.place, present.present) != (place, True):
        got = describe_message(present) if present else talk.received()
        raise Failed(f"a deck was put in: expected CardsPresent at {place.name}, but {got}")


@point("hands.output_occupied", "Commands", "With shuffled cards inside, Shuffle gets OUTPUT_OCCUPIED.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_output_occupied(talk: Talk) -> Steps[None]:
    """A person puts a few more cards into the infeed."""
    greeting, status = yield from greet_ready(talk)
    if greeting.role != DeviceRole.SHUFFLER:
        raise Skipped("only a shuffler has an output")
    if status.output_cards == 0:
        command = yield from _moving(talk, greeting)
        yield from cycle(talk, greeting, command)
    if (yield from talk.status()).infeed_cards == 0:
        yield from talk.by_hand(HandTask.ADD)
    status = yield from talk.status()
    yield from refused_with_cards(talk, Shuffle(talk.next_id(), greeting.boot), Reason.OUTPUT_OCCUPIED, status)


@point("hands.exit_occupied", "Commands", "With cards at the exit, no cycle brings out others.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_exit_occupied(talk: Talk) -> Steps[None]:
    """Eject, and Deliver of a shuffler that does not feed the shoe. A person puts a few more cards into a shuffler."""
    greeting, status = yield from greet_ready(talk)
    shuffler = greeting.role == DeviceRole.SHUFFLER
    if status.exit_cards == 0:
        first = command_of(talk, greeting, Eject if shuffler else Dispense)
        yield from prepare(talk, greeting, work_in(greeting, first))
        yield from cycle(talk, greeting, command_of(talk, greeting, type(first)))
        status = yield from talk.status()
    if not any((status.infeed_cards, status.inside_cards, status.output_cards, status.held_cards)):
        yield from talk.by_hand(HandTask.ADD if shuffler else HandTask.LOAD)
        status = yield from talk.status()
    if status.exit_cards <= 0:
        raise Skipped("no cards are at the exit, according to Status")
    commands: list[type[Command]] = [Eject]
    if shuffler and not greeting.can(Capability.FEEDS_SHOE):
        if status.infeed_cards > 0 and status.inside_cards == status.output_cards == 0:
            yield from cycle(talk, greeting, command_of(talk, greeting, Shuffle))
            status = yield from talk.status()
        if status.output_cards > 0:
            commands.append(Deliver)
    for kind in commands:
        yield from refused_with_cards(talk, command_of(talk, greeting, kind), Reason.EXIT_OCCUPIED, status)


# --- the door -------------------------------------------------------------------------------------------------------


@point("hands.door", SECTION, "Door events report the door opening and closing; while it is open, no cycle starts.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_door(talk: Talk) -> Steps[None]:
    """DOOR_OPEN; with the lock turned as well, LOCKED comes first."""
    greeting, _ = yield from greet_ready(talk)
    yield from _door(talk, HandTask.OPEN, DoorState.OPEN)
    test = SelfTest(talk.next_id(), greeting.boot)
    yield from talk.refused(test.encode(), Reason.DOOR_OPEN, "a self-test with the door open")
    if greeting.can(Capability.LOCKS):
        yield from talk.turn(greeting, Lock, Unlock)
        test = SelfTest(talk.next_id(), greeting.boot)
        yield from talk.refused(test.encode(), Reason.LOCKED, "a self-test with the door open and locked")
        yield from talk.turn(greeting, Unlock, Unlock)
    yield from _door(talk, HandTask.CLOSE, DoorState.CLOSED)


def _door(talk: Talk, task: HandTask, state: DoorState) -> Steps[None]:
    since = newest(talk)
    yield from talk.by_hand(task)

    def fits(event: Message) -> bool:  # a late event of a Lock says nothing about the door
        return isinstance(event, Door) and event.number > since and event.state in (DoorState.OPEN, DoorState.CLOSED)

    event = yield from talk.event(fits, ANSWER_S)
    if not isinstance(event, Door) or event.state is not state:
        got = describe_message(event) if event else talk.received()
        raise Failed(f"expected Door {state.name}, but {got}")
    status = yield from talk.status()
    if status.door_open is not (state is DoorState.OPEN):
        raise Failed(f"Door {state.name} was reported, but door_open is {status.door_open} in Status")


@point("hands.door_stops", SECTION, "A door that is opened while a cycle runs stops it.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_door_stops(talk: Talk) -> Steps[None]:
    """CycleDone STOPPED, then Door OPEN."""
    greeting, _ = yield from greet_ready(talk)
    command = yield from whole_deck_moving(talk, greeting)
    yield from talk.by_hand(HandTask.GET_READY)
    trace = yield from cycle(talk, greeting, command, HandTask.OPEN)
    yield from talk.by_hand(HandTask.CLOSE)
    reported = [read(event) for event in trace.events]
    opened = next((event for event in reported if isinstance(event, Door) and event.state is DoorState.OPEN), None)
    done = next((event for event in reported if isinstance(event, CycleDone)), None)
    if done is None:
        raise Failed(f"{describe_message(command)} has ended, but its CycleDone has the number of an older event")
    if done.outcome is not Outcome.STOPPED:
        in_time = trace.meanwhile.doing == command.id or (opened is not None and opened.at_ms <= done.at_ms)
        if in_time:
            raise Failed(f"the door was opened while the cycle ran, but {describe_message(done)} followed")
        raise Skipped("the cycle had ended before the door was opened")
    trace.check(Course.DOOR)


# --- a jam --------------------------------------------------------------------------------------------------


@point("hands.jam", SECTION, "A jam stops the device until it is removed and ClearJam is given.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_jam(talk: Talk) -> Steps[None]:
    """Jam, CycleDone JAMMED; other cycles get JAMMED; ClearJam ends with JAMMED while the way is blocked."""
    greeting, _ = yield from greet_ready(talk)
    command = yield from _moving(talk, greeting)
    yield from talk.by_hand(HandTask.JAM)
    trace = yield from cycle(talk, greeting, command)
    if not any(isinstance(read(event), Jam | CycleDone) for event in trace.events):
        raise Failed(f"{describe_message(command)} with a blocked card path: no Jam and no CycleDone were reported")
    trace.check(Course.JAM)
    status = yield from talk.status()
    yield from refused_with_cards(talk, SelfTest(talk.next_id(), greeting.boot), Reason.JAMMED, status)
    trace = yield from cycle(talk, greeting, ClearJam(talk.next_id(), greeting.boot))
    if trace.after.last_outcome is Outcome.COMPLETE:
        raise Failed("ClearJam ended with COMPLETE while the card path was blocked")
    trace.check(Course.JAM)
    yield from talk.by_hand(HandTask.FREE)
    (yield from cycle(talk, greeting, ClearJam(talk.next_id(), greeting.boot))).check()
