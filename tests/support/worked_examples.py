"""Worked examples for docs/sequences.md: what a simulated shoe reports of one command, on several courses."""

from __future__ import annotations

from collections.abc import Callable

from firmware_bridge.wire.messages import (
    AskStatus,
    Capability,
    DeviceRole,
    Dispense,
    Status,
    decode_from_device,
    describe_message,
)
from simulators.devices.device import ON_THE_TABLE, SimulatedDevice
from simulators.devices.faults import FaultName
from tests.support.conform_person import a_table

COMMAND, CARDS = 7, 3
TWO_MOVED_S, ENDED_S, LATER_S = 0.35, 2.0, 5.0  # two of the three cards have moved; the cycle has ended
SHOWN = ("mode", "doing", "last_command", "last_cycle", "last_outcome", "inside_cards", "exit_cards", "door_open")


class Example:
    """A table of two columns: what was done or said, and the events and Status that followed."""

    def __init__(self, *gains: Capability) -> None:
        self.rows = ["| done or answered | reported, and Status afterwards |", "| --- | --- |"]
        _, self.shoe = a_table(DeviceRole.SHOE, gains=gains)
        assert self.shoe.firmware is not None
        boot = self.shoe.firmware.boot
        self._told = {(boot, number) for number, _ in self.shoe.firmware._events}
        command = Dispense(COMMAND, self.shoe.firmware.boot, CARDS)
        self.shoe.firmware._command(command, command.encode())
        self.add(f"Dispense id={COMMAND} cards={CARDS}: Done")

    def add(self, what: str) -> None:
        """One row: what was done, the events that it led to, and Status."""
        firmware = self.shoe.firmware
        assert firmware is not None
        fresh = [event for number, event in firmware._events if (firmware.boot, number) not in self._told]
        self._told |= {(firmware.boot, number) for number, _ in firmware._events}
        status = firmware._answer(AskStatus(1))
        assert isinstance(status, Status)
        said = [part for part in describe_message(status).split() if part.split("=")[0] in SHOWN]
        texts = [*(describe_message(decode_from_device(event)) for event in fresh), f"*Status {' '.join(said)}*"]
        self.rows.append(f"| {what} | {'<br>'.join(texts)} |")

    def wait(self, until_s: float) -> None:
        """Let time pass, card by card."""
        while self.shoe.deadline <= until_s:
            self.shoe.tick(self.shoe.deadline)
        self.shoe.tick(until_s)

    def at(self, when_s: float, what: str, do: Callable[[SimulatedDevice], object] = lambda shoe: None) -> None:
        """Let time pass until then, do something, and add a row."""
        self.wait(when_s)
        do(self.shoe)
        self.add(what)


def success() -> Example:
    """The stack is taken at the end."""
    example = Example()
    example.at(TWO_MOVED_S, "two cards have moved")
    example.at(ENDED_S, "the cycle has ended")
    example.at(LATER_S, "a person takes the cards", lambda shoe: shoe.take(ON_THE_TABLE, LATER_S))
    return example


def jam() -> Example:
    """Cleared by a person and ClearJam."""
    example = Example()
    example.wait(TWO_MOVED_S)
    example.shoe.inject(FaultName.JAM, TWO_MOVED_S)
    example.at(ENDED_S, "the third card gets stuck")
    example.at(LATER_S, "a person removes the stuck card", lambda shoe: shoe.mend(FaultName.JAM, LATER_S))
    return example


def door() -> Example:
    """Opened and closed."""
    example = Example()
    example.at(TWO_MOVED_S, "a person opens the door, after two cards", lambda shoe: shoe.door(True, TWO_MOVED_S))
    example.at(LATER_S, "the door is closed", lambda shoe: shoe.door(False, LATER_S))
    return example


def power(*gains: Capability) -> Example:
    """Lost for a time in the middle of the cycle."""
    example = Example(*gains)
    example.wait(TWO_MOVED_S)
    example.shoe.inject(FaultName.POWER_LOSS, TWO_MOVED_S)
    example.at(
        LATER_S, "power is lost after two cards, and comes back", lambda shoe: shoe.mend(FaultName.POWER_LOSS, LATER_S)
    )
    return example


EXAMPLES: dict[str, Callable[[], Example]] = {
    "Nothing goes wrong": success,
    "A card gets stuck": jam,
    "The door is opened": door,
    "Power is lost, and the memory with it": power,
    "Power is lost, and the memory is kept": lambda: power(Capability.KEEPS_MEMORY),
}


def examples() -> str:
    """All examples, as Markdown."""
    return "\n\n".join("\n".join([f"**{title}**", "", *make().rows]) for title, make in EXAMPLES.items())
