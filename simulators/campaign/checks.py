"""The checks of a campaign, and those that compare everything between rounds: physical cards, ledger and journal.

Nothing here uses the core's own guards. witness.py checks every step.
"""

# mypyc
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from controller.core.apply import apply
from controller.core.events import read
from controller.core.setup import Setup
from controller.core.state import State, encode
from controller.daemon.live_table import restore
from controller.journal import JournalError
from controller.journal.records import START, StoredEvent
from simulators.devices.cards import Card, CardPlace, Spot
from simulators.table.hands import SOURCE

if TYPE_CHECKING:
    from simulators.campaign.unlucky_house import UnluckyHouse

CHECKS: Final = {
    "cards conserved": "every card is in exactly one place",
    "ledger adds up": "the table's account of a deck is a whole deck after every move",
    "ledger is true": "between rounds the table's account matches the physical cards",
    "due deck": "a round is dealt from the deck whose turn it is, and from no other",
    "counted deck": "a round is dealt from a deck that the shuffler has counted as whole since it was last dealt",
    "whole deck": "all its cards are in the shoe at its first round, of the right kinds where they are recognised",
    "shuffled deck": "a round is dealt from a deck that was shuffled, or shuffled by hand and cut, since its last deal",
    "young deck": "no round starts with a deck past its time",
    "allowed deck": "a deck that is locked out or has left is never loaded, shuffled or dealt",
    "other deck shuffled": "with two decks, the other one is in the shuffler when a round starts",
    "one deck in the rack": "the rack holds one deck at a time",
    "stub counted": "without a counting shuffler the stub is counted as often as the game wants it, for each deck",
    "whole hand": "every hand that was dealt as good has exactly the cards that are due to it",
    "dealt in order": "the cards go to the hands in the order of the round's plan, nobody without a wager",
    "cards are true": "the cards that the table knows of a hand are those that lie there",
    "held stack": "a stack that is held comes out only after the players have acted",
    "stopped shoe": "a round whose shoe is exchanged for another in mid-deal is void",
    "table cleared": "when a round starts, no card is in a hand or at an exit",
    "void complete": "a void returns the wagers and leaves no card behind",
    "warning latched": "a warning stays until it is cleared",
    "warning cleared rightly": "its cause is gone, and a person who may do it has cleared it",
    "no round under a warning": "no round starts while there is a warning or a device is jammed",
    "written first": "what a device does was in the journal first",
    "done once": "no command is carried out twice",
    "event kept": "every event of a device is in the journal, once, in order, before the device may forget it",
    "nothing lost": "what was committed is there after a restart",
    "action answered": "whatever a person does is answered",
    "clock goes forward": "the table's clock does not follow a wall clock that jumps",
    "no undealt card named": "no event names a card that was not dealt",
    "no hidden card named": "no event names a card of a hand before it is turned over, or requested in a void round",
    "journal verifies": "the journal's chain is intact",
    "replay is the same": "the journal read from the disk gives the same state, byte for byte",
    "start is the same": "the state that a start takes from the snapshot is the same, byte for byte",
    "comes back": "the table is in play again after whatever has happened",
    "no crash": "no unexpected exception is raised",
}

FLOOR: Final = Spot(CardPlace.FLOOR)
IN_SHUFFLER: Final = (CardPlace.INFEED, CardPlace.SHELVES, CardPlace.OUTPUT)
_GROUPS: tuple[tuple[tuple[str, ...], tuple[CardPlace | Spot, ...]], ...] = (
    (("infeed", "shelves", "output"), IN_SHUFFLER),
    (("shoe", "held", "manual_shoe", "hand"), (CardPlace.SHOE, CardPlace.HELD, *SOURCE.values())),
    (("rack", "stub"), (CardPlace.RACK,)),
)


class Broken(Exception):
    """A check has failed."""

    def __init__(self, check: str, text: str) -> None:
        super().__init__(f"{check}: {text}")
        self.check = check
        self.text = text


def kind_names(kinds: Iterable[str]) -> re.Pattern[bytes]:
    """The names of these kinds of cards, wherever they are written."""
    names = sorted(kinds, key=len, reverse=True)
    return re.compile(rb"(?<![a-z])(?:%s)(?![0-9])" % b"|".join(_written(name) for name in names), re.IGNORECASE)


def _written(name: str) -> bytes:
    return re.escape(name).replace("\\ ", "[ _-]").encode()


class Books:
    """Compares cards, ledger and journal between rounds, and counts the checks."""

    house: UnluckyHouse

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.deck_size = setup.game.deck_size
        self.made: Counter[str] = Counter(dict.fromkeys(CHECKS, 0))
        self.names = kind_names(setup.game.kinds)
        self.spoken: set[str] = set()  # kinds that somebody has named by mistake
        self._sightings: dict[tuple[str, int, int], str] = {}  # device, boot and event that reports a disturbed deck
        self._mirror = State()
        self._verified = START

    def check(self, name: str, good: bool, *text: object) -> None:
        """Make one check; raises Broken."""
        self.made[name] += 1
        if not good:
            raise Broken(name, " ".join(str(part) for part in text))

    # --- between rounds, and at the end -------------------------------------------------------------------------------

    def quiet(self) -> None:
        """Between two rounds: the checks that take longer."""
        house = self.house
        self._conserved()
        unseen = self._strays() | set(self._sightings.values())
        for name, deck in house.state.decks.items():
            # A card that has just fallen, or a spare that got in, is found at the next count; a deck that was taken
            # out of a device is noticed as soon as the report arrives.
            if name in unseen:
                continue
            for places, spots in _GROUPS:
                there = self.cards_at(name, spots)
                believed = sum(deck.cards.get(place, 0) for place in places)
                text = f"deck {name} in {', '.join(places)}: {believed} believed, {there} there"
                self.check("ledger is true", there == believed, text)
        step = house.live.table.next_step(house.now)
        named = self.named(msgspec.to_builtins(step)) - self.spoken
        self.check("no undealt card named", not named, step)
        self._replay()

    def end(self) -> None:
        """At the end of a shift: replay from the first event."""
        house = self.house
        self._conserved()
        self._verified = START
        self._mirror = State()
        self._replay()
        same = encode(restore(house.journal)) == encode(house.state)
        self.check("start is the same", same, "the state from the snapshot differs")

    def _conserved(self) -> None:
        try:
            self.house.cards.check()
        except AssertionError as error:
            self.check("cards conserved", False, error)
        self.made["cards conserved"] += 1

    def _replay(self) -> None:
        """Read what is new on the disk once: verify its chain, and apply it to a second state."""
        try:
            self._verified = self.house.journal.verify(self._verified, self._mirror_event)
        except JournalError as error:
            self.check("journal verifies", False, error)
        self.made["journal verifies"] += 1
        same = encode(self._mirror) == encode(self.house.state)
        self.check(
            "replay is the same",
            same,
            f"event {self._mirror.seq} of the journal, {len(self.house.events)} were decided",
        )

    def _mirror_event(self, event: StoredEvent) -> None:
        apply(self._mirror, read(event.seq, event.kind, event.clause, event.data))

    # --- cards --------------------------------------------------------------------------------------------------------

    def named(self, data: object) -> set[str]:
        """The kinds of cards that are named in some data."""
        found = self.names.findall(msgspec.json.encode(data))
        return {name.decode().lower().replace("_", " ").replace("-", " ") for name in found}

    def decks_in(self, pile: list[Card]) -> set[str]:
        """The decks in a pile; a spare card that a fault put there does not count."""
        return {card.deck for card in pile if card.index < self.deck_size}

    def kind(self, card: Card) -> str:
        """What a card is, as the table names it."""
        return self.setup.game.kinds[card.kind]

    def piles(self, spots: Iterable[Spot]) -> list[Card]:
        return [card for spot in spots for card in self.house.cards.pile(spot)]

    def cards_at(self, deck: str, where: Iterable[CardPlace | Spot]) -> int:
        spots: list[Spot] = []
        for place in where:
            spots += [place] if isinstance(place, Spot) else self.house.cards.spots(place)
        return sum(card.deck == deck for card in self.piles(spots))

    def _strays(self) -> set[str]:
        """The decks with a card on the floor, or with a spare among their cards."""
        cards = self.house.cards
        floor = self.decks_in(cards.pile(FLOOR))
        if not floor and cards.count(FLOOR) == len(self.house.decks):  # all spares are there, and nothing else
            return floor
        racked = cards.pile(Spot(CardPlace.RACK))
        if any(cards.is_spare(card) for card in racked):  # it was dealt in the place of a card of this deck
            floor |= self.decks_in(racked)
        spots = [spot for place in CardPlace if place is not CardPlace.FLOOR for spot in cards.spots(place)]
        return floor | {card.deck for card in self.piles(spots) if card.index >= self.deck_size}
