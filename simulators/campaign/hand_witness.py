"""The part of the witness that follows the hands of a round: their cards, and which were turned over and recorded."""

# mypyc
from __future__ import annotations

from collections import Counter

from controller.core import ledger
from controller.core.actions import Role
from controller.core.events.event import Entry
from simulators.campaign.deck_witness import EXITS, DeckWitness, WitnessedRound, stack_of
from simulators.campaign.games.model import GameWitness
from simulators.campaign.luck import Shift
from simulators.devices.cards import Card, Spot
from simulators.table.hands import hand
from simulators.table.people import WHO


class HandWitness(DeckWitness):
    """Follows the hands."""

    game: GameWitness

    def __init__(self, shift: Shift) -> None:
        super().__init__(shift)
        self._open: set[str] = set()  # kinds of the cards that were turned over in this round
        self._turned_over: set[int] = set()  # rounds whose hands may be revealed
        self._to_record: Counter[tuple[int, str]] = Counter()  # cards that players have turned over, by round and hand
        self._void_rounds: set[int] = set()
        self._out_then: dict[int, Counter[str]] = {}  # the kinds that were outside the shoe when a stack was taken
        self._faced: dict[int, list[Card]] = {}  # the cards that were put out face up for a command

    def pile_of(self, target: str) -> list[Card]:
        """The physical cards of a hand. The one that came last is the first."""
        return self.house.cards.pile(hand(target, self.setup.game))

    def kinds_of(self, target: str) -> tuple[str, ...]:
        """What the physical cards of a hand are, in the order in which they came to it."""
        return tuple(self.kind(card) for card in reversed(self.pile_of(target)))

    def held(self, target: str) -> int:
        """How many physical cards a hand has."""
        return self.house.cards.count(hand(target, self.setup.game))

    def excused(self, round_: WitnessedRound) -> bool:
        """Whether the table cannot know what is wrong: a sensor lied, or a person lost a card."""
        return round_.excused or round_.deck in self._excused

    def said(self, kinds: tuple[str, ...]) -> None:
        """Somebody enters these cards in this round: the table may repeat them, also in a refusal."""
        self._open.update(kinds)

    def misread(self, target: str, kinds: tuple[str, ...]) -> WitnessedRound | None:
        """Somebody enters these cards of a hand by mistake in this round."""
        self.spoken |= set(kinds)
        if self._round:
            self._round.misread.append(target)
        return self._round

    def laid_wrongly(self) -> None:
        """Somebody has put a card where it does not belong, and does not notice."""
        if self._round:
            self._round.excused = True

    def dropped(self, card: Card, spot: Spot) -> None:
        """A person has dropped a card. One of a hand that is dealt face up was seen before, and may still be named."""
        self.lost_by_a_person(card.deck)
        seen = self._round is not None and any(
            stack.face_up and hand(stack.target, self.setup.game) == spot for stack in self._round.plan
        )
        self._turn_over([card] if seen else [])

    def _turn_over(self, cards: list[Card]) -> None:
        self._open.update([self.kind(card) for card in cards])

    def _whole(self, late: bool) -> None:
        """Every hand that is still on the table has exactly the cards that the round has dealt to it."""
        round_ = self._round
        assert round_ is not None
        shares: Counter[str] = Counter()
        waiting = set[str]()
        for stack in round_.plan:
            shares[stack.target] += stack.cards
            if stack.late and not late:
                waiting.add(stack.target)
        for target, share in shares.items():
            if target in waiting or target in round_.collected or target == ledger.DISCARDS:
                continue
            number, due = self.held(target), share - round_.put_aside[target]
            good = number == due or self.excused(round_)
            self.check("whole hand", good, f"{target} has {number} cards instead of {due} in round {round_.number}")
            self.game.whole(round_, target)

    def _known(self, target: str, kinds: list[str], cards: list[Card]) -> None:
        """What was recorded of a hand is what lies there."""
        round_ = self._round
        if round_ is None or target in round_.misread or self.excused(round_):
            return
        there = Counter(self.kind(card) for card in cards)
        self.check("cards are true", Counter(kinds) == there, f"{target}: {kinds} is recorded, {dict(there)} lie there")

    def _due(self, event: Entry) -> None:
        if self._round:
            face_up = event.data.get("face_up", False)
            self._round.plan.append(
                stack_of({"target": event.data["target"], "cards": 1, "face_up": face_up, "held": 0, "after_acting": 0})
            )

    def _decided(self, event: Entry) -> None:
        round_, data = self._round, event.data
        assert round_ is not None
        for source, _, number in data.get("moves") or ():
            round_.put_aside[source] += number
        round_.deals = [stack_of(stack) for stack in data.get("deals", ())]
        round_.plan += round_.deals
        if data.get("turned"):
            cards = self.pile_of(data["target"])[: data["turned"]]
            self._to_record[round_.number, data["target"]] += data["turned"]
            self._turn_over(cards)
            if data.get("kinds"):
                self._known(data["target"], data["kinds"], cards)

    def _taken_back(self, event: Entry) -> None:
        round_ = self._round
        assert round_ is not None
        for _, target, number in event.data.get("moves") or ():
            round_.put_aside[target] -= number
        for stack in round_.deals:
            round_.plan.remove(stack)

    def _seen_by_shoe(self, event: Entry) -> None:
        cards = [*self._faced.get(event.data["command"], []), *self.house.cards.pile(EXITS["shoe"])]
        self._turn_over(cards)
        there = Counter(self.kind(card) for card in cards)
        self.check("no hidden card named", Counter(event.data["kinds"]) <= there, f"{event}, but out were {there}")

    def _entered(self, event: Entry) -> None:
        kinds, target = event.data["kinds"], event.data["target"]
        self._known(target, kinds, self.pile_of(target)[: len(kinds)])

    def _corrected(self, event: Entry) -> None:
        if self._round:
            self._round.misread = [one for one in self._round.misread if one != event.data["target"]]
        self._entered(event)

    def _settled(self, event: Entry) -> None:
        assert self._round is not None
        self._whole(late=True)

    def _requested(self, event: Entry) -> None:
        """Only a floorperson may request hands, with a reason, and only those of a void round."""
        number, who, reason = event.data["round"], event.data.get("who", ""), event.data.get("reason", "")
        self.check("no hidden card named", number in self._void_rounds, f"the hands of round {number} were requested")
        proper = who == WHO[Role.FLOOR] and bool(reason.strip())
        self.check("no hidden card named", proper, f"{who} requested the hands of round {number}: {reason!r}")
        self._turned_over.add(number)
        self.recoveries["hands requested"] += 1

    def _recognised(self, event: Entry) -> None:
        """What is recorded must have been turned over, and have been out of the shoe when the hand got its cards."""
        number, shown = event.data["round"], Counter(event.data["kinds"])
        one_by_one = number, event.data["target"]
        self._to_record[one_by_one] -= len(event.data["kinds"])
        open_ = number in self._turned_over or self._to_record[one_by_one] >= 0
        self.check("no hidden card named", open_, f"a hand of round {number} is recorded")
        out = self._out_then.pop(event.data["command"], Counter())
        self.check("no undealt card named", shown <= out, f"{shown} was recorded, but only {out} had been turned over")
        self._open.update(shown)  # one may have fallen down since
