"""Good people at a simulated table: a dealer and a floorperson who do what has to be done, with their hands too.

They move the physical cards and then tell the table, as in life. Whatever the table refuses they leave alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action, Role
from controller.core.decision import Decision
from controller.core.events.event import Entry
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.dealing import next_stack, stub_may_leave
from controller.core.rules.gathering import GATHERED_STATES, UNABLE, emptied_by_device, next_place
from controller.core.rules.guards import counts, decks_wanted, in_service, inside, over_age, stub_count_due
from controller.core.rules.shuffling import cannot_insert
from controller.games.game import Method
from firmware_bridge.wire.messages import Mode
from simulators.devices.cards import DECK_SIZE, Card, Place, Spot
from simulators.devices.device import ON_THE_TABLE
from simulators.devices.faults import FaultName
from simulators.table.house import House

WHO: Final = {
    Role.DEALER: "dealer 1",
    Role.FLOOR: "floor 1",
    Role.TECHNICIAN: "technician 1",
    Role.AUDITOR: "auditor 1",
}
CHORE_S: Final = 1.0  # how long a person needs for one thing
LOOK_AGAIN_S: Final = 10.0  # how long a person who has nothing to do looks away, if nothing happens
RACK: Final = Spot(Place.RACK)
FLOOR: Final = Spot(Place.FLOOR)
DEALERS_SEAT: Final = 7
SOURCE: Final = {Method.MANUAL_SHOE: Spot(Place.TABLE, -1), Method.HAND: Spot(Place.TABLE, -2)}  # decks lie from 0 on

# Names of their own for what people look at with every look: reading a member from its class takes ten times as long.
_WORKING: Final = Mode.WORKING
_JAMMED: Final = DeviceState.JAMMED
_FAILED: Final = DeviceState.FAILED
_VOIDING: Final = TableState.VOIDING
_STUB_COUNT: Final = TableState.STUB_COUNT
_DEALING: Final = TableState.DEALING  # fmt: skip
_ACTING: Final = TableState.ACTING
_REVEALING: Final = TableState.REVEALING
_CLEARING: Final = TableState.CLEARING
_PREPARING: Final = frozenset({TableState.OPENING, TableState.WAITING, TableState.SUSPENDED})
_UNSHUFFLED: Final = frozenset({DeckState.STACKED, DeckState.RACKED})
_MIXED: Final = DeckState.MIXED
_TO_BE_INSERTED: Final = frozenset({DeckState.STACKED, DeckState.RACKED, DeckState.MIXED})
_PUT_IN: Final = frozenset({*ledger.DEVICE_OF, ledger.MANUAL_SHOE, ledger.HAND})  # where a deck is that was put in
_TO_BE_LOADED: Final = frozenset({DeckState.CUT, DeckState.DELIVERED})
_AUTOMATED_SHOE: Final = Method.AUTOMATED_SHOE

_OPENING: Final[dict[DeckState, type[act.OnDeck]]] = {
    DeckState.RECEIVED: act.InspectDeck,
    DeckState.INSPECTED: act.VerifyDeck,
    DeckState.VERIFIED: act.SpreadDeck,
    DeckState.SPREAD: act.WashDeck,
    DeckState.WASHED: act.StackDeck,
}


def taken(made: list[Entry]) -> bool:
    """Whether the table took what a person told it."""
    return not any(event.kind in ("action.refused", "cut.refused") for event in made)


class NoMoreDecks(Exception):
    """The cupboard is empty."""


class People:
    """The dealer and the floorperson of one house."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.enough: Callable[[], bool] | None = None  # they stop working as soon as this holds
        self._took: list[Card] = []  # what was last taken from the shoe; all of it since a round is void
        self._took_of = 0  # the void round that it was taken of

    # --- telling ----------------------------------------------------------------------------------------------------

    def tell(self, kind: type[Action], *, role: Role | None = None, **fields: Any) -> list[Entry]:
        """Somebody whose part it is tells the table."""
        role = role or kind.roles[0]
        self.pause()
        made = self.house.report(kind(who=WHO[role], role=role, **fields))  # type: ignore[arg-type]
        self.house.look()
        return made

    def pause(self) -> None:
        """A person needs a moment for everything, and the devices go on meanwhile."""
        self.house.rest(CHORE_S)

    # --- whole courses ----------------------------------------------------------------------------------------------

    def open(self, *, prepared: bool = False) -> bool:
        """Set the table up, open it with new decks, and go on until bets can be made."""
        house = self.house
        if not house.state.configured:
            self.tell(act.Configure, role=Role.TECHNICIAN, setup=house.setup)
        self.tell(act.OpenTable)
        for back in house.setup.backs:
            self.bring(back, prepared=prepared)
        return self.work()

    def play(self, seats: tuple[int, ...] = (1, 3, 6)) -> bool:
        """A whole round, from the closing of the bets until bets can be made again."""
        if not taken(self.tell(act.CloseBets, seats=seats)):
            return False
        return self.work()

    def work(self, stop: TableState = TableState.BETTING, limit_s: float = 1800.0) -> bool:
        """Do what has to be done until the table is where it should be; False if it does not come there in time."""
        end = self.house.now + limit_s
        while self.house.state.table is not stop or self.house.state.round is not None:
            if self.enough and self.enough():
                return True
            if self.house.now > end:
                return False
            if not self.chore():
                if self.house.next_at > end:
                    return False
                self.house.watch(LOOK_AGAIN_S)
        return True

    def bring(self, back: str, *, prepared: bool = False) -> list[Entry]:
        """Fetch a new deck with this back from the cupboard; NoMoreDecks where none is left."""
        used = {*self.house.state.decks, *self.house.state.retired}
        for name in self.house.decks:
            if name.startswith(f"{back}-") and name not in used:
                return self.tell(act.ReceiveDeck, deck=name, back=back, prepared=prepared)
        raise NoMoreDecks(f"the cupboard has no more {back} decks")

    # --- one thing at a time ----------------------------------------------------------------------------------------

    def chore(self) -> bool:
        """One thing that a good dealer or floorperson does now; False if there is none."""
        state = self.house.state
        if state.table is _VOIDING and state.round and state.round.wagers_open:
            return taken(self.tell(act.ReturnWagers))
        if state.table is _STUB_COUNT:
            return taken(self.tell(act.AnswerMisdeal, misdealt=True))
        for name in self.house.wired:
            if self._device_chore(name):
                return True
        for key, warned in state.warnings.items():
            if warned.gone:
                return taken(self.tell(act.ClearWarning, role=Role.FLOOR, warning=key))
        if state.round and not state.round.void:
            return self._round_chore()
        if any(self._deck_chore(name) for name in list(state.decks)):
            return True
        return self._missing_deck()

    def _device_chore(self, name: str) -> bool:
        device, wired = self.house.state.devices[name], self.house.wired[name]
        mechanics = wired.device.mechanics
        # A stack is taken when it is whole.
        if mechanics.mode is not _WORKING and self.house.cards.count(mechanics.exit):
            return self._take(name)
        if device.state is _JAMMED and device.online:
            if self._locked(name):
                return taken(self.tell(act.OpenDevice, device=name))
            wired.device.mend(FaultName.JAM, self.house.now)
            return taken(self.tell(act.FreeJam, device=name))
        if device.told and not inside(self.house.state, name):
            return taken(self.tell(act.AcceptDevice, device=name))
        if device.refused and not device.told:
            wired.device.inject(FaultName.REBOOT, self.house.now)  # so that it forgets
            self.pause()
            return True
        if device.hindered and device.online:
            self.put_in_again()
            return taken(self.tell(act.TryAgain, device=name))
        if device.state is _FAILED and device.online:
            wired.device.inject(FaultName.REBOOT, self.house.now)  # switched off and on again
            self.pause()
            return True
        return bool(self.house.state.warnings) and self._close_door(name)

    def _close_door(self, name: str) -> bool:
        """A door that was closed when nobody was told of it is opened and closed again."""
        warned, wired = self.house.state.warnings.get(f"{name}.door"), self.house.wired[name]
        if warned is None or warned.gone or not self.house.state.devices[name].online:
            return False
        if wired.device.mechanics.door_open:
            return False  # somebody is at it
        if self._locked(name):
            return taken(self.tell(act.OpenDevice, device=name))
        self.pause()
        for is_open in (True, False):
            wired.device.door(is_open, self.house.now)
        self.house.look()
        return True

    def put_in_again(self) -> None:
        """Put right what was told of a deck and not done, or done and not told."""
        for deck, found in self.house.state.decks.items():
            if not _PUT_IN & set(found.cards):
                self._fetch_from_devices(deck)  # somebody has put it in, and the table does not know
            if found.state is DeckState.INFEED and not self.house.cards.count(Spot(Place.INFEED)):
                self._fetch_whole(deck)  # the table was told, and it was not done, or the device was quicker
                self.house.wired["shuffler"].device.load(self._own(deck), self.house.now)

    def _take(self, name: str) -> bool:
        """Take what lies at the exit, and lay it where it belongs."""
        house = self.house
        device = house.wired[name].device
        pile = house.cards.pile(device.mechanics.exit)
        self.pause()  # until the table knows of it
        given, round_ = house.state.devices[name].at_exit, house.state.round
        target = self._own(pile[0].deck)
        if given and name == "shoe" and round_ and not round_.void:
            target = RACK if given.target == "stub" else hand(given.target)
        self._lay_down(name, device.take(target, house.now), target)
        house.look()
        return True

    def _lay_down(self, name: str, cards: list[Card], target: Spot) -> None:
        """Cards from an exit lie where they belong; a dealer turns one that is face up, and it goes to the rack."""
        if name == "shoe":
            round_ = self.house.state.round
            void = round_.number if round_ and round_.void else 0
            self._took = [*(self._took if void and void == self._took_of else ()), *cards]
            self._took_of = void
        for card in cards:
            if card.face_up:
                self.house.cards.flip(card)
                if target.place is Place.HAND:
                    self.house.cards.move_card(card, target, RACK)

    def _put_back(self, deck: str) -> int:
        """Lay what was taken from the shoe last on the pile, wherever it was laid, and count it."""
        cards, own = self.house.cards, self._own(deck)
        took, self._took = [card for card in self._took if card.deck == deck], []
        there = [card for card in took if cards.where(card) in (own, RACK) or cards.where(card).place is Place.HAND]
        for card in there:
            if cards.where(card) != own:
                cards.move_card(card, cards.where(card), own)
        return len(there)

    def _own(self, deck: str) -> Spot:
        """The dealer's pile of a deck."""
        return Spot(Place.TABLE, self.house.decks.index(deck))

    # --- the round --------------------------------------------------------------------------------------------------

    def _round_chore(self) -> bool:
        state, round_ = self.house.state, self.house.state.round
        assert round_ is not None
        if round_.method is not _AUTOMATED_SHOE and state.table is _DEALING and next_stack(round_):
            return self._lay()
        if stub_may_leave(state, round_) and self._remove_stub(round_.method):
            return True
        if round_.stub_out and stub_count_due(state):
            dealt = sum(self.house.cards.count(spot) for spot in self.house.cards.spots(Place.HAND))
            return taken(self.tell(act.CountStub, cards=self._physical(round_.deck) - dealt))
        if next_stack(round_) and state.table is not _ACTING:
            return False
        if state.table is _ACTING:
            return taken(self.tell(act.PlayersActed))
        if state.table is _REVEALING:
            return taken(self.tell(act.RevealDealer))
        if state.table is _CLEARING and round_.stub_out:
            made = self.tell(act.CollectAll)
            if taken(made):
                for spot in self.house.cards.spots(Place.HAND):
                    self.house.cards.move_all(spot, RACK)
            return taken(made)
        return False

    def _locked(self, name: str) -> bool:
        """Whether a hand that reaches into this device would find it locked."""
        device = self.house.state.devices.get(name)
        return device is not None and device.online and device.locked

    def _remove_stub(self, method: Method) -> bool:
        """The dealer takes the stub out, also of an automated shoe that cannot bring it."""
        state, cards = self.house.state, self.house.cards
        if method is Method.AUTOMATED_SHOE and emptied_by_device(state, ledger.SHOE):
            return False
        if method is Method.AUTOMATED_SHOE and self._locked("shoe"):
            return taken(self.tell(act.OpenDevice, device="shoe"))
        made = self.tell(act.RemoveStub)
        if taken(made):
            spots = self._spots(ledger.SHOE) if method is Method.AUTOMATED_SHOE else [self._source()]
            for spot in spots:
                cards.move_all(spot, RACK)
        return taken(made)

    def _lay(self) -> bool:
        """The dealer lays the cards from the manual shoe or the hand."""
        round_ = self.house.state.round
        assert round_ is not None
        for stack in round_.plan[round_.dealt :]:
            there = min(stack.cards, self.house.cards.count(self._source()))
            self.house.cards.move_top(there, self._source(), hand(stack.target))
        return taken(self.tell(act.FinishDeal))

    def _source(self) -> Spot:
        """Where a dealer deals from: a shuffler that feeds puts the deck into whatever shoe stands there."""
        fed = Spot(Place.SHOE)
        return fed if self.house.cards.count(fed) else SOURCE[self.house.state.method]

    def _physical(self, deck: str) -> int:
        """How many cards of a deck are on or in the table, the floor not counted."""
        everywhere = [spot for place in Place if place is not Place.FLOOR for spot in self.house.cards.spots(place)]
        return sum(card.deck == deck for spot in everywhere for card in self.house.cards.pile(spot))

    # --- decks ------------------------------------------------------------------------------------------------------

    def _deck_chore(self, name: str) -> bool:
        state, deck = self.house.state, self.house.state.decks.get(name)
        if deck is None:
            return False  # somebody else has taken it away a moment ago
        if over_age(state, name, self.house.now_ms) and self._take_away(name):
            return True
        if deck.state in _OPENING and state.table in _PREPARING:
            return taken(self.tell(_OPENING[deck.state], deck=name))
        if deck.state in GATHERED_STATES or state.table is _VOIDING:
            return deck.state in GATHERED_STATES and self._gather(name)
        if state.table not in _PREPARING:
            return False
        to_shuffler = deck.state in _UNSHUFFLED or (deck.state is _MIXED and counts(state))
        if to_shuffler and in_service(state, "shuffler"):
            return self._insert(name)
        if deck.state in _UNSHUFFLED:
            self._collect(name, self._own(name))
            return taken(self.tell(act.ShuffleByHand, deck=name))
        if deck.state is _MIXED:
            return taken(self.tell(act.CutDeck, deck=name, depth=20))
        if deck.state in _TO_BE_LOADED and deck.back == state.due:
            return self._load(name)
        return False

    def _take_away(self, name: str) -> bool:
        """A deck has been played long enough: it comes out of where it is, and leaves the table."""
        state, deck = self.house.state, self.house.state.decks[name]
        if state.table not in (TableState.WAITING, TableState.SUSPENDED):
            return False
        if deck.state in (DeckState.INFEED, DeckState.SHUFFLED, DeckState.LOADED):
            return taken(self.tell(act.UnloadDeck, deck=name))
        return set(deck.cards) <= {ledger.TABLE, ledger.RACK} and taken(self.tell(act.RemoveDeck, deck=name))

    def _insert(self, name: str) -> bool:
        shuffler, cards = self.house.wired["shuffler"].device, self.house.cards
        state = self.house.state
        if inside(state, "shuffler") or not shuffler.firmware or shuffler.mechanics.door_open:
            return False
        if cannot_insert(Decision(state, self.house.now_ms), name):
            return False
        if not any(card.deck == name for card in cards.pile(Spot(Place.INFEED))):  # else it was put in before
            self._fetch_whole(name)
            if not cards.count(self._own(name)):
                return False
            shuffler.load(self._own(name), self.house.now)
        self.pause()
        if self.house.state.decks[name].state in _TO_BE_INSERTED:
            told = taken(self.tell(act.InsertDeck, deck=name))
            found = self.house.state.decks.get(name)
            if told or (found and found.state not in _TO_BE_INSERTED):  # the shuffler may have told it just before
                return True
            cards.pick(name, Spot(Place.INFEED), self._own(name))  # out again
            return False
        return True

    def _load(self, name: str) -> bool:
        method = self.house.state.method
        if not self.house.cards.count(self._own(name)):  # nobody adds a card to a deck that lies ready
            self._fetch_whole(name)
        if method is not Method.AUTOMATED_SHOE:
            if not self.house.cards.count(self._own(name)):
                return False
            made = self.tell(act.LoadDeck, deck=name)
            if taken(made):
                self.house.cards.move_all(self._own(name), SOURCE[method])
            return taken(made)
        shoe, cards = Spot(Place.SHOE), self.house.cards
        if not any(card.deck == name for card in cards.pile(shoe)):  # else it lies there already
            if cards.count(shoe) or not cards.count(self._own(name)):
                return False
            self.house.wired["shoe"].device.load(self._own(name), self.house.now)
            self.pause()
        if self.house.state.decks[name].state in (DeckState.CUT, DeckState.DELIVERED):
            told = taken(self.tell(act.LoadDeck, deck=name))
            if told or self.house.state.decks[name].state is DeckState.LOADED:  # the shoe may have told it just before
                return True
            cards.pick(name, shoe, self._own(name))  # out again
            return False
        return True

    def _collect(self, deck: str, target: Spot) -> None:
        """Bring the cards of a deck from rack and table together."""
        for spot in [RACK, *self.house.cards.spots(Place.TABLE)]:
            if spot != target:
                self.house.cards.pick(deck, spot, target)

    def _fetch_whole(self, name: str) -> None:
        """Bring a deck together, from wherever it lies."""
        self._collect(name, self._own(name))
        self._fetch_from_devices(name)

    def _fetch_from_devices(self, name: str) -> None:
        """Take out what lies in a device that stands still, where nobody believes it to be."""
        for device, wired in self.house.wired.items():
            places = ledger.IN_DEVICE[device]
            believed = ledger.count(self.house.state.decks[name].cards, places[1:])
            if wired.device.mechanics.mode is not _WORKING and not believed:
                for spot in self._spots(places[0])[:-1]:
                    self.house.cards.pick(name, spot, self._own(name))

    def _gather(self, name: str) -> bool:
        """Fetch the cards of a deck from the next place where the table wants them fetched."""
        state, cards = self.house.state, self.house.cards
        if state.round and state.round.deck == name and state.round.wagers_open:
            return False  # the wagers go back first
        place = next_place(state, name)
        if not place:
            gone = state.decks[name].state is DeckState.LOCKED_OUT
            return gone and taken(self.tell(act.RemoveDeck, deck=name))
        device = emptied_by_device(state, place)
        if device:
            return self._nothing_there(device, name)
        if place == ledger.MISSING:
            return self._missing(name)
        if self._locked(ledger.DEVICE_OF.get(place, "")):
            return taken(self.tell(act.OpenDevice, device=ledger.DEVICE_OF[place]))
        number = self._put_back(name) if place == ledger.TAKEN else 0
        for spot in self._spots(place):
            number += cards.pick(name, spot, self._own(name))
        return taken(self.tell(act.GatherCards, deck=name, place=place, cards=number))

    def _nothing_there(self, device: str, deck: str) -> bool:
        """No card lies at an exit where the table waits for one to be taken: somebody says so."""
        found, mechanics = self.house.state.devices[device], self.house.wired[device].device.mechanics
        if not (found.at_exit and found.online) or mechanics.mode is _WORKING:
            return False
        if self.house.cards.count(mechanics.exit):
            return False
        place = ledger.IN_DEVICE[device][-1]
        return taken(self.tell(act.GatherCards, deck=deck, place=place, cards=0))

    def _missing(self, name: str) -> bool:
        """Look into devices, hands and rack, on the floor and among what came out of a jam, and count the pile."""
        cards, own, believed = self.house.cards, self._own(name), self.house.state.decks[name].cards
        for device in self.house.wired:
            spots = self._spots(ledger.IN_DEVICE[device][0])
            if any(card.deck == name for spot in spots for card in cards.pile(spot)):
                if self.house.state.devices[device].state not in UNABLE:
                    return taken(self.tell(act.EmptyDevice, device=device))
                for spot in spots:
                    cards.pick(name, spot, own)
        for spot in (FLOOR, ON_THE_TABLE, RACK, *cards.spots(Place.HAND)):
            for card in cards.pile(spot):
                if card.deck == name and card.index < DECK_SIZE:
                    cards.move_card(card, spot, own)
        found = cards.count(own) - believed.get(ledger.TABLE, 0)
        if found > 0 and believed[ledger.MISSING] > 0:
            return taken(self.tell(act.GatherCards, deck=name, place=ledger.MISSING, cards=found))
        return taken(self.tell(act.DeclareMissing, deck=name))

    def _spots(self, place: str) -> list[Spot]:
        """Where the cards really are that the table has at a place; a device is emptied as a whole."""
        device = ledger.DEVICE_OF.get(place, "")
        if device:
            exit_ = self.house.wired[device].device.mechanics.exit
            inside = [Place.INFEED, Place.SHELVES, Place.OUTPUT] if device == "shuffler" else [Place.SHOE, Place.HELD]
            return [*(spot for p in inside for spot in self.house.cards.spots(p)), exit_]
        if place == ledger.TAKEN:
            return []
        if place in (ledger.RACK, ledger.STUB, ledger.ASIDE):
            return [RACK]
        if place in (ledger.MANUAL_SHOE, ledger.HAND):
            return [self._source()]
        return [hand(place)]

    def _missing_deck(self) -> bool:
        state = self.house.state
        if state.table not in _PREPARING or len(state.decks) >= decks_wanted(state):
            return False
        backs = {deck.back for deck in state.decks.values()}
        missing = [back for back in self.house.setup.backs if back not in backs]
        return bool(missing) and taken(self.bring(missing[0]))


def hand(target: str) -> Spot:
    """Where a hand lies: `seat3`, or the dealer's."""
    return Spot(Place.HAND, int(target[4:]) if target.startswith("seat") else DEALERS_SEAT)
