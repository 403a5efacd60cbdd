"""Events of decks: arrival, opening, shuffling, counting, cutting, loading, recall and removal."""

from __future__ import annotations

from controller.core.events.event import Event, PersonEvent
from controller.core.ledger import Move
from controller.core.names import cards, place_name, plural, where


class DeckReceived(PersonEvent):
    """A deck arrived at the table; `prepared` if it was inspected and shuffled beforehand, at `came_from`."""

    kind = "deck.received"
    deck: str
    back: str
    prepared: bool
    came_from: str = ""

    def sentence(self) -> str:
        origin = f" from {self.came_from}" if self.came_from else ""
        return f"{self.who} brought deck {self.deck} to the table{origin}."


class DeckAcceptedPrepared(Event):
    """A floorperson, `who`, accepted a prepared deck: it skips the opening procedure."""

    kind = "deck.accepted_prepared"
    deck: str
    came_from: str = ""
    who: str = ""

    def sentence(self) -> str:
        if not self.who:
            return f"Deck {self.deck} was inspected and shuffled beforehand."
        origin = f" ({self.came_from})" if self.came_from else ""
        return f"{self.who} accepted deck {self.deck}, inspected and shuffled beforehand{origin}."


class DeckInspected(PersonEvent):
    """The dealer inspected a deck and found it good."""

    kind = "deck.inspected"
    deck: str
    counts: list[int] | None = None  # of each deck that it was put together from

    def sentence(self) -> str:
        counted = f": {len(self.counts)} decks, {sum(self.counts)} cards" if self.counts else ""
        return f"{self.who} inspected deck {self.deck}{counted}."


class DeckVerified(PersonEvent):
    """A floorperson verified the inspection."""

    kind = "deck.verified"
    deck: str

    def sentence(self) -> str:
        return f"{self.who} verified deck {self.deck}."


class DeckSpread(PersonEvent):
    """A deck was spread: for the first player, or because the table is idle."""

    kind = "deck.spread"
    deck: str
    moves: list[Move]

    def sentence(self) -> str:
        return f"{self.who} spread deck {self.deck}."


class DeckWashed(PersonEvent):
    """The cards were turned face down and mixed on the table."""

    kind = "deck.washed"
    deck: str

    def sentence(self) -> str:
        return f"{self.who} washed deck {self.deck}."


class DeckStacked(PersonEvent):
    """The cards are in one stack, ready to be shuffled."""

    kind = "deck.stacked"
    deck: str

    def sentence(self) -> str:
        return f"{self.who} stacked deck {self.deck}."


# --- shuffling and counting -----------------------------------------------------------------------------------------


class DeckInserted(Event):
    """A deck is in the shuffler's infeed; `who` put it there, unless the sensor reported it."""

    kind = "deck.inserted"
    seen_by_devices = True
    deck: str
    moves: list[Move]
    who: str = ""

    def sentence(self) -> str:
        return f"Deck {self.deck} is in the shuffler."


class ShuffleStarted(Event):
    """The shuffler accepted the command to shuffle."""

    kind = "shuffle.started"
    deck: str
    moves: list[Move]

    def sentence(self) -> str:
        return f"The shuffler started shuffling deck {self.deck}."


class ShuffleCompleted(Event):
    """A complete shuffle, with a correct count where the shuffler counts."""

    kind = "shuffle.completed"
    deck: str
    moves: list[Move]

    def sentence(self) -> str:
        return f"Deck {self.deck} is shuffled."


class ShuffleFailed(Event):
    """The deck must be shuffled again."""

    kind = "shuffle.failed"
    deck: str
    reason: str

    def sentence(self) -> str:
        return f"The shuffle of deck {self.deck} failed: {self.reason}."


class DeckShuffledByHand(PersonEvent):
    """The dealer shuffled a deck."""

    kind = "deck.shuffled_by_hand"
    deck: str
    moves: list[Move]

    def sentence(self) -> str:
        return f"{self.who} shuffled deck {self.deck} by hand."


class ReshuffleDirected(PersonEvent):
    """A floorperson wants a deck shuffled again."""

    kind = "reshuffle.directed"
    deck: str

    def sentence(self) -> str:
        return f"{self.who} directed a reshuffle of deck {self.deck}."


class CountAccepted(Event):
    """A deck has all its cards; counted `by` the shuffler, by counting the stub, or while gathering."""

    kind = "count.accepted"
    deck: str
    by: str
    cards: int

    def sentence(self) -> str:
        return f"Deck {self.deck} has all its {self.cards} cards."


class CountRejected(Event):
    """A count that does not match; `fits` is False if the number is right but the kinds of cards are wrong.

    `place` is where a shuffler counted the cards; without it, the number is that of the end of its cycle.
    """

    kind = "count.rejected"
    deck: str
    by: str
    cards: int
    expected: int
    moves: list[Move]
    fits: bool | None = None
    place: str = ""

    def sentence(self) -> str:
        if self.cards == self.expected:
            return f"Deck {self.deck} has {cards(self.cards)}, but not the right kinds."
        at = f" {where(self.place)}" if self.place else ""
        return f"The count of deck {self.deck}{at} is {self.cards}; it should be {self.expected}."


class CutMade(PersonEvent):
    """The cover card went in `depth` cards from the top, or, if nobody counted them, `least` or more."""

    kind = "cut.made"
    deck: str
    depth: int | None = None
    least: int = 0

    def sentence(self) -> str:
        if self.depth is None:
            return f"{self.who} cut deck {self.deck}, at least {cards(self.least)} from the top."
        return f"{self.who} cut deck {self.deck}, {cards(self.depth)} from the top."


class CutRecutRequired(PersonEvent):
    """A floorperson requires another cut of a deck that is not loaded yet."""

    kind = "cut.recut_required"
    deck: str

    def sentence(self) -> str:
        return f"{self.who} requires another cut of deck {self.deck}."


class DeckRecutOrdered(PersonEvent):
    """A floorperson requires another cut of a loaded deck."""

    kind = "deck.recut_ordered"
    deck: str

    def sentence(self) -> str:
        return f"{self.who} requires another cut of deck {self.deck}, which is already loaded."


class RecutCancelled(Event):
    """A deck that was recalled for another cut is shuffled instead: after an incident, or if a floorperson says so."""

    kind = "recut.cancelled"
    deck: str
    reason: str

    def sentence(self) -> str:
        return f"Deck {self.deck} is shuffled instead of only being cut again: {self.reason}."


class DeckReadyToCut(Event):
    """A deck that was recalled for another cut is complete."""

    kind = "deck.ready_to_cut"
    deck: str

    def sentence(self) -> str:
        return f"Deck {self.deck} is ready to be cut again."


# --- into play and out of it ----------------------------------------------------------------------------------------


class DeckDelivered(Event):
    """The dealer took the whole deck from the shuffler's exit."""

    kind = "deck.delivered"
    deck: str
    moves: list[Move]

    def sentence(self) -> str:
        return f"The shuffler delivered deck {self.deck}."


class DeckLoaded(Event):
    """A deck is where it will be dealt from; `who` put it there, if a person reported it."""

    kind = "deck.loaded"
    seen_by_devices = True
    deck: str
    method: str
    moves: list[Move]
    who: str = ""

    def sentence(self) -> str:
        return f"Deck {self.deck} is loaded."


class DeckRecalled(Event):
    """The cards of a deck must be gathered and shuffled again."""

    kind = "deck.recalled"
    deck: str
    reason: str
    moves: list[Move] | None = None
    who: str = ""

    def sentence(self) -> str:
        return f"Deck {self.deck} is recalled: {self.reason}."


class DeckGathered(Event):
    """All cards of a recalled deck are together."""

    kind = "deck.gathered"
    deck: str

    def sentence(self) -> str:
        return f"All cards of deck {self.deck} are together."


class DeckChangeDue(Event):
    """A deck must be replaced soon."""

    kind = "deck.change_due"
    deck: str
    left_ms: int

    def sentence(self) -> str:
        return f"Deck {self.deck} must be changed within {plural(self.left_ms // 60_000, 'minute')}."


class DeckLockedOut(Event):
    """A deck is never played again."""

    kind = "deck.locked_out"
    deck: str
    reason: str
    who: str = ""

    def sentence(self) -> str:
        return f"Deck {self.deck} is locked out: {self.reason}."


class DeckRemoved(PersonEvent):
    """A deck left the table for good; `cards` is the number declared missing."""

    kind = "deck.removed"
    deck: str
    back: str
    was: str
    cards: int

    def sentence(self) -> str:
        return f"{self.who} removed deck {self.deck} from the table."


# --- gathering cards ------------------------------------------------------------------------------------------------


class CardsGathered(Event):
    """A person gathered and counted the cards of one place."""

    kind = "cards.gathered"
    deck: str
    place: str
    cards: int
    moves: list[Move]
    who: str = ""

    def sentence(self) -> str:
        if self.place == "missing":
            return f"Found {cards(self.cards)} of deck {self.deck}."
        return f"Gathered {cards(self.cards)} of deck {self.deck} from {place_name(self.place)}."


class PileCounted(PersonEvent):
    """A person put the cards from all these places in one pile and counted the whole pile."""

    kind = "pile.counted"
    deck: str
    places: list[str]
    cards: int
    moves: list[Move]

    def sentence(self) -> str:
        return f"{self.who} put deck {self.deck} in one pile and counted {cards(self.cards)}."


class CountCorrected(PersonEvent):
    """A person corrected the number of cards that they had entered; `by_event` is the event with the wrong number."""

    kind = "count.corrected"
    deck: str
    place: str
    cards: int
    was: int
    by_event: int
    moves: list[Move]

    def sentence(self) -> str:
        return (
            f"{self.who} corrected the count of deck {self.deck} {where(self.place)}: "
            f"{cards(self.cards)}, not {self.was}."
        )


class MissingDeclared(PersonEvent):
    """A floorperson declared cards missing; `cards` is negative if there are too many."""

    kind = "missing.declared"
    deck: str
    cards: int
    moves: list[Move]

    def sentence(self) -> str:
        if self.cards < 0:
            return f"{self.who} declared that deck {self.deck} has {cards(-self.cards)} too many."
        return f"{self.who} declared {cards(self.cards)} of deck {self.deck} missing."


class LedgerDisagreed(Event):
    """A count differs from the ledger; `by_event` is the event that showed it."""

    kind = "ledger.disagreed"
    deck: str
    place: str
    missing: int
    by_event: int

    def sentence(self) -> str:
        number = f"{cards(self.missing)} missing" if self.missing > 0 else f"{cards(-self.missing)} too many"
        return f"Deck {self.deck}: {number} {where(self.place)}."


class LedgerBroken(Event):
    """The ledger of a deck does not add up. This is checked after every move and should never happen."""

    kind = "ledger.broken"
    deck: str
    reason: str
    by_event: int

    def sentence(self) -> str:
        return f"The ledger of deck {self.deck} does not add up: {self.reason}."
