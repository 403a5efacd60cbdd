"""The points about reasons to refuse a cycle. A device that misses one would run its motors or move cards."""

from __future__ import annotations

from firmware_bridge.tools.conform.cards_points import LIMIT_S, ended, greet_idle, start
from firmware_bridge.tools.conform.link_talk import Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import NO_EVENTS, Greeting, Skipped, must_be_refused
from firmware_bridge.tools.conform.talk import FILL_MAX, Talk
from firmware_bridge.wire.messages import (
    LARGEST_PACK,
    Capability,
    ClearJam,
    Command,
    Deliver,
    DeviceRole,
    Dispense,
    DispenseFaceUp,
    Mode,
    Reason,
    SelfTest,
    Shuffle,
    Status,
    describe_message,
)


def greet_ready(talk: Talk) -> Steps[tuple[Greeting, Status]]:
    """Greet a device that could start a cycle, except for its cards."""
    greeting = yield from greet_idle(talk)
    status = yield from talk.status()
    if status.mode is not Mode.READY or status.locked or status.door_open:
        raise Skipped(f"the device is not ready for a cycle: {describe_message(status)}")
    return greeting, status


def refused_with_cards(talk: Talk, command: Command, reason: Reason, status: Status) -> Steps[None]:
    """Give a command that must be refused because of where the cards are."""
    why = f"{describe_message(command)} with {_cards(status)}"
    yield from talk.refused(command.encode(), reason, why)


def _cards(status: Status) -> str:
    places = ("infeed", "inside", "output", "exit", "held")
    return ", ".join(f"{place} {getattr(status, place + '_cards')}" for place in places)


@point("cards.bad_count", "Commands", "A stack of no cards, more than 520, or more than 64 face up gets BAD_ARGUMENT.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_bad_count(talk: Talk) -> Steps[None]:
    """Checked before the cards."""
    greeting, status = yield from greet_ready(talk)
    if greeting.role != DeviceRole.SHOE:
        raise Skipped("only a shoe can dispense")
    for kind in (Dispense, DispenseFaceUp) if greeting.can(Capability.RECOGNISES) else (Dispense,):
        for cards in (0, -1, kind.most_cards + 1):
            command = kind(talk.next_id(), greeting.boot, cards)
            yield from refused_with_cards(talk, command, Reason.BAD_ARGUMENT, status)


@point(
    "cards.no_cards",
    "Commands",
    "A command that needs more cards than there are gets NO_CARDS.",
    limit_s=LIMIT_S,
    with_cards=True,
)
def cards_no_cards(talk: Talk) -> Steps[None]:
    """An empty place; or from a shoe one card more than available, and the largest pack, whatever it has room for."""
    greeting, status = yield from greet_ready(talk)
    boot = greeting.boot
    commands: list[Command] = []
    if greeting.role == DeviceRole.SHOE and 0 <= status.inside_cards < LARGEST_PACK:
        commands = [Dispense(talk.next_id(), boot, cards) for cards in (status.inside_cards + 1, LARGEST_PACK)]
    elif greeting.role == DeviceRole.SHUFFLER and status.infeed_cards == 0:
        commands = [Shuffle(talk.next_id(), boot)]
    elif greeting.role == DeviceRole.SHUFFLER and status.output_cards == 0:
        commands = [Deliver(talk.next_id(), boot)]
    if not commands:
        raise Skipped(f"no place has too few cards: {_cards(status)}")
    for command in commands:
        yield from refused_with_cards(talk, command, Reason.NO_CARDS, status)


@point("cards.occupied", "Commands", "A cycle that would move cards onto others is refused.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_occupied(talk: Talk) -> Steps[None]:
    """EXIT_OCCUPIED, or OUTPUT_OCCUPIED of a shuffler. A shoe presents a stack first, if its exit is empty."""
    greeting, status = yield from greet_ready(talk)
    boot = greeting.boot
    if greeting.role == DeviceRole.SHOE and status.exit_cards == 0 and status.inside_cards > 1:
        first = Dispense(talk.next_id(), boot, 1)
        yield from start(talk, first)
        yield from ended(talk, first)
        status = yield from talk.status()
    command: Command = Dispense(talk.next_id(), boot, 1)
    reason, occupied = Reason.EXIT_OCCUPIED, status.exit_cards > 0 and status.inside_cards > 0
    if greeting.role == DeviceRole.SHUFFLER:
        command = Shuffle(command.id, boot)
        shuffled = max(status.inside_cards, status.output_cards)
        reason, occupied = Reason.OUTPUT_OCCUPIED, status.infeed_cards > 0 and shuffled > 0
    if not occupied:
        raise Skipped(f"no cards are in the way of a cycle: {_cards(status)}")
    answer = yield from talk.give(command.encode())
    if (yield from talk.status()).exit_cards < status.exit_cards:
        raise Skipped("the stack at the exit was taken before another could be requested")
    must_be_refused(answer, reason, f"{describe_message(command)} with {_cards(status)}")


@point("cards.not_jammed", "Commands", "ClearJam without a jam gets NOT_JAMMED.", limit_s=LIMIT_S, with_cards=True)
def cards_not_jammed(talk: Talk) -> Steps[None]:
    """The device is ready, so there is nothing to clear."""
    greeting, status = yield from greet_ready(talk)
    yield from refused_with_cards(talk, ClearJam(talk.next_id(), greeting.boot), Reason.NOT_JAMMED, status)


@point("cards.events_full", "Commands", "With room for fewer than 8 more events no cycle starts.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def cards_events_full(talk: Talk) -> Steps[None]:
    """Filled with events of the lock that are not stored."""
    greeting, _ = yield from greet_ready(talk)
    greeting.require(Capability.LOCKS, NO_EVENTS)
    if (yield from talk.fill(greeting)) is None:
        raise Skipped(f"the device keeps more than {FILL_MAX} events")
    test = SelfTest(talk.next_id(), greeting.boot)
    yield from talk.refused(test.encode(), Reason.EVENTS_FULL, "a self-test without room for its events")
    yield from talk.make_room()
