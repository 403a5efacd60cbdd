"""The people of a simulated table: a dealer and a floorperson who follow the guide (controller/core/guide.py).

They take the step that the guide shows, move the physical cards that belong to it, and report the action. What the
guide leaves open they see for themselves, such as the number of cards or the next deck in the cupboard.
"""

# mypyc
from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, Final

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action, Role
from controller.core.events.event import Entry
from controller.core.events.table import ActionRefused, refusals
from controller.core.flows import Goal, flow_to
from controller.core.guide import current_step
from controller.core.machines import DeckState, TableState
from controller.core.rules.guards import SOURCE
from controller.core.rules.script import hand_with_wrong_bets, record_between, record_of, turn_of, unknown_cards
from controller.core.state import due_deck
from controller.core.step import ACTIONS, ByHand, Offer, Step
from controller.games import described
from controller.games.game import Method
from controller.games.record import Decided, PlayerTurn
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import Mode
from simulators.devices.cards import CardPlace
from simulators.table.hands import TableHands
from simulators.table.house import House
from simulators.table.players import by_worth, choice_of, deal_face_up, planned_choice, reshuffle_stock, shuffle

WHO: Final = {
    Role.DEALER: "dealer 1",
    Role.FLOOR: "floor 1",
    Role.TECHNICIAN: "technician 1",
    Role.AUDITOR: "auditor 1",
}
CHORE_S: Final = 1.0  # how long a person needs for one thing
LOOK_AGAIN_S: Final = 10.0  # how long a person with nothing to do looks away, if nothing happens
CUT_DEPTH: Final = 20
CAREFUL: Final = 0.9  # how often players exchange only cards that are of no use to them
BEHIND_CUT_CARD: Final = 16  # cards that lie behind the cut card
_PUT_IN: Final = (DeckState.INFEED, DeckState.SHUFFLING, DeckState.SHUFFLED, DeckState.LOADED)
_LEFT_TO_OTHERS: Final = frozenset(  # decisions of the casino, and what `finish_deal` reports at once
    {"take_out_of_service", "put_in_service", "change_method", "close_bets", "deal_cards", "correct_count"}
)


def taken(made: list[Entry]) -> bool:
    """Whether the table accepted an action."""
    return not refusals(made)


def asked_to_confirm(made: list[Entry]) -> bool:
    """Whether the table wants a number confirmed."""
    return any(isinstance(entry.event, ActionRefused) and entry.event.confirm for entry in made)


class NoMoreDecks(Exception):
    """The cupboard is empty."""


class People:
    """The dealer and the floorperson of one house."""

    def __init__(self, house: House, seed: int = 0) -> None:
        self.house = house
        self.hands = TableHands(house)
        self.behind = BEHIND_CUT_CARD
        self.enough: Callable[[], bool] | None = None  # they stop working as soon as this holds
        self.rng = random.Random(f"{seed}/players")
        self.plans: dict[str, dict[str, tuple[str, ...]]] = {}  # what players decide with which cards, by their hands
        self.in_one_pile = False  # they gather a deck as a whole instead of place by place

    # --- whole courses ----------------------------------------------------------------------------------------------

    def open(self) -> bool:
        """Set the table up, open it with new decks, and go on until bets can be made."""
        return self.work()

    def play(self, seats: tuple[int, ...] = (1, 3, 6)) -> bool:
        """A whole round, from closing the bets until bets can be made again."""
        if not self.close_bets(seats):
            return False
        return self.work()

    def close_bets(self, seats: tuple[int, ...] | None = None) -> bool:
        """Close the bets, corrected where they must be; if the game needs certain bets, record them first."""
        while hand_with_wrong_bets(self.house.state) and self.chore():
            pass
        state = self.house.state
        needed = described(state.setup.game).needed_bets
        for seat in state.seats if seats is None else seats:
            bets = needed(record_between(state), ledger.seat(seat)) if needed else {}
            for bet, amount in bets.items():
                self.perform(act.RecordBet, seat=seat, bet=bet, amount=amount)
        return taken(self.perform(act.CloseBets, seats=seats))

    def work(self, stop: TableState = TableState.BETTING, limit_s: float = 1800.0) -> bool:
        """Follow the guide until the table is where it should be; False if it does not get there in time."""
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

    def reach(self, goal: Goal, about: str = "", limit_s: float = 3600.0) -> bool:
        """Follow the flow to a goal, and make the casino's decisions on the way; False if they do not get there."""
        end = self.house.now + limit_s
        while True:
            flow = flow_to(self.house.state, goal, about, self.house.now_ms)
            assert flow is not None, f"no flow to {goal} {about}"
            if flow.step is None:
                return True
            if self.house.now > end:
                return False
            decided = any(self._decide(flow.step, offer) for offer in flow.step.do)
            if not decided and not self._take_step(flow.step):
                if self.house.next_at > end:
                    return False
                self.house.watch(LOOK_AGAIN_S)

    def _decide(self, step: Step, offer: Offer) -> bool:
        """Decide what people otherwise leave to the casino; False if it is not such a decision, or was refused."""
        name, state = str(offer["action"]), self.house.state
        if name == "take_out_of_service":
            return self._report(step, offer, {"how": "covered"})
        if name == "change_method":
            return self._report(step, offer, {"method": Method.MANUAL_SHOE})
        if name == "remove_deck" and "deck" not in offer:
            return any(self._report(step, offer, {"deck": deck}) for deck in list(state.decks))
        return False

    # --- one step ---------------------------------------------------------------------------------------------------

    def step(self) -> Step:
        """What the guide says now."""
        return current_step(self.house.state, self.house.now_ms)

    def chore(self) -> bool:
        """Do what the guide says now; False if there is nothing for people to do."""
        return self._take_step(self.step())

    def _take_step(self, step: Step) -> bool:
        if step.by_hand is not None and self._move(step):
            return True
        if self.house.setup.game.keeps_dealing and self._sees_cut_card():
            return taken(self.perform(act.ReportCutCard))
        if not step.do:
            return False
        if any(offer["action"] == "decide_hand" for offer in step.do) and self._decide_out_of_turn():
            return True
        if step.do[0]["action"] == "decide_hand":
            return self._decide_hand()
        return any(self._accept(step, offer) for offer in step.do if offer["action"] != "decide_hand")

    def _decide_hand(self) -> bool:
        """The player whose turn it is decides; a choice that the game refuses is not made."""
        state = self.house.state
        turn = turn_of(state, state.round) if state.round else None
        if turn is None:
            return False
        planned = planned_choice(turn, self.plans.get(turn.hand, {}), lambda: self.hands.kinds_of(turn.hand))
        if planned:
            return self._decides(planned)
        for choice in self.rng.sample(turn.choices, len(turn.choices)):  # noqa: SIM110 - compiled, any() tries all
            if self._choose(turn, choice):
                return True
        return False

    def _decide_out_of_turn(self) -> bool:
        """Whoever has the cards for a choice that every hand has makes it at once."""
        state = self.house.state
        game = described(state.setup.game)
        turn = turn_of(state, state.round) if state.round else None
        if turn is None or state.round is None or game.decide is None:
            return False
        record = record_of(state, state.round)
        for hand, choice in itertools.product(record.held, turn.anybody):
            kinds = self.hands.kinds_of(hand)[-turn.enter.get(choice, 0) :]
            if not record.kinds.get(hand) and not game.decide(record, Decided(hand, choice, 0, kinds)).fault:
                return taken(self.perform(act.DecideHand, target=hand, choice=choice, kinds=kinds))
        return False

    def _choose(self, turn: PlayerTurn, choice: str) -> bool:
        fields = choice_of(turn, choice, lambda: self.hands.kinds_of(turn.hand), self.rng)
        if "number" in fields and self.rng.random() < CAREFUL:
            least, most = turn.numbers[choice]
            useless = by_worth(self.house.cards.pile(self.hands.hand(turn.hand)))[1]
            fields["number"] = min(max(useless, least), most)
        return self._decides(fields)

    def _decides(self, fields: dict[str, Any]) -> bool:
        """A player decides; a card that is turned over and that the deck cannot have is reported."""
        made = self.perform(act.DecideHand, **fields)
        return taken(made) or self._report_foreign_card(made, fields.get("kinds", ()))

    def _sees_cut_card(self) -> bool:
        """Whether the cut card, which lies before the last cards of a deck that lasts several rounds, has come out."""
        state = self.house.state
        if state.table not in (TableState.BETTING, TableState.CLEARING):
            return False
        deck = state.decks.get(state.round.deck if state.round else due_deck(state))
        return deck is not None and deck.rounds_left < 0 and deck.cards.get(SOURCE[state.method], 0) <= self.behind

    def _move(self, step: Step) -> bool:
        """A step that no action reports."""
        if step.by_hand is ByHand.TAKE:
            return self._take(step)
        moved = self.hands.close_door(step.device) if step.by_hand is ByHand.CLOSE else self.hands.check(step.device)
        if moved:
            self.pause()
        if moved and step.by_hand is ByHand.CHECK:
            self.pause()  # give a device that was switched on time to connect and report before switching it off again
        return moved

    def _take(self, step: Step) -> bool:
        """A stack is taken when it is whole."""
        mechanics, found = self.house.wired[step.device].device.mechanics, self.house.state.devices[step.device]
        if mechanics.mode is Mode.WORKING:
            return False
        if self.house.cards.count(mechanics.exit):
            self.pause()
            return self.hands.take(step.device)
        if step.if_empty is None or not found.online:
            return False
        self.pause()  # the device may be about to report that the cards were taken
        return self.step() != step or self._report(step, step.if_empty, {})

    def _accept(self, step: Step, offer: Offer) -> bool:
        """Take one of the actions that the guide offers, if it is for them; True if something was done."""
        name = str(offer["action"])
        if name == "deal_cards" and "cards" in offer:
            kinds = deal_face_up(self.hands, str(offer["target"]), int(str(offer["cards"])))
            return bool(kinds) and self._report(step, {**offer, "cards": len(kinds)}, {"kinds": kinds})
        if name in ("insert_deck", "load_deck"):
            return self.put_in(ACTIONS[name], str(offer["deck"]))
        if name == "receive_deck":
            return taken(self.bring(str(offer["back"])))
        if name == "gather_cards" and self._clear_exit(ledger.DEVICE_OF.get(str(offer["place"]), "")):
            return True
        if name == "empty_device" and self._clear_exit(str(offer["device"])):
            return True
        short = self.hands.deal_all() if name == "finish_deal" else ""
        if short:
            cards = self.house.cards.count(self.hands.hand(short))
            return taken(self.perform(act.ReportWrongNumber, target=short, cards=cards, confirmed=True))
        fields = self.fields(name, offer)
        return fields is not None and self._report(step, offer, fields)

    def _clear_exit(self, device: str) -> bool:
        """Before reaching into a device, people take the cards at its exit, and the device reports that."""
        if device not in self.house.wired or not self.house.state.devices[device].online:
            return False
        if self.house.wired[device].device.mechanics.mode is Mode.WORKING:
            return False
        if not self.hands.take(device):
            return False
        self.pause()
        return True

    def _report(self, step: Step, offer: Offer, fields: dict[str, Any]) -> bool:
        kind = ACTIONS[str(offer["action"])]
        given = {name: value for name, value in offer.items() if name != "action"}
        role = next((role for role in step.by if role in kind.roles), kind.roles[0])
        made = self.perform(kind, role=role, **given, **fields)
        if asked_to_confirm(made):  # they count again
            made = self.perform(kind, role=role, **given, **fields, confirmed=True)
        return taken(made) or ("kinds" in fields and self._report_foreign_card(made, fields["kinds"]))

    def _report_foreign_card(self, made: list[Entry], kinds: tuple[str, ...]) -> bool:
        """A card that the deck cannot have was refused: it is a foreign one. False if it is not, or in other games."""
        state = self.house.state
        known = described(state.setup.game).irregularities
        name = next((name for name, found in known.items() if found.rule is Rule.FOREIGN_CARD), "")
        foreign = unknown_cards(state, kinds)
        if not name or state.round is None or state.round.void or foreign is None:
            return False
        refused = [entry.event.reason for entry in made if isinstance(entry.event, ActionRefused)]
        if foreign.reason not in refused:  # but that the shoe has already named them, for instance
            return False
        return taken(self.perform(act.ReportIrregularity, irregularity=name))

    def fields(self, name: str, offer: Offer) -> dict[str, Any] | None:
        """Move the cards, and fill in what the guide leaves open; None if the action is not for them now."""
        state, deck, device = self.house.state, str(offer.get("deck", "")), str(offer.get("device", ""))
        if name in _LEFT_TO_OTHERS or (name == "remove_deck" and not deck):
            return None
        if name == "configure":
            return {"setup": self.house.setup}
        if name == "cut_deck":
            return {"depth": CUT_DEPTH}
        if name == "count_stub":
            assert state.round
            dealt = sum(self.house.cards.count(spot) for spot in self.house.cards.spots(CardPlace.HAND))
            return {"cards": self.hands.physical(state.round.deck) - dealt}
        if name == "gather_cards":
            number = self.hands.gather(deck, str(offer["place"]))
            self.house.look()
            return None if offer["place"] == ledger.MISSING and number < 1 else {"cards": number}
        if name == "gather_all":
            return {"cards": self.hands.gather_all(deck)} if self.in_one_pile else None
        if name == "enter_cards":
            return {"kinds": self._to_enter(str(offer["target"]))}
        if name == "record_bet":  # a player whose bets do not fit together takes one of them back
            return {"bet": next(iter(state.bets[ledger.seat(int(str(offer["seat"])))])), "amount": 0}
        if name == "reshuffle_stock":
            assert state.round
            cut_by = next(seat for seat in state.round.seats if seat != state.round.button)
            return {"cards": reshuffle_stock(self.hands, self.rng), "cut_by": cut_by}
        if name == "empty_device":
            lost = [name for name, found in state.decks.items() if found.cards.get(ledger.MISSING)]
            return {} if any(self.hands.in_device(name, device) for name in lost) else None
        if name == "shuffle_by_hand":
            shuffle(self.hands, deck, self.rng)
        elif name == "free_jam":
            self.hands.free_jam(device)
        elif name == "try_again":
            self.hands.see_to(device)
        return {}

    def _to_enter(self, target: str) -> tuple[str, ...]:
        """The cards of a hand that the table does not know yet."""
        round_ = self.house.state.round
        known = len(round_.kinds.get(target, ())) if round_ else 0
        return self.hands.kinds_of(target)[known:]

    def put_in(self, kind: type[Action], deck: str) -> bool:
        """Put a deck into the shuffler, the shoe or the hand, and report it unless the device was faster."""
        if kind is act.LoadDeck and self.hands.foreign(deck):  # it was counted with the deck
            return taken(self.perform(act.DirectReshuffle, deck=deck))
        if not (self.hands.insert(deck) if kind is act.InsertDeck else self.hands.load(deck)):
            return False
        self.pause()
        if self._is_in(deck) or taken(self.perform(kind, deck=deck)) or self._is_in(deck):
            return True
        self.hands.take_out(deck)
        return False

    def _is_in(self, deck: str) -> bool:
        found = self.house.state.decks.get(deck)
        return found is not None and found.state in _PUT_IN

    def bring(self, back: str, *, prepared: bool = False) -> list[Entry]:
        """Fetch a new deck with this back from the cupboard; NoMoreDecks where none is left."""
        used = {*self.house.state.decks, *self.house.state.retired}
        for name in self.house.decks:
            if name.startswith(f"{back}-") and name not in used:
                came_from = "the card room" if prepared else ""
                return self.perform(act.ReceiveDeck, deck=name, back=back, prepared=prepared, came_from=came_from)
        raise NoMoreDecks(f"the cupboard has no more {back} decks")

    # --- reporting --------------------------------------------------------------------------------------------------

    def perform(self, kind: type[Action], *, role: Role | None = None, **fields: Any) -> list[Entry]:
        """Somebody with the right role reports an action to the table."""
        role = role or kind.roles[0]
        self.pause()
        return self.report(kind(who=WHO[role], role=role, **fields))

    def report(self, action: Action) -> list[Entry]:
        """Report an action, and do with the hands what follows once it is accepted."""
        made = self.house.report(action)  # type: ignore[arg-type]
        self.house.look()
        if taken(made):
            self.hands.carry_out_afterwards(action)
        return made

    def pause(self) -> None:
        """A person needs a moment for everything, and the devices go on meanwhile."""
        self.house.rest(CHORE_S)
