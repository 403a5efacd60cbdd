"""The truth about hidden cards: which physical cards people have seen, by where they lie and what the game turns over.

It asks neither the core nor the journal which cards are known. It looks at the physical cards, at what people do with
them, and at what the description of the game says is hidden.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action
from controller.games import described
from controller.games.description import StepType
from simulators.devices.cards import Card, CardPlace, Spot
from simulators.table.hands import TableHands
from simulators.table.house import House

EXIT = Spot(CardPlace.EXIT, 0)


class Witness:
    """Sees all cards of a table, and remembers which of them were turned over."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.game = described(house.setup.game)
        self.hands = TableHands(house)
        self.seen: set[Card] = set()
        self.ever_seen: set[Card] = set()  # also before the last shuffle
        self.dealt: dict[int, set[Card]] = {}  # to the hands of each round
        self._lay: dict[str, list[Card]] = {}  # the hands when it last looked

    # --- what is seen -----------------------------------------------------------------------------------------------

    def _face_up(self, hand: str) -> int:
        """How many cards of a hand are dealt face up, one by one, before any that are not."""
        if hand == ledger.BURNT:
            return 0
        if self.game.due_card:
            return self.house.setup.game.deck_size
        (dealt, *_) = self.house.setup.game.programme.values()
        to = {hand, "players"} if hand.startswith("seat") else {hand}
        return sum(deal.cards for deal in dealt if deal.face_up and deal.to in to)

    def look(self) -> None:
        """Look at the table: cards that came to a hand one by one, face up, were seen; a deck in one pile is hidden."""
        round_ = self.house.state.round
        if round_ is None or round_.deck not in self.house.state.decks:
            self._gathered()
            return
        for hand in {stack.target for stack in round_.plan}:
            lies = self.house.cards.pile(self.hands.hand(hand))[::-1]
            before = self._lay.get(hand, [])
            came = [card for card in lies if card not in before]
            if len(came) == 1 and len(lies) <= self._face_up(hand):
                self.seen.update(came)
            self._lay[hand] = lies
            if hand != ledger.BURNT:
                self.dealt.setdefault(round_.number, set()).update(came)
        self._at_exit()
        self.ever_seen |= self.seen

    def _at_exit(self) -> None:
        shoe = self.house.state.devices.get("shoe")
        given = shoe and (shoe.at_exit or shoe.doing)
        pile = self.house.cards.pile(EXIT)
        self.seen.update(card for card in pile if card.face_up)  # it lay the wrong way round in the deck
        came = len(self._lay.get(given.target, ())) if given else 0
        if given and len(pile) == 1 and given.target in self._lay and came < self._face_up(given.target):
            self.seen.update(pile)

    def _gathered(self) -> None:
        self._lay.clear()
        for spot in [spot for place in CardPlace for spot in self.house.cards.spots(place)]:
            pile = self.house.cards.pile(spot)
            if len(pile) >= self.house.setup.game.deck_size or spot.place is CardPlace.SHELVES:
                self.seen.difference_update(pile)

    def about_to(self, action: Action) -> set[Card]:
        """The cards that a person turns over with this action, if it is accepted."""
        turned: set[Card] = set()
        choices = {choice for one in self.game.hidden for choice in one.turned_by}
        if isinstance(action, act.RevealDealer) and StepType.REVEAL in choices:
            round_ = self.house.state.round
            turned = set(self.dealt.get(round_.number, ())) if round_ else set()
        elif isinstance(action, act.DecideHand) and action.choice in choices:
            turned = set(self.house.cards.pile(self.hands.hand(action.target)))
        elif isinstance(action, act.RequestHands):
            turned = set(self.dealt.get(action.round, ()))
        return turned - self.seen

    # --- what is hidden ---------------------------------------------------------------------------------------------

    def hidden_kinds(self, deck: str) -> set[str]:
        """The kinds of a deck of which no card has been seen."""
        seen = {card.kind for card in self.seen if card.deck == deck}
        return {kind for number, kind in enumerate(self.house.setup.game.kinds) if number not in seen}

    def named(self, text: str, deck: str) -> list[str]:
        """The hidden kinds that a text names."""
        small = text.lower().replace("_", " ")
        return sorted(kind for kind in self.hidden_kinds(deck) if kind in small)


def numbers_named(kinds: Iterable[int], witness: Witness, deck: str) -> list[str]:
    """The hidden kinds among these, which are numbered as on the wire."""
    names = witness.house.setup.game.kinds
    return sorted({names[kind] for kind in kinds if 0 <= kind < len(names)} & witness.hidden_kinds(deck))
