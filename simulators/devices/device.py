"""A simulated device as a box on the table: power, cable, wire and people's hands around firmware and mechanics.

Pure: bytes and time in, bytes out. One random generator, made from the table's seed, decides everything random.
"""

# mypyc
from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Final

from firmware_bridge.wire.link import LinkState, LinkTiming
from firmware_bridge.wire.messages import (
    Button,
    ButtonName,
    Capability,
    CardsPresent,
    DeviceRole,
    Place,
    PowerCause,
)
from simulators.devices.cards import DRAGON_POKER, Card, CardPlace, Cards, Pack, Spot
from simulators.devices.faults import NOISE_BIT_ERRORS, OF_THE_MECHANICS, FaultName, FaultPlan, Planned
from simulators.devices.firmware import LONGEST_MS, Firmware, Nameplate
from simulators.devices.mechanics import Mechanics
from simulators.devices.shoe import ShoeMechanics
from simulators.devices.shuffler import SHOE, ShufflerMechanics
from simulators.devices.shuffling import ShuffleModel

MANUAL_SHOE: Final = Spot(CardPlace.TABLE, -1)
ON_THE_TABLE: Final = Spot(
    CardPlace.TABLE, -3
)  # where a person puts cards that came out of a device; decks are at 0 and up


class SimulatedDevice:
    """One device. Call `take_output` after every other call, and `tick` at `deadline`."""

    def __init__(
        self,
        plate: Nameplate,
        mechanics: Mechanics,
        rng: random.Random,
        *,
        plan: FaultPlan | None = None,
        timing: LinkTiming | None = None,
        build: Callable[..., Firmware] = Firmware,
        now: float = 0.0,
    ) -> None:
        self.plate = plate
        self.mechanics = mechanics
        self.plan = plan or FaultPlan()
        self.firmware: Firmware | None = None  # None while there is no power
        self._kept: Firmware | None = None  # with KEEPS_MEMORY, the memory while there is no power
        self._build = build
        self._timing = timing
        self._rng = rng
        self._on_until: dict[FaultName, float] = {}  # active power and wire faults, and until when
        self._cycles = 0
        self.now = now
        self.stirred = True  # touched from outside since this was last reset: the deadline may have changed
        mechanics.cycle_started = self._cycle_started
        mechanics.woken = self._stir
        self._power_on(PowerCause.POWER, now)

    # --- the pipe ---------------------------------------------------------------------------------------------------

    @property
    def plugged(self) -> bool:
        """Whether the cable is plugged in."""
        return not self._on_until or FaultName.UNPLUG not in self._on_until

    @property
    def in_session(self) -> bool:
        """Whether a host has a link session open."""
        return self.firmware is not None and self.firmware.link.state is LinkState.OPEN

    def attached(self, now: float) -> None:
        """The other end was opened: a serial device does not notice."""
        self.tick(now)

    def detached(self, now: float) -> None:
        """The other end was closed: a serial device does not notice."""
        self.tick(now)

    @property
    def deadline(self) -> float:
        """When `tick` must be called."""
        own = self.firmware.deadline if self.firmware else math.inf
        if self._on_until:
            own = min(own, *self._on_until.values())
        return min(own, self.plan.next_at_s) if self.plan.script else own

    def tick(self, now: float) -> None:
        """Let time pass."""
        self.now = now
        if self.plan.script and self.plan.next_at_s <= now:
            self.mechanics.wake(before=now)  # a fault comes before the card that moves at the same moment
            for planned in self.plan.due(now):
                self._plan_fault(planned)
        if self._on_until:
            for fault in [fault for fault, until in self._on_until.items() if until <= now]:
                self.mend(fault, now)
        if self.firmware:
            self.firmware.tick(now)

    def receive(self, data: bytes, now: float) -> None:
        """Bytes from the host."""
        self.now = now
        if self.firmware and self.plugged:
            self.firmware.receive(self._through_noise(data) if self._on_until else data, now)

    def take_output(self) -> bytes:
        """Bytes to the host."""
        firmware = self.firmware
        data = firmware.link.take_output() if firmware else b""
        if not data or not self._on_until:
            return data
        if FaultName.SILENCE in self._on_until or not self.plugged:
            return b""
        return self._through_noise(data)

    def _through_noise(self, data: bytes) -> bytes:
        return flip_bits(data, NOISE_BIT_ERRORS, self._rng) if FaultName.NOISE in self._on_until else data

    # --- faults -----------------------------------------------------------------------------------------------------

    def inject(self, fault: FaultName, now: float, *, after_cards: int = 0, for_s: float | None = None) -> None:
        """Inject a fault: with the next card that moves, or at once, for some time or until it is removed."""
        self.now = now
        self.stirred = True
        if fault in OF_THE_MECHANICS:
            self.mechanics.arm(fault, after_cards)
            return
        if FaultName.DEAD in self._on_until:
            return
        if fault is FaultName.REBOOT:
            if self.firmware:  # a device without power cannot restart
                self._power_off()
                self._power_on(PowerCause.RESET, now)
            return
        self._on_until[fault] = math.inf if for_s is None or fault is FaultName.DEAD else now + for_s
        if fault in (FaultName.POWER_LOSS, FaultName.DEAD):
            self._power_off()

    def mend(self, fault: FaultName, now: float) -> None:
        """Remove a fault: plug the cable in, switch on, free the jam by hand. A dead device stays dead."""
        self.now = now
        self.stirred = True
        if fault is FaultName.JAM:
            self.mechanics.disarm(fault)
            self.mechanics.free_jam(ON_THE_TABLE)
        elif fault in OF_THE_MECHANICS:
            self.mechanics.disarm(fault)
        elif fault is not FaultName.DEAD:
            self._on_until.pop(fault, None)
            if not self.firmware and not self._on_until.keys() & {FaultName.POWER_LOSS, FaultName.DEAD}:
                self._power_on(PowerCause.POWER, now)

    @property
    def faults(self) -> list[FaultName]:
        """What is wrong now, or will be with the next card."""
        blocked = [FaultName.JAM] if self.mechanics.way_blocked else []
        return [*self._on_until, *blocked, *self.mechanics.armed]

    def _plan_fault(self, planned: Planned) -> None:
        self.inject(planned.fault, self.now, after_cards=planned.after_cards, for_s=planned.for_s)

    def _cycle_started(self) -> None:
        self._cycles += 1
        if self.plan.script or self.plan.rates:
            for planned in self.plan.with_cycle(self._cycles):
                self._plan_fault(planned)

    # --- power ------------------------------------------------------------------------------------------------------

    def _power_off(self) -> None:
        kept = self.mechanics.can(Capability.KEEPS_MEMORY)
        self.mechanics.power_lost(memory_kept=kept)
        if kept:
            self._kept = self.firmware or self._kept
        self.firmware = None

    def replace(self, plate: Nameplate, now: float, last_command: int = 0) -> None:
        """Replace the device: the new one has no faults, and the cards that were in the old one.

        `last_command` is the id of the last command that it was given elsewhere.
        """
        self._touch(now)
        self._power_off()
        self._kept = None
        self._on_until.clear()
        self.plate = plate
        self.mechanics.renew(plate.capabilities)
        self._power_on(PowerCause.POWER, now)
        assert self.firmware is not None
        self.firmware.used_elsewhere(last_command)

    def _power_on(self, cause: PowerCause, now: float) -> None:
        kept = self._kept
        boot = self._rng.randrange(1, 2**32)
        self.firmware = kept or self._build(self.plate, self.mechanics, boot, now, self._timing)
        self.firmware.start(cause, memory_kept=kept is not None, now=now)

    # --- people's hands ---------------------------------------------------------------------------------------------

    def load(self, source: Spot, now: float) -> None:
        """A person puts all cards of a spot into the device."""
        self._touch(now)
        assert isinstance(self.mechanics, ShufflerMechanics | ShoeMechanics)
        self.mechanics.load(source)

    def take(self, target: Spot, now: float) -> list[Card]:
        """A person takes the cards at the exit."""
        self._touch(now)
        return self.mechanics.take_exit(target)

    def take_out(self, place: Place, target: Spot, now: float) -> list[Card]:
        """A person reaches inside and takes all cards from a place."""
        self._touch(now)
        return self.mechanics.take_out(Spot(CardPlace[place.name]), target, place)

    def fed(self, now: float) -> None:
        """The shuffler has put a deck into this shoe."""
        self._touch(now)
        assert isinstance(self.mechanics, ShoeMechanics)
        self.mechanics.was_fed()

    def sense(self, spot: Spot, now: float) -> None:
        """A person has put cards into this place, or taken the last one out: its sensor reports that."""
        self._touch(now)
        self.mechanics.report(CardsPresent, place=Place[spot.place.name], present=self.mechanics.cards.count(spot) > 0)

    def door(self, is_open: bool, now: float) -> bool:
        """A person opens or closes the door; False if it is locked."""
        self._touch(now)
        return self.mechanics.set_door(is_open, now)

    def press(self, button: ButtonName, now: float) -> None:
        """A person presses a button."""
        self._touch(now)
        if self.firmware:
            self.firmware.report(Button, button=button)

    def _stir(self) -> None:
        self.stirred = True

    def _touch(self, now: float) -> None:
        self.now = now
        self.stirred = True
        if self.firmware:
            self.firmware.now = now


def flip_bits(data: bytes, rate: float, rng: random.Random) -> bytes:
    """The bytes as they arrive over a wire that flips each bit with this probability."""
    flipped = bytearray(data)
    at = _gap(rate, rng)
    while at < len(data) * 8:
        flipped[at >> 3] ^= 1 << (at & 7)
        at += 1 + _gap(rate, rng)
    return bytes(flipped)


def _gap(rate: float, rng: random.Random) -> int:
    """How many bits stay intact before the next flip."""
    return math.floor(math.log(1.0 - rng.random()) / math.log(1.0 - rate)) if rate > 0 else 2**62


SHUFFLE_MS: Final = 1500  # for each card, in all passes; both leave a reserve
DISPENSE_MS: Final = 200  # for each card
SHUFFLER_CAPABILITIES: Final = frozenset(
    {Capability.COUNTS, Capability.FEEDS_SHOE, Capability.LOCKS, Capability.INDICATES}
)
SHOE_CAPABILITIES: Final = frozenset(
    {Capability.COUNTS, Capability.HOLDS_STACK, Capability.LOCKS, Capability.INDICATES}
)


def longest_ms(pack: Pack) -> tuple[int, ...]:
    """How long each cycle may take with this pack: the more cards, the longer a shuffle and a stack of all of them."""
    shuffle, deliver, dispense, *others = LONGEST_MS
    return max(shuffle, pack.size * SHUFFLE_MS), deliver, max(dispense, pack.size * DISPENSE_MS), *others


class SimulatedTable:
    """A shuffler and a shoe over the same cards: deck i is on TABLE spot i until somebody loads it."""

    def __init__(
        self,
        seed: int = 0,
        *,
        decks: tuple[str, ...] = ("red", "blue"),
        pack: Pack = DRAGON_POKER,
        shuffler_capabilities: frozenset[Capability] = SHUFFLER_CAPABILITIES,
        shoe_capabilities: frozenset[Capability] = SHOE_CAPABILITIES,
        feeds: Spot = SHOE,
        way: ShuffleModel | None = None,
        shuffler_plan: FaultPlan | None = None,
        shoe_plan: FaultPlan | None = None,
        timing: LinkTiming | None = None,
        build: Callable[..., Firmware] = Firmware,
        now: float = 0.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """`pack` is what each deck consists of; `feeds` is where a shuffler that feeds a shoe delivers to.

        `clock` returns the time if it is virtual: then cycles that nothing disturbs are carried out in one go.
        """
        self.decks = decks
        self.pack = pack
        self.cards = Cards(decks, spares=[(deck, pack.kinds[-1]) for deck in decks], pack=pack)
        shuffler = ShufflerMechanics(self.cards, shuffler_capabilities, random.Random(f"{seed}/shuffler"), way)
        shoe = ShoeMechanics(self.cards, shoe_capabilities, random.Random(f"{seed}/shoe"))
        shuffler.clock = shoe.clock = clock
        shuffler.feeds, shuffler.fed_shoe = feeds, self._fed_shoe
        self.on_fed: Callable[[], None] = lambda: None  # called when the shoe has been fed

        def box(role: DeviceRole, number: str, mechanics: Mechanics, plan: FaultPlan | None) -> SimulatedDevice:
            name = role.name.lower()
            model = f"Simulated {name.title()}"
            plate = Nameplate(role, number, model, mechanics.capabilities, longest_ms=longest_ms(pack))
            chance = random.Random(f"{seed}/{name} box")
            return SimulatedDevice(plate, mechanics, chance, plan=plan, timing=timing, build=build, now=now)

        self.shuffler = box(DeviceRole.SHUFFLER, "SH-0001", shuffler, shuffler_plan)
        self.shoe = box(DeviceRole.SHOE, "SE-0001", shoe, shoe_plan)

    def _fed_shoe(self) -> None:
        self.shoe.fed(self.shuffler.now)
        self.on_fed()
