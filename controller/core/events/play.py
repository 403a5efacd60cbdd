"""Events of a game's own procedure: bets, cards that are seen, decisions about hands, and the settlement."""

from __future__ import annotations

from typing import Any

import msgspec

from controller.core.events.event import DeviceFact, Event, PersonEvent
from controller.core.events.rounds import PlannedStack
from controller.core.ledger import Move
from controller.core.names import capital, cards, place_name, spoken
from controller.games.payments import Fee, HandResult, Payment


class BetRecorded(PersonEvent):
    """A player's bet was recorded, or taken back: then its amount is 0."""

    kind = "bet.recorded"
    seat: int
    bet: str
    amount: int

    def sentence(self) -> str:
        return f"Seat {self.seat}: {f'{self.bet} {self.amount}' if self.amount else f'no {self.bet}'}."


class StakesNoted(Event):
    """What the game remembers when a round begins, and what the house takes from the players."""

    kind = "stakes.noted"
    carried: dict[str, Any]
    fees: list[Fee] = msgspec.field(default_factory=list)

    def sentence(self) -> str:
        fees = (f"{fee.cents / 100:.2f} from {place_name(fee.hand)} ({fee.why})" for fee in self.fees)
        return f"The house takes {', '.join(fees)}." if self.fees else "What lies before the players is noted."


class SeatLeft(PersonEvent):
    """A player left the game."""

    kind = "seat.left"
    seat: int
    carried: dict[str, Any] = msgspec.field(default_factory=dict)

    def sentence(self) -> str:
        return f"The player at seat {self.seat} left the game."


class CardDue(Event):
    """The rules of the game call for another card."""

    kind = "card.due"
    round: int
    target: str
    why: str
    face_up: bool = False

    def sentence(self) -> str:
        return f"{capital(place_name(self.target))} gets a card: {self.why}."


class CardsSeen(DeviceFact):
    """The shoe recognised cards that it put out face up."""

    kind = "cards.seen"
    command: int
    kinds: list[str]

    def sentence(self) -> str:
        return f"The {self.device} put out: {', '.join(self.kinds)}."


class CardsEntered(PersonEvent):
    """The dealer entered which cards a hand has."""

    kind = "cards.entered"
    round: int
    deck: str
    target: str
    kinds: list[str]

    def sentence(self) -> str:
        return f"Cards of {place_name(self.target)}: {', '.join(self.kinds)}."


class CardsCorrected(PersonEvent):
    """A card that was entered last was another one."""

    kind = "cards.corrected"
    round: int
    deck: str
    target: str
    was: list[str]
    kinds: list[str]

    def sentence(self) -> str:
        return f"Corrected for {place_name(self.target)}: {', '.join(self.kinds)}, not {', '.join(self.was)}."


class HandsReconstructed(PersonEvent):
    """The dealer entered a round's cards in the order in which they were drawn: the rules say whose each of them is."""

    kind = "hands.reconstructed"
    round: int
    deck: str
    kinds: list[str]
    hands: dict[str, list[str]]  # those of `aside` belong to no hand
    moves: list[Move]
    plan: list[PlannedStack]  # what was dealt, and what is still to be dealt

    def sentence(self) -> str:
        drawn = ", ".join(self.kinds) or "none"
        return f"Round {self.round} was worked out again from its cards in the order in which they were drawn: {drawn}."


class HandDecided(PersonEvent):
    """What was decided about a hand."""

    kind = "hand.decided"
    round: int
    deck: str
    target: str
    choice: str
    number: int = 0
    kinds: list[str] = msgspec.field(default_factory=list)
    moves: list[Move] | None = None
    deals: list[PlannedStack] = msgspec.field(default_factory=list)  # what is dealt next
    turned: int = 0  # cards of the hand that the player turned over

    def sentence(self) -> str:
        what = f" ({', '.join(self.kinds)})" if self.kinds else f" ({self.number})" if self.number else ""
        return f"{capital(place_name(self.target))}: {spoken(self.choice)}{what}."


class DecisionTakenBack(PersonEvent):
    """The last decision was a mistake; nothing had followed from it yet."""

    kind = "decision.taken_back"
    round: int
    deck: str
    target: str
    choice: str
    moves: list[Move] | None = None
    turned: bool = False  # its cards were entered with the decision

    def sentence(self) -> str:
        return f"Taken back for {place_name(self.target)}: {spoken(self.choice)}."


class DecisionCorrected(PersonEvent):
    """A decision was entered wrong: this one is right. The first card belongs to it; a second one takes its place."""

    kind = "decision.corrected"
    round: int
    target: str
    choice: str
    kinds: list[str]

    def sentence(self) -> str:
        which = f"{' for '.join(self.kinds)} to " if self.kinds else ""
        return f"Corrected for {place_name(self.target)}: {which}{spoken(self.choice)}."


class ActingResumed(Event):
    """After a correction, somebody has to decide again."""

    kind = "acting.resumed"
    round: int

    def sentence(self) -> str:
        return "After the correction, a decision is due."


class RoundSettled(Event):
    """The result of a round, what is paid in which order, and what the game remembers of it."""

    kind = "round.settled"
    round: int
    result: str = ""
    results: list[HandResult] = msgspec.field(default_factory=list)  # in the order of settlement
    payments: list[Payment] = msgspec.field(default_factory=list)
    carried: dict[str, Any] | None = None

    def sentence(self) -> str:
        hands = [f"{place_name(one.hand)}: {one.text}" for one in self.results]
        result = "; ".join([self.result, *hands] if self.result else hands)
        return f"Round {self.round} is settled{': ' * bool(result)}{result}."


class IrregularityReported(PersonEvent):
    """Something went wrong that voids the round by the rules of this game."""

    kind = "irregularity.reported"
    round: int
    irregularity: str
    deck: str = ""
    moves: list[Move] | None = None  # cards that came out of the shoe with it, and belong to no hand

    def sentence(self) -> str:
        return f"Irregularity in round {self.round}: {spoken(self.irregularity)}."


class StockReshuffled(PersonEvent):
    """Stock and discards were counted, shuffled and cut, and are the new stock."""

    kind = "stock.reshuffled"
    round: int
    deck: str
    cards: int
    moves: list[Move]
    cut_by: int  # the seat of the player who cut

    def sentence(self) -> str:
        return f"Stock and discards of deck {self.deck} were shuffled: {cards(self.cards)}, cut by seat {self.cut_by}."


class SessionEnded(PersonEvent):
    """A session of several rounds is over: what is announced and paid."""

    kind = "session.ended"
    result: str
    payments: list[Payment] = msgspec.field(default_factory=list)
    carried: dict[str, Any] = msgspec.field(default_factory=dict)

    def sentence(self) -> str:
        return f"The session is over. {self.result}"


class DeckFinished(Event):
    """No other round is dealt from this deck before it has been shuffled, although its cut card has not come out."""

    kind = "deck.finished"
    deck: str
    reason: str
    next_back: str

    def sentence(self) -> str:
        return f"After this round deck {self.deck} is shuffled: {self.reason}."


class CutCardAppeared(PersonEvent):
    """The cut card came out of the shoe: few rounds are left."""

    kind = "cut_card.appeared"
    deck: str
    rounds: int  # that may still be started
    next_back: str = ""  # of the deck that is dealt from next, if this was the last round

    def sentence(self) -> str:
        more = "no other round" if not self.rounds else "one more round" if self.rounds == 1 else f"{self.rounds} more"
        what = "The cut card came out" if self.who else "No more cards are left than lie behind the cut card"
        return f"{what}: {more} is dealt from deck {self.deck}."
