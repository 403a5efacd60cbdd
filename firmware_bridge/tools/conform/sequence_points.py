"""The points about worked sequences: each command is given once, and what the device reports is compared.

Without a person, a cycle that is not possible where the cards are now is compared with an earlier one of the same run.
"""

from __future__ import annotations

from firmware_bridge.tools.conform.cards_points import LIMIT_S, WITH_HANDS_S, clear_exit, cycle, ended, greet_idle
from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.person import HandTask
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import Failed, Greeting, Skipped, in_words
from firmware_bridge.tools.conform.talk import LEADS_TO, OPPOSITE, Talk
from firmware_bridge.tools.conform.trace import cards_at
from firmware_bridge.wire.messages import (
    Capability,
    Command,
    Deliver,
    DeviceRole,
    Dispense,
    Eject,
    Lock,
    Place,
    Release,
    SelfTest,
    Shuffle,
    Status,
)
from firmware_bridge.wire.sequences import Work, work_of

SECTION = "Worked sequences"
HAND = 3  # cards of a stack
CLOCK_S = 2.0  # how long the device's clock is watched
CLOCK_ERROR_MS = 500  # in that time; a crystal is far better, a busy host is not


def command_of(talk: Talk, greeting: Greeting, kind: type[Command], *, hold: bool = False) -> Command:
    """A command of this type with the next id; a Dispense is of a few cards."""
    if kind is Dispense:
        return Dispense(talk.next_id(), greeting.boot, HAND, hold=hold)
    return kind(talk.next_id(), greeting.boot)


def _greet_for(talk: Talk, kind: type[Command], *, hold: bool = False) -> Steps[tuple[Greeting, Work]]:
    greeting = yield from greet_idle(talk)
    return greeting, work_in(greeting, command_of(talk, greeting, kind, hold=hold))


def _sequence(talk: Talk, kind: type[Command], *, hold: bool = False) -> Steps[None]:
    """Give the command, and compare. If the cards do not allow it, compare with what an earlier point saw of it."""
    greeting, work = yield from _greet_for(talk, kind, hold=hold)
    try:
        yield from prepare(talk, greeting, work)
    except Skipped:
        trace = talk.traces.get(work.name)
        if trace is None:
            raise
    else:
        trace = yield from cycle(talk, greeting, command_of(talk, greeting, kind, hold=hold))
    trace.check()


# --- the cards, where a cycle needs them ----------------------------------------------------------------------------


def prepare(talk: Talk, greeting: Greeting, work: Work) -> Steps[None]:
    """Bring the cards to where this cycle needs them, by other cycles and by a person's hands."""
    status = yield from talk.status()
    if work.command is Shuffle and (status.inside_cards > 0 or status.output_cards > 0):
        yield from _out_of_the_way(talk, greeting, Eject)
        status = yield from talk.status()
    if work.target is Place.EXIT or (status.exit_cards > 0 and work.command is Shuffle):
        yield from clear_exit(talk)
    if work.needs is Capability.FEEDS_SHOE and talk.interactive:
        yield from talk.by_hand(HandTask.EMPTY_SHOE)
    if work.target is Place.HELD and status.held_cards > 0:
        yield from _out_of_the_way(talk, greeting, Release)
    yield from _fill(talk, greeting, work, (yield from talk.status()))


def _out_of_the_way(talk: Talk, greeting: Greeting, kind: type[Command]) -> Steps[None]:
    """Bring cards to the exit that are in the way of a cycle; only if a person can take them from there."""
    if not talk.interactive:
        raise Skipped("needs a person (--interactive): cards are where the cycle would move others")
    yield from clear_exit(talk)
    yield from cycle(talk, greeting, kind(talk.next_id(), greeting.boot))


def _fill(talk: Talk, greeting: Greeting, work: Work, status: Status) -> Steps[None]:
    there = [cards_at(status, place) for place in work.sources]
    enough = HAND if work.command is Dispense else 1
    if -1 in there or sum(there) >= enough:
        return
    if work.command is Deliver:
        yield from prepare(talk, greeting, work_in(greeting, Shuffle(0, 0)))
        yield from cycle(talk, greeting, Shuffle(talk.next_id(), greeting.boot))
    elif work.command is Release:
        yield from prepare(talk, greeting, work_in(greeting, Dispense(0, 0, HAND, hold=True)))
        yield from cycle(talk, greeting, Dispense(talk.next_id(), greeting.boot, HAND, hold=True))
    else:
        yield from talk.by_hand(HandTask.LOAD)


def work_in(greeting: Greeting, command: Command) -> Work:
    """What this command does on this device; the point cannot be tested on one that lacks it."""
    work = work_of(command, DeviceRole(greeting.role), greeting.capabilities)
    if work is None:
        hold = " with hold" if isinstance(command, Dispense) and command.hold else ""
        raise Skipped(f"the device has no {type(command).__name__}{hold}")
    return work


# --- the points ------------------------------------------------------------------------------------------------------


@point("question.clock", "Events", "uptime_ms and at_ms are milliseconds.")
def question_clock(talk: Talk) -> Steps[None]:
    """Compared with the host's clock. The times of events are compared with the uptime by the sequences."""
    yield from talk.greet()
    first = yield from talk.status()
    began = talk.now
    yield from talk.rest(CLOCK_S)
    second = yield from talk.status()
    took_ms = (talk.now - began) * 1000
    passed_ms = second.uptime_ms - first.uptime_ms
    if abs(passed_ms - took_ms) > CLOCK_ERROR_MS:
        raise Failed(f"the uptime grew by {passed_ms} ms in {took_ms:.0f} ms")


@point("sequence.lock", SECTION, "Each Lock and Unlock is followed by its Door event, and Status shows the lock.")
def sequence_lock(talk: Talk) -> Steps[None]:
    """Also if the lock is already in that state."""
    greeting = yield from talk.greet()
    greeting.require(Capability.LOCKS)
    yield from talk.make_room()
    as_found = yield from talk.lock_as_found()
    for kind in (OPPOSITE[as_found], OPPOSITE[as_found], as_found, as_found):
        before = len(talk.events)
        yield from talk.turn(greeting, kind, as_found)
        yield from talk.door_event(LEADS_TO[kind], before)
        status = yield from talk.status()
        if status.locked is not (kind is Lock):
            raise Failed(f"{kind.__name__} was carried out, but locked is {status.locked} in Status")
        yield from talk.make_room()


@point("sequence.events_kept", "Events", "events_kept in Status is the number of events that are not stored.")
def sequence_events_kept(talk: Talk) -> Steps[None]:
    """None after all are stored, and two after the lock was turned twice."""
    greeting = yield from talk.greet()
    greeting.require(Capability.LOCKS)
    yield from talk.make_room()
    yield from talk.turn_lock(greeting)
    yield from talk.rest(QUIET_S)
    kept = (yield from talk.status()).events_kept
    if kept != 2:
        raise Failed(f"two events are not stored, but events_kept is {kept} in Status")
    yield from talk.make_room()


@point("sequence.self_test", SECTION, "SelfTest reports its worked sequence, and moves no card.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def sequence_self_test(talk: Talk) -> Steps[None]:
    """The only cycle that every device can run at any time."""
    greeting, _ = yield from _greet_for(talk, SelfTest)
    (yield from cycle(talk, greeting, command_of(talk, greeting, SelfTest))).check()


@point("sequence.light_while_busy", "Commands", "While a cycle runs, Indicate is carried out.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def sequence_light_while_busy(talk: Talk) -> Steps[None]:
    """cards.lock_while_busy checks the lock."""
    greeting, _ = yield from _greet_for(talk, SelfTest)
    command = command_of(talk, greeting, SelfTest)
    greeting.require(Capability.INDICATES)
    answer = yield from talk.give(command.encode())
    light = yield from talk.give(talk.harmless(greeting, talk.next_id()))
    if in_words(answer).startswith("Done") and not in_words(light).startswith("Done"):
        raise Failed(f"Indicate while a cycle runs: expected Done, got {in_words(light)}")
    yield from ended(talk, command)


@point("sequence.dispense", SECTION, "Dispense reports its worked sequence.", limit_s=WITH_HANDS_S, with_cards=True)
def sequence_dispense(talk: Talk) -> Steps[None]:
    """StackPresented with the number counted, then CycleDone."""
    yield from _sequence(talk, Dispense)


@point("sequence.release", SECTION, "Release presents the held stack.", limit_s=WITH_HANDS_S, with_cards=True)
def sequence_release(talk: Talk) -> Steps[None]:
    """At the exit, with the number counted."""
    yield from _sequence(talk, Release)


@point("sequence.hold", SECTION, "Dispense with hold keeps the stack inside.", limit_s=WITH_HANDS_S, with_cards=True)
def sequence_hold(talk: Talk) -> Steps[None]:
    """It is presented at HELD."""
    yield from _sequence(talk, Dispense, hold=True)


@point("sequence.shuffle", SECTION, "Shuffle reports its worked sequence.", limit_s=WITH_HANDS_S, with_cards=True)
def sequence_shuffle(talk: Talk) -> Steps[None]:
    """The deck is in the output afterwards."""
    yield from _sequence(talk, Shuffle)


@point("sequence.deliver", SECTION, "Deliver reports its worked sequence.", limit_s=WITH_HANDS_S, with_cards=True)
def sequence_deliver(talk: Talk) -> Steps[None]:
    """Into the shoe, or out to the exit: StackPresented, then CycleDone."""
    yield from _sequence(talk, Deliver)


@point("sequence.eject", SECTION, "Eject reports its worked sequence, and leaves no card inside.",
       limit_s=WITH_HANDS_S, with_cards=True)  # fmt: skip
def sequence_eject(talk: Talk) -> Steps[None]:
    """With a stack held, if the device can hold one: it comes out too."""
    greeting, work = yield from _greet_for(talk, Eject)
    if greeting.role == DeviceRole.SHUFFLER and not talk.interactive:
        raise Skipped("needs a person (--interactive): the deck would be needed again")
    yield from prepare(talk, greeting, work)
    status = yield from talk.status()
    if greeting.can(Capability.HOLDS_STACK) and status.held_cards == 0 and status.inside_cards > HAND:
        yield from cycle(talk, greeting, command_of(talk, greeting, Dispense, hold=True))
    (yield from cycle(talk, greeting, command_of(talk, greeting, Eject))).check()
