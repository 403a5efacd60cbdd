"""A game may deal several cards of a stack face up; by hand they are dealt, and entered, together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import pytest

from controller import games
from controller.core.events.rounds import StackTakenToHand
from controller.core.setup import Setup
from controller.games.description import Description
from controller.games.game import DEALER, PLAYERS, Deal, Method
from simulators.table.house import House
from simulators.table.people import People
from tests.support.high_card import make_high_card


@pytest.fixture
def two_cards() -> Iterator[Description]:
    """The game of docs/games.md, with two cards for each player, face up."""
    right = make_high_card()
    programme = {method: (Deal(PLAYERS, 2, face_up=True), Deal(DEALER, 1, face_up=True)) for method in Method}
    wrong = replace(right, game=msgspec.structs.replace(right.game, programme=programme))
    games.GAMES["high-card"] = games._DESCRIPTIONS[right.game.name] = wrong
    yield wrong
    del games.GAMES["high-card"], games._DESCRIPTIONS[right.game.name]


@pytest.mark.parametrize("method", [Method.MANUAL_SHOE, Method.HAND])
def test_two_cards_are_dealt_face_up_at_once(two_cards: Description, method: Method) -> None:
    house = House(None, Setup(game=two_cards.game, method=method, shuffler=None, backs=("red",)))
    people = People(house)
    assert people.open()
    headlines = set()

    def step() -> bool:
        headlines.add(people.step().text)
        return people.chore()

    assert people.close_bets((1, 4))
    while house.state.round is not None and step():
        pass
    assert house.state.round is None
    dealt = [one.event for one in house.events if isinstance(one.event, StackTakenToHand)]
    assert [(one.target, one.cards) for one in dealt] == [("seat1", 2), ("seat4", 2), (DEALER, 1)]
    assert "Deal 2 cards to seat 1, face up, and enter them." in headlines
    assert "Deal a card to the dealer, face up, and enter it." in headlines
    house.close()
