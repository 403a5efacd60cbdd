"""The part of the table's view that the description of its game gives: hands, bets, whose turn it is, and the result.

A card appears here once the script of the game has turned it over. All others are only counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from controller.core.machines import TableState
from controller.core.names import capital, place_name
from controller.core.rules.dealing import next_stack, waits_for_players
from controller.core.rules.play import cards_wanted
from controller.core.rules.script import record_between, record_of, reshuffle_due, turn_of
from controller.core.state import Round, Settled, State
from controller.core.step import Offer
from controller.games import described
from controller.games.board import BoardBlock
from controller.games.record import PlayerTurn


class DecisionShown(msgspec.Struct):
    """What was decided about a hand."""

    choice: str
    number: int
    kinds: tuple[str, ...]


class HandShown(msgspec.Struct):
    """A hand at the table: that of a seat, or one that the game names."""

    name: str
    label: str
    cards: int
    kinds: list[str]  # of the cards that are face up, in the order in which they were seen
    to_enter: int  # cards that are face up and have not been entered
    bets: dict[str, int]
    decisions: list[DecisionShown]


class GameView(msgspec.Struct):
    """What the screen shows of a game."""

    hands: list[HandShown]  # those of the seats, then those that the game deals to besides
    seat_bets: tuple[str, ...]  # bets whose amount is the number of a seat
    button: int  # the seat that has it; 0 if there is none
    turn: PlayerTurn | None  # whose decision the table accepts now
    board: list[BoardBlock]
    settled: Settled | None  # the result of the last round, with its payments in the order in which they are made
    session_ended: Settled | None  # the result of the last session, until a round of the next one is settled


def game_view(state: State) -> dict[str, Any]:
    """The hands of the game in their order, with what its description says about them."""
    game, round_ = described(state.setup.game), state.round
    record = record_of(state, round_) if round_ else record_between(state)
    names = [*(f"seat{number}" for number in range(1, state.setup.seats + 1)), *state.setup.game.hands()]
    shown = GameView(
        hands=[_hand(state, round_, name) for name in names],
        seat_bets=game.seat_bets,
        button=round_.button if round_ else state.button,
        turn=turn_due(state, round_) if round_ else None,
        board=game.board(record) if game.board else [],
        settled=state.settled,
        session_ended=state.session_ended,
    )
    made: dict[str, Any] = msgspec.to_builtins(shown)
    return made


def turn_due(state: State, round_: Round) -> PlayerTurn | None:
    """Whose turn it is, if the table accepts a decision now. Before a reshuffle it is nobody's: anybody may win."""
    if state.table is not TableState.ACTING or round_.unseen:
        return None
    if next_stack(round_) is not None and not waits_for_players(round_):
        return None
    turn = turn_of(state, round_)
    if turn and reshuffle_due(state):
        return msgspec.structs.replace(turn, hand="", choices=(), numbers={}) if turn.anybody else None
    return turn


def asked_fields(state: State, offers: Sequence[Offer]) -> list[list[str]]:
    """For each of these actions: the fields that it can do without, but not now."""
    turn = turn_due(state, state.round) if state.round else None
    return [_asked(offer, turn) for offer in offers]


def _asked(offer: Offer, turn: PlayerTurn | None) -> list[str]:
    if offer["action"] == "deal_cards" and "cards" in offer:  # face up
        return ["kinds"]
    if turn is None or offer["action"] != "decide_hand":
        return []
    choice = offer["choice"]
    asked = {"kinds": bool(turn.cards) or choice in turn.enter, "number": choice in turn.numbers}
    return [field for field, due in asked.items() if due]


def _hand(state: State, round_: Round | None, name: str) -> HandShown:
    bets, label = state.bets.get(name, {}), capital(place_name(name).removeprefix("the "))
    cards = state.decks[round_.deck].cards.get(name, 0) if round_ and round_.deck in state.decks else 0
    if round_ is None or not cards:
        return HandShown(name, label, cards, [], 0, bets, _decisions(round_, name))
    wanted = 0 if round_.void else cards_wanted(state, round_, name)
    return HandShown(name, label, cards, round_.kinds.get(name, []), wanted, bets, _decisions(round_, name))


def _decisions(round_: Round | None, name: str) -> list[DecisionShown]:
    made = round_.decisions if round_ else []
    return [DecisionShown(one.choice, one.number, one.kinds) for one in made if one.hand == name]
