"""What a scenario file may contain: its keys, the steps and their further keys, what is expected.

docs/scenarios.md describes the format; scenario_file.py reads and checks it, scenario.py plays it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from controller.core import ledger
from controller.core.actions import Role
from controller.core.setup import Setup, devices_of
from simulators.devices.faults import FaultName

DRAGON_POKER: Final = "dragon-poker"  # the game of a scenario that names none
DECK_SETS: Final = 4  # decks of each colour in the cupboard
MACHINE: Final = "machine"  # what refuses where no clause applies: the action is not possible now
FLOOR: Final = "floor"
RETIRED: Final = "retired"  # of a deck at the end: it has left the table
MOMENTS: Final = ("unstored", "stored", "sent")  # how far a decision has come when the host dies

ROUTINES: Final = ("open", "round", "work")
# What a step can be, and the further keys that belong to it.
VERBS: Final[dict[str, tuple[str, ...]]] = {
    "routine": ("seats", "times", "to", "stuck", "within_s"),
    "do": ("deck", "back", "device", "seats", "fields", "role", "who", "refused", "moves"),
    "take": ("seat",),
    "load": ("deck",),
    "move": ("to", "cards", "deck"),
    "swap": ("deck",),
    "arrange": (),
    "hands": (),
    "fault": ("device", "after_cards", "for_s"),
    "mend": ("device",),
    "door": ("device", "stuck"),
    "replace": ("serial", "has", "lacks", "other_journal", "for_s"),
    "wait_s": (),
    "until": ("within_s",),
    "clock_s": (),
    "host_dies": ("for_s", "at", "moment"),
    "check": (),
}


class ExpectedState(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What must hold at the end, or at a `check`."""

    table: str = ""
    warnings: tuple[str, ...] | None = None
    decks: dict[str, str] = {}  # deck → state
    ledger: dict[str, dict[str, int]] = {}  # deck → place → cards
    devices: dict[str, str] = {}  # device → state
    headline: str = ""  # a part of what the table says now
    why: str = ""  # a part of the reason that it gives


class ScenarioStep(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One step: exactly one of VERBS says what happens, the other keys belong to it."""

    routine: str = ""  # people follow the guide until bets can be made
    do: str = ""  # an action of a person
    take: str = ""  # a hand takes what is at the exit of this device
    load: str = ""  # a hand puts a deck into this device
    move: str = ""  # a hand moves cards from this place
    swap: str = ""  # a hand takes the cards out of this place and puts a deck in
    arrange: tuple[str, ...] | None = None  # the cards that are dealt next, in order
    hands: dict[str, dict[str, tuple[str, ...]]] | None = None  # hand → choice of its player → cards
    fault: FaultName | None = None
    mend: FaultName | None = None
    door: str = ""  # a hand opens or closes the device's door
    replace: str = ""  # another device takes the place of this one
    wait_s: float | None = None
    until: str = ""  # time passes until an event of this kind is seen
    clock_s: float | None = None  # the computer's wall clock is set forwards or back
    host_dies: bool = False  # the computer under the table restarts
    check: ExpectedState | None = None

    device: str = ""
    deck: str = ""
    back: str = ""
    seat: int = 0
    seats: tuple[int, ...] | None = None
    times: int = 1  # how many rounds are played
    cards: int | None = None
    after_cards: int = 0
    for_s: float | None = None
    within_s: float = 600.0
    to: str = ""  # the kind of event that ends a routine, or the place to which cards are moved
    role: Role | None = None
    who: str = ""
    stuck: bool = False  # people cannot go on with the routine, or the door does not move
    moves: bool = False  # the action is not only reported: its cards are moved too
    refused: str = ""  # the action must be refused: by this clause, or by the machine alone
    fields: dict[str, Any] = {}  # further fields of the action
    serial: str = ""
    has: tuple[str, ...] = ()  # capabilities beyond those that the table's set-up asks for
    lacks: tuple[str, ...] = ()
    other_journal: bool = False  # the device was last used with another journal
    at: str = ""  # the host dies with the next event of this kind
    moment: str = "stored"

    @property
    def verb(self) -> str:
        """What this step is."""
        given = {name: getattr(self, name) for name in VERBS}
        return next(name for name, value in given.items() if value not in ("", None) and value is not False)


class ExpectedEvent(msgspec.Struct, forbid_unknown_fields=True):
    """An event that must be seen; `times` 0 is one that must not."""

    event: str
    clause: str = ""
    times: int | None = None  # None: at least once
    data: dict[str, Any] = {}
    after: str = ""  # only those after the first event of this kind
    before: str = ""


class OrderedEvent(msgspec.Struct, forbid_unknown_fields=True):
    """An event that must come after the one before it in the list."""

    event: str
    clause: str = ""
    data: dict[str, Any] = {}


class DeviceTraits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How a device differs from one that fits the table's set-up."""

    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


class Scenario(msgspec.Struct, forbid_unknown_fields=True):
    """A whole scenario."""

    title: str
    step: list[ScenarioStep]
    game: str = DRAGON_POKER
    clauses: tuple[str, ...] = ()
    table: Setup = Setup()
    no_shuffler: bool = False  # TOML has no null
    devices: dict[str, DeviceTraits] = {}
    seed: int = 1
    see: list[ExpectedEvent] = []
    order: list[OrderedEvent] = []
    end: ExpectedState = ExpectedState()


def hand_places(setup: Setup) -> list[str]:
    """The places from which and to which hands can move cards."""
    seats = [ledger.seat(number) for number in range(1, setup.seats + 1)]
    others = (ledger.DISCARDS, ledger.BURNT)
    hands = dict.fromkeys((ledger.DEALER, *setup.game.hands(), *others))
    inside = [place for device in devices_of(setup) for place in ledger.IN_DEVICE[device]]
    return [*inside, ledger.MANUAL_SHOE, ledger.HAND, *seats, *hands, ledger.RACK, ledger.TABLE, FLOOR]
