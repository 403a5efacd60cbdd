"""What simulated players do: they decide at random what their game lets them choose, and move the cards."""

# mypyc
from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from controller.core import ledger
from controller.core.rules.guards import SOURCE
from controller.games.game import Method
from controller.games.record import PlayerTurn
from simulators.devices.cards import CardPlace, Spot

if TYPE_CHECKING:
    from simulators.devices.cards import Card
    from simulators.table.hands import TableHands


def choice_of(turn: PlayerTurn, choice: str, held: Callable[[], tuple[str, ...]], rng: random.Random) -> dict[str, Any]:
    """What goes with a choice: a number of cards, some of the hand's cards, or cards that the player turns over."""
    found: dict[str, Any] = {"target": turn.hand, "choice": choice}
    if choice in turn.numbers:
        found["number"] = rng.randint(*turn.numbers[choice])
    if choice in turn.enter:
        found["kinds"] = held()[-turn.enter[choice] :]
    elif turn.cards:
        found["kinds"] = (rng.choice(turn.cards),)
    return found


def planned_choice(
    turn: PlayerTurn, plan: Mapping[str, Sequence[str]], held: Callable[[], tuple[str, ...]]
) -> dict[str, Any] | None:
    """The choice that a player has planned for this turn, with the cards that belong to it; None if there is none."""
    for choice in turn.choices:
        cards, number = plan.get(choice), turn.enter.get(choice, 0)
        if plan and number > 1:  # all cards at once, in their planned order
            every = tuple(card for one in plan.values() for card in one)
            return {"target": turn.hand, "choice": choice, "kinds": every}
        if cards is None:
            continue
        about = [card for card in turn.cards or held()[-1:] if card in cards]
        if about or not cards:
            kinds = about if turn.cards or number else ()  # otherwise the shoe says which card it is
            return {"target": turn.hand, "choice": choice, "kinds": tuple(kinds)}
    return None


def one_by_one(numbers: Mapping[str, int]) -> Iterator[str]:
    """Who gets the next card until every hand has its number: one card each in turn."""
    for dealt in range(max(numbers.values(), default=0)):
        yield from (target for target, number in numbers.items() if number > dealt)


def shuffle(hands: TableHands, deck: str, rng: random.Random) -> None:
    """Bring a deck together and shuffle it by hand."""
    hands.collect(deck)
    order = hands.house.cards.pile(hands.own(deck))
    rng.shuffle(order)
    hands.house.cards.reorder(hands.own(deck), order)


def deal_face_up(hands: TableHands, target: str, number: int) -> tuple[str, ...]:
    """Deal cards to a hand, and look at them. Those that lie there and were not reported are looked at first."""
    cards, state = hands.house.cards, hands.house.state
    believed = state.decks[state.round.deck].cards.get(target, 0) if state.round else 0
    while cards.count(hands.hand(target)) < believed + number and cards.count(hands.source()):
        hands.bring_up(target, 1)
        cards.move_top(1, hands.source(), hands.hand(target))
    return hands.kinds_of(target)[believed : believed + number]


def _is_set(cards: Sequence[Card]) -> bool:
    kinds = sorted(card.kind for card in cards)
    return kinds[0] == kinds[2] or kinds == [kinds[0], kinds[0] + 1, kinds[0] + 2]


def by_worth(held: Sequence[Card]) -> tuple[list[Card], int]:
    """The cards of a hand, first those that fit the others least, and how many fit none. A set of three stays."""
    sets = [three for three in itertools.combinations(held, 3) if _is_set(three)]
    best = max(sets, key=lambda three: min(card.kind for card in three), default=())

    def fits(card: Card) -> int:
        others = (other for other in held if other not in best and other is not card)
        return sum(max(3 - abs(card.kind - other.kind), 0) for other in others)

    ranked = sorted(held, key=lambda card: (card in best, fits(card), card.kind, card.index))
    return ranked, sum(card not in best and not fits(card) for card in held)


def discard(hands: TableHands, target: str) -> None:
    """Put cards of a hand aside until it has as many as the table believes, first those that fit the others least."""
    assert hands.house.state.round
    believed = hands.house.state.decks[hands.house.state.round.deck].cards
    held = hands.house.cards.pile(hands.hand(target))
    aside = believed.get(ledger.DISCARDS, 0) - hands.house.cards.count(hands.hand(ledger.DISCARDS))
    for card in by_worth(held)[0][: max(min(len(held) - believed.get(target, 0), aside), 0)]:
        hands.house.cards.move_card(card, hands.hand(target), hands.hand(ledger.DISCARDS))


def take_back(hands: TableHands) -> None:
    """Put cards that were put aside last back into the hands that should have them."""
    assert hands.house.state.round
    believed = hands.house.state.decks[hands.house.state.round.deck].cards
    for target in {stack.target for stack in hands.house.state.round.plan}:
        lacking = believed.get(target, 0) - hands.house.cards.count(hands.hand(target))
        there = hands.house.cards.count(hands.hand(ledger.DISCARDS))
        if lacking > 0 and there:
            hands.house.cards.move_top(min(lacking, there), hands.hand(ledger.DISCARDS), hands.hand(target))


def reshuffle_stock(hands: TableHands, rng: random.Random) -> int:
    """Put stock and discards together, shuffle and cut them; returns how many there are."""
    state, cards = hands.house.state, hands.house.cards
    assert state.round
    by_shoe = state.round.method is Method.AUTOMATED_SHOE
    pile = hands.own(state.round.deck) if by_shoe else hands.source()
    if cards.move_all(hands.hand(ledger.DISCARDS), pile):
        order = cards.pile(pile)
        rng.shuffle(order)
        cards.reorder(pile, order)
        if by_shoe:
            hands.house.wired["shoe"].device.load(pile, hands.house.now)
            hands.house.look()
    return cards.count(hands.dealt_from())


def lay_out(hands: TableHands, action: object = None) -> None:
    """Lay the cards of a round that is dealt on from the same deck where the table has them."""
    house, cards = hands.house, hands.house.cards
    round_ = house.state.round
    if round_ is None or not house.setup.game.keeps_dealing or round_.method is Method.AUTOMATED_SHOE:
        return
    believed = house.state.decks[round_.deck].cards
    for target in dict.fromkeys(stack.target for stack in round_.plan):
        surplus = cards.count(hands.hand(target)) - believed.get(target, 0)
        if surplus > 0 and not round_.void:
            cards.move_top(surplus, hands.hand(target), hands.source())
    hands.deal_reported()
    beside = cards.count(hands.source()) - believed.get(SOURCE[round_.method], 0)
    if beside > 0:
        cards.move_top(beside, hands.source(), Spot(CardPlace.RACK))
