"""Hidden hands are asked for only by a floorperson, about a void round, with a reason: in every game with a shoe."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core import actions as act
from controller.core import ledger
from controller.core.actions import Action, Role
from controller.core.events.event import Entry
from controller.core.events.rounds import HandRecognised, HandsRequested, StackTakenToHand
from controller.core.machines import TableState
from controller.core.rules.script import turn_of
from controller.core.state import requestable_rounds
from controller.games import GAMES
from controller.games.game import Method
from simulators.table.people import taken
from tests.secrecy.stories import begin, over, play_on, shows_a_hand, void_round
from tests.secrecy.table import SecretTable

WITH_SHOE = [name for name, game in GAMES.items() if Method.AUTOMATED_SHOE in game.game.programme]
every = pytest.mark.parametrize("name", WITH_SHOE)
WHY = "seat 1 says that it had three of a kind"


def recognised(table: SecretTable, number: int) -> list[HandRecognised]:
    events = [entry.event for entry in table.house.events if isinstance(entry.event, HandRecognised)]
    return [event for event in events if event.round == number]


def hidden_stacks(table: SecretTable, number: int) -> list[StackTakenToHand]:
    """The stacks of a round that the shoe could name."""
    events = [entry.event for entry in table.house.events if isinstance(entry.event, StackTakenToHand)]
    return [event for event in events if event.round == number and event.command]


@every
def test_the_hands_of_a_void_round_are_named_after_a_floorperson_has_given_a_reason(name: str) -> None:
    table = SecretTable(name, Method.AUTOMATED_SHOE)
    void_round(table)
    stacks = hidden_stacks(table, 1)
    assert requestable_rounds(table.house.state) == ([1] if stacks else [])
    assert not recognised(table, 1)
    for role in (Role.DEALER, Role.TECHNICIAN, Role.AUDITOR):
        assert "may not" in table.refused(act.RequestHands, role=role, round=1, reason=WHY)
    if not stacks:  # every card of the hands was face up
        assert "no hidden hands" in table.refused(act.RequestHands, round=1, reason=WHY)
        return
    assert table.refused(act.RequestHands, round=1, reason=" ") == "no reason is given"
    assert not recognised(table, 1)
    assert table.leaks == []
    assert taken(table.people.perform(act.RequestHands, round=1, reason=WHY))
    table.house.rest(5.0)
    (requested,) = [one.event for one in table.house.events if isinstance(one.event, HandsRequested)]
    assert (requested.reason, requested.who) == (WHY, "floor 1")
    assert [event.command for event in recognised(table, 1)] == [stack.command for stack in stacks]
    assert table.leaks == []
    assert not requestable_rounds(table.house.state)


@every
def test_the_hands_of_a_round_that_is_played_or_finished_cannot_be_requested(name: str) -> None:
    table = SecretTable(name, Method.AUTOMATED_SHOE)
    begin(table)
    play_on(table, lambda: over(table) or shows_a_hand(table), probing=False)
    if not over(table):
        assert "still hidden" in table.refused(act.RequestHands, round=1, reason=WHY)
    play_on(table, lambda: over(table), probing=False)
    begin(table)
    play_on(table, lambda: over(table), probing=False)
    assert requestable_rounds(table.house.state) == []
    for number in (1, 2):
        assert "no hidden hands" in table.refused(act.RequestHands, round=number, reason=WHY)
    assert table.leaks == []


@every
def test_burnt_cards_are_never_asked_for_or_entered(name: str) -> None:
    table = SecretTable(name, Method.AUTOMATED_SHOE)
    begin(table)
    burnt = (
        [stack.target for stack in table.house.state.round.plan].count(ledger.BURNT) if table.house.state.round else 0
    )
    assert burnt == bool(table.house.setup.game.burnt)
    play_on(table, lambda: table.house.state.table is TableState.CLEARING, probing=False)
    for number in (1, 2) if burnt else ():
        kinds = ("ace of spades",) * number
        assert "is to be entered" in table.refused(act.EnterCards, target=ledger.BURNT, kinds=kinds)
    play_on(table, lambda: over(table), probing=False)
    assert all(stack.target != ledger.BURNT for stack in hidden_stacks(table, 1))


def test_losing_hands_cannot_be_entered_when_the_round_is_over() -> None:
    table = SecretTable("dragon-poker-chinese-deck", Method.HAND)
    begin(table)
    play_on(table, lambda: table.house.state.table is TableState.CLEARING, probing=False)
    state = table.house.state
    assert state.round
    losers = [f"seat{seat}" for seat in state.round.seats if f"seat{seat}" not in state.round.kinds]
    assert len(losers) == 2
    for hand in losers:
        kinds = table.people.hands.kinds_of(hand)
        assert "is to be entered" in table.refused(act.EnterCards, target=hand, kinds=kinds)
    assert table.leaks == []


def test_the_shoe_is_asked_for_a_hidden_card_once_it_is_placed() -> None:
    """People need not enter what the shoe knows; placing a card is what turns it over."""
    table = SecretTable("face-up-chinese-poker", Method.AUTOMATED_SHOE)
    play = table.people.perform

    def without_cards(kind: type[Action], **fields: Any) -> list[Entry]:
        state = table.house.state
        turn = turn_of(state, state.round) if state.round and kind is act.DecideHand else None
        single = turn is not None and turn.enter.get(fields["choice"]) == 1
        return play(kind, **(fields | {"kinds": ()} if single else fields))

    table.people.perform = without_cards  # type: ignore[method-assign]
    begin(table)
    play_on(table, lambda: over(table), probing=False)
    assert len(recognised(table, 1)) == 16
    assert table.leaks == []
    assert any(entry.kind == "round.settled" for entry in table.house.events)
