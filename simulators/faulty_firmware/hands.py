"""Mechanical defects that show when people take cards, open doors, remove jams or switch the device off."""

from __future__ import annotations

from typing import Any

from firmware_bridge.wire.messages import (
    AnyCommand,
    CardsPresent,
    ClearJam,
    Command,
    Cycle,
    CycleDone,
    DeviceRole,
    Door,
    DoorState,
    EventMessage,
    Jam,
    Outcome,
    PowerCause,
    Reason,
    StackTaken,
)
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware.defect_lists import mechanical
from simulators.faulty_firmware.reports import _Changes, _Omits

SHOE, SHUFFLER = DeviceRole.SHOE, DeviceRole.SHUFFLER


@mechanical(SHOE, "hands.take")
class SeesNoHands(_Omits):
    """Does not report that a stack was taken."""

    event = StackTaken


@mechanical(SHOE, "hands.put_in")
class SeesNoDeck(_Omits):
    """Does not report that cards were put in."""

    event = CardsPresent


@mechanical(SHOE, "hands.door")
class OpensInSecret(_Omits):
    """Does not report that its door was opened."""

    event = Door

    def _omits(self, fields: dict[str, object]) -> bool:
        return fields["state"] is DoorState.OPEN


@mechanical(SHOE, "hands.door")
class RunsWithItsDoorOpen(Firmware):
    """Starts cycles while its door is open."""

    def _hindrance(self, command: AnyCommand) -> Reason | None:
        hindrance = super()._hindrance(command)
        return None if hindrance is Reason.DOOR_OPEN else hindrance


@mechanical(SHOE, "hands.door_stops")
class CompletesWithItsDoorOpen(_Changes):
    """Says COMPLETE after a cycle during which its door was opened."""

    field = "outcome"

    def _changed(self, value: Any) -> object:
        return Outcome.COMPLETE if value is Outcome.STOPPED else value


@mechanical(SHOE, "hands.door_stops")
class FinishesWithItsDoorOpen(Firmware):
    """Continues a cycle although its door is opened, and reports the door when the cycle has ended."""

    def start(self, cause: PowerCause, *, memory_kept: bool, now: float) -> None:
        super().start(cause, memory_kept=memory_kept, now=now)
        mechanics = self.mechanics
        at_once = type(mechanics).set_door
        waiting: list[bool] = []

        def set_door(is_open: bool, now: float) -> bool:
            if mechanics.doing is None:
                return at_once(mechanics, is_open, now)
            waiting.append(is_open)
            return True

        def tick(now: float) -> None:
            if mechanics.doing is None:
                while waiting:
                    at_once(mechanics, waiting.pop(0), now)
            type(mechanics).tick(mechanics, now)

        mechanics.set_door = set_door  # type: ignore[method-assign]
        mechanics.tick = tick  # type: ignore[method-assign]


@mechanical(SHOE, "hands.door_stops")
class StopsInSecret(_Omits):
    """Stops when its door is opened, and does not report the door."""

    event = Door

    def _omits(self, fields: dict[str, object]) -> bool:
        return fields["state"] is DoorState.OPEN and self.mechanics.last_outcome is Outcome.STOPPED


@mechanical(SHOE, "hands.jam")
class JamsInSecret(_Omits):
    """Ends a cycle with JAMMED, but sends no Jam."""

    event = Jam


@mechanical(SHOE, "hands.jam")
class ClearsBlindly(Firmware):
    """Says after every ClearJam that the card path is clear."""

    def _act(self, command: AnyCommand) -> None:
        if isinstance(command, ClearJam):
            self.mechanics.way_blocked = False
        super()._act(command)


@mechanical(SHOE, "hands.power")
class LivesOnce(Firmware):
    """Has the same boot id after every start, although it keeps no memory."""

    def __init__(self, plate: Any, mechanics: Any, boot: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(plate, mechanics, 0x11111111, *args, **kwargs)


@mechanical(SHOE, "hands.power_in_cycle")
class FinishesAfterPowerUp(Firmware):
    """Reports the end of a cycle that was interrupted by a loss of power."""

    running: dict[int, Command] = {}  # noqa: RUF012 - the part of its memory that survives, by the device's mechanics

    def start(self, cause: PowerCause, *, memory_kept: bool, now: float) -> None:
        super().start(cause, memory_kept=memory_kept, now=now)
        interrupted = self.running.pop(id(self.mechanics), None)
        if interrupted:
            self.report(
                CycleDone,
                command=interrupted.id,
                cycle=Cycle.DISPENSE,
                outcome=Outcome.COMPLETE,
                cards=0,
                duration_ms=0,
            )

    def _act(self, command: AnyCommand) -> None:
        super()._act(command)
        self.running[id(self.mechanics)] = command

    def report(self, what: type[EventMessage], **fields: object) -> None:
        if what is CycleDone:
            self.running.pop(id(self.mechanics), None)
        super().report(what, **fields)
