"""A host and a shoe over wires that lose, flip, repeat, reorder and delay, and over cables cut at any moment.

What is held against the truth is the card model: cards that moved have moved, whatever the wire says.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from firmware_bridge.wire.link import Lost
from firmware_bridge.wire.messages import (
    CycleDone,
    Dispense,
    Done,
    EventMessage,
    Outcome,
    Reason,
    Refused,
    StackPresented,
)
from firmware_bridge.wire.session import EventMark, HostSession, Ready
from simulators.devices.cards import DECK_SIZE, CardPlace, Spot
from simulators.devices.device import SimulatedTable
from simulators.devices.faults import FaultName
from simulators.pipes.wires import WireQuality
from tests.support.virtual_link import HAND, HOST_BOOT, RED, HostAtDevice, host_at_shoe

SHOE = Spot(CardPlace.SHOE)
STACK = 3
DECKS = 4
COMMANDS_FOR_A_DECK = -(-DECK_SIZE // STACK)

WIRES = {
    "clean": WireQuality(),
    "bytewise": WireQuality(bytewise=True, baud=115200),
    "lose": WireQuality(lose=0.05),
    "flip": WireQuality(flip=1e-3),  # one bit in a thousand: every third frame or so is damaged
    "repeat": WireQuality(repeat=0.1),
    "reorder": WireQuality(reorder=0.05),
    "delay": WireQuality(delay=0.2, delay_s=0.5),
    "all together": WireQuality(baud=115200, lose=0.01, flip=2e-4, repeat=0.02, reorder=0.01, delay=0.05, delay_s=0.1),
    "slow": WireQuality(baud=9600, flip=3e-4),
}
HURTS = WIRES.keys() - {"clean", "bytewise", "delay"}


def deal_one(rig: HostAtDevice, number: int) -> None:
    """One command from start to end: done once, cards moved, events reported, stack taken by a hand."""
    cards, before = rig.table.cards, rig.table.cards.count(SHOE)
    wanted = min(STACK, before)
    rig.session.send(Dispense(number, rig.session.boot, wanted), rig.line.now)
    assert rig.answered(number, limit_s=600) == Done(number)

    def ended() -> bool:
        return any(isinstance(event, CycleDone) and event.command == number for _, event in rig.events)

    assert rig.line.run(ended, limit_s=600), f"the end of {number} was never reported"
    assert cards.count(rig.device.mechanics.exit) == wanted
    assert cards.count(SHOE) == before - wanted
    rig.device.take(HAND, rig.line.now)
    cards.check()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("wire", WIRES)
def test_decks_are_dealt_over_a_hostile_wire(wire: str, seed: int) -> None:
    rig = host_at_shoe(WIRES[wire], seed=seed).connect(limit_s=600)
    boot = rig.session.boot
    number = 0
    for source in (RED, *[HAND] * (DECKS - 1)):
        rig.device.load(source, rig.line.now)
        while rig.table.cards.count(SHOE):
            number += 1
            deal_one(rig, number)
    firmware = rig.firmware
    assert firmware.effects == rig.device.mechanics.stacks == number == DECKS * COMMANDS_FOR_A_DECK
    assert rig.device.mechanics.cards_moved == DECKS * DECK_SIZE
    newest = firmware._next_event - 1
    assert rig.line.run(lambda: rig.mark.number == newest, limit_s=600)
    assert rig.numbers(boot) == list(range(1, newest + 1))
    presented = [event.command for _, event in rig.events if isinstance(event, StackPresented)]
    assert presented == list(range(1, number + 1))
    # A lost link was declared, and then there was a new greeting; nothing else made one.
    assert len(rig.readies) <= 1 + len(rig.losses)
    assert not any(ready.restarted for ready in rig.readies)
    counters = rig.session.link.counters
    hurt = counters.bad_frames + counters.duplicates + counters.resends
    assert hurt > 8 or wire not in HURTS, "the wire is not what its name says"


def test_the_same_seed_gives_the_same_hour() -> None:
    def hour() -> tuple[list[tuple[int, EventMessage]], list[Lost], Any]:
        rig = host_at_shoe(WIRES["all together"], seed=3).connect(limit_s=600)
        rig.device.load(RED, rig.line.now)
        for number in range(1, 8):
            deal_one(rig, number)
        return rig.events, rig.losses, rig.session.link.counters

    assert hour() == hour()


# --- 10,000 commands over a cable that is cut at any moment ---------------------------------------------------------


class RoughTable:
    """A host and a shoe without delay between them; chance cuts the cable, restarts the host, reboots the shoe."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.table = SimulatedTable(seed)
        self.shoe = self.table.shoe
        self.now = 0.0
        self.host_boot = HOST_BOOT
        self.host = HostSession(host_boot=self.host_boot)
        self.mark = EventMark()
        self.answers: dict[int, Done | Refused] = {}
        self.events: list[tuple[int, int]] = []  # boot and number
        self.completed: set[int] = set()
        self.cuts = self.restarts = self.reboots = 0
        self.shoe.load(RED, self.now)
        self.host.connect(self.now)

    def exchange(self) -> None:
        """Let both sides say all they have, unless chance comes between: also after the shoe has acted."""
        while (there := self.host.take_output()) + (back := self.shoe.take_output()):
            chance = self.rng.random()
            if chance < 0.05:
                self._mishap(chance)
                continue
            self._took(self.host.receive(back, self.now))
            self.shoe.receive(there, self.now)

    def _mishap(self, chance: float) -> None:
        self.cuts += 1
        if chance < 0.005:
            self.reboots += 1
            self.shoe.inject(FaultName.REBOOT, self.now)
        if chance < 0.015:
            self.restarts += 1
            self.host_boot += 1
            pending = self.host.unanswered
            self.host = HostSession(host_boot=self.host_boot, stored=self.mark)
            for command in pending:
                self.host.send(command, self.now)
        else:
            self.host.disconnect()
        self.host.connect(self.now)

    def _took(self, happenings: list[Any]) -> None:
        for happening in happenings:
            if isinstance(happening, Done | Refused):
                assert happening.id not in self.answers, "answered twice"
                self.answers[happening.id] = happening
            elif isinstance(happening, EventMessage):
                self.mark = EventMark(self.host.boot, happening.number)
                self.host.stored(self.mark, self.now)
                self.events.append((self.mark.boot, self.mark.number))
                if isinstance(happening, CycleDone) and happening.outcome is Outcome.COMPLETE:
                    self.completed.add(happening.command)
            elif isinstance(happening, Lost):
                self.host.connect(self.now)
            else:
                assert isinstance(happening, Ready)

    def pass_time(self, seconds: float) -> None:
        """Time passes for both."""
        self.now += seconds
        self.shoe.tick(self.now)
        self._took(self.host.tick(self.now))
        self.exchange()

    def give(self, number: int) -> int:
        """One command for one card, until its fate is as clear as it can be; returns how many cards it moved."""
        while not self.host.ready:
            self.pass_time(0.4)
        if not self.table.cards.count(SHOE):
            self.shoe.load(HAND, self.now)
        before = self.table.cards.count(SHOE)
        self.host.send(Dispense(number, self.host.boot, 1), self.now)
        self.exchange()
        while number not in self.answers:
            self.pass_time(0.4)
        self.pass_time(1.0)
        self.shoe.take(HAND, self.now)
        self.exchange()
        return before - self.table.cards.count(SHOE)


def test_ten_thousand_commands_are_carried_out_at_most_once() -> None:
    rough = RoughTable(seed=11)
    moved: dict[int, int] = {}
    for number in range(1, 10_001):
        reboots = rough.reboots
        moved[number] = rough.give(number)
        answer = rough.answers[number]
        assert moved[number] <= 1, f"{number} was carried out twice"
        if answer == Done(number) and rough.reboots == reboots:
            assert moved[number] == 1, f"{number} was answered Done and not carried out"
        elif answer != Done(number):
            assert answer == Refused(number, Reason.OTHER_BOOT)
    rough.pass_time(5)
    rough.table.cards.check()
    assert all(moved[number] == 1 for number in rough.completed)
    # Events once and in order within each boot, and the boots one after the other.
    boots = {boot: at for at, boot in enumerate(dict.fromkeys(boot for boot, _ in rough.events))}
    reported = [(boots[boot], number) for boot, number in rough.events]
    assert reported == sorted(set(reported))
    # Chance did its work.
    assert rough.cuts > 2000
    assert min(rough.restarts, rough.reboots) > 100
    assert sum(moved.values()) > 9000
