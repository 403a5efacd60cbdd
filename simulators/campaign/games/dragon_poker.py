"""Dragon Poker in a campaign: stacks of three, dealt from the dealer's left, with two decks that alternate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from controller.core.setup import Setup, ShufflerKind
from controller.games import DRAGON_POKER
from controller.games.game import Method
from simulators.campaign.games.model import CampaignGame, GameWitness

if TYPE_CHECKING:
    from controller.core.events.event import Entry
    from simulators.campaign.deck_witness import WitnessedRound

STACK: Final = 3
SHORT_LIFE: Final = msgspec.structs.replace(DRAGON_POKER, life_h=dict.fromkeys(Method, 1))


class DragonPokerWitness(GameWitness):
    """Every hand has three cards. They are dealt in order, whatever the plan of the round is."""

    checks: ClassVar[Mapping[str, str]] = {"stack of three": "every hand that was dealt as good has three cards"}
    one_deck_without_shuffler = True
    other_deck_in_shuffler = True
    stub_rounds = 5

    owed: set[str]  # hands that lost a card found face up: its replacement may come late

    def started(self, round_: WitnessedRound) -> None:
        self.owed = set()

    def saw(self, event: Entry, round_: WitnessedRound | None) -> None:
        """From the dealer's left, one stack after another, the dealer last."""
        if event.kind == "card.face_up" and round_ is not None:
            self.owed.add(event.data.get("target", ""))
        if event.kind != "command.given" or event.data["command"]["name"] != "Dispense" or round_ is None:
            return
        order = [*(f"seat{seat}" for seat in sorted(round_.seats)), "dealer"]
        target = event.data["target"]
        self.check("dealt in order", target in order, f"{target} is dealt to")
        at = order.index(target)
        self.check("dealt in order", at >= round_.reached or target in self.owed, f"{target} is dealt to too late")
        round_.reached = max(round_.reached, at)
        self.owed.discard(target)

    def whole(self, round_: WitnessedRound, hand: str) -> None:
        number = self.witness.held(hand)
        good = number == STACK or self.witness.excused(round_)
        self.check("stack of three", good, f"{hand} has {number} cards in round {round_.number}")


SETUPS: Final = (
    *[Setup()] * 6,
    *[Setup(hold_dealer=True)] * 3,
    *[Setup(shuffler=ShufflerKind(counts=True, feeds_shoe=True, recognises=True))] * 3,
    Setup(shuffler=ShufflerKind(counts=True), hold_dealer=True),
    Setup(shuffler=ShufflerKind(feeds_shoe=True)),
    Setup(shuffler=ShufflerKind()),
    Setup(shuffler=ShufflerKind(counts=True), method=Method.MANUAL_SHOE),
    Setup(shuffler=ShufflerKind(counts=True), method=Method.HAND),
    Setup(shuffler=None, backs=("red",)),
    Setup(shuffler=None, backs=("red",), method=Method.MANUAL_SHOE),
)
GAME: Final = CampaignGame(
    setups=SETUPS,
    choices=("play", "forfeit"),
    suited={
        "deck_from_hand": SETUPS[15:17],
        "recut": SETUPS[17:],
        "kinds_missing": SETUPS[9:12],
        "counts_unasked": SETUPS[13:15],
        "typo": (*SETUPS[13:15], *SETUPS[17:]),
    },
    defect_setups=(
        Setup(),
        Setup(shuffler=ShufflerKind(feeds_shoe=True)),
        Setup(shuffler=None, backs=("red",)),
        Setup(hold_dealer=True),
        Setup(shuffler=ShufflerKind(counts=True, feeds_shoe=True, recognises=True)),
        Setup(game=SHORT_LIFE),
    ),
    short_life=True,
    witness=DragonPokerWitness,
)
