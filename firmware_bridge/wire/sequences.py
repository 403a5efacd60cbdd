"""The worked sequences of the protocol, as data: what a device reports for each command, in which order, and why.

The simulated devices emit their events from this table, the conformance test checks devices against it, and
docs/protocol.md shows it. What differs between devices is the choice of a row: by capability, or by a field of the
command. A cycle that is disturbed ends in the same way whatever its command was.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass

from firmware_bridge.wire.messages import (
    Capability,
    CardsCounted,
    CardsShown,
    ClearJam,
    Command,
    Cycle,
    CycleDone,
    Deliver,
    DeviceRole,
    Dispense,
    DispenseFaceUp,
    Door,
    DoorState,
    Eject,
    EventMessage,
    Fault,
    Indicate,
    Jam,
    Lock,
    Mode,
    Outcome,
    Place,
    PowerUp,
    Release,
    SelfTest,
    Shuffle,
    StackPresented,
    Unlock,
)


class Amount(enum.Enum):
    """Which number an event has as `cards`."""

    DEALT = "the number counted"  # a shoe always counts what it deals; also where the event itself needs COUNTS
    COUNTED = "the number counted, or -1 without COUNTS"
    NONE = "0"
    UNKNOWN = "-1"


class Course(enum.Enum):
    """How a cycle goes."""

    COMPLETE = "Everything goes well"
    INCOMPLETE = "A different number of cards arrived than expected"
    GIVEN_UP = "The device gives up before it has counted"
    JAM = "Cards get stuck"
    DOOR = "The door is opened"
    FAULT = "A part fails, or fails its test"
    POWER_LOST = "Power is lost, or the device restarts, and the memory with it"
    POWER_KEPT = "Power is lost, or the device restarts, with its memory kept (KEEPS_MEMORY)"


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """One event of a sequence. `place` None: where it happened. `needs`: reported only with this capability."""

    event: type[EventMessage]
    place: Place | None = None
    cards: Amount | None = None
    outcome: Outcome | None = None
    door: DoorState | None = None
    memory_kept: bool | None = None
    needs: Capability | None = None
    repeats: bool = False  # one for each part that failed


@dataclass(frozen=True, slots=True)
class Ending:
    """How a cycle ends: its events, and the mode afterwards. Mode None: READY, or JAMMED if a jam is not cleared."""

    steps: tuple[SequenceStep, ...]
    mode: Mode | None


@dataclass(frozen=True, slots=True)
class Work:
    """What a command does if nothing disturbs it. One command has several if devices or its fields differ."""

    name: str
    command: type[Command]
    cycle: Cycle | None  # None: no cycle, and the events follow the answer at once
    roles: tuple[DeviceRole, ...]
    steps: tuple[SequenceStep, ...]
    sources: tuple[Place, ...] = ()  # where the cards are before
    through: tuple[Place, ...] = ()  # where they may be meanwhile
    target: Place | None = None  # where they are afterwards; None: they have left the device, or none moved
    counts: Amount = Amount.UNKNOWN  # `cards` of its CycleDone, once counted
    needs: Capability | None = None
    lacks: Capability | None = None
    hold: bool = False  # for Dispense

    @property
    def moves_cards(self) -> bool:
        """Whether its cycle moves cards of a deck."""
        return bool(self.sources)


SHUFFLER, SHOE = DeviceRole.SHUFFLER, DeviceRole.SHOE
BOTH = (SHUFFLER, SHOE)


def _presented(place: Place, cards: Amount) -> tuple[SequenceStep, ...]:
    return (SequenceStep(StackPresented, place, cards),)


WORKS: tuple[Work, ...] = (
    Work(
        "Shuffle",
        Shuffle,
        Cycle.SHUFFLE,
        (SHUFFLER,),
        (SequenceStep(CardsCounted, Place.OUTPUT, Amount.DEALT, needs=Capability.COUNTS),),
        (Place.INFEED,),
        (Place.SHELVES,),
        Place.OUTPUT,
        Amount.COUNTED,
    ),
    Work(
        "Deliver into the shoe",
        Deliver,
        Cycle.DELIVER,
        (SHUFFLER,),
        (),
        (Place.OUTPUT,),
        counts=Amount.COUNTED,
        needs=Capability.FEEDS_SHOE,
    ),
    Work(
        "Deliver to the exit",
        Deliver,
        Cycle.DELIVER,
        (SHUFFLER,),
        _presented(Place.EXIT, Amount.COUNTED),
        (Place.OUTPUT,),
        target=Place.EXIT,
        counts=Amount.COUNTED,
        lacks=Capability.FEEDS_SHOE,
    ),
    Work(
        "Dispense to the exit",
        Dispense,
        Cycle.DISPENSE,
        (SHOE,),
        _presented(Place.EXIT, Amount.DEALT),
        (Place.SHOE,),
        target=Place.EXIT,
        counts=Amount.DEALT,
    ),
    Work(
        "Dispense with `hold`",
        Dispense,
        Cycle.DISPENSE,
        (SHOE,),
        _presented(Place.HELD, Amount.DEALT),
        (Place.SHOE,),
        target=Place.HELD,
        counts=Amount.DEALT,
        needs=Capability.HOLDS_STACK,
        hold=True,
    ),
    Work(
        "DispenseFaceUp",
        DispenseFaceUp,
        Cycle.DISPENSE,
        (SHOE,),
        (SequenceStep(CardsShown, Place.EXIT), *_presented(Place.EXIT, Amount.DEALT)),
        (Place.SHOE,),
        target=Place.EXIT,
        counts=Amount.DEALT,
        needs=Capability.RECOGNISES,
    ),
    Work(
        "Release",
        Release,
        Cycle.RELEASE,
        (SHOE,),
        _presented(Place.EXIT, Amount.DEALT),
        (Place.HELD,),
        target=Place.EXIT,
        counts=Amount.DEALT,
        needs=Capability.HOLDS_STACK,
    ),
    Work(
        "Eject from a shuffler",
        Eject,
        Cycle.EJECT,
        (SHUFFLER,),
        _presented(Place.EXIT, Amount.COUNTED),
        (Place.INFEED, Place.SHELVES, Place.OUTPUT),
        target=Place.EXIT,
        counts=Amount.COUNTED,
    ),
    Work(
        "Eject from a shoe",
        Eject,
        Cycle.EJECT,
        (SHOE,),
        _presented(Place.EXIT, Amount.COUNTED),
        (Place.SHOE, Place.HELD),
        target=Place.EXIT,
        counts=Amount.COUNTED,
    ),
    Work("ClearJam", ClearJam, Cycle.CLEAR_JAM, BOTH, (), counts=Amount.NONE),
    Work("SelfTest", SelfTest, Cycle.SELF_TEST, BOTH, (), counts=Amount.NONE),
    Work("Lock", Lock, None, BOTH, (SequenceStep(Door, door=DoorState.LOCKED),), needs=Capability.LOCKS),
    Work("Unlock", Unlock, None, BOTH, (SequenceStep(Door, door=DoorState.UNLOCKED),), needs=Capability.LOCKS),
    Work("Indicate", Indicate, None, BOTH, (), needs=Capability.INDICATES),
)

# What precedes CycleDone in a cycle that is disturbed, its outcome, what follows it, and the mode afterwards.
_DISTURBED: dict[Course, tuple[tuple[SequenceStep, ...], Outcome, tuple[SequenceStep, ...], Mode | None]] = {
    Course.GIVEN_UP: ((), Outcome.INCOMPLETE, (), Mode.READY),
    Course.JAM: ((SequenceStep(Jam),), Outcome.JAMMED, (), Mode.JAMMED),
    Course.DOOR: ((), Outcome.STOPPED, (SequenceStep(Door, door=DoorState.OPEN),), None),
    Course.FAULT: ((SequenceStep(Fault, repeats=True),), Outcome.FAILED, (), Mode.FAILED),
}
# A cycle that power interrupts has no CycleDone: PowerUp ends it. A jam is found again by its sensor.
_POWER = {Course.POWER_LOST: False, Course.POWER_KEPT: True}


def ending(work: Work, course: Course) -> Ending | None:
    """How a cycle ends on this course; None if it cannot take this course."""
    if course in _POWER:
        return Ending((SequenceStep(PowerUp, memory_kept=_POWER[course]),), None)
    if work.cycle is None:
        return Ending(work.steps, None) if course is Course.COMPLETE else None
    counts = work.counts
    if course is Course.COMPLETE:
        return Ending((*work.steps, SequenceStep(CycleDone, cards=counts, outcome=Outcome.COMPLETE)), Mode.READY)
    if course is Course.INCOMPLETE:
        done = SequenceStep(CycleDone, cards=counts, outcome=Outcome.INCOMPLETE)
        return Ending((*work.steps, done), Mode.READY) if work.moves_cards else None
    if course is Course.GIVEN_UP and not work.moves_cards:
        return None
    if course is Course.JAM and work.cycle is Cycle.SELF_TEST:
        return None
    before, outcome, after, mode = _DISTURBED[course]
    if course is Course.JAM and work.cycle is Cycle.CLEAR_JAM:
        before = ()  # the jam is known
    uncounted = Amount.UNKNOWN if work.moves_cards else counts
    return Ending((*before, SequenceStep(CycleDone, cards=uncounted, outcome=outcome), *after), mode)


ENDINGS: dict[str, dict[Course, Ending]] = {
    work.name: {course: found for course in Course if (found := ending(work, course))} for work in WORKS
}


def works_of(role: DeviceRole) -> list[Work]:
    """What a device of this kind can be asked for."""
    return [work for work in WORKS if role in work.roles]


def work_of(command: Command, role: DeviceRole, capabilities: Collection[int]) -> Work | None:
    """What this command does on a device of this kind with these capabilities; None if the device lacks it."""
    hold = isinstance(command, Dispense) and command.hold
    for work in works_of(role):
        if type(command) is not work.command or work.hold is not hold:
            continue
        if (work.needs is None or work.needs in capabilities) and work.lacks not in capabilities:
            return work
    return None


def reported(steps: tuple[SequenceStep, ...], capabilities: Collection[int]) -> list[SequenceStep]:
    """The events that a device with these capabilities reports."""
    return [step for step in steps if step.needs is None or step.needs in capabilities]


def cards_reported(amount: Amount, number: int, capabilities: Collection[int]) -> int:
    """`cards` of an event of a device with these capabilities, whose sensor saw this number of cards."""
    if amount is Amount.NONE:
        return 0
    if amount is Amount.UNKNOWN or (amount is Amount.COUNTED and Capability.COUNTS not in capabilities):
        return -1
    return number


# The field of Status that counts the cards at a place.
STATUS_FIELD = {
    Place.INFEED: "infeed_cards",
    Place.SHELVES: "inside_cards",
    Place.SHOE: "inside_cards",
    Place.OUTPUT: "output_cards",
    Place.EXIT: "exit_cards",
    Place.HELD: "held_cards",
}
