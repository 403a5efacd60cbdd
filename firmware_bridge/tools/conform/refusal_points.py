"""The points about the order in which reasons to refuse a cycle are checked. None of them should move a card."""

from __future__ import annotations

from firmware_bridge.tools.conform.cards_points import LIMIT_S, ended, start
from firmware_bridge.tools.conform.hindrance_points import greet_ready, refused_with_cards
from firmware_bridge.tools.conform.link_talk import Steps
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import Greeting, Skipped, must_be_refused
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.messages import (
    LARGEST_PACK,
    Capability,
    ClearJam,
    Command,
    Deliver,
    DeviceRole,
    Dispense,
    Lock,
    Reason,
    Release,
    SelfTest,
    Shuffle,
    Status,
    describe_message,
)


def _own_reason(talk: Talk, greeting: Greeting) -> Command:
    """A command that would also be refused for a reason of its own, on every device and with any cards."""
    if greeting.role == DeviceRole.SHOE:
        return Dispense(talk.next_id(), greeting.boot, 0)
    return ClearJam(talk.next_id(), greeting.boot)


@point("refusal.locked_first", "Commands", "LOCKED comes before the reasons of the command itself.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def refusal_locked_first(talk: Talk) -> Steps[None]:
    """With a command that is refused even if it is not locked."""
    greeting, _ = yield from greet_ready(talk)
    greeting.require(Capability.LOCKS)
    as_found = yield from talk.lock_as_found()
    yield from talk.turn(greeting, Lock, as_found)
    command = _own_reason(talk, greeting)
    yield from talk.refused(command.encode(), Reason.LOCKED, f"{describe_message(command)} while locked")
    yield from talk.turn(greeting, as_found, as_found)


@point("refusal.busy_first", "Commands", "BUSY comes before the reasons of the command itself.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def refusal_busy_first(talk: Talk) -> Steps[None]:
    """While a self-test runs."""
    greeting, _ = yield from greet_ready(talk)
    running = SelfTest(talk.next_id(), greeting.boot)
    yield from start(talk, running)
    command = _own_reason(talk, greeting)
    answer = yield from talk.give(command.encode())
    status = yield from talk.status()
    yield from ended(talk, running)
    if status.doing != running.id:
        raise Skipped("the self-test ended before a second command could be given")
    must_be_refused(answer, Reason.BUSY, f"{describe_message(command)} while a cycle runs")


@point("refusal.cards_first", "Commands", "The reasons of a command are checked in the order of its row.",
       limit_s=LIMIT_S, with_cards=True)  # fmt: skip
def refusal_cards_first(talk: Talk) -> Steps[None]:
    """With cards in the way, and too few of them: NO_CARDS and BAD_ARGUMENT come before EXIT_OCCUPIED."""
    greeting, status = yield from greet_ready(talk)
    if greeting.role == DeviceRole.SHOE and status.exit_cards == 0 and status.inside_cards > 1:
        first = Dispense(talk.next_id(), greeting.boot, 1)
        yield from start(talk, first)
        yield from ended(talk, first)
        status = yield from talk.status()
    commands = list(_with_two_reasons(talk, greeting, status))
    if not commands:
        raise Skipped("no cards are in the way of a cycle that has too few")
    for command, reason in commands:
        yield from refused_with_cards(talk, command, reason, status)


def _with_two_reasons(talk: Talk, greeting: Greeting, status: Status) -> list[tuple[Command, Reason]]:
    boot = greeting.boot
    found: list[tuple[Command, Reason]] = []
    if greeting.role == DeviceRole.SHOE and status.exit_cards > 0:
        found.append((Dispense(talk.next_id(), boot, LARGEST_PACK + 1), Reason.BAD_ARGUMENT))
        if 0 <= status.inside_cards < LARGEST_PACK:
            found.append((Dispense(talk.next_id(), boot, status.inside_cards + 1), Reason.NO_CARDS))
        if greeting.can(Capability.HOLDS_STACK) and status.held_cards == 0:
            found.append((Release(talk.next_id(), boot), Reason.NOTHING_HELD))
    if greeting.role == DeviceRole.SHUFFLER:
        if status.infeed_cards == 0 and max(status.inside_cards, status.output_cards) > 0:
            found.append((Shuffle(talk.next_id(), boot), Reason.NO_CARDS))
        if status.output_cards == 0 and status.exit_cards > 0:
            found.append((Deliver(talk.next_id(), boot), Reason.NO_CARDS))
    return found


@point("refusal.held", "Commands", "While a stack is held, a second one is refused.", limit_s=LIMIT_S, with_cards=True)
def refusal_held(talk: Talk) -> Steps[None]:
    """A stack is held first, if there is none."""
    greeting, status = yield from greet_ready(talk)
    greeting.require(Capability.HOLDS_STACK)
    if status.held_cards == 0 and status.inside_cards > 1:
        first = Dispense(talk.next_id(), greeting.boot, 1, hold=True)
        yield from start(talk, first)
        yield from ended(talk, first)
        status = yield from talk.status()
    if status.held_cards <= 0 or status.inside_cards <= 0:
        raise Skipped("no stack is held, or no card is left to hold another")
    second = Dispense(talk.next_id(), greeting.boot, 1, hold=True)
    yield from refused_with_cards(talk, second, Reason.EXIT_OCCUPIED, status)
