"""People who make mistakes, and put them right: the wrong button, the wrong deck, a step missed, two at once.

What they do wrong they do with their hands and with the table's buttons. What the table takes from a wrong button they
then also do, as people who find that they have said so; what it refuses they leave alone.
"""

from __future__ import annotations

import random
from typing import Any

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action, AnyAction, Role
from controller.core.events.event import Entry
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.gathering import emptied_by_device, next_place
from controller.core.rules.guards import in_service, inside
from controller.games.game import Method
from firmware_bridge.wire.messages import Mode
from simulators.campaign.luck import Mishap
from simulators.campaign.unlucky_house import UnluckyHouse
from simulators.campaign.witness import Witness
from simulators.devices.cards import DECK_SIZE, Card, Place, Spot
from simulators.devices.faults import FaultName
from simulators.table.people import RACK, SOURCE, WHO, People, hand, taken

FLOOR = Spot(Place.FLOOR)
IGNORED_S = 90.0  # how long people go on under a warning, if the table lets them
LOOK_S = 1.0  # how often somebody who waits looks around
AWAY_S = 60.0  # a device that is dead is given up after this time
NEVER_BY_MISTAKE = (act.Configure, act.ReportDrawnInError)
BUTTONS: tuple[type[Action], ...] = tuple(kind for kind in AnyAction.__args__ if kind not in NEVER_BY_MISTAKE)
PLACES = ("rack", "stub", "shoe", "shuffler", "dealer", "seat1", "seat2", "missing", "hand", "manual_shoe")
_AT_ONCE = (act.RemoveDeck, act.CollectAll, act.RemoveStub)  # hands are as quick as words here
_IN_SHUFFLER = (DeckState.INFEED, DeckState.SHUFFLING, DeckState.SHUFFLED)
_LOOSE = (TableState.OPENING, TableState.WAITING, TableState.SUSPENDED)


class ClumsyPeople(People):
    """The dealer and the floorperson, on a bad day."""

    def __init__(self, house: UnluckyHouse, witness: Witness) -> None:
        super().__init__(house)
        self.unlucky = house
        self.witness = witness
        self._at_next_step: list[Mishap] = []
        self._ignoring_until = 0.0
        self._away_s = 0.0  # how long they have been away in long pauses, all in all
        self._lost_since: dict[str, float] = {}
        house.confuse = self.confuse

    # --- mistakes -----------------------------------------------------------------------------------------------------

    def confuse(self, mishap: Mishap) -> bool:
        """A mistake is made now, or with the next step. False where there is nothing to do wrong."""
        rng = random.Random(mishap.salt)
        kind = mishap.kind
        if self.unlucky.dark:
            return False
        if kind == "wrong_button":
            self.press(self.some_button(rng))
        elif kind == "hasty_hand":
            return self._grab(mishap.device)
        elif kind == "open_door":
            return self._open_door(mishap)
        elif kind == "early_clear":
            self._at_next_step.append(mishap)  # and once more when the cause is gone
            return self._clear_early()
        elif kind == "dropped_card":
            return self._drop(rng)
        else:
            self._at_next_step.append(mishap)
        return True

    def _mistake(self, *kinds: str) -> Mishap | None:
        for mishap in self._at_next_step:
            if mishap.kind in kinds:
                self._at_next_step.remove(mishap)
                return mishap
        return None

    def some_button(self, rng: random.Random) -> Action:
        """Anything, by anybody."""
        state = self.unlucky.state
        kind = rng.choice(BUTTONS)
        role = rng.choice(kind.roles) if rng.random() < 0.8 else rng.choice(list(Role))
        decks = list(state.decks) or ["red-1"]
        values: dict[str, Any] = {
            "deck": self._fresh(rng) if kind is act.ReceiveDeck else rng.choice([*decks, "none-1"]),
            "back": rng.choice(("red", "blue", "green")),
            "prepared": rng.random() < 0.2,
            "good": rng.random() < 0.9,
            "reason": "a card is bent",
            "depth": rng.choice((5, 9, 10, 20, 52, 53)),
            "seats": rng.choice(((1,), (2, 4), (1, 2, 3, 4, 5, 6), (7,), ())),
            "target": rng.choice(("seat1", "seat3", "seat6", "dealer")),
            "cards": rng.choice((0, 1, 2, 3, 4, 40, 53)),
            "misdealt": rng.random() < 0.5,
            "place": rng.choice(PLACES),
            "device": rng.choice(("shuffler", "shoe")),
            "how": rng.choice(("covered", "removed", "marked", "sold")),
            "method": rng.choice(list(Method)),
            "person": WHO[Role.DEALER],
            "warning": rng.choice([*state.warnings, "shoe.jam"]),
        }
        fields = {name: values[name] for name in kind.__struct_fields__ if name in values}
        return kind(who=WHO[role], role=role, **fields)

    def _fresh(self, rng: random.Random) -> str:
        state = self.unlucky.state
        new = [name for name in self.unlucky.decks if name not in state.decks and name not in state.retired]
        return rng.choice(new[:3]) if new else "red-1"

    def press(self, action: Action) -> list[Entry]:
        """Somebody presses a button at this very moment; what the table takes, they do as well."""
        if isinstance(action, act.GatherCards) and action.deck in self.unlucky.state.decks:
            for spot in self._spots_of(action.place):
                self._move(action.deck, spot, self._own(action.deck))
        made = self._ask(action)
        if taken(made) and made:
            self._do(action)
        return made

    def _spots_of(self, place: str) -> list[Spot]:
        if place in ("missing", "shuffler") or place not in PLACES:
            return []
        if place in ("manual_shoe", "hand") and self.house.state.method is Method.AUTOMATED_SHOE:
            return []
        if place == "shoe":
            return [] if "shoe" not in self.unlucky.wired else self._spots(place)
        return self._spots(place)

    def _do(self, action: Action) -> None:
        """What was said is done."""
        cards, state = self.unlucky.cards, self.unlucky.state
        if isinstance(action, act.InsertDeck):
            if not cards.count(Spot(Place.INFEED)):
                self._collect(action.deck, self._own(action.deck))
                self.unlucky.wired["shuffler"].device.load(self._own(action.deck), self.unlucky.now)
        elif isinstance(action, act.LoadDeck):
            self._collect(action.deck, self._own(action.deck))
            if state.method is not Method.AUTOMATED_SHOE:
                cards.move_all(self._own(action.deck), SOURCE[state.method])
            elif not cards.count(Spot(Place.SHOE)):
                self.unlucky.wired["shoe"].device.load(self._own(action.deck), self.unlucky.now)
        elif isinstance(action, act.SpreadDeck | act.ShuffleByHand | act.RemoveDeck):
            self._collect(action.deck, self._own(action.deck))
        elif isinstance(action, act.CloseTable):
            for name in self.unlucky.decks:
                self._collect(name, self._own(name))
        elif isinstance(action, act.RemoveStub):
            self._take_stub()
        elif isinstance(action, act.CollectHand):
            cards.move_all(hand(action.target), RACK)
        elif isinstance(action, act.CollectAll):
            for spot in cards.spots(Place.HAND):
                cards.move_all(spot, RACK)
        elif isinstance(action, act.DealCards | act.FinishDeal):
            self._lay_up_to()
        elif isinstance(action, act.ReportFaceUp):
            self._expose()

    def _take_stub(self) -> None:
        automated = self.unlucky.state.method is Method.AUTOMATED_SHOE
        for spot in self._spots(ledger.SHOE) if automated else [self._source()]:
            self._fetch(spot, RACK)

    def _expose(self) -> None:
        """The card that was reported is turned up at the exit, or goes from the deck to the rack."""
        cards, round_ = self.unlucky.cards, self.unlucky.state.round
        if round_ and round_.method is Method.AUTOMATED_SHOE:
            at_exit = [card for card in cards.pile(Spot(Place.EXIT, 0)) if not card.face_up]
            if at_exit:
                cards.flip(at_exit[0])
        elif cards.count(self._source()):
            cards.move_top(1, self._source(), RACK)

    def _grab(self, device: str) -> bool:
        """What lies at the exit is taken at once, whole or not."""
        wired = self.unlucky.wired.get(device)
        if wired is None or not self.unlucky.cards.count(wired.device.mechanics.exit):
            return False
        self._take_from(device)
        return True

    def _open_door(self, mishap: Mishap) -> bool:
        wired = self.unlucky.wired.get(mishap.device)
        if wired is None or not wired.device.door(True, self.unlucky.now):
            return False
        self.unlucky.later(mishap.for_s, lambda: wired.device.door(False, self.unlucky.now))
        return True

    def _clear_early(self) -> bool:
        """The dealer clears whatever stands, without looking."""
        standing = list(self.unlucky.state.warnings)
        self._clear(standing)
        return bool(standing)

    def _clear(self, keys: list[str]) -> None:
        for key in keys:
            self.press(act.ClearWarning(who=WHO[Role.DEALER], role=Role.DEALER, warning=key))

    def _cut_short(self) -> None:
        """The dealer puts the cover card in too near the top, then loads the deck as it is."""
        state = self.unlucky.state
        for name, deck in state.decks.items():
            if deck.state is DeckState.MIXED and state.table in _LOOSE:
                self.press(act.CutDeck(who=WHO[Role.DEALER], role=Role.DEALER, deck=name, depth=5))
                if self.unlucky.state.decks[name].state is DeckState.MIXED:
                    self.press(act.LoadDeck(who=WHO[Role.DEALER], role=Role.DEALER, deck=name))
                return

    def _drop(self, rng: random.Random) -> bool:
        """A card of a deck in use falls out of somebody's hands."""
        cards = self.unlucky.cards
        spots = [*cards.spots(Place.HAND), RACK, *(self._own(name) for name in self.unlucky.state.decks)]
        spot = rng.choice(spots)
        if not cards.count(spot):
            return False
        (card,) = cards.move_top(1, spot, FLOOR)
        self.witness.lost_by_a_person(card.deck)
        return True

    def _wrong_deck(self, mishap: Mishap) -> None:
        """A whole deck goes into a device that is empty, whatever deck it is; the dealer says which, truly."""
        house, cards, state = self.unlucky, self.unlucky.cards, self.unlucky.state
        device = mishap.device
        spot = Spot(Place.INFEED) if device == "shuffler" else Spot(Place.SHOE)
        whole = [name for name in state.decks if self._whole(name)]
        if device not in house.wired or cards.count(spot) or not whole or state.table not in _LOOSE:
            return
        deck = random.Random(mishap.salt).choice(whole)
        self._collect(deck, self._own(deck))
        house.wired[device].device.load(self._own(deck), house.now)
        house.look()
        self.pause()
        told = act.InsertDeck if device == "shuffler" else act.LoadDeck
        if house.state.decks.get(deck) and house.state.decks[deck].state not in {*_IN_SHUFFLER, DeckState.LOADED}:
            made = self.tell(told, deck=deck)
            found = house.state.decks.get(deck)
            if not taken(made) and found and found.state not in {*_IN_SHUFFLER, DeckState.LOADED}:
                self._move(deck, spot, self._own(deck))  # out again

    def _whole(self, name: str) -> bool:
        """Whether a deck lies there as a whole: who has it in the hand or in the manual shoe knows which it is."""
        loaded = SOURCE.values()
        spots = [RACK, *(spot for spot in self.unlucky.cards.spots(Place.TABLE) if spot not in loaded)]
        return sum(card.deck == name for spot in spots for card in self.unlucky.cards.pile(spot)) == DECK_SIZE

    def _move(self, deck: str, source: Spot, target: Spot) -> int:
        number = 0
        for card in self.unlucky.cards.pile(source):
            if card.deck == deck and source != target:
                self.unlucky.cards.move_card(card, source, target)
                number += 1
        return number

    # --- telling ------------------------------------------------------------------------------------------------------

    def _ask(self, action: Action) -> list[Entry]:
        """Tell the table, which must answer."""
        house = self.unlucky
        before = house.restarts
        made = house.report(action)  # type: ignore[arg-type]
        if not house.dark and house.restarts == before:
            self.witness.check("action answered", bool(made), action)
        house.look()
        return made

    def tell(self, kind: type[Action], *, role: Role | None = None, **fields: Any) -> list[Entry]:
        """Somebody tells the table; or forgets to, or does it twice, or two do it at once."""
        role = role or kind.roles[0]
        self.pause()
        if self._mistake("missed_step"):
            return []
        action = kind(who=WHO[role], role=role, **fields)
        made = self._ask(action)
        if made and taken(made) and isinstance(action, _AT_ONCE):
            self._do(action)  # before anybody says the next thing
        if self._mistake("pressed_twice"):
            self._ask(action)
        both = self._mistake("two_at_once")
        if both:
            self.press(self.some_button(random.Random(both.salt)))
        return made

    def work(self, stop: TableState = TableState.BETTING, limit_s: float = 1800.0) -> bool:
        """Do what has to be done. Who has nothing to do looks again when the table has changed, or after a moment.

        The time in which they are away themselves is not the table's.
        """
        house = self.unlucky
        end = house.now + limit_s - self._away_s
        while house.dark or house.state.table is not stop or house.state.round is not None:
            if house.now > end + self._away_s:
                return False
            if not self.chore():
                seq = house.state.seq
                house.run(lambda: house.dark or house.state.seq != seq, LOOK_S)  # noqa: B023 - it runs at once
        return True

    # --- putting things right -----------------------------------------------------------------------------------------

    def chore(self) -> bool:
        """One thing that has to be done now: first what a good person would not have come to."""
        self._in_the_dark()
        pause = self._mistake("long_pause")
        if pause:
            away_s = 60.0 + 90.0 * pause.for_s
            self._away_s += away_s
            self.unlucky.run(lambda: False, away_s)
            self.unlucky.wait_for_light()
        mixed = any(deck.state is DeckState.MIXED for deck in self.unlucky.state.decks.values())
        if mixed and self._mistake("short_cut"):
            self._cut_short()
        gone = [key for key, warned in self.unlucky.state.warnings.items() if warned.gone]
        if gone and self._mistake("early_clear"):
            self._clear(gone)
        wrong = self._mistake("wrong_deck")
        if wrong:
            self._wrong_deck(wrong)
        self._tidy_rack()
        if self.unlucky.state.warnings and self._mistake("ignored_warning"):
            self._ignoring_until = self.unlucky.now + IGNORED_S
        if self.unlucky.state.warnings and self.unlucky.now < self._ignoring_until:
            return self._go_on_regardless()
        return self._open_again() or self._give_up_device() or self._back_to_method() or super().chore()

    def _go_on_regardless(self) -> bool:
        """What has to be done, but for the warnings."""
        state = self.unlucky.state
        if state.table in (TableState.VOIDING, TableState.STUB_COUNT):
            return super().chore()
        if any(self._device_chore(name) for name in list(self.unlucky.wired)):
            return True
        if state.round and not state.round.void:
            return self._round_chore()
        return any(self._deck_chore(name) for name in list(state.decks)) or self._missing_deck()

    def _in_the_dark(self) -> None:
        """The host is off and its screen with it; a stack that comes out is taken all the same."""
        while self.unlucky.dark:
            self.unlucky.step()
            for name, wired in self.unlucky.wired.items():
                if self.unlucky.dark and wired.device.mechanics.mode is not Mode.WORKING:
                    self._take_from(name)

    def _open_again(self) -> bool:
        """A table that was closed or left idle by mistake."""
        state = self.unlucky.state
        if state.table is TableState.CLOSED:
            return taken(self.tell(act.OpenTable))
        if state.table is not TableState.IDLE:
            return False
        for name, deck in state.decks.items():
            if deck.state in (DeckState.DELIVERED, DeckState.STACKED, DeckState.RACKED, DeckState.MIXED, DeckState.CUT):
                made = self.tell(act.SpreadDeck, deck=name)
                if taken(made):
                    self._collect(name, self._own(name))
                    return True
        return taken(self.tell(act.PlayerArrived))

    def _give_up_device(self) -> bool:
        """A dead device is marked out of order, and another way is found."""
        house, state = self.unlucky, self.unlucky.state
        for name, wired in house.wired.items():
            device = state.devices[name]
            dead = FaultName.DEAD in wired.device.faults
            if not dead or device.online:
                continue
            since = self._lost_since.setdefault(name, house.now)
            if device.state is DeviceState.OUT_OF_SERVICE or house.now < since + AWAY_S:
                continue
            if state.round and not (state.round.void and not inside(state, name)):
                continue
            if taken(self.tell(act.TakeOutOfService, device=name, how="marked")):
                return True
        return False

    def _back_to_method(self) -> bool:
        """Devices that work are used, and the table deals as it was set up wherever that is possible."""
        house, state = self.unlucky, self.unlucky.state
        if state.round or state.table not in _LOOSE:
            return False
        for name, device in state.devices.items():
            if device.state is DeviceState.OUT_OF_SERVICE and FaultName.DEAD not in house.wired[name].device.faults:
                return taken(self.tell(act.PutInService, device=name))
        wanted = house.setup.method
        if wanted is Method.AUTOMATED_SHOE and not in_service(state, "shoe"):
            wanted = Method.MANUAL_SHOE
        if wanted is Method.HAND and not in_service(state, "shuffler"):
            wanted = Method.MANUAL_SHOE
        if state.method is wanted:
            return self._one_deck()
        for name, deck in state.decks.items():
            if deck.state is DeckState.LOADED:
                return taken(self.tell(act.UnloadDeck, deck=name))
        return taken(self.tell(act.ChangeMethod, method=wanted))

    def _one_deck(self) -> bool:
        """Without a shuffler, one of two decks leaves the table."""
        state = self.unlucky.state
        if in_service(state, "shuffler") or len(state.decks) < 2:
            return False
        for name, deck in state.decks.items():
            if deck.back != state.due and set(deck.cards) <= {ledger.TABLE, ledger.RACK, ledger.GONE}:
                made = self.tell(act.RemoveDeck, deck=name)
                if taken(made):
                    self._collect(name, self._own(name))
                    return True
        return False

    def _tidy_rack(self) -> None:
        """Spare cards without their deck do not stay in the rack."""
        pile = self.unlucky.cards.pile(RACK)
        if any(card.index >= DECK_SIZE for card in pile):
            decks = {card.deck for card in pile if card.index < DECK_SIZE}
            for card in pile:
                if card.deck not in decks:
                    self.unlucky.cards.move_card(card, RACK, FLOOR)

    # --- as good people do, with what may have gone wrong before ------------------------------------------------------

    def _take(self, name: str) -> bool:
        device = self.unlucky.wired[name].device
        if not self.unlucky.cards.count(device.mechanics.exit) or device.mechanics.mode is Mode.WORKING:
            return False
        self.pause()  # a stack is taken when it is whole, and when the table knows of it
        self._take_from(name)
        return True

    def _take_from(self, name: str) -> None:
        """Take what lies at the exit, and lay it where it belongs."""
        house = self.unlucky
        device = house.wired[name].device
        pile = house.cards.pile(device.mechanics.exit)
        if not pile:
            return
        found, round_ = house.state.devices[name], house.state.round
        given = found.at_exit or found.doing  # the table may not know yet that it is out; the dealer knows whose it is
        decks = sorted({card.deck for card in pile})
        deck = max(decks, key=lambda name: sum(card.deck == name for card in pile))
        target = self._own(deck)
        if given and given.target and name == "shoe" and round_ and not round_.void:
            target = RACK if given.target == "stub" else hand(given.target)
        self._lay_down(name, device.take(target, house.now), target)
        if target == self._own(deck):
            for other in decks:  # two decks that came out together are told apart by their backs
                if other != deck:
                    house.cards.pick(other, target, self._own(other))
        house.look()

    def _fetch(self, spot: Spot, target: Spot, deck: str = "") -> int:
        """Take the cards of a deck, or all, from a spot; at an exit the sensor sees it, and all of them come."""
        for wired in self.unlucky.wired.values():
            if spot == wired.device.mechanics.exit:
                number = sum(card.deck == deck or not deck for card in wired.device.take(target, self.unlucky.now))
                self._put_away_foreign(target, deck)
                return number
        number = self._move(deck, spot, target) if deck else len(self.unlucky.cards.move_all(spot, target))
        self._put_away_foreign(spot, deck)
        return number

    def _foreign(self, spot: Spot, deck: str) -> list[Card]:
        """The spare cards with another back: who has the deck in hand sees them."""
        return [card for card in self.unlucky.cards.pile(spot) if card.deck != deck and card.index >= DECK_SIZE]

    def _put_away_foreign(self, spot: Spot, deck: str) -> None:
        """A card with another back is put back to the spares."""
        for card in self._foreign(spot, deck) if deck else ():
            self.unlucky.cards.move_card(card, spot, FLOOR)

    def _collect(self, deck: str, target: Spot) -> None:
        super()._collect(deck, target)
        self._put_away_foreign(target, deck)

    def _gather(self, name: str) -> bool:
        state = self.unlucky.state
        if state.round and state.round.deck == name and state.round.wagers_open:
            return False
        place = next_place(state, name)
        if not place or emptied_by_device(state, place) or place == ledger.MISSING:
            return super()._gather(name)
        number = 0
        if place == ledger.TAKEN:
            number = self._put_back(name)
            for spot in self.unlucky.cards.spots(Place.HAND):
                self._put_away_foreign(spot, name)  # it was taken with them
        number += sum(self._fetch(spot, self._own(name), name) for spot in self._spots(place))
        self.unlucky.look()
        return taken(self.tell(act.GatherCards, deck=name, place=place, cards=number))

    def _remove_stub(self, method: Method) -> bool:
        if method is Method.AUTOMATED_SHOE and emptied_by_device(self.unlucky.state, ledger.SHOE):
            return False
        made = self.tell(act.RemoveStub)
        if not made:  # done, and not told
            self._take_stub()
        return taken(made)

    def _device_chore(self, name: str) -> bool:
        if self.unlucky.state.devices[name].hindered:
            self._fetch_retired(name)
        return super()._device_chore(name)

    def _fetch_retired(self, name: str) -> None:
        """A deck that has left the table in the books, and still lies in a device, comes out when that is seen to."""
        cards, kept = self.unlucky.cards, set(self.unlucky.state.decks)
        for spot in [Spot(Place.SHOE), *self._spots(ledger.IN_DEVICE[name][0])]:
            for deck in sorted({card.deck for card in cards.pile(spot) if card.index < DECK_SIZE} - kept):
                self._move(deck, spot, self._own(deck))

    def _insert(self, name: str) -> bool:
        """Another deck that lies in the infeed was put there, and not told: it comes out."""
        infeed = Spot(Place.INFEED)
        if self.unlucky.cards.count(infeed) and not inside(self.unlucky.state, "shuffler"):
            for deck in sorted({card.deck for card in self.unlucky.cards.pile(infeed)} - {name}):
                self.unlucky.cards.pick(deck, infeed, self._own(deck))
        return super()._insert(name)

    def _load(self, name: str) -> bool:
        """A deck that lies in the shoe already was put there, and not told; another one comes out.

        A card with another back was counted with the deck: a floorperson has it counted again without that card.
        """
        if self._foreign(self._own(name), name):
            return taken(self.tell(act.DirectReshuffle, deck=name))
        shoe = Spot(Place.SHOE)
        there = {card.deck for card in self.unlucky.cards.pile(shoe)}
        if self.unlucky.state.method is Method.AUTOMATED_SHOE and there:
            if name in there:
                return taken(self.tell(act.LoadDeck, deck=name))
            for deck in there:
                self._move(deck, shoe, self._own(deck))
        return super()._load(name)

    def _take_away(self, name: str) -> bool:
        """Nobody looks at the clock: an old deck is taken away when the table says so."""
        told = self.unlucky.live.table.next_step(self.unlucky.now)
        return "3.C" in told.clause and super()._take_away(name)

    def _lay(self) -> bool:
        self._lay_up_to()
        return taken(self.tell(act.FinishDeal))

    def _lay_up_to(self) -> None:
        """Lay the cards that are still missing before the hands: what was laid and not told is not laid again."""
        round_, cards = self.unlucky.state.round, self.unlucky.cards
        if round_ is None:
            return
        for target in dict.fromkeys(stack.target for stack in round_.plan):
            share = sum(stack.cards for stack in round_.plan if stack.target == target)
            there = min(share - cards.count(hand(target)), cards.count(self._source()))
            if there > 0:
                cards.move_top(there, self._source(), hand(target))
