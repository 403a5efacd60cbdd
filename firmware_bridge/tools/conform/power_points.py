"""The points that need a person to switch the device off and on: what it keeps, and what it forgets."""

from __future__ import annotations

from dataclasses import dataclass

from firmware_bridge.tools.conform.cards_points import WITH_HANDS_S, ended, greet_idle, start
from firmware_bridge.tools.conform.hands_points import after, newest, whole_deck_moving
from firmware_bridge.tools.conform.hidden_points import cards_of, recognising_shoe
from firmware_bridge.tools.conform.hindrance_points import greet_ready
from firmware_bridge.tools.conform.link_talk import QUIET_S, Steps
from firmware_bridge.tools.conform.person import HandTask
from firmware_bridge.tools.conform.point import point
from firmware_bridge.tools.conform.reading import Failed, Greeting, Skipped, in_words, number_of, read
from firmware_bridge.tools.conform.sequence_points import SECTION
from firmware_bridge.tools.conform.talk import Talk
from firmware_bridge.wire.messages import (
    Capability,
    CardKinds,
    Command,
    Counters,
    CycleDone,
    Lock,
    Message,
    Mode,
    PowerUp,
    Reason,
    SelfTest,
    Status,
    Unlock,
    describe_message,
)

TOTALS = ("effects", "cycles", "cards_moved", "stacks", "jams", "faults")


@dataclass(frozen=True, slots=True)
class _Before:
    """What a device said before it was switched off."""

    greeting: Greeting
    command: Command
    answer: bytes
    status: Status
    counted: Counters
    events: list[bytes]  # not stored
    newest: int  # event


@point("hands.power", SECTION, "After a loss of power the device has kept all of its memory, or says that it has none.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_power(talk: Talk) -> Steps[None]:
    """While no cycle runs. With KEEPS_MEMORY it must have kept it; the lock is open in any case."""
    greeting = yield from greet_idle(talk)
    stored = newest(talk)
    command = SelfTest(talk.next_id(), greeting.boot)
    answer = yield from start(talk, command)
    yield from ended(talk, command)
    if greeting.can(Capability.LOCKS):
        yield from talk.turn(greeting, Lock, Unlock)
    yield from talk.rest(QUIET_S)
    stack, cards = yield from _known_stack(talk, greeting)
    before = yield from _before(talk, greeting, command, answer, stored)
    power_up = yield from _switched(talk, before, (yield from _off_and_on(talk)))
    yield from _afterwards(talk, before, power_up)
    if cards is not None:
        yield from _same_cards(talk, stack, cards, kept=power_up.memory_kept)


@point("hands.power_in_cycle", SECTION, "A cycle interrupted by a power loss is neither resumed nor reported as ended.",
       limit_s=WITH_HANDS_S, with_cards=True, hands=True)  # fmt: skip
def hands_power_in_cycle(talk: Talk) -> Steps[None]:
    """PowerUp ends it."""
    greeting, _ = yield from greet_ready(talk)
    command = yield from whole_deck_moving(talk, greeting)
    yield from talk.make_room()
    yield from talk.by_hand(HandTask.GET_READY)
    stored = newest(talk)
    answer = yield from start(talk, command)
    before = yield from _before(talk, greeting, command, answer, stored)
    power_up = yield from _switched(talk, before, (yield from _off_and_on(talk)))
    for event in map(read, talk.events):
        if isinstance(event, CycleDone) and event.command == command.id and event.number < power_up.number:
            raise Skipped("the cycle had ended before the device was switched off")
    yield from _afterwards(talk, before, power_up)
    for event in map(read, talk.events):
        if isinstance(event, CycleDone) and event.command == command.id:
            raise Failed(f"power interrupted {describe_message(command)}, but {describe_message(event)} followed")


def _before(talk: Talk, greeting: Greeting, command: Command, answer: bytes, stored: int) -> Steps[_Before]:
    status = yield from talk.status()
    counted = yield from talk.counters()
    events = [event for event in talk.events if number_of(event) > stored]
    return _Before(greeting, command, answer, status, counted, events, max(newest(talk), stored))


def _known_stack(talk: Talk, greeting: Greeting) -> Steps[tuple[int, Message | None]]:
    """The newest stack of this run whose cards the shoe knows, and what it answers about it."""
    for stack in reversed(talk.stacks if recognising_shoe(greeting) else []):
        answer = yield from cards_of(talk, stack)
        if _known_cards(answer) is not Reason.FORGOTTEN:
            return stack, answer
    return 0, None


def _same_cards(talk: Talk, stack: int, before: Message, *, kept: bool) -> Steps[None]:
    """What a shoe knows about the cards of a stack belongs to its memory."""
    answer = yield from cards_of(talk, stack)
    if _known_cards(answer) != (_known_cards(before) if kept else Reason.FORGOTTEN):
        state = f"kept, and the answer was {describe_message(before)}" if kept else "lost"
        raise Failed(f"AskCards about a stack: the memory was {state}, but now {describe_message(answer)}")


def _known_cards(answer: Message) -> object:
    """What an answer to AskCards says, without the number of its question."""
    return sorted(answer.kinds) if isinstance(answer, CardKinds) else getattr(answer, "reason", None)


def _off_and_on(talk: Talk) -> Steps[Greeting]:
    talk.leave()
    yield from talk.by_hand(HandTask.POWER_CYCLE)
    return (yield from talk.greet())


def _switched(talk: Talk, before: _Before, again: Greeting) -> Steps[PowerUp]:
    """The greeting after a loss of power, and the PowerUp that it must bring."""
    boot = before.greeting.boot
    kept, keeps = again.boot == boot, before.greeting.can(Capability.KEEPS_MEMORY)
    if kept and not keeps:
        raise Failed(f"the boot id is {boot:08x} as before, but the device has no KEEPS_MEMORY")
    if keeps and not kept:
        raise Failed(f"the device has KEEPS_MEMORY, but its boot id changed from {boot:08x} to {again.boot:08x}")
    boot_id = f"the boot id {'stayed' if kept else 'changed'}"
    power_up = yield from after(talk, before.newest if kept else 0, PowerUp)
    if not isinstance(power_up, PowerUp) or power_up.memory_kept is not kept:
        got = describe_message(power_up) if power_up else "none came"
        raise Failed(f"{boot_id}: expected PowerUp memory_kept={kept}, but {got}")
    if kept:
        _check_events(talk, before, power_up)
    elif power_up.number != 1:
        raise Failed(f"{boot_id}: expected PowerUp as event 1, got {describe_message(power_up)}")
    last = before.status.last_command if kept else 0
    if again.last_command != last:
        raise Failed(f"{boot_id}: expected last_command {last} in Welcome, got {again.last_command}")
    return power_up


def _check_events(talk: Talk, before: _Before, power_up: PowerUp) -> None:
    """What the host had not stored is sent again as it was, in order, and then PowerUp."""
    again = {number_of(event): event for event in talk.events}
    for event in before.events:
        if again.get(number_of(event)) != event:
            got = in_words(again[number_of(event)]) if number_of(event) in again else "nothing with this number"
            raise Failed(f"the memory was kept: expected {in_words(event)} again, got {got}")
    missing = {*range(before.newest + 1, power_up.number)} - {*again}
    if missing:
        raise Failed(f"the memory was kept, but event {min(missing)} before {describe_message(power_up)} is missing")


def _afterwards(talk: Talk, before: _Before, power_up: PowerUp) -> Steps[None]:
    """What was commanded is not done again, and Status and Counters continue, or begin again without the memory."""
    answer = yield from talk.give(before.command.encode())
    refused = read(answer)
    if power_up.memory_kept:
        if answer != before.answer:
            raise Failed(
                f"{describe_message(before.command)} again: expected {in_words(before.answer)} as before, "
                f"got {in_words(answer)}"
            )
    elif getattr(refused, "reason", None) is not Reason.OTHER_BOOT:
        raise Failed(f"a command of the earlier boot: expected Refused OTHER_BOOT, got {in_words(answer)}")
    yield from talk.rest(QUIET_S)
    status = yield from talk.status()
    if status.doing or status.mode is Mode.WORKING:
        raise Failed(f"no cycle was started since the device was switched on, but it says {describe_message(status)}")
    if status.locked:
        raise Failed("a device starts unlocked, but locked is true in Status")
    talk.unlock_with = None
    expected: dict[str, object] = {"last_cycle": 0, "last_command": 0}
    totals = dict.fromkeys(TOTALS, 0)
    if power_up.memory_kept:
        expected = {"last_cycle": before.status.last_cycle, "last_outcome": before.status.last_outcome}
        totals = {name: getattr(before.counted, name) for name in TOTALS if name != "cards_moved"}
        if before.status.doing == 0:  # nothing has moved since
            totals["cards_moved"] = before.counted.cards_moved
    counted = yield from talk.counters()
    checks: list[tuple[Message, dict[str, object]]] = [(status, expected), (counted, {**totals})]
    for said, wanted in checks:
        for name, value in wanted.items():
            if getattr(said, name) != value:
                state = "kept" if power_up.memory_kept else "lost"
                raise Failed(f"the memory was {state}: expected {name} {value}, got {describe_message(said)}")
