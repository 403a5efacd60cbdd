"""The part of the witness that follows the decks: what was counted, shuffled, cut and disturbed since the last deal."""

# mypyc
from __future__ import annotations

from collections import Counter
from typing import Any, Final

from controller.core.events.event import Entry
from firmware_bridge.wire.messages import CardsCounted, Cycle, CycleDone, Outcome, Place, StackPresented
from firmware_bridge.wire.messages import EventMessage as DeviceEvent
from simulators.campaign.checks import Books
from simulators.campaign.luck import Shift
from simulators.devices.cards import Card, CardPlace, Spot

UNPROVEN: Final = -1  # a count that proves nothing
SHOE, OUTPUT, HELD = (Spot(place) for place in (CardPlace.SHOE, CardPlace.OUTPUT, CardPlace.HELD))
EXITS: Final = {"shoe": Spot(CardPlace.EXIT, 0), "shuffler": Spot(CardPlace.EXIT, 1)}


class WitnessedStack:
    """A part of a round's plan: cards to one hand."""

    def __init__(self, target: str, cards: int, face_up: bool, late: bool) -> None:
        self.target = target
        self.cards = cards
        self.face_up = face_up
        self.late = late  # it may come after the players have acted


class WitnessedRound:
    """A round as it was observed."""

    def __init__(self, event: Entry) -> None:
        self.seq = event.seq
        self.number: int = event.data["round"]
        self.deck: str = event.data["deck"]
        self.method: str = event.data["method"]
        self.button: int = event.data.get("button", 0)
        self.first = False  # the first round of its deck since the shuffle
        self.seats: list[int] = event.data["seats"]
        self.plan = [stack_of(stack) for stack in event.data["plan"]]
        self.at = 0  # how far the dealing has come in the plan
        self.reached = 0  # for the game's own witness
        self.deals: list[WitnessedStack] = []  # that the last decision has added to the plan
        self.put_aside: Counter[str] = Counter()  # cards that hands have exchanged
        self.dealt_to: Counter[str] = Counter()  # cards that hands have got, as the table was informed
        self.owed: set[str] = set()  # hands that lost a card found face up: its replacement may come late
        self.void_seq = 0
        self.keeps = False  # it is void, and the rest of the deck stays in the shoe
        self.acted = False
        self.collected: set[str] = set()  # hands that went to the rack, such as that of a player who folded
        self.excused = False  # a sensor lied, or a person lost a card
        self.misread: list[str] = []  # hands whose cards somebody entered wrongly
        self.dealt = False  # all cards that the players need to decide
        self.spoilt = ""  # why this round must not be completed
        self.shoe_gone_at = -1.0  # when its shoe was refused

    @property
    def targets(self) -> set[str]:
        """The hands of this round."""
        return {stack.target for stack in self.plan}


def stack_of(stack: dict[str, Any]) -> WitnessedStack:
    """A stack as an event contains it."""
    face_up = stack.get("face_up") is True
    return WitnessedStack(stack["target"], stack["cards"], face_up, bool(stack["held"] or stack["after_acting"]))


class DeckWitness(Books):
    """Follows the decks."""

    def __init__(self, shift: Shift) -> None:
        super().__init__(shift.setup)
        self._backs: dict[str, str] = {}
        self._shuffled: set[str] = set()
        self._order: dict[str, list[Card]] = {}  # the order of a deck when it went into the shuffler
        self._counted: dict[str, int] = {}
        self._by_hand: dict[str, str] = {}
        self._to_recut: set[str] = set()  # only the cut of these decks is in question
        self._excused: set[str] = set()  # decks that a sensor or a person has miscounted
        self._out: set[str] = set()
        self._last_back = ""
        self._in_play = ""  # the deck that is dealt from for several rounds
        self._finished = ""  # the deck whose last rounds have come
        self._uncounted = 0
        self._uncounted_of: dict[str, int] = {}  # the rounds of each deck since its own cards were counted
        self._out_of_service: set[str] = set()
        self._round: WitnessedRound | None = None
        self._boots: dict[str, int] = {}
        self.recoveries: Counter[str] = Counter()

    # --- what devices report ------------------------------------------------------------------------------------------

    def reported(self, device: str, boot: int, kind: type[DeviceEvent], fields: dict[str, Any]) -> None:
        """A device reports what its sensors saw. Where a sensor is wrong, the table cannot know."""
        if kind not in (CardsCounted, StackPresented, CycleDone):
            return
        cards = self.house.cards
        if kind is CardsCounted:
            pile, kind_of = cards.pile(OUTPUT), self.setup.shuffler
            unseen = kind_of is not None and kind_of.recognises and not fields["kinds"]
            for deck in self.decks_in(pile):
                if fields["place"] is Place.OUTPUT:  # another is not the count after the shuffle
                    self._counted[deck] = UNPROVEN if unseen else fields["cards"]
                if fields["cards"] != len(pile):
                    self._excused.add(deck)
        elif kind is StackPresented and fields["cards"] >= 0:
            at = HELD if fields["place"].name == "HELD" else EXITS[device]
            if fields["cards"] != cards.count(at) and self._round:
                self._round.excused = True
        elif kind is CycleDone and fields["cycle"] is Cycle.SHUFFLE and fields["outcome"] is Outcome.COMPLETE:
            pile, counted = cards.pile(OUTPUT), fields["cards"]
            for deck in self.decks_in(pile):
                if counted >= 0 and self._counted.setdefault(deck, counted) != counted:
                    self._counted[deck] = UNPROVEN
                if pile != self._order.get(deck):
                    self._shuffled.add(deck)

    def lost_by_a_person(self, deck: str) -> None:
        """A person has dropped a card: no sensor saw it."""
        self._excused.add(deck)
        if self._round:
            self._round.excused = True

    def disturbed(self, deck: str, device: str, boot: int, number: int) -> None:
        """Somebody has had this deck out of a device: with this event of the device, the table knows."""
        self._sightings[device, boot, number] = deck

    def unreported(self) -> set[str]:
        """The decks that somebody has had out of a device that has not reported it yet: the table cannot know."""
        return set(self._sightings.values())

    def _seen_at(self, device: str, boot: int, number: int) -> None:
        deck = self._sightings.pop((device, boot, number), "")
        if deck:
            self._unproven(deck, "its deck was out of the shoe")

    def _unproven(self, deck: str, why: str) -> None:
        """This deck must be shuffled before it is dealt; a round that is being dealt from it is not completed."""
        self._leaves_play(deck)
        self._shuffled.discard(deck)
        self._by_hand.pop(deck, None)
        if self._round and self._round.deck == deck and not self._round.dealt:
            self._round.spoilt = why

    def _leaves_play(self, deck: str) -> None:
        """No other round may be dealt from this deck before its next shuffle."""
        if deck == self._in_play:
            self._in_play = ""
            if deck != self._finished:
                self._last_back = ""  # it may be the first to be dealt again

    def _finishes(self, event: Entry) -> None:
        self._finished = event.data["deck"]

    def _ledger_disagreed(self, event: Entry) -> None:
        self._shuffled.discard(event.data["deck"])
        self._by_hand.pop(event.data["deck"], None)
        self._leaves_play(event.data["deck"])

    # --- decks --------------------------------------------------------------------------------------------------------

    def _received(self, event: Entry) -> None:
        deck = event.data["deck"]
        self.check("allowed deck", deck not in self._backs, f"deck {deck} comes a second time")
        self._backs[deck] = event.data["back"]

    def _accepted(self, event: Entry) -> None:
        self._by_hand[event.data["deck"]] = "mixed"

    def _recalled(self, event: Entry) -> None:
        deck = event.data["deck"]
        self._leaves_play(deck)
        self._shuffled.discard(deck)
        self._counted.pop(deck, None)
        if self._by_hand.pop(deck, None) and deck in self._to_recut:
            self._by_hand[deck] = "mixed"
        self._to_recut.discard(deck)

    def _recut_ordered(self, event: Entry) -> None:
        self._to_recut.add(event.data["deck"])

    def _shuffled_by_hand(self, event: Entry) -> None:
        here = self.setup.shuffler is not None and "shuffler" not in self._out_of_service
        self.check("shuffled deck", not here, "shuffled by hand beside a shuffler in service")
        self._shuffled.discard(event.data["deck"])
        self._by_hand[event.data["deck"]] = "mixed"

    def _cut(self, event: Entry) -> None:
        deck, depth = event.data["deck"], event.data.get("depth", event.data.get("least", 0))
        good = self.setup.game.least_cut <= depth < self.deck_size and self._by_hand.get(deck) == "mixed"
        self.check("shuffled deck", good, f"deck {deck}, {self._by_hand.get(deck)}, is cut at {depth}")
        self._by_hand[deck] = "cut"

    def _recut(self, event: Entry) -> None:
        self._by_hand[event.data["deck"]] = "mixed"

    def _count_accepted(self, event: Entry) -> None:
        if event.data["by"] == "shuffler":
            deck = event.data["deck"]
            counted = self._counted.get(deck)
            self.check("counted deck", counted == self.deck_size, f"deck {deck} is accepted with a count of {counted}")
        self._stub_counted(event)

    def _stub_counted(self, event: Entry) -> None:
        self._uncounted = self._uncounted_of[event.data["deck"]] = 0

    def _gone(self, event: Entry) -> None:
        self._out.add(event.data["deck"])
        if event.kind == "deck.removed":
            self._backs.pop(event.data["deck"], None)
            self.recoveries["decks replaced"] += 1

    def _used(self, event: Entry) -> None:
        deck = event.data["deck"]
        self.check("allowed deck", deck not in self._out, f"{event.kind} with deck {deck}, which is out")

    def _opened(self, event: Entry) -> None:
        self._last_back = ""
