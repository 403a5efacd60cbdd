"""What hands do with the cards of a simulated table: what an action reports, they carry out.

The same hands serve the simulated people, a button pressed by mistake, and a person at the screen of a simulated table.
They go by where the cards are, so that doing something a second time changes nothing.
"""

# mypyc
from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, Final

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action
from controller.core.machines import DeckState, DeviceState
from controller.core.rules.gathering import UNABLE, emptied_by_device
from controller.core.rules.guards import has_rule, inside
from controller.games import DRAGON_POKER
from controller.games.game import Game, Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Mode
from simulators.devices.cards import Card, CardPlace, Spot
from simulators.devices.device import MANUAL_SHOE, ON_THE_TABLE
from simulators.devices.faults import FaultName
from simulators.table.house import House
from simulators.table.players import discard, lay_out, one_by_one, reshuffle_stock, take_back

RACK: Final = Spot(CardPlace.RACK)
FLOOR: Final = Spot(CardPlace.FLOOR)
INFEED: Final = Spot(CardPlace.INFEED)
SHOE: Final = Spot(CardPlace.SHOE)
_SENSED: Final = {INFEED: "shuffler", Spot(CardPlace.OUTPUT): "shuffler", SHOE: "shoe", Spot(CardPlace.HELD): "shoe"}
DEALERS_SEAT: Final = 7
SETTLE_S: Final = 5.0  # how long people wait after switching a device on
SOURCE: Final = {Method.MANUAL_SHOE: MANUAL_SHOE, Method.HAND: Spot(CardPlace.TABLE, -2)}  # decks are at 0 and up
_SOURCES: Final = {ledger.MANUAL_SHOE: SOURCE[Method.MANUAL_SHOE], ledger.HAND: SOURCE[Method.HAND]}
_PUT_IN: Final = frozenset({*ledger.DEVICE_OF, ledger.MANUAL_SHOE, ledger.HAND})  # where a deck is that was put in
_REPORTED_FIRST: Final = (
    act.LoadDeck,  # again: the dealing method, and so the place, may have changed meanwhile
    act.RemoveStub,
    act.DecideHand,
    act.TakeBackDecision,
    act.CollectAll,
    act.CollectHand,
    act.SpreadDeck,
    act.RemoveDeck,
    act.CloseTable,
)
_OTHER_HANDS: Final = {ledger.DEALER: DEALERS_SEAT, ledger.DISCARDS: 20, ledger.BURNT: 21}  # those of a game: from 30


def hand(target: str, game: Game = DRAGON_POKER) -> Spot:
    """Where a hand is: `seat3`, the dealer's, or another hand of the game."""
    if target.startswith("seat"):
        return Spot(CardPlace.HAND, int(target[4:]))
    return Spot(CardPlace.HAND, _OTHER_HANDS[target] if target in _OTHER_HANDS else 30 + game.hands().index(target))


class TableHands:
    """The hands of everybody at one table."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._took: list[Card] = []  # what was last taken from the shoe; all that is asked for after a void
        self._took_of = 0  # the void round that it was taken from
        self.planned: dict[str, list[str]] = {}  # the cards that hands get next, instead of those on top
        self._settled_at: dict[str, float] = {}  # when a device that was switched on should be ready

    def carry_out(self, action: Action) -> None:
        """Do what an action reports. A deck that was never in the cupboard has no cards to move."""
        move = _MOVES.get(type(action))
        if move is not None and (not isinstance(action, act.OnDeck) or action.deck in self.house.decks):
            move(self, action)
            self.house.look()

    def carry_out_afterwards(self, action: Action) -> None:
        """Do what an action reports, if hands only do it after the table has accepted it."""
        if isinstance(action, _REPORTED_FIRST):
            self.carry_out(action)

    # --- places -----------------------------------------------------------------------------------------------------

    def own(self, deck: str) -> Spot:
        """The dealer's pile of a deck."""
        return Spot(CardPlace.TABLE, self.house.decks.index(deck))

    def hand(self, target: str) -> Spot:
        """Where a hand of this game is."""
        return hand(target, self.house.setup.game)

    def kinds_of(self, target: str) -> tuple[str, ...]:
        """The cards of a hand by their kinds, in the order in which they came to it."""
        names = self.house.setup.game.kinds
        return tuple(names[card.kind] for card in reversed(self.house.cards.pile(self.hand(target))))

    def source(self) -> Spot:
        """Where a dealer deals from without an automated shoe."""
        return SOURCE[self.house.state.method]

    def dealt_from(self) -> Spot:
        """Where the cards are that are dealt next."""
        return SHOE if self.house.state.method is Method.AUTOMATED_SHOE else self.source()

    def bring_up(self, target: str, number: int) -> None:
        """Put the next planned cards of a hand on top of those that are dealt from."""
        planned, spot, names = self.planned.get(target, []), self.dealt_from(), self.house.setup.game.kinds
        there = {names[card.kind]: card for card in self.house.cards.pile(spot)}
        first = [there[kind] for kind in planned if kind in there][:number]
        if first:
            others = (card for card in self.house.cards.pile(spot) if card not in first)
            self.house.cards.reorder(spot, [*first, *others])

    def spots(self, place: str) -> list[Spot]:
        """Where the cards really are that the table believes at a place; a device is emptied completely."""
        device = ledger.DEVICE_OF.get(place, place)
        if device in self.house.wired:
            exit_ = self.house.wired[device].device.mechanics.exit
            inner = [CardPlace.SHOE, CardPlace.HELD]
            if device == "shuffler":
                inner = [CardPlace.INFEED, CardPlace.SHELVES, CardPlace.OUTPUT]
            return [*(spot for each in inner for spot in self.house.cards.spots(each)), exit_]
        if place == ledger.TAKEN:
            return []
        if place == ledger.FREED:
            return [ON_THE_TABLE]
        if place in (ledger.RACK, ledger.STUB, ledger.ASIDE):
            return [RACK]
        if place in _SOURCES:
            return [_SOURCES[place]]
        return [self.hand(place)]

    def decks_at(self, spot: Spot) -> list[str]:
        """The decks that have cards at a spot."""
        return sorted({card.deck for card in self.house.cards.pile(spot)})

    def physical(self, deck: str) -> int:
        """How many cards of a deck are on or in the table, not counting the floor."""
        everywhere = [
            spot for place in CardPlace if place is not CardPlace.FLOOR for spot in self.house.cards.spots(place)
        ]
        return sum(card.deck == deck for spot in everywhere for card in self.house.cards.pile(spot))

    def in_device(self, deck: str, device: str) -> bool:
        """Whether cards of a deck are in a device."""
        return any(deck in self.decks_at(spot) for spot in self.spots(device))

    # --- a deck -----------------------------------------------------------------------------------------------------

    def collect(self, deck: str) -> None:
        """Bring the cards of a deck from rack and table together."""
        own = self.own(deck)
        for spot in [RACK, *self.house.cards.spots(CardPlace.TABLE)]:
            if spot != own:
                self.house.cards.pick(deck, spot, own)
        self._put_away_foreign(deck, own)

    def _collect_all_decks(self) -> None:
        for deck in self.house.decks:
            self.collect(deck)

    def _collect_whole(self, deck: str) -> None:
        """Bring a deck together, from wherever it is."""
        self.collect(deck)
        self._fetch_unreported(deck)

    def _fetch_unreported(self, deck: str) -> None:
        """Take a deck out of an idle device where the table does not expect it."""
        for device, wired in self.house.wired.items():
            places = ledger.IN_DEVICE[device]
            believed = ledger.count(self.house.state.decks[deck].cards, places[1:])
            if wired.device.mechanics.mode is not Mode.WORKING and not believed:
                for spot in self.spots(device)[:-1]:
                    self._pick(deck, spot, self.own(deck))

    def insert(self, deck: str) -> bool:
        """Put a deck into the shuffler. Another one that is there unreported comes out first."""
        shuffler, cards = self.house.wired["shuffler"].device, self.house.cards
        there = self.decks_at(INFEED)
        if deck in there:
            return True
        if not shuffler.firmware or shuffler.mechanics.door_open or (there and inside(self.house.state, "shuffler")):
            return False
        for other in there:
            self._pick(other, INFEED, self.own(other))
        self._collect_whole(deck)
        if not cards.count(self.own(deck)):
            return False
        shuffler.load(self.own(deck), self.house.now)
        return True

    def load(self, deck: str) -> bool:
        """Put a deck into the shoe, or pick it up. Another one that is in the shoe comes out first."""
        cards, own, method = self.house.cards, self.own(deck), self.house.state.method
        automated = method is Method.AUTOMATED_SHOE
        target = SHOE if automated else SOURCE[method]
        there = self.decks_at(target)
        if deck in there:
            return True
        for other in there:
            self._pick(other, target, self.own(other))
        if not cards.count(own):  # nothing is added to a deck that is ready
            self._collect_whole(deck)
        if cards.count(target) or not cards.count(own):
            return False
        if automated:
            self.house.wired["shoe"].device.load(own, self.house.now)
        else:
            cards.move_all(own, target)
        return True

    def take_out(self, deck: str) -> None:
        """Take a deck out again that was put in and refused."""
        for spot in (INFEED, SHOE, *SOURCE.values()):
            self._pick(deck, spot, self.own(deck))

    def _pick(self, deck: str, spot: Spot, target: Spot) -> int:
        """Take the cards of a deck from a spot. A sensor notices if that was all."""
        number = self.house.cards.pick(deck, spot, target)
        device = _SENSED.get(spot)
        if number and device in self.house.wired and not self.house.cards.count(spot):
            self.house.wired[device].device.sense(spot, self.house.now)
        return number

    # --- cards with another back ------------------------------------------------------------------------------------

    def foreign(self, deck: str) -> bool:
        """Whether a spare card with another back is among the cards of a deck on its pile."""
        return bool(self._foreign(self.own(deck), deck))

    def _foreign(self, spot: Spot, deck: str) -> list[Card]:
        return [card for card in self.house.cards.pile(spot) if card.deck != deck and self.house.cards.is_spare(card)]

    def _put_away_foreign(self, deck: str, *spots: Spot) -> None:
        """Whoever holds the deck sees a card with another back, and puts it back with the spares."""
        for spot in spots:
            for card in self._foreign(spot, deck):
                self.house.cards.move_card(card, spot, FLOOR)

    # --- the round --------------------------------------------------------------------------------------------------

    def take(self, device: str) -> bool:
        """Take the cards at a device's exit, and put them where they belong; False if there are none."""
        house = self.house
        box = house.wired[device].device
        pile = house.cards.pile(box.mechanics.exit)
        if not pile:
            return False
        found, round_ = house.state.devices[device], house.state.round
        given = found.at_exit or found.doing  # the dealer knows whose stack it is before the table knows that it is out
        decks = sorted({card.deck for card in pile})
        deck = max(decks, key=lambda name: sum(card.deck == name for card in pile))
        target = self.own(deck)
        if device == "shoe" and given and given.target and round_ and not round_.void:
            target = RACK if given.target == "stub" else self.hand(given.target)
        elif device == "shoe" and round_ and round_.keeps:  # the next round is dealt from the same deck
            target = RACK
        self.lay_down(device, box.take(target, house.now), target)
        if target == self.own(deck):
            for other in decks:  # two decks that came out together are separated by their backs
                if other != deck:
                    house.cards.pick(other, target, self.own(other))
            if device == "shoe" and round_:
                # A surplus card that is seen alone does not join the other deck, which is whole.
                for card in pile:
                    own = self.own(card.deck)
                    if card.deck != round_.deck and house.cards.is_spare(card) and card in house.cards.pile(own):
                        house.cards.move_card(card, own, FLOOR)
        house.look()
        return True

    def lay_down(self, device: str, cards: list[Card], target: Spot) -> None:
        """Put cards from an exit where they belong; one found face up is turned, and replaced if that is a rule."""
        if device == "shoe" and cards:
            state = self.house.state
            void = state.round.number if state.round and state.round.void else 0
            asked_for = void and state.round and state.decks[state.round.deck].cards.get(ledger.TAKEN)
            kept = self._took if asked_for or (void and void == self._took_of) else []
            self._took = [*kept, *cards]
            self._took_of = void
        for card in cards:
            if card.face_up:
                self.house.cards.flip(card)
                if target.place is CardPlace.HAND and has_rule(self.house.state, Rule.FACE_UP):
                    self.house.cards.move_card(card, target, RACK)

    def deal_all(self) -> str:
        """Deal what the round's plan still requires; returns a hand that lacks a card because none was left."""
        round_, cards = self.house.state.round, self.house.cards
        assert round_ is not None
        believed = self.house.state.decks[round_.deck].cards
        shares = {stack.target: believed.get(stack.target, 0) for stack in round_.plan}
        for stack in itertools.takewhile(lambda stack: not stack.face_up, round_.plan[round_.dealt :]):
            shares[stack.target] += stack.cards
        if round_.in_hand:
            shares[round_.plan[round_.dealt].target] -= round_.in_hand
        self._deal(shares)
        return next((hand for hand, number in shares.items() if cards.count(self.hand(hand)) < number), "")

    def deal_reported(self) -> None:
        """Deal what was reported as dealt."""
        if round_ := self.house.state.round:
            believed = self.house.state.decks[round_.deck].cards
            self._deal({stack.target: believed.get(stack.target, 0) for stack in round_.plan})

    def _deal(self, shares: dict[str, int]) -> None:
        cards = self.house.cards
        for target in one_by_one({target: n - cards.count(self.hand(target)) for target, n in shares.items()}):
            if cards.count(self.source()):
                self.bring_up(target, 1)
                cards.move_top(1, self.source(), self.hand(target))

    def _collect_hands(self) -> None:
        for spot in self.house.cards.spots(CardPlace.HAND):
            self.house.cards.move_all(spot, RACK)

    def _remove_stub(self) -> None:
        automated = self.house.state.method is Method.AUTOMATED_SHOE
        for spot in self.spots(ledger.SHOE) if automated else [self.source()]:
            self._fetch(spot, RACK)

    def _expose(self, target: str) -> None:
        """Turn the reported card up at the exit, or move it from the deck or its hand to the rack."""
        cards, round_ = self.house.cards, self.house.state.round
        if round_ and round_.method is Method.AUTOMATED_SHOE:
            given = self.house.state.devices["shoe"].at_exit
            at_exit = [card for card in cards.pile(Spot(CardPlace.EXIT, 0)) if not card.face_up]
            if target and (given is None or given.target != target):
                cards.move_top(min(1, cards.count(self.hand(target))), self.hand(target), RACK)
            elif at_exit:
                cards.flip(at_exit[0])
        elif cards.count(self.source()):
            cards.move_top(1, self.source(), RACK)

    # --- gathering --------------------------------------------------------------------------------------------------

    def gather(self, deck: str, place: str) -> int:
        """Fetch the cards of a deck from a place to its pile, and count them."""
        if place == ledger.MISSING:
            return self._find(deck)
        number = self._put_back(deck) if place == ledger.TAKEN else 0
        return number + sum(self._fetch(spot, self.own(deck), deck) for spot in self.spots(place))

    def gather_all(self, deck: str) -> int:
        """Fetch the cards of a deck from everywhere outside working devices to its pile, and count the pile."""
        self._put_back(deck)
        spots = [RACK, ON_THE_TABLE, *SOURCE.values(), *self.house.cards.spots(CardPlace.HAND)]
        for device in self.house.wired:
            if not emptied_by_device(self.house.state, ledger.IN_DEVICE[device][0]):
                spots += self.spots(device)
        for spot in spots:
            self._fetch(spot, self.own(deck), deck)
        return sum(card.deck == deck for card in self.house.cards.pile(self.own(deck)))

    def _fetch(self, spot: Spot, target: Spot, deck: str = "") -> int:
        """Take a deck's cards, or all, from a spot; at an exit the sensor notices, and all of them are taken."""
        cards = self.house.cards
        for device, wired in self.house.wired.items():
            if spot == wired.device.mechanics.exit:
                moved = wired.device.take(target, self.house.now)
                self.lay_down(device, moved, target)
                number = sum(card.deck == deck for card in moved)
                spot = target
                break
        else:
            number = self._pick(deck, spot, target) if deck else len(cards.move_all(spot, target))
        if deck:
            self._put_away_foreign(deck, spot)
        return number

    def _put_back(self, deck: str) -> int:
        """Put what was last taken from the shoe on the pile, wherever it was put, and count it."""
        cards, own = self.house.cards, self.own(deck)
        took, self._took = [card for card in self._took if card.deck == deck], []
        there = [card for card in took if cards.where(card) in (own, RACK) or cards.where(card).place is CardPlace.HAND]
        for card in there:
            if cards.where(card) != own:
                cards.move_card(card, cards.where(card), own)
        self._put_away_foreign(deck, *cards.spots(CardPlace.HAND))  # it was taken with them
        return len(there)

    def _find(self, deck: str) -> int:
        """Look into broken devices, hands and rack, on the floor and among what came out of a jam; count the pile."""
        cards, own = self.house.cards, self.own(deck)
        for device in self.house.wired:
            if self.house.state.devices[device].state in UNABLE:
                for spot in self.spots(device):
                    self._pick(deck, spot, own)
        for spot in (FLOOR, ON_THE_TABLE, RACK, *cards.spots(CardPlace.HAND)):
            for card in cards.pile(spot):
                if card.deck == deck and (not cards.is_spare(card) or spot != FLOOR):  # the spares are on the floor
                    cards.move_card(card, spot, own)
        self._put_away_foreign(deck, *cards.spots(CardPlace.HAND))  # they came with its cards
        return cards.count(own) - self.house.state.decks[deck].cards.get(ledger.TABLE, 0)

    def spots_at(self, place: str) -> list[Spot]:
        """Where cards are, or can be put, at a place of the ledger or on the floor."""
        if place in (ledger.EXIT, ledger.TRAY):
            return [self.house.wired[ledger.DEVICE_OF[place]].device.mechanics.exit]
        if place in _SOURCES:
            return [_SOURCES[place]]
        if place in _OTHER_HANDS or place in self.house.setup.game.hands() or place.startswith("seat"):
            return [self.hand(place)]
        if place == ledger.TABLE:
            return [self.own(deck) for deck in self.house.decks]
        found = CardPlace[place.upper()]
        return (self.house.cards.spots(found) if found is CardPlace.SHELVES else []) or [Spot(found)]

    def carry(self, source: Spot, target: Spot | None, number: int | None = None, deck: str = "") -> int:
        """Move cards from the top of a spot, of one deck or of any; returns how many.

        Without a target, each card goes to the pile of its deck. Sensors notice cards that appear or are gone.
        """
        cards, devices = self.house.cards, self.house.wired
        sensors = {spot: devices[device].device for spot, device in _SENSED.items() if device in devices}
        before = {spot: cards.count(spot) > 0 for spot in sensors}
        moved = [card for card in cards.pile(source) if not deck or card.deck == deck][:number]
        at_exit = [wired.device for wired in devices.values() if wired.device.mechanics.exit == source]
        if at_exit and moved:  # the sensor of an exit notices when all its cards are taken
            moved = at_exit[0].take(ON_THE_TABLE, self.house.now)
            source = ON_THE_TABLE
        for card in reversed(moved):
            cards.move_card(card, source, target or self.own(card.deck))
        for spot, device in sensors.items():
            if before[spot] != (cards.count(spot) > 0):
                device.sense(spot, self.house.now)
        self.house.look()
        return len(moved)

    # --- devices ----------------------------------------------------------------------------------------------------

    def free_jam(self, device: str) -> None:
        """Take out the stuck cards, and those at the exit."""
        self.take(device)
        self.house.wired[device].device.mend(FaultName.JAM, self.house.now)

    def see_to(self, device: str) -> None:
        """Make a device that refused a command usable: empty its exit, put in or take out what was not reported."""
        state, cards = self.house.state, self.house.cards
        if self.house.wired[device].device.mechanics.mode is not Mode.WORKING:
            self.take(device)
        for spot in [SHOE, MANUAL_SHOE, *self.spots(device)]:  # decks that have left the table
            for deck in sorted({card.deck for card in cards.pile(spot) if not cards.is_spare(card)} - set(state.decks)):
                self._pick(deck, spot, self.own(deck))
        for deck, found in state.decks.items():
            if not _PUT_IN & set(found.cards):
                self._fetch_unreported(deck)
            if found.state is DeckState.INFEED and not cards.count(INFEED):
                self._collect_whole(deck)
                self.house.wired["shuffler"].device.load(self.own(deck), self.house.now)

    def close_door(self, device: str) -> bool:
        """Open and close a door that may have been closed unnoticed; False if it is open or locked."""
        box = self.house.wired[device].device
        if box.mechanics.door_open or not box.door(True, self.house.now):
            return False
        box.door(False, self.house.now)
        self.house.look()
        return True

    def check(self, device: str) -> bool:
        """Switch a failed or refused device off and on; False if that would not help or was just done."""
        found = self.house.state.devices[device]
        refused = found.refused and not found.told
        if not refused and not (found.state is DeviceState.FAILED and found.online):
            return False
        if self.house.now < self._settled_at.get(device, 0.0):
            return False
        self._settled_at[device] = self.house.now + SETTLE_S
        self.house.wired[device].device.inject(FaultName.REBOOT, self.house.now)
        self.house.look()
        return True


_MOVES: Final[dict[type[Action], Callable[[TableHands, Any], object]]] = {
    act.InsertDeck: lambda hands, action: hands.insert(action.deck),
    act.LoadDeck: lambda hands, action: hands.load(action.deck),
    act.ShuffleByHand: lambda hands, action: hands.collect(action.deck),
    act.SpreadDeck: lambda hands, action: hands.collect(action.deck),
    act.RemoveDeck: lambda hands, action: hands.collect(action.deck),
    act.CloseTable: lambda hands, action: hands._collect_all_decks(),
    act.RemoveStub: lambda hands, action: hands._remove_stub(),
    act.DecideHand: lambda hands, action: discard(hands, action.target),
    act.TakeBackDecision: lambda hands, action: take_back(hands),
    act.ReshuffleStock: lambda hands, action: reshuffle_stock(hands, random.Random(action.cut_by)),
    act.CollectAll: lambda hands, action: hands._collect_hands(),
    act.CollectHand: lambda hands, action: hands.house.cards.move_all(hands.hand(action.target), RACK),
    act.DealCards: lambda hands, action: hands.deal_reported(),
    act.FinishDeal: lambda hands, action: hands.deal_reported(),
    act.ReportFaceUp: lambda hands, action: hands._expose(action.target),
    **dict.fromkeys((act.ReconstructHands, act.ReportIrregularity, act.ReportWrongNumber), lay_out),
    act.GatherCards: lambda hands, action: hands.gather(action.deck, action.place),
    act.GatherAll: lambda hands, action: hands.gather_all(action.deck),
    act.FreeJam: lambda hands, action: hands.free_jam(action.device),
    act.TryAgain: lambda hands, action: hands.see_to(action.device),
}
