"""The faults of a simulated device, and plans of faults: from a script or at random."""

from __future__ import annotations

import enum
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec


class FaultName(enum.StrEnum):
    """Everything that can go wrong with a device, its power or its wire."""

    # Mechanical: they occur with the next card that moves.
    JAM = "jam"  # cards are stuck; the device reports it and stops
    STALL = "stall"  # the mechanics stop in mid-cycle and report nothing
    INCOMPLETE_CYCLE = "incomplete_cycle"  # the cycle ends early, with cards left inside
    MISCOUNT = "miscount"  # the sensor is wrong by one
    MISSING_CARD = "missing_card"  # a card falls to the floor
    EXTRA_CARD = "extra_card"  # a spare card from the floor gets in
    DOUBLE_FEED = "double_feed"  # two cards move where one should
    SHORT_FEED = "short_feed"  # no card moves where one should
    FACE_UP = "face_up"  # a card is face up
    # Power and wire: they begin at once, and last for some time or until they are removed.
    POWER_LOSS = "power_loss"  # off; comes back without its memory
    REBOOT = "reboot"  # off and on again at once
    UNPLUG = "unplug"  # the cable is out
    SILENCE = "silence"  # receives, but sends nothing
    NOISE = "noise"  # bits are flipped in both directions
    DEAD = "dead"  # off for good


OF_THE_MECHANICS = frozenset(list(FaultName)[: list(FaultName).index(FaultName.POWER_LOSS)])
NOISE_BIT_ERRORS = 1e-3  # of all bits, while the fault `noise` is on


@dataclass(frozen=True, slots=True)
class Planned:
    """A fault in a script. It occurs at a time of the simulation, or with the n-th cycle of the device (from 1)."""

    fault: FaultName
    at_s: float | None = None
    at_cycle: int | None = None
    after_cards: int = 0  # mechanical: how many cards still move correctly
    for_s: float | None = None  # power and wire: None is until it is removed

    def __post_init__(self) -> None:
        if (self.at_s is None) == (self.at_cycle is None):
            raise ValueError(f"{self.fault}: a planned fault has either at_s or at_cycle")
        if self.at_cycle is not None and self.at_cycle < 1:
            raise ValueError(f"{self.fault}: cycles are counted from 1")


class FaultPlan:
    """The faults of one device: a script, and probabilities for each cycle."""

    def __init__(
        self,
        script: Iterable[Planned] = (),
        rates: Mapping[FaultName, float] | None = None,  # chance in each cycle, 0 to 1
        seed: str = "",
    ) -> None:
        self.script = list(script)  # what is still to come
        self.rates = dict(rates or {})
        self._rng = random.Random(seed)

    @property
    def next_at_s(self) -> float:
        """The time of the next fault that is planned for a time."""
        return min((p.at_s for p in self.script if p.at_s is not None), default=math.inf)

    def due(self, now: float) -> list[Planned]:
        """The faults whose time has come, each once."""
        due = [p for p in self.script if p.at_s is not None and p.at_s <= now]
        self.script = [p for p in self.script if p not in due]
        return due

    def with_cycle(self, number: int) -> list[Planned]:
        """The faults that occur with this cycle, by script and at random."""
        due = [p for p in self.script if p.at_cycle == number]
        if due:
            self.script = [p for p in self.script if p not in due]
        for fault, chance in self.rates.items():
            if self._rng.random() < chance:
                due.append(
                    Planned(
                        fault,
                        at_cycle=number,
                        after_cards=self._rng.randrange(60),
                        for_s=self._rng.uniform(0.1, 8.0),
                    )
                )
        return due


class ScriptError(Exception):
    """A script that cannot be read; the text is one line for a person."""


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    device: str
    fault: FaultName
    at_s: float | None = None
    at_cycle: int | None = None
    after_cards: int = 0
    for_s: float | None = None


class _Script(msgspec.Struct, forbid_unknown_fields=True):
    fault: list[_Entry]


def read_script(text: str | bytes, start: float = 0.0) -> dict[str, list[Planned]]:
    """The planned faults of both devices from a TOML text; times in it count from `start`."""
    try:
        script = msgspec.toml.decode(text, type=_Script)
        planned: dict[str, list[Planned]] = {"shuffler": [], "shoe": []}
        for entry in script.fault:
            if entry.device not in planned:
                raise ScriptError(f"unknown device {entry.device!r}; expected shuffler or shoe")
            one = Planned(entry.fault, entry.at_s, entry.at_cycle, entry.after_cards, entry.for_s)
            planned[entry.device].append(one if one.at_s is None else replace(one, at_s=start + one.at_s))
        return planned
    except (msgspec.DecodeError, ValueError) as error:
        raise ScriptError(str(error)) from None


FAULT_TEXTS = {
    FaultName.JAM: "Cards get stuck with the next card that moves.",
    FaultName.STALL: "The mechanics stop in mid-cycle and report nothing.",
    FaultName.INCOMPLETE_CYCLE: "The next cycle ends early, with cards left inside.",
    FaultName.MISCOUNT: "The sensor counts one card wrong.",
    FaultName.MISSING_CARD: "A card falls to the floor.",
    FaultName.EXTRA_CARD: "A spare card gets in.",
    FaultName.DOUBLE_FEED: "Two cards move where one should.",
    FaultName.SHORT_FEED: "No card moves where one should.",
    FaultName.FACE_UP: "A card is face up.",
    FaultName.POWER_LOSS: "The power goes off; the device comes back without its memory.",
    FaultName.REBOOT: "The device is switched off and on.",
    FaultName.UNPLUG: "The cable is pulled.",
    FaultName.SILENCE: "The device receives, but sends nothing.",
    FaultName.NOISE: "Bits are flipped on the wire.",
    FaultName.DEAD: "The device is dead for good.",
}
