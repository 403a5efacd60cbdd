"""People who deviate from the guide: the wrong button, the wrong deck, a step left out, two actions at once.

They follow the guide like the people they derive from (simulators/table/people.py), until a mishap makes them depart
from one step of it. What the table accepts from a wrong button they then also do with their hands; what it refuses
they leave alone.
"""

# mypyc
from __future__ import annotations

import random
from typing import Any

import msgspec

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action, AnyAction, Role
from controller.core.events.event import Entry
from controller.core.guide import current_step
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.guards import in_service
from controller.core.rules.script import turn_of
from controller.core.step import Offer, Step
from controller.games import described
from controller.games.game import Method
from firmware_bridge.wire.messages import Mode
from simulators.campaign.games import campaign_game
from simulators.campaign.luck import Mishap
from simulators.campaign.tampering import TAMPERING
from simulators.campaign.unlucky_house import UnluckyHouse
from simulators.campaign.witness import Witness
from simulators.devices.cards import CardPlace
from simulators.devices.faults import FaultName
from simulators.table.hands import FLOOR, INFEED, RACK, SHOE, SOURCE
from simulators.table.people import WHO, People, asked_to_confirm, taken

PATIENCE = 5  # refusals in a row, after which the dealer counts the hands
IGNORED_S = 90.0  # how long people go on under a warning, if the table lets them
LOOK_S = 1.0  # how often somebody who waits looks around
DISPUTED = 0.4  # how often somebody requests the hands of a round, each time the round has come further
SHORT_CUT = 5  # cards from the top, and less than allowed
NEVER_BY_MISTAKE = (act.Configure, act.ReportDrawnInError, act.ReconstructHands, act.RequestHands)
BUTTONS: tuple[type[Action], ...] = tuple(kind for kind in AnyAction.__args__ if kind not in NEVER_BY_MISTAKE)
PLACES = ("rack", "stub", "shoe", "shuffler", "dealer", "seat1", "seat2", "missing", "hand", "manual_shoe")
# Pressed by mistake, without looking at the device or the cards.
_SAID_ONLY = (act.FreeJam, act.TryAgain, act.CorrectCount)
_Count = act.GatherCards | act.GatherAll | act.CountStub
_NAME_CARDS = (act.EnterCards, act.CorrectCards, act.DealCards, act.DecideHand)
_COUNTS = (act.GatherCards, act.GatherAll, act.CountStub)
_LOOSE = (TableState.OPENING, TableState.WAITING, TableState.SUSPENDED)


class ClumsyPeople(People):
    """The dealer and the floorperson, on a bad day."""

    def __init__(self, house: UnluckyHouse, witness: Witness) -> None:
        super().__init__(house)
        self.unlucky = house
        self.witness = witness
        self.game = campaign_game(house.shift.game)
        self._at_next_step: list[Mishap] = []
        self._ignoring_until = 0.0
        self.covered_until = 0.0  # until then the shoe stays covered, although it works
        self.hasty_bets = False  # the next bets are closed before anybody has wagered
        self._away_s = 0.0  # how long they have been away in long pauses, in total
        self._refusals = 0  # in a row
        self.blind_until = 0.0  # until then nobody sees the cut card
        self.occupied_until = 0.0  # until then they put right what they have just done wrong, and do nothing else
        self.behind = house.setup.options.get("cut_card", self.behind)
        self.in_one_pile = house.shift.number % 4 == 2
        kind = house.setup.shuffler
        alternating = len(house.setup.backs) == 2 and kind is not None and not kind.counts
        self._counts_every_other = alternating and house.shift.number % 3 == 0  # so that one deck is never counted
        self._prepared = alternating and house.shift.number % 2 == 0  # decks come inspected and shuffled
        self._disputes: set[tuple[int, str]] = set()  # the rounds about which a player may have complained, and when
        house.confuse = self.confuse

    # --- mishaps ------------------------------------------------------------------------------------------------------

    def confuse(self, mishap: Mishap) -> bool:
        """A mishap comes now, or with the next step. False where it cannot."""
        rng = random.Random(mishap.salt)
        kind = mishap.kind
        if self.unlucky.dark:
            return False
        if kind == "wrong_button":
            self.press(self.some_button(rng))
        elif kind == "hasty_hand":
            return mishap.device in self.unlucky.wired and self.hands.take(mishap.device)
        elif kind == "open_door":
            return self._open_door(mishap)
        elif kind == "early_clear":
            self._at_next_step.append(mishap)  # and once more when the cause is gone
            return self._clear(list(self.unlucky.state.warnings))
        elif kind == "dropped_card":
            return self._drop(rng)
        elif kind in TAMPERING:
            return TAMPERING[kind](self, mishap)
        elif kind in self.game.mishaps:
            return self.game.mishaps[kind](self, mishap)
        else:
            self._at_next_step.append(mishap)
        return True

    def away(self, for_s: float) -> None:
        """They cannot do anything for this long, which does not count as the table's time."""
        self._away_s += for_s

    def pause(self) -> None:
        """A person needs a moment for everything, and finishes one thing before the next."""
        super().pause()
        self._finish()

    def _finish(self) -> None:
        if self.unlucky.now <= self.occupied_until:
            self.unlucky.run(
                lambda: self.unlucky.now > self.occupied_until, self.occupied_until - self.unlucky.now + 0.1
            )

    def _mistake(self, kind: str) -> Mishap | None:
        for mishap in self._at_next_step:
            if mishap.kind == kind:
                self._at_next_step.remove(mishap)
                self.unlucky.note(f"now: {mishap}")
                return mishap
        return None

    def some_button(self, rng: random.Random) -> Action:
        """Any action, by anybody."""
        state, game = self.unlucky.state, self.unlucky.setup.game
        kind = rng.choice(BUTTONS)
        role = rng.choice(kind.roles) if rng.random() < 0.8 else rng.choice(list(Role))
        decks = list(state.decks) or ["red-1"]
        values: dict[str, Any] = {
            "deck": self._new_deck(rng) if kind is act.ReceiveDeck else rng.choice([*decks, "none-1"]),
            "back": rng.choice(("red", "blue", "green")),
            "prepared": rng.random() < 0.2,
            "came_from": "the card room",
            "good": rng.random() < 0.9,
            "reason": "a card is bent",
            "depth": rng.choice((5, game.least_cut - 1, game.least_cut, 20, game.deck_size - 1, game.deck_size)),
            "seats": rng.choice(((1,), (2, 4), (1, 2, 3, 4, 5, 6), (7,), ())),
            "target": rng.choice(("seat1", "seat3", f"seat{state.setup.seats}", *(game.hands() or ("dealer",)))),
            "cards": rng.choice((0, 1, 2, 3, 4, 40, game.deck_size)),
            "misdealt": rng.random() < 0.5,
            "place": rng.choice(PLACES),
            "device": rng.choice(("shuffler", "shoe")),
            "how": rng.choice(("covered", "removed", "marked", "sold")),
            "method": rng.choice(list(Method)),
            "person": WHO[Role.DEALER],
            "warning": rng.choice([*state.warnings, "shoe.jam"]),
            "confirmed": rng.random() < 0.5,
            "seat": rng.randrange(1, 8),
            "bet": rng.choice((*described(game).bets, "none")),
            "amount": rng.choice((-1, 0, 10, 20)),
            "kinds": tuple(rng.choices((*game.kinds, "joker"), k=rng.randrange(4))),
            "choice": rng.choice(self.game.choices),
            "number": rng.randrange(5),
            "cut_by": 1,
            "irregularity": rng.choice((*described(game).irregularities, "none")),
        }
        fields = {name: values[name] for name in kind.__struct_fields__ if name in values}
        return kind(who=WHO[role], role=role, **fields)

    def _new_deck(self, rng: random.Random) -> str:
        state = self.unlucky.state
        new = [name for name in self.unlucky.decks if name not in state.decks and name not in state.retired]
        return rng.choice(new[:3]) if new else "red-1"

    def press(self, action: Action) -> list[Entry]:
        """Somebody presses a button at this very moment; what the table accepts, the hands do as well."""
        round_ = self.witness.misread(action.target, action.kinds) if isinstance(action, _NAME_CARDS) else None
        made = self.report(action)
        accepted = bool(made) and taken(made)
        if round_ is not None and not accepted:
            round_.misread = round_.misread[:-1]
        self.unlucky.note(f"{'accepted' if accepted else 'refused'}, pressed by mistake: {action}")
        if accepted and not isinstance(action, _SAID_ONLY):
            self.hands.carry_out(action)
        return made

    def pressed(self, action: Action) -> bool:
        """Somebody presses a button, and the table accepts it."""
        made = self.press(action)
        return bool(made) and taken(made)

    def _open_door(self, mishap: Mishap) -> bool:
        wired = self.unlucky.wired.get(mishap.device)
        if wired is None or not wired.device.door(True, self.unlucky.now):
            return False
        self.unlucky.later(mishap.for_s, lambda: wired.device.door(False, self.unlucky.now))
        return True

    def _clear(self, warnings: list[str]) -> bool:
        """The dealer clears these warnings without checking anything."""
        for key in warnings:
            self.press(act.ClearWarning(who=WHO[Role.DEALER], role=Role.DEALER, warning=key))
        return bool(warnings)

    def _drop(self, rng: random.Random) -> bool:
        """A card of a deck in use falls out of somebody's hands."""
        cards = self.unlucky.cards
        spots = [*cards.spots(CardPlace.HAND), RACK, *(self.hands.own(name) for name in self.unlucky.state.decks)]
        spot = rng.choice(spots)
        if not cards.count(spot):
            return False
        (card,) = cards.move_top(1, spot, FLOOR)
        self.witness.dropped(card, spot)
        return True

    def _wrong_deck(self, mishap: Mishap) -> None:
        """Some whole deck goes to an empty place; the dealer correctly reports which one."""
        shuffler, state = mishap.device == "shuffler", self.unlucky.state
        whole = [name for name in state.decks if self._is_whole(name)]
        if mishap.device not in self.unlucky.wired or not whole or state.table not in _LOOSE:
            return
        if not self.unlucky.cards.count(INFEED if shuffler else SOURCE.get(state.method, SHOE)):
            self.put_in(act.InsertDeck if shuffler else act.LoadDeck, random.Random(mishap.salt).choice(whole))

    def _is_whole(self, name: str) -> bool:
        """Whether a whole deck is there: one in the hand or in the manual shoe is not mistaken for another."""
        loaded = SOURCE.values()
        spots = [RACK, *(spot for spot in self.unlucky.cards.spots(CardPlace.TABLE) if spot not in loaded)]
        return (
            sum(card.deck == name for spot in spots for card in self.unlucky.cards.pile(spot))
            == self.unlucky.setup.game.deck_size
        )

    # --- deviations from the guide ------------------------------------------------------------------------------------

    def step(self) -> Step:
        """What the guide says, or would say without its warnings while they are ignored."""
        house = self.unlucky
        if house.state.warnings and self._mistake("ignored_warning"):
            self._ignoring_until = house.now + IGNORED_S
        if house.state.warnings and house.now < self._ignoring_until:
            return current_step(msgspec.structs.replace(house.state, warnings={}), house.now_ms)
        return super().step()

    def chore(self) -> bool:
        """One step of the guide, and what goes wrong before it."""
        self._take_in_the_dark()
        self._finish()
        pause = self._mistake("long_pause")
        if pause:
            away_s = 60.0 + 90.0 * pause.for_s
            self.away(away_s)
            self.unlucky.run(lambda: False, away_s)
            self.unlucky.wait_for_light()
        gone = [key for key, warned in self.unlucky.state.warnings.items() if warned.gone]
        if gone and self._mistake("early_clear"):
            self._clear(gone)
        wrong = self._mistake("wrong_deck")
        if wrong:
            self._wrong_deck(wrong)
        self._tidy_rack()
        self._dispute()
        self._want_count()
        if self._refusals >= PATIENCE and self._call_off():
            return True
        return self._back_to_normal() or super().chore()

    def fields(self, name: str, offer: Offer) -> dict[str, Any] | None:
        """They also decide for the casino: a dead device goes out of service, and the table deals without it."""
        if name == "take_out_of_service":
            return {"how": "marked"} if self._is_dead(str(offer["device"])) else None
        if name == "change_method":
            return {"method": Method.MANUAL_SHOE}
        if name == "remove_deck" and "deck" not in offer:
            decks, due = self.unlucky.state.decks, self.unlucky.state.due
            free = [name for name in decks if set(decks[name].cards) <= {ledger.TABLE, ledger.RACK, ledger.GONE}]
            return {"deck": min(free, key=lambda name: decks[name].back == due)} if free else None
        if name == "cut_deck" and self._mistake("short_cut"):
            self._cut_short(str(offer["deck"]))
            return None
        return super().fields(name, offer)

    def _cut_short(self, deck: str) -> None:
        """The dealer puts the cover card in too near the top, then loads the deck anyway."""
        dealer: dict[str, Any] = {"who": WHO[Role.DEALER], "role": Role.DEALER}
        self.press(act.CutDeck(deck=deck, depth=SHORT_CUT, **dealer))
        if deck in self.unlucky.state.decks and self.unlucky.state.decks[deck].state is DeckState.MIXED:
            self.press(act.LoadDeck(deck=deck, **dealer))

    def perform(self, kind: type[Action], *, role: Role | None = None, **fields: Any) -> list[Entry]:
        """Somebody reports an action; or forgets to, or does it twice, or two do it at once."""
        role = role or kind.roles[0]
        self.pause()
        action = kind(who=WHO[role], role=role, **fields)
        if isinstance(action, _COUNTS):
            typo = self._mistake("typo")
            if typo:
                return self._mistype(action, random.Random(typo.salt))
        if self._mistake("missed_step"):
            self.hands.carry_out_afterwards(action)
            return []
        made = self.report(action)
        if self._mistake("pressed_twice"):
            self.report(action)
        both = self._mistake("two_at_once")
        if both:
            self.press(self.some_button(random.Random(both.salt)))
        return made

    def _mistype(self, action: _Count, rng: random.Random) -> list[Entry]:
        """Somebody enters a wrong number, perhaps insists on it, sees it, and corrects it."""
        true = action.cards
        wrong = rng.choice([number for number in (true + 1, true - 1, 10 * true, 99, 3, 0) if number != true])
        made = self.press(msgspec.structs.replace(action, cards=wrong))
        if asked_to_confirm(made) and rng.random() < 0.5:
            made = self.press(msgspec.structs.replace(action, cards=wrong, confirmed=True))
        if not made or not taken(made):
            return self._confirmed(action)
        return self._confirmed(act.CorrectCount(who=action.who, role=action.role, cards=true))

    def _confirmed(self, action: _Count | act.CorrectCount) -> list[Entry]:
        made = self.report(action)
        return self.report(msgspec.structs.replace(action, confirmed=True)) if asked_to_confirm(made) else made

    def report(self, action: Action) -> list[Entry]:
        """Report an action to the table, which must answer."""
        house = self.unlucky
        before = house.restarts
        self.witness.said(getattr(action, "kinds", ()))
        made = super().report(action)
        self._refusals = 0 if taken(made) else self._refusals + 1
        if not house.dark and house.restarts == before:
            self.witness.check("action answered", bool(made), action)
        return made

    def play(self, seats: tuple[int, ...] = (1, 3, 6)) -> bool:
        """A whole round; bets that are closed too early may be closed once more."""
        if self.hasty_bets and self.unlucky.state.table is TableState.BETTING:
            self.hasty_bets, wagered = False, self.witness.wagered
            early = self.perform(act.CloseBets)
            closed = bool(early) and taken(early)
            self.witness.check("dealt in order", not closed or wagered, "bets are closed, and nobody has wagered")
        if self.unlucky.state.table is TableState.BETTING:
            self._before_round(seats)
        return super().play(seats)

    def _before_round(self, seats: tuple[int, ...]) -> None:
        """In some rounds of some games, the cards lie as luck wants them, and bets are recorded."""
        shift, state = self.unlucky.shift, self.unlucky.state
        rng = random.Random(f"{shift.seed}/{shift.number}/{shift.game}/round/{state.rounds}")
        if self.game.prepare is not None:
            self.game.prepare(self, rng)
        bets = described(state.setup.game).bets
        if self.game.bets and bets and rng.random() < 0.5:
            for _ in range(rng.randint(1, 5)):
                seat, bet, amount = rng.choice(seats), rng.choice(bets), rng.choice((1, 5, 20, 100))
                self.perform(act.RecordBet, seat=seat, bet=bet, amount=amount)

    def _sees_cut_card(self) -> bool:
        return self.unlucky.now >= self.blind_until and super()._sees_cut_card()

    def _decide_hand(self) -> bool:
        """Players of some games have a way of their own to decide."""
        state = self.unlucky.state
        turn = turn_of(state, state.round) if state.round else None
        fields = self.game.prefer(self, turn) if self.game.prefer is not None and turn is not None else None
        return self._decides(fields) if fields else super()._decide_hand()

    def work(self, stop: TableState = TableState.BETTING, limit_s: float = 1800.0) -> bool:
        """Follow the guide. Anyone with nothing to do looks again when the table has changed, or after a moment.

        The time they themselves are away does not count.
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

    # --- what no guide can know ---------------------------------------------------------------------------------------

    def bring(self, back: str, *, prepared: bool = False) -> list[Entry]:
        """A deck comes to the table, in some shifts inspected and shuffled beforehand."""
        return super().bring(back, prepared=prepared or self._prepared)

    def _want_count(self) -> None:
        """In some shifts the dealer wants the stub counted in every other round, whether or not it is due."""
        state = self.unlucky.state
        if not self._counts_every_other or state.table is not TableState.DEALING:
            return
        if state.round and state.round.number % 2 and not state.round.count_wanted:
            self.report(act.WantStubCount(who=WHO[Role.DEALER], role=Role.DEALER))

    def _dispute(self) -> None:
        """A player complains about a hand, and somebody requests the cards of the round, whether or not it is void.

        Whether this happens depends on the shift and the round alone, so that the other mishaps do not change.
        """
        house, state = self.unlucky, self.unlucky.state
        if not (self.unlucky.setup.shuffler and self.unlucky.setup.shuffler.recognises and state.rounds):
            return
        when = "over" if state.round is None else "void" if state.round.void else "played"
        if (state.rounds, when) in self._disputes:
            return
        self._disputes.add((state.rounds, when))
        rng = random.Random(f"{house.shift.seed}/{house.shift.number}/dispute/{state.rounds}/{when}")
        if rng.random() < DISPUTED:
            role = Role.FLOOR if rng.random() < 0.8 else Role.DEALER
            reason = "a player disputes a hand" if rng.random() < 0.9 else " "
            made = self.report(act.RequestHands(who=WHO[role], role=role, round=state.rounds, reason=reason))
            answer = "granted" if made and taken(made) else "refused"
            house.note(f"{answer}, requested by {WHO[role]}: the hands of round {state.rounds}, which is {when}")

    def all_reported(self) -> bool:
        """Whether every hand of the round has as many cards as the table believes: nobody is just dealing one."""
        state, round_ = self.unlucky.state, self.unlucky.state.round
        if round_ is None:
            return False
        cards, targets = state.decks[round_.deck].cards, {stack.target for stack in round_.plan}
        return all(self.unlucky.cards.count(self.hands.hand(one)) == cards.get(one, 0) for one in targets)

    def _call_off(self) -> bool:
        """What the guide asks for is refused again and again: a hand has lost a card, which makes the round void."""
        self._refusals = 0
        state, round_ = self.unlucky.state, self.unlucky.state.round
        if round_ is None or round_.void:
            return False
        for target in {stack.target: None for stack in round_.plan}:
            there = self.unlucky.cards.count(self.hands.hand(target))
            if there != state.decks[round_.deck].cards.get(target, 0):
                return taken(self.perform(act.ReportWrongNumber, target=target, cards=there, confirmed=True))
        return False

    def _take_in_the_dark(self) -> None:
        """The host is off and its screen with it; a stack that comes out is taken anyway."""
        while self.unlucky.dark:
            self.unlucky.step()
            for name, wired in self.unlucky.wired.items():
                if self.unlucky.dark and wired.device.mechanics.mode is not Mode.WORKING:
                    self.hands.take(name)

    def _is_dead(self, device: str) -> bool:
        return FaultName.DEAD in self.unlucky.wired[device].device.faults

    def _back_to_normal(self) -> bool:
        """Put devices that work in service again, and deal as the table was set up wherever that is possible."""
        state, wanted = self.unlucky.state, self.unlucky.setup.method
        if state.round or state.table not in _LOOSE:
            return False
        for name, device in state.devices.items():
            if name == "shoe" and self.unlucky.now < self.covered_until:
                continue
            if device.state is DeviceState.OUT_OF_SERVICE and not self._is_dead(name):
                return taken(self.perform(act.PutInService, device=name))
        needed = {Method.AUTOMATED_SHOE: "shoe", Method.HAND: "shuffler"}.get(wanted)
        if state.method is wanted or (needed and not in_service(state, needed)):
            return False
        for name, deck in state.decks.items():
            if deck.state is DeckState.LOADED:
                return taken(self.perform(act.UnloadDeck, deck=name))
        return taken(self.perform(act.ChangeMethod, method=wanted))

    def _tidy_rack(self) -> None:
        """Spare cards without their deck do not stay in the rack."""
        pile = self.unlucky.cards.pile(RACK)
        if self.unlucky.setup.game.keeps_dealing and not all(self.unlucky.cards.is_spare(card) for card in pile):
            return  # nobody looks through the cards of a deck that is still being dealt
        if any(self.unlucky.cards.is_spare(card) for card in pile):
            decks = {card.deck for card in pile if not self.unlucky.cards.is_spare(card)}
            for card in pile:
                if card.deck not in decks:
                    self.unlucky.cards.move_card(card, RACK, FLOOR)
