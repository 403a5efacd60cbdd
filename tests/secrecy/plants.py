"""Leaks of hidden cards that a programmer could write, for any game: `peek` is what only the cards themselves know."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from controller import games
from controller.api import table_view
from controller.core import decision
from controller.core.events.rounds import HandCollected, StackTakenToHand
from controller.core.rules import dealing, play
from controller.core.state import Round, State
from controller.games.board import BoardBlock
from controller.games.record import RoundRecord
from controller.games.rulebook import Rule
from simulators.campaign.planting import Swap, everywhere
from tests.secrecy.stories import cards_left
from tests.secrecy.table import SecretTable

Plant = Callable[[pytest.MonkeyPatch, SecretTable], None]


def peek(table: SecretTable) -> str:
    """The kind of a card that nobody has seen; empty if no round is played."""
    round_ = table.house.state.round
    return min(table.witness.hidden_kinds(round_.deck), default="") if round_ else ""


def _swap(patch: pytest.MonkeyPatch, swaps: list[Swap]) -> None:
    for thing, key, value in swaps:
        if isinstance(thing, dict):
            patch.setitem(thing, key, value)
        else:
            patch.setattr(thing, key, value)


def stored_when_dealt(patch: pytest.MonkeyPatch, table: SecretTable) -> None:
    """Cards that are dealt face down are stored with their kinds."""
    right = decision.Decision.emit

    def emit(self: Any, event: Any, *cited: Rule | str) -> Any:
        if isinstance(event, StackTakenToHand) and not event.kinds:
            event.kinds = [peek(table)]
        return right(self, event, *cited)

    patch.setattr(decision.Decision, "emit", emit)


def next_card_in_the_view(patch: pytest.MonkeyPatch, table: SecretTable) -> None:
    """The view of the round says which card comes next."""
    right = table_view._round

    def leaky(state: State, round_: Round) -> dict[str, Any]:
        names = state.setup.game.kinds
        return right(state, round_) | {"next": [names[card.kind] for card in cards_left(table)[:1]]}

    patch.setattr(table_view, "_round", leaky)


def hands_on_the_board(patch: pytest.MonkeyPatch, table: SecretTable) -> None:
    """A block of the screen shows a hidden card."""
    game = table.witness.game
    name = game.game.name

    def board(record: RoundRecord) -> list[BoardBlock]:
        return [*(game.board(record) if game.board else []), BoardBlock("Stub", cards={"": (peek(table),)})]

    patch.setitem(games._DESCRIPTIONS, name, dataclasses.replace(game, board=board))


def refusal_with_the_card(patch: pytest.MonkeyPatch, table: SecretTable) -> None:
    """Who wants to enter cards that are hidden is refused with the reason, which names them."""
    right = play.enter_cards

    def enter_cards(d: Any, act: Any) -> Any:
        refusal = right(d, act)
        if refusal:
            refusal = msgspec.structs.replace(refusal, reason=f"{refusal.reason}: it has the {peek(table)}")
        return refusal

    _swap(patch, everywhere(right, enter_cards))


def kept_in_the_state(patch: pytest.MonkeyPatch, table: SecretTable) -> None:
    """The saved state counts a hidden card among those that were seen."""
    right = dealing.next_stack

    def next_stack(round_: Round) -> Any:
        if table.deck:
            table.house.state.decks[table.deck].seen.setdefault(peek(table), 0)
        return right(round_)

    _swap(patch, everywhere(right, next_stack))


def refused_because_it_is_hidden(patch: pytest.MonkeyPatch, table: SecretTable) -> None:
    """A card is refused as dealt before, although it lies face down: the answer names only what the person typed."""
    right = play.enter_cards

    def enter_cards(d: Any, act: Any) -> Any:
        refusal = right(d, act)
        top = {d.state.setup.game.kinds[card.kind] for card in cards_left(table)[:20]}
        if refusal and set(act.kinds) & top:
            refusal = msgspec.structs.replace(refusal, possible_when="another card is entered")
        return refusal

    _swap(patch, everywhere(right, enter_cards))


def a_number_in_the_view(patch: pytest.MonkeyPatch, table: SecretTable) -> None:
    """The view of the round has a number that follows from the next card."""
    right = table_view._round

    def leaky(state: State, round_: Round) -> dict[str, Any]:
        return right(state, round_) | {"version": sum(card.kind % 2 for card in cards_left(table)[:3])}

    patch.setattr(table_view, "_round", leaky)


def stub_in_the_collection(patch: pytest.MonkeyPatch, table: SecretTable) -> None:
    """The journal says with the hands that are collected which card was not dealt."""
    right = decision.Decision.emit

    def emit(self: Any, event: Any, *cited: Rule | str) -> Any:
        if isinstance(event, HandCollected):
            event.who += f" ({peek(table)})"
        return right(self, event, *cited)

    patch.setattr(decision.Decision, "emit", emit)
