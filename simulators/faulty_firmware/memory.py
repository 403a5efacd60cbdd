"""Mechanical defects of a device that should keep its memory (KEEPS_MEMORY) and start afresh in everything else."""

from __future__ import annotations

from firmware_bridge.wire.messages import AnyCommand, Capability, DeviceRole, PowerCause
from simulators.devices.firmware import Firmware
from simulators.faulty_firmware.defect_lists import mechanical

SHOE = DeviceRole.SHOE
KEEPS = {Capability.KEEPS_MEMORY}


class _Forgets(Firmware):
    """Comes back from a loss of power without a part of what it should have kept."""

    def start(self, cause: PowerCause, *, memory_kept: bool, now: float) -> None:
        if memory_kept:
            memory_kept = self._forget(now)
        super().start(cause, memory_kept=memory_kept, now=now)

    def _forget(self, now: float) -> bool:
        """Forget something; returns what the device says about its memory."""
        raise NotImplementedError

    def _begin_again(self, boot: int, now: float) -> None:
        self.mechanics.power_lost()
        Firmware.__init__(self, self.plate, self.mechanics, boot, now)


@mechanical(SHOE, "hands.power", gains=KEEPS)
class ClaimsAMemory(_Forgets):
    """Has KEEPS_MEMORY, but comes back from every loss of power with a new boot id and nothing else."""

    def _forget(self, now: float) -> bool:
        self._begin_again(self.boot ^ 0x5A5A5A5A, now)
        return False


@mechanical(SHOE, "hands.power", gains=KEEPS)
class KeepsOnlyItsBootId(_Forgets):
    """Keeps its boot id through a loss of power, and forgets everything else."""

    def _forget(self, now: float) -> bool:
        self._begin_again(self.boot, now)
        return True


@mechanical(SHOE, "hands.power", gains=KEEPS)
class ForgetsItsEvents(_Forgets):
    """Keeps its memory, except for the events that the host has not stored."""

    def _forget(self, now: float) -> bool:
        self._events.clear()
        return True


@mechanical(SHOE, "hands.power", gains=KEEPS)
class ForgetsItsCommands(_Forgets):
    """Keeps its memory, except for the commands that it has carried out: it carries them out again."""

    def _forget(self, now: float) -> bool:
        self._answers.clear()
        self._last_command = 0
        return True


@mechanical(SHOE, "hands.power", gains=KEEPS)
class ForgetsItsCounters(_Forgets):
    """Keeps its memory, except for its counters."""

    def _forget(self, now: float) -> bool:
        self.effects = self.mechanics.cycles_done = self.mechanics.cards_moved = self.mechanics.stacks = 0
        return True


@mechanical(SHOE, "hands.power", gains={*KEEPS, Capability.RECOGNISES})
class ForgetsTheCards(_Forgets):
    """Keeps its memory, except for which cards its stacks had."""

    def _forget(self, now: float) -> bool:
        self._taken.clear()
        self.mechanics._dealt_by = 0
        return True


@mechanical(SHOE, "hands.power")
class StaysLocked(Firmware):
    """Comes back from a loss of power with its lock as it was."""

    def start(self, cause: PowerCause, *, memory_kept: bool, now: float) -> None:
        super().start(cause, memory_kept=memory_kept, now=now)
        self.mechanics.locked = self.locked.get(id(self.mechanics), False)

    locked: dict[int, bool] = {}  # noqa: RUF012 - the part of its memory that survives, by the device's mechanics

    def _act(self, command: AnyCommand) -> None:
        super()._act(command)
        self.locked[id(self.mechanics)] = self.mechanics.locked


class _Interrupted(_Forgets):
    """Knows after a loss of power which command was being carried out."""

    running: AnyCommand | None = None

    def _act(self, command: AnyCommand) -> None:
        super()._act(command)
        self.running = command if self.mechanics.doing else None


@mechanical(SHOE, "hands.power_in_cycle", gains=KEEPS)
class ForgetsTheCycleInProgress(_Interrupted):
    """Keeps its memory, except for the command that it was carrying out: it carries it out again."""

    def _forget(self, now: float) -> bool:
        if self.running and self.mechanics.last_cycle != self.running.id:
            self._answers.pop(self.running.id, None)
            self._last_command = self.running.id - 1
        return True


@mechanical(SHOE, "hands.power_in_cycle", gains=KEEPS)
class RepeatsTheCycleInProgress(_Interrupted):
    """Carries out again, when power comes back, the command that the loss of power interrupted."""

    def start(self, cause: PowerCause, *, memory_kept: bool, now: float) -> None:
        super().start(cause, memory_kept=memory_kept, now=now)
        if memory_kept and self.running and self.mechanics.last_cycle != self.running.id:
            self.mechanics.start(self.running, now)

    def _forget(self, now: float) -> bool:
        return True


@mechanical(SHOE, "hands.power_in_cycle", gains=KEEPS)
class CallsTheInterruptedCycleItsLast(_Interrupted):
    """Says in Status that the cycle interrupted by the loss of power has ended."""

    def _forget(self, now: float) -> bool:
        if self.running:
            self.mechanics.last_cycle = self.running.id
        return True
