"""The simulated devices report the worked sequences, for every command and every course that it can take."""

from __future__ import annotations

from typing import Any

import pytest

from firmware_bridge.wire.messages import (
    AskCounters,
    AskStatus,
    Capability,
    ClearJam,
    Command,
    Counters,
    CycleDone,
    DeviceRole,
    Dispense,
    DispenseFaceUp,
    EventMessage,
    Mode,
    Outcome,
    PowerUp,
    SelfTest,
    Shuffle,
    Status,
)
from firmware_bridge.wire.sequences import ENDINGS, WORKS, Course, Work, reported
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import SimulatedDevice
from simulators.devices.faults import FaultName
from tests.support.conform_person import a_table

START, MIDDLE, END = 0.0, 0.2, 500.0
FAULTS = {Course.GIVEN_UP: FaultName.INCOMPLETE_CYCLE, Course.JAM: FaultName.JAM}
IN_THE_LAST_PASS = 120  # cards that a Shuffle has moved by then
POWER = {Course.POWER_LOST: False, Course.POWER_KEPT: True}


def a_device(work: Work, course: Course) -> SimulatedDevice:
    """A device with its cards where the work needs them."""
    gains = [work.needs] if work.needs else []
    gains += [Capability.KEEPS_MEMORY] if course is Course.POWER_KEPT else []
    table, device = a_table(work.roles[0], gains=gains, lacks=[work.lacks] if work.lacks else [])
    loaded = Spot(CardPlace.SHOE if work.roles[0] is DeviceRole.SHOE else CardPlace.INFEED)
    source = Spot(CardPlace[work.sources[0].name]) if work.sources else loaded
    if source != loaded:
        table.cards.move_all(loaded, source)
    if work.command is ClearJam:
        device.mechanics.mode, device.mechanics.way_blocked = Mode.JAMMED, course is Course.JAM
    return device


def given(work: Work, device: SimulatedDevice) -> Command:
    """The command, which the device's firmware has accepted."""
    assert device.firmware is not None
    arguments: dict[type, tuple[Any, ...]] = {Dispense: (5, work.hold), DispenseFaceUp: (5,)}
    command = work.command(7, device.firmware.boot, *arguments.get(work.command, ()))
    device.firmware._command(command, command.encode())  # type: ignore[arg-type]
    assert device.mechanics.mode is Mode.WORKING
    return command


def collect(device: SimulatedDevice) -> list[tuple[type[EventMessage], dict[str, Any]]]:
    """What the device reports from now on."""
    events: list[tuple[type[EventMessage], dict[str, Any]]] = []
    firmware = device.firmware
    assert firmware is not None
    report = firmware.report

    def listen(what: type[EventMessage], **fields: Any) -> None:
        events.append((what, fields))
        report(what, **fields)

    firmware.report = device.mechanics.report = listen  # type: ignore[method-assign]
    return events


def asked(device: SimulatedDevice) -> tuple[Status, Counters]:
    assert device.firmware is not None
    status, counters = device.firmware._answer(AskStatus(1)), device.firmware._answer(AskCounters(2))
    assert isinstance(status, Status)
    assert isinstance(counters, Counters)
    return status, counters


def disturbed(device: SimulatedDevice, course: Course) -> None:
    if course is Course.DOOR:
        device.tick(MIDDLE)
        assert device.door(True, MIDDLE)
    device.tick(END)


CYCLES = [
    pytest.param(work, course, id=f"{work.name}: {course.name}")
    for work in WORKS
    for course in ENDINGS[work.name]
    if work.cycle
    and course not in POWER
    # The simulated parts fail their test only, and only a Dispense and a Shuffle can have too few cards.
    and (course is not Course.FAULT or work.command is SelfTest)
    and (course is not Course.INCOMPLETE or work.name in ("Dispense to the exit", "Shuffle"))
]


@pytest.mark.parametrize(("work", "course"), CYCLES)
def test_a_cycle_reports_its_worked_sequence(work: Work, course: Course) -> None:
    device = a_device(work, course)
    events = collect(device)
    if course in FAULTS and work.moves_cards:
        device.inject(FAULTS[course], START)
    elif course is Course.FAULT:
        device.inject(FaultName.STALL, START)
    elif course is Course.INCOMPLETE:
        device.inject(FaultName.SHORT_FEED, START, after_cards=IN_THE_LAST_PASS if work.command is Shuffle else 2)
    _, before = asked(device)
    command = given(work, device)
    running, _ = asked(device)
    assert (running.mode, running.doing, running.last_cycle) == (Mode.WORKING, command.id, 0)
    disturbed(device, course)
    ending = ENDINGS[work.name][course]
    steps = reported(ending.steps, device.mechanics.capabilities)
    assert [what for what, _ in events] == [step.event for step in steps]
    for step, (_, fields) in zip(steps, events, strict=True):
        assert step.place is None or fields["place"] is step.place
        assert step.outcome is None or fields["outcome"] is step.outcome
        assert fields.get("command", command.id) == command.id
    after, counters = asked(device)
    outcome = next(step.outcome for step in steps if step.outcome is not None)
    assert (after.doing, after.last_cycle, after.last_outcome) == (0, command.id, outcome)
    assert after.mode is (
        ending.mode or (Mode.JAMMED if work.command is ClearJam and ending.mode is None else Mode.READY)
    )
    assert (counters.cycles, counters.effects) == (before.cycles + 1, before.effects + 1)


@pytest.mark.parametrize("course", POWER)
@pytest.mark.parametrize("moment", ["before", "during", "after"])
@pytest.mark.parametrize("work", [work for work in WORKS if work.moves_cards], ids=lambda work: work.name)
def test_power_ends_a_cycle_without_a_cycle_done(work: Work, course: Course, moment: str) -> None:
    device = a_device(work, course)
    command = given(work, device)
    at = {"before": START, "during": MIDDLE, "after": END}[moment]
    device.tick(at)
    done, counted = asked(device)
    device.inject(FaultName.POWER_LOSS, at)
    if POWER[course]:
        assert device._kept is not None
        kept = len(device._kept._events)
    device.mend(FaultName.POWER_LOSS, at + 1)
    events = collect(device)
    device.tick(at + END)
    assert events == [], "nothing is resumed"
    assert device.firmware is not None
    assert device.firmware._newest is PowerUp
    after, counters = asked(device)
    assert (after.mode, after.doing) == (Mode.READY, 0)
    if POWER[course]:
        assert after.last_command == command.id
        assert (after.last_cycle, after.last_outcome) == (done.last_cycle, done.last_outcome)
        assert (after.events_kept, counters.cycles) == (kept + 1, counted.cycles)
        assert counters.cards_moved >= counted.cards_moved
    else:
        assert (after.last_command, after.last_cycle, after.last_outcome) == (0, 0, Outcome.COMPLETE)
        assert (after.events_kept, counters.cycles, counters.cards_moved) == (1, 0, 0)


def test_a_stopped_cycle_says_how_long_it_ran() -> None:
    work = next(work for work in WORKS if work.command is SelfTest)
    device = a_device(work, Course.DOOR)
    events = collect(device)
    given(work, device)
    disturbed(device, Course.DOOR)
    (what, fields), _ = events
    assert what is CycleDone
    assert fields["duration_ms"] == MIDDLE * 1000
