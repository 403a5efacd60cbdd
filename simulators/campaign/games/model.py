"""What a campaign needs to know of a game: its tables, its own mishaps, and what must hold for its physical cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from controller.core.setup import Setup

if TYPE_CHECKING:
    import random

    from controller.core.events.event import Entry
    from controller.games.record import PlayerTurn
    from simulators.campaign.clumsy_people import ClumsyPeople
    from simulators.campaign.deck_witness import WitnessedRound
    from simulators.campaign.luck import Mishap
    from simulators.campaign.unlucky_house import UnluckyHouse
    from simulators.campaign.witness import Witness

Bring = Callable[["ClumsyPeople", "Mishap"], bool]  # brings a mishap about; False if it cannot happen now
SHIFT_ROUNDS = 25
ROUND_S = 60.0  # about as long as a round takes: a mishap occurs anywhere in it


class GameWitness:
    """What must hold in a round of one game. This one serves games that have no witness of their own.

    A witness looks at the physical cards and at what was decided. It states the rules again, and uses neither the
    game's functions nor the core's guards.
    """

    checks: ClassVar[Mapping[str, str]] = {}
    one_deck_without_shuffler: ClassVar[bool] = False  # two decks are allowed only with a shuffler
    other_deck_in_shuffler: ClassVar[bool] = False  # while one deck is played, the other is in the shuffler
    stub_rounds: ClassVar[int] = 0  # rounds that may pass until the stub is counted; 0: it need not be

    def __init__(self, witness: Witness) -> None:
        self.witness = witness

    @property
    def house(self) -> UnluckyHouse:
        """The table that is observed."""
        return self.witness.house

    def check(self, name: str, good: bool, *text: object) -> None:
        """Make one check."""
        self.witness.check(name, good, *text)

    def kinds(self, hand: str) -> tuple[str, ...]:
        """The physical cards of a hand, in the order in which they came to it."""
        return self.witness.kinds_of(hand)

    def started(self, round_: WitnessedRound) -> None:
        """A round has started."""

    def saw(self, event: Entry, round_: WitnessedRound | None) -> None:
        """Something was decided."""

    def whole(self, round_: WitnessedRound, hand: str) -> None:
        """A hand that is still on the table has all its cards."""


@dataclass(frozen=True)
class CampaignGame:
    """A game as a campaign plays it."""

    setups: tuple[Setup, ...]
    suited: Mapping[str, tuple[Setup, ...]] = field(default_factory=dict)  # for mishaps that few set-ups allow
    defect_setups: tuple[Setup, ...] = ()  # for planted defects; else the first of all
    short_life: bool = False  # in some shifts, decks grow old after an hour
    seats: tuple[int, ...] = (1, 2, 3, 3, 6)  # how many play
    shift_rounds: int = SHIFT_ROUNDS
    round_s: float = ROUND_S
    mishaps: Mapping[str, Bring] = field(default_factory=dict)
    witness: type[GameWitness] = GameWitness
    choices: tuple[str, ...] = ("no choice",)  # that somebody may press by mistake
    bets: bool = False  # in some rounds, players make bets that are recorded
    prepare: Callable[[ClumsyPeople, random.Random], None] | None = None  # before a round
    prefer: Callable[[ClumsyPeople, PlayerTurn], dict[str, Any] | None] | None = None  # how a player decides
