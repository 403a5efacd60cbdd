"""Events of a round: the deal, the hands, the stub, irregularities, and how the round ends."""

from __future__ import annotations

import msgspec

from controller.core.events.event import DeviceFact, Event, PersonEvent, StackFormed
from controller.core.ledger import ASIDE, BURNT, DISCARDS, TAKEN, Move
from controller.core.names import capital, cards, place_name


class PlannedStack(msgspec.Struct):
    """A step of a round's plan: a number of cards to one hand."""

    target: str
    cards: int
    held: bool = False
    after_acting: bool = False
    face_up: bool | msgspec.UnsetType = msgspec.UNSET  # not stored unless it is true


class RoundStarted(Event):
    """A round began: its deck, its seats, who gets how many cards, and which deck is next."""

    kind = "round.started"
    round: int
    deck: str
    seats: list[int]
    method: str
    plan: list[PlannedStack]
    next_back: str
    button: int = 0  # the seat that has the button, in games that have one
    bets: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)  # that were recorded, by hand and by bet
    last: bool = False  # the last round of a deck that lasts several rounds

    def sentence(self) -> str:
        return f"Round {self.round} started with deck {self.deck}."


# --- the deal -------------------------------------------------------------------------------------------------------


class StackDispensed(StackFormed):
    """The shoe put out a stack."""

    kind = "stack.dispensed"

    def sentence(self) -> str:
        return f"The shoe put out {cards(self.cards)} for {place_name(self.target)}."


class DealerHeld(StackFormed):
    """The dealer's stack stays in the shoe until the players have acted."""

    kind = "dealer.held"

    def sentence(self) -> str:
        return "The dealer's stack is held in the shoe."


class StackTakenToHand(Event):
    """Cards were taken to a hand, which keeps `kept`; others went to the rack.

    `command` is the command by which the shoe can later be asked which cards they are, if it recognises cards. Version
    0.1 stored their `kinds` here.
    """

    kind = "stack.taken"
    round: int
    target: str
    deck: str
    cards: int
    kept: int
    moves: list[Move]
    device: str = ""
    kinds: list[str] | None = None
    who: str = ""
    command: int = 0

    def sentence(self) -> str:
        target = place_name(self.target)
        return f"{capital(target)} received {cards(self.kept)}."


class DealingCompleted(Event):
    """All hands have the cards that they get before the players act."""

    kind = "dealing.completed"
    round: int
    then: str = ""  # the table's next state, if it is not the usual one

    def sentence(self) -> str:
        return "All hands are dealt."


class CardRequested(PersonEvent):
    """A hand draws another card."""

    kind = "card.requested"
    round: int
    target: str

    def sentence(self) -> str:
        target = place_name(self.target)
        return f"{capital(target)} draws a card."


class AllActed(PersonEvent):
    """Every player has decided."""

    kind = "players.acted"
    round: int
    then: str = ""  # the table's next state, if it is not the usual one

    def sentence(self) -> str:
        return "All players have acted."


class DealerRevealed(PersonEvent):
    """The dealer's cards are shown."""

    kind = "dealer.revealed"
    round: int

    def sentence(self) -> str:
        return "The dealer's cards are shown."


class HandRecognised(DeviceFact):
    """The shoe said which cards it had dealt to a hand with this command, after they were turned over or requested."""

    kind = "hand.recognised"
    round: int
    target: str
    command: int
    kinds: list[str]

    def sentence(self) -> str:
        return f"Cards dealt to {place_name(self.target)} in round {self.round}: {', '.join(self.kinds) or 'none'}."


class HandsRequested(PersonEvent):
    """A floorperson wants to know which cards the hands of a void round had."""

    kind = "hands.requested"
    round: int
    reason: str

    def sentence(self) -> str:
        return f"{self.who} requested the cards of the hands of round {self.round}: {self.reason}."


class HandCollected(PersonEvent):
    """A hand was put into the rack."""

    kind = "hand.collected"
    deck: str
    round: int
    target: str
    moves: list[Move]

    def sentence(self) -> str:
        hand = "" if self.target in (ASIDE, DISCARDS, BURNT, TAKEN) else "the hand of "
        return f"Collected {hand}{place_name(self.target)}."


# --- the stub -------------------------------------------------------------------------------------------------------


class StubRemoved(Event):
    """The stub left the shoe, the manual shoe or the hand."""

    kind = "stub.removed"
    seen_by_devices = True
    deck: str
    round: int
    cards: int
    moves: list[Move]
    who: str | None = None

    def sentence(self) -> str:
        return "The stub was removed."


class StubCountWanted(PersonEvent):
    """The stub of this round will be counted."""

    kind = "stub.count_wanted"
    round: int

    def sentence(self) -> str:
        return f"{self.who} wants the stub counted."


class StubCounted(PersonEvent):
    """The dealer counted the stub."""

    kind = "stub.counted"
    deck: str
    round: int
    cards: int
    moves: list[Move] | None = None

    def sentence(self) -> str:
        return f"{self.who} counted {cards(self.cards)} in the stub."


class StubRejected(Event):
    """The stub has the wrong number of cards: were cards misdealt?"""

    kind = "stub.rejected"
    round: int
    cards: int
    expected: int

    def sentence(self) -> str:
        return f"The stub has {cards(self.cards)}; it should have {self.expected}."


class StubMatched(Event):
    """The stub has the right number of cards after all: its count was corrected."""

    kind = "stub.matched"
    round: int
    then: str = ""  # the table's next state, if it is not the usual one

    def sentence(self) -> str:
        return "The stub has the right number of cards after all."


class RevealResumed(Event):
    """The players had acted before the stub was counted: the dealer's cards are shown next."""

    kind = "reveal.resumed"
    round: int

    def sentence(self) -> str:
        return "The round continues where it was."


class MisdealAnswered(PersonEvent):
    """The dealer said whether cards were misdealt."""

    kind = "misdeal.answered"
    round: int
    misdealt: bool

    def sentence(self) -> str:
        return f"{self.who} reported that cards were {'' if self.misdealt else 'not '}misdealt."


# --- irregularities -------------------------------------------------------------------------------------------------


class CardFoundFaceUp(Event):
    """A card of `target` is face up: it goes to the rack, from its hand or the deck, or with its stack (`to_rack`)."""

    kind = "card.face_up"
    seen_by_devices = True
    round: int
    deck: str
    to_rack: int
    moves: list[Move]
    device: str = ""
    who: str = ""
    target: str = ""

    def sentence(self) -> str:
        where = f" in the cards for {place_name(self.target)}" if self.target else ""
        return f"A card was found face up{where}."


class CardDrawnInError(PersonEvent):
    """A card was drawn in error and not exposed; it is dealt next."""

    kind = "card.drawn_in_error"
    round: int
    deck: str
    moves: list[Move]

    def sentence(self) -> str:
        return "A card was drawn in error."


class DealerCardExposed(PersonEvent):
    """One of the dealer's cards was exposed too early."""

    kind = "dealer_card.exposed"
    round: int

    def sentence(self) -> str:
        return "One of the dealer's cards was exposed too early."


class HandFoundWrong(PersonEvent):
    """A hand has the wrong number of cards."""

    kind = "hand.found_wrong"
    round: int
    target: str
    cards: int
    share: int
    deck: str = ""
    moves: list[Move] | None = None  # cards that came to the hand unreported, in games that deal on from the same deck

    def sentence(self) -> str:
        target = place_name(self.target)
        return f"{capital(target)} has {cards(self.cards)} instead of {self.share}."


# --- the end --------------------------------------------------------------------------------------------------------


class RoundCompleted(Event):
    """Every card of the round is in the rack."""

    kind = "round.completed"
    round: int
    deck: str
    then: str = ""  # the deck's next state, if it is not the usual one: a deck may last several rounds

    def sentence(self) -> str:
        return f"Round {self.round} is complete."


class RoundVoided(Event):
    """The round does not count: wagers are returned, and all cards are gathered and reshuffled."""

    kind = "round.voided"
    round: int
    deck: str
    reason: str
    why: list[str]
    keeps: bool = False  # the cards that are left to deal stay where they are

    def sentence(self) -> str:
        return f"Round {self.round} is void: {self.reason}."


class WagersReturned(PersonEvent):
    """All wagers of a void round were returned to their players."""

    kind = "wagers.returned"
    round: int
    seats: list[int]

    def sentence(self) -> str:
        return "All wagers are returned."


class VoidCompleted(Event):
    """All cards of a void round are together, or their deck has left the table."""

    kind = "void.completed"
    deck: str
    round: int
    then: str = ""  # the deck's next state, if it is not the usual one

    def sentence(self) -> str:
        return f"The void of round {self.round} is settled."
