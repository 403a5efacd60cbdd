"""The moving parts that a shuffler and a shoe have in common: one cycle at a time, sensors, and faults.

A cycle is a generator: it moves cards between its `yield`s, and yields how long the next step takes. So it can be
stopped between any two cards, by a jam, a door or a loss of power, and the cards stay where they are.

In virtual time a cycle that nothing can disturb sleeps until its end, and is then carried out in one go. Anything that
reads its cards or touches the device earlier wakes it: it then catches up card by card, and continues from there.
Events, times, cards and random numbers are the same both ways.
"""

# mypyc
from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import ClassVar, Final

from firmware_bridge.wire.messages import (
    MOST_KINDS,
    AnyCommand,
    Capability,
    CardFaceUp,
    CardsCounted,
    CardsPresent,
    ClearJam,
    Command,
    CycleDone,
    DeviceRole,
    Dispense,
    Door,
    DoorState,
    EventMessage,
    Fault,
    FaultCode,
    Jam,
    Mode,
    Outcome,
    Place,
    Reason,
    SelfTest,
    StackTaken,
)
from firmware_bridge.wire.sequences import ENDINGS, Course, SequenceStep, Work, cards_reported, work_of
from simulators.devices.cards import Card, CardPlace, Cards, Spot
from simulators.devices.faults import FaultName

FLOOR: Final = Spot(CardPlace.FLOOR)
# Module-level names for what every cycle uses: looking up an enumeration member takes longer than moving a card.
_READY: Final = Mode.READY
_WORKING: Final = Mode.WORKING
_JAMMED: Final = Mode.JAMMED
COMPLETE: Final = Course.COMPLETE
_EXIT: Final = Place.EXIT
_MISCOUNT: Final = FaultName.MISCOUNT
STACKS_KEPT: Final = 16  # whose cards are remembered after they were taken
FACE_UP_REPORTS: Final = 3  # at most in one cycle: a cycle must fit into the room kept for its events

_BEFORE_A_CYCLE: Final = (FaultName.EXTRA_CARD, FaultName.FACE_UP)
FOUND_BY_SELF_TEST: Final = (
    (FaultName.STALL, FaultCode.MOTOR, "feed motor"),
    (FaultName.MISCOUNT, FaultCode.SENSOR, "card sensor"),
)

# What a cycle's generator yields: waiting times, and at its end its course and the number of cards counted. What the
# device reports then is in the table of worked sequences.
CycleSteps = Generator[float, None, tuple[Course, int]]
ReportEvent = Callable[..., None]
TakenStacks = dict[int, list[int]]  # the kinds of the cards that people took, by the command that put them out


def after(now: float, step_s: float, times: int) -> float:
    """When this many steps of a cycle are done: added one by one, so that the sum is equal to the last bit."""
    for _ in range(times):
        now += step_s
    return now


def _to_nobody(what: type[EventMessage], **fields: object) -> None:
    """Where reports go while there is no power."""


class Mechanics(ABC):
    """The parts that both devices share. A subclass has the cycles, and says what prevents a command."""

    role: ClassVar[DeviceRole]
    exit: ClassVar[Spot]
    works_at: tuple[Spot, ...]  # where the cycles that can sleep move cards
    check_s: ClassVar[float] = 2.0  # a self-test, or the check after a jam

    def __init__(self, cards: Cards, capabilities: frozenset[Capability], rng: random.Random) -> None:
        self.cards = cards
        self.capabilities = capabilities
        self.rng = rng
        self.mode = Mode.READY
        self.doing: AnyCommand | None = None
        self.last_cycle = 0
        self.last_outcome = Outcome.COMPLETE
        self.door_open = False
        self.locked = False
        self.way_blocked = False  # a jam that no person has removed yet
        self._broken = False
        self.cards_moved = self.stacks = self.cycles_done = self.jams = self.faults = 0
        self.report: ReportEvent = _to_nobody  # the firmware's, while there is power
        self.cycle_started: Callable[[], None] = lambda: None
        self.clock: Callable[[], float] | None = None  # virtual time: if given, cycles can sleep
        self.woken: Callable[[], None] = lambda: None
        self._asleep = False
        self._armed: dict[FaultName, int] = {}  # fault → cards that still move correctly
        self._next_time: set[FaultName] = set()  # faults that wait for the beginning of a cycle
        self._still = False  # no card moves with the next step of the cycle
        self._steps: CycleSteps | None = None
        self.deadline = math.inf  # when the next card moves
        self._started = 0.0
        self._presented_by = 0  # the command whose cards are at the exit
        self._dealt_by = 0  # the same, if they are a stack that was dealt: the host may ask for their kinds
        self.taken: TakenStacks = {}  # the firmware's, while there is power
        self._face_up_told = 0
        self._failed_parts: list[tuple[FaultCode, str]] = []  # what the last self-test found
        self._works: dict[tuple[type[Command], bool], Work | None] = {}  # by command, and whether it has `hold`

    # --- what the firmware calls ------------------------------------------------------------------------------------

    def hindrance(self, command: AnyCommand) -> Reason | None:
        """Why this device cannot do this now; None if it can."""
        if not self._able(command):
            return Reason.NOT_ABLE
        clearing = type(command) is ClearJam
        if self.mode is not _READY:
            if self.mode is Mode.FAILED:
                return Reason.FAILED
            if self.mode is Mode.JAMMED and not clearing:
                return Reason.JAMMED
            if self.mode is Mode.WORKING:
                return Reason.BUSY
        if self.locked:
            return Reason.LOCKED
        if self.door_open:
            return Reason.DOOR_OPEN
        if clearing:
            return None if self.mode is _JAMMED else Reason.NOT_JAMMED
        return self._hindrance(command)

    def start(self, command: AnyCommand, now: float) -> None:
        """Begin the cycle of a command."""
        self.mode = _WORKING
        self.doing = command
        self._started = now
        self._face_up_told = 0
        self.cycle_started()
        if self.doing is not command:  # a fault planned for this cycle cut the power
            return
        if self.clock and not self._armed:
            end = self._undisturbed_end(command, now)
            if end is not None:
                self.deadline = end
                self._asleep = True
                self.cards.sleep(self.works_at, self.wake)
                return
        self._begin(command, now)

    def _begin(self, command: AnyCommand, now: float) -> None:
        """The first step of a cycle that is carried out step by step."""
        if type(command) is ClearJam:
            self._steps = self._clear_jam()
        elif type(command) is SelfTest:
            self._steps = self._self_test()
        else:
            self._steps = self._cycle(command)
        self._advance(now)

    def tick(self, now: float) -> None:
        """Move what should have moved by now."""
        if self._asleep and self.deadline <= now:
            self._get_up()
            assert self.doing is not None
            course, cards = self._whole_cycle(self.doing)
            self._end(course, cards, self.deadline)
            return
        while self.deadline <= now:
            self._step(self.deadline)

    def wake(self, *, before: float = math.inf) -> None:
        """Bring the cards to where they are by now, or were just before a time."""
        if self._asleep:
            assert self.clock is not None
            assert self.doing is not None
            now = self.clock()
            self._get_up()
            self.woken()
            self._begin(self.doing, self._started)
            while self.deadline <= now and self.deadline < before:
                self._step(self.deadline)

    def _get_up(self) -> None:
        self._asleep = False
        self.cards.awake(self.works_at)

    def power_lost(self, *, memory_kept: bool = False) -> None:
        """Everything stops where it is. A jam stays a jam: the sensor finds it again."""
        self.wake()
        self._stop()
        self.mode = Mode.JAMMED if self.way_blocked else Mode.READY
        self.doing = None
        self.report = _to_nobody
        self.locked = self._broken = False
        if not memory_kept:
            self.last_cycle, self.last_outcome = 0, Outcome.COMPLETE
            self.cards_moved = self.stacks = self.cycles_done = self.jams = self.faults = 0
        self._presented_by = 0
        if not memory_kept:
            self._dealt_by = 0

    def fail(self) -> None:
        """Do nothing more until a restart, after the current cycle, if any, has ended."""
        self.faults += 1
        self._broken = True
        if self.doing is None:
            self.mode = Mode.FAILED

    def renew(self, capabilities: frozenset[Capability]) -> None:
        """Become the mechanics of another device, without power and without faults, around the same cards."""
        self.capabilities = capabilities
        self._works.clear()
        self.mode = Mode.READY
        self.door_open = self.way_blocked = False
        self._armed.clear()

    def set_locked(self, locked: bool) -> None:
        """Lock or unlock doors and card paths."""
        self.locked = locked
        for step in ENDINGS["Lock" if locked else "Unlock"][COMPLETE].steps:
            self.report(step.event, state=step.door)

    @abstractmethod
    def sensed(self) -> dict[str, int]:
        """What the sensors see, by the names of the status message."""

    def not_taken(self, command: int) -> bool:
        """Whether this command deals cards, and nobody has taken them yet."""
        return False

    # --- what people do ---------------------------------------------------------------------------------------------

    def take_exit(self, target: Spot) -> list[Card]:
        """A person takes all cards from the exit."""
        taken = self.cards.move_all(self.exit, target)
        if taken:
            if self._dealt_by and self.can(Capability.RECOGNISES) and len(taken) <= MOST_KINDS:
                self.taken[self._dealt_by] = [int(card.kind) for card in taken]
                if len(self.taken) > STACKS_KEPT:
                    del self.taken[next(iter(self.taken))]
            counted = len(taken) if self._dealt_by or self.can(Capability.COUNTS) else -1
            self.report(StackTaken, command=self._presented_by, place=_EXIT, cards=counted)
        return taken

    def put_in(self, source: Spot, target: Spot, place: Place) -> None:
        """A person puts all cards of a spot into the device."""
        was_empty = self.cards.count(target) == 0
        if self.cards.move_all(source, target) and was_empty:
            self.report(CardsPresent, place=place, present=True)

    def take_out(self, source: Spot, target: Spot, place: Place) -> list[Card]:
        """A person takes all cards of a place inside the device out by hand."""
        taken = self.cards.move_all(source, target)
        if taken:
            self.report(CardsPresent, place=place, present=False)
        return taken

    def free_jam(self, target: Spot) -> list[Card]:
        """A person opens the card path and takes out the stuck cards."""
        if not self.way_blocked:
            return []
        self.way_blocked = False
        stuck = self._stuck()
        return self.cards.move_top(1, stuck, target) if self.cards.count(stuck) else []

    def set_door(self, is_open: bool, now: float) -> bool:
        """A person opens or closes the door; False if it is locked."""
        if self.locked and is_open:
            return False
        if is_open != self.door_open:
            self.wake()
            self.door_open = is_open
            if is_open and self._steps is not None:
                self._end(Course.DOOR, -1, now)
            else:
                self.report(Door, state=DoorState.OPEN if is_open else DoorState.CLOSED)
        return True

    def arm(self, fault: FaultName, after_cards: int = 0) -> None:
        """Make this go wrong when the next card moves, or this many cards later.

        A card that gets in or is face up without waiting for others does so before the first card of a cycle.
        """
        self.wake()
        self._armed[fault] = after_cards
        self._next_time.discard(fault)
        if fault in _BEFORE_A_CYCLE and not after_cards:
            self._next_time.add(fault)

    @property
    def armed(self) -> list[FaultName]:
        """The faults that have not occurred yet."""
        return list(self._armed)

    def disarm(self, fault: FaultName) -> None:
        """Remove a fault that has not occurred yet."""
        self._armed.pop(fault, None)

    # --- for the subclasses -----------------------------------------------------------------------------------------

    def can(self, capability: Capability) -> bool:
        """Whether the device has this capability."""
        return capability in self.capabilities

    def _able(self, command: AnyCommand) -> bool:
        """Whether this device was built for this command. One that cannot hold looks at the field `hold` later."""
        return self._work(command) is not None or (type(command) is Dispense and self.role is DeviceRole.SHOE)

    def _work(self, command: AnyCommand) -> Work | None:
        """What the table of worked sequences says about this command."""
        key = (type(command), type(command) is Dispense and command.hold)
        if key not in self._works:
            self._works[key] = work_of(command, self.role, self.capabilities)
        return self._works[key]

    @abstractmethod
    def _hindrance(self, command: AnyCommand) -> Reason | None:
        """Why this command is not possible with the cards where they are."""

    @abstractmethod
    def _cycle(self, command: AnyCommand) -> CycleSteps:
        """The steps of a command's cycle, for the commands that move cards."""

    @abstractmethod
    def _undisturbed_end(self, command: AnyCommand, now: float) -> float | None:
        """When the cycle of a command ends if nothing interferes; None if it must go step by step."""

    @abstractmethod
    def _whole_cycle(self, command: AnyCommand) -> tuple[Course, int]:
        """The cycle in one go: the result of its steps if nothing interferes."""

    @abstractmethod
    def _stuck(self) -> Spot:
        """Where the cards of a jam are."""

    def _goes_wrong(self, fault: FaultName) -> bool:
        """Whether this armed fault occurs now. It occurs once."""
        if self._armed.get(fault, 0) >= 0 or fault in self._next_time:
            return False
        del self._armed[fault]
        return True

    def _begins_with(self, fault: FaultName) -> bool:
        """Whether this armed fault was waiting for the cycle that begins now. It occurs once."""
        if fault not in self._next_time or fault not in self._armed:
            return False
        del self._armed[fault]
        return True

    def _spare_gets_in(self, target: Spot) -> None:
        """A spare card from the floor gets in: not one that fell out of a deck."""
        spares = [card for card in self.cards.pile(FLOOR) if self.cards.is_spare(card)]
        for card in spares[:1]:
            self.cards.move_card(card, FLOOR, target)

    def _counted(self, cards: int) -> int:
        """What the counting sensor makes of this many cards."""
        if not self._goes_wrong(_MISCOUNT):
            return cards
        return cards + self.rng.choice((-1, 1)) if cards else 1

    def _moved(self, moved: list[Card], place: Place) -> None:
        """Cards passed the sensors."""
        self.cards_moved += len(moved)
        self._seen(moved, place)

    def _seen(self, cards: list[Card], place: Place) -> None:
        """The sensors saw cards: one that is face up is reported."""
        for card in cards:
            if card.face_up and self._face_up_told < FACE_UP_REPORTS and self.doing:
                self._face_up_told += 1
                kind = int(card.kind) if self.can(Capability.RECOGNISES) else -1
                self.report(CardFaceUp, command=self.doing.id, place=place, kind=kind)

    def _present(self, command: AnyCommand, dealt: bool) -> None:
        self._presented_by = command.id
        self._dealt_by = command.id if dealt else 0
        self.stacks += 1

    # --- the engine -------------------------------------------------------------------------------------------------

    def _step(self, now: float) -> None:
        assert self.doing is not None
        still, self._still = self._still, False
        if self._armed and not still and not isinstance(self.doing, SelfTest | ClearJam) and self._hit(self.doing, now):
            return
        self._advance(now)

    def _advance(self, now: float) -> None:
        assert self._steps is not None
        try:
            self.deadline = now + next(self._steps)
        except StopIteration as end:
            self._steps = None
            course, cards = end.value
            self._end(course, cards, now)

    def _hit(self, command: AnyCommand, now: float) -> bool:
        """A card is about to move; True if an armed fault has ended or stopped the cycle instead."""
        for fault in self._armed:
            self._armed[fault] -= 1
        if self._goes_wrong(FaultName.STALL):
            self.deadline = math.inf
            return True
        if self._goes_wrong(FaultName.JAM):
            self.way_blocked = True
            self.jams += 1
            self._end(Course.JAM, -1, now)
            return True
        if self._goes_wrong(FaultName.INCOMPLETE_CYCLE):
            self._end(Course.GIVEN_UP, -1, now)
            return True
        return False

    def _end(self, course: Course, cards: int, now: float) -> None:
        """The cycle has ended: the table of worked sequences says what is reported, and in which order."""
        command = self.doing
        assert command is not None
        work = self._work(command)
        assert work is not None
        ending = ENDINGS[work.name][course]
        self._stop()
        self.cycles_done += 1
        self.doing = None
        jammed = self.way_blocked or type(command) is ClearJam  # which did not find the card path clear
        self.mode = ending.mode if ending.mode is not None else _JAMMED if jammed else _READY
        if self._broken:
            self.mode = Mode.FAILED
        for step in ending.steps:
            if step.needs is None or step.needs in self.capabilities:
                self._tell(step, work, command, cards, now)

    def _tell(self, step: SequenceStep, work: Work, command: AnyCommand, cards: int, now: float) -> None:
        """Report one event of a sequence."""
        number = cards_reported(step.cards, cards, self.capabilities) if step.cards else -1
        if step.event is Door:
            self.report(Door, state=step.door)
        elif step.event is Fault:
            for code, text in self._failed_parts:
                self.report(Fault, code=code, text=f"{text} failed its test")
        elif step.event is Jam:
            self.report(Jam, command=command.id, place=Place[self._stuck().place.name])
        elif step.event is CycleDone:
            assert step.outcome is not None
            self.last_cycle, self.last_outcome = command.id, step.outcome
            self.report(
                CycleDone,
                command=command.id,
                cycle=work.cycle,
                outcome=step.outcome,
                cards=number,
                duration_ms=max(0, int((now - self._started) * 1000 + 0.5)),
            )
        else:
            assert step.place is not None
            fields: dict[str, object] = {"command": command.id, "place": step.place, "cards": number}
            if step.event is CardsCounted:
                spot = Spot(CardPlace[step.place.name])
                fields["kinds"] = self.cards.kinds(spot) if self.can(Capability.RECOGNISES) else []
            self.report(step.event, **fields)

    def _stop(self) -> None:
        if self._steps is not None:
            self._steps.close()
            self._steps = None
        self._still = False
        self.deadline = math.inf

    def _clear_jam(self) -> CycleSteps:
        yield self.check_s
        return (Course.JAM if self.way_blocked else COMPLETE), 0

    def _self_test(self) -> CycleSteps:
        """Find faults of motors and sensors before they do harm."""
        yield self.check_s
        self._failed_parts = [(code, text) for fault, code, text in FOUND_BY_SELF_TEST if fault in self._armed]
        self.faults += len(self._failed_parts)
        return (Course.FAULT if self._failed_parts else COMPLETE), 0
