"""A run of the conformance test in virtual time, with a person who does at once what the run asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from firmware_bridge.tools.conform import Conformance, HandTask, PointResult
from firmware_bridge.tools.conform.run import RUN_INTERACTIVE_LIMIT_S
from firmware_bridge.wire.messages import Capability, DeviceRole, Place
from simulators.devices.cards import CardPlace, Spot
from simulators.devices.device import (
    ON_THE_TABLE,
    SHOE_CAPABILITIES,
    SHUFFLER_CAPABILITIES,
    SimulatedDevice,
    SimulatedTable,
)
from simulators.devices.faults import FaultName
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware import MechanicalDefect
from simulators.pipes.wires import VirtualLine

FEW = 3  # cards added to an infeed
SPARES = Spot(CardPlace.TABLE, 1)  # the second deck


def a_table(
    role: DeviceRole,
    build: Callable[..., Firmware] = Firmware,
    gains: Collection[Capability] = (),
    lacks: Collection[Capability] = (),
) -> tuple[SimulatedTable, SimulatedDevice]:
    """A table whose device of this role has a deck in it, and these capabilities more or less than usual."""
    shoe = role is DeviceRole.SHOE
    table = SimulatedTable(
        1,
        build=build,
        shoe_capabilities=SHOE_CAPABILITIES.union(gains).difference(lacks) if shoe else SHOE_CAPABILITIES,
        shuffler_capabilities=SHUFFLER_CAPABILITIES if shoe else SHUFFLER_CAPABILITIES.union(gains).difference(lacks),
    )
    device = table.shoe if shoe else table.shuffler
    device.load(Spot(CardPlace.TABLE, 0), 0.0)
    return table, device


def table_with(defect: MechanicalDefect) -> tuple[SimulatedTable, SimulatedDevice]:
    """A table with a device that has this defect."""
    return a_table(defect.role, defect.build, defect.gains, defect.lacks)


class HelpfulPerson:
    """Does what is asked, with the cards that are at hand."""

    def __init__(self, table: SimulatedTable, device: SimulatedDevice) -> None:
        self.table = table
        self.device = device
        self.asked: list[HandTask] = []

    def do(self, task: HandTask, now: float) -> bool:
        """Do this at the device; False if it cannot be done."""
        device = self.device
        self.asked.append(task)
        if task is HandTask.TAKE:
            device.take(ON_THE_TABLE, now)
        elif task is HandTask.LOAD:
            self._gather(now)
            device.load(ON_THE_TABLE, now)
        elif task is HandTask.ADD:
            self.table.cards.move_top(FEW, SPARES, ON_THE_TABLE)
            device.load(ON_THE_TABLE, now)
        elif task is HandTask.EMPTY_SHOE:
            self._gather(now)
        elif task in (HandTask.OPEN, HandTask.CLOSE):
            return device.door(task is HandTask.OPEN, now)
        elif task is HandTask.POWER_CYCLE:
            device.inject(FaultName.POWER_LOSS, now)
            device.mend(FaultName.POWER_LOSS, now)
        elif task is HandTask.JAM:
            device.inject(FaultName.JAM, now)
        elif task is HandTask.FREE:
            device.mend(FaultName.JAM, now)
        return True

    def _gather(self, now: float) -> None:
        if self.device is self.table.shuffler:
            self.table.shoe.take_out(Place.SHOE, ON_THE_TABLE, now)


class AttendedRun:
    """A run and its person as one end of a virtual wire."""

    def __init__(self, run: Conformance, person: HelpfulPerson) -> None:
        self.run = run
        self.person = person
        self.take_output = run.take_output

    @property
    def deadline(self) -> float:
        return self.run.deadline

    def tick(self, now: float) -> list[PointResult]:
        return self._attend(self.run.tick(now), now)

    def receive(self, data: bytes, now: float) -> list[PointResult]:
        return self._attend(self.run.receive(data, now), now)

    def _attend(self, fresh: list[PointResult], now: float) -> list[PointResult]:
        while (task := self.run.task) is not None:
            fresh = fresh + self.run.answer(self.person.do(task, now), now)
        return fresh


def attended(
    table: SimulatedTable,
    device: SimulatedDevice,
    *,
    only: Collection[str] = (),
    person: type[HelpfulPerson] = HelpfulPerson,
) -> tuple[dict[str, PointResult], HelpfulPerson]:
    """Run interactively on a device of this table; returns the results and the person."""
    run = Conformance(host_boot=0xFFF0FFF0, now=0.0, interactive=True, only=only)
    helper = person(table, device)
    line = VirtualLine(AttendedRun(run, helper), device)
    assert line.run(lambda: run.finished, limit_s=RUN_INTERACTIVE_LIMIT_S)
    assert run.deadline == math.inf
    return {result.name: result for result in run.results}, helper
