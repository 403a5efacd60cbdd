"""The stock of a round in which players exchange cards: it is shuffled again when too few are left."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core import ledger
from controller.core.actions import ReshuffleStock
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.play import CardDue, StockReshuffled
from controller.core.rules.counting import impossible, stands, unlikely
from controller.core.rules.dealing import next_stack
from controller.core.rules.gathering import record_difference
from controller.core.rules.guards import SOURCE
from controller.core.rules.irregular import void
from controller.core.rules.script import reshuffle_due
from controller.core.state import Round
from controller.games.game import Method
from controller.games.rulebook import Rule

_RESHUFFLE: Final = (Rule.RESHUFFLE_STOCK,)


@enforces(Rule.RESHUFFLE_STOCK)
def emptying_shoe(d: Decision) -> bool:
    """An automated shoe deals the rest of the stock to the discards. An automatic rule: True if it decided anything."""
    state, round_ = d.state, d.round
    if not state.setup.game.draws or round_.method is not Method.AUTOMATED_SHOE or next_stack(round_) is not None:
        return False
    if not state.decks[round_.deck].cards.get(ledger.SHOE) or not reshuffle_due(state):
        return False
    d.emit(CardDue(round=round_.number, target=ledger.DISCARDS, why="too few cards are left"), Rule.RESHUFFLE_STOCK)
    return True


@enforces(Rule.RESHUFFLE_STOCK)
@handles(ReshuffleStock)
def reshuffle_stock(d: Decision, act: ReshuffleStock) -> Refusal | None:
    """Stock and discards were counted and shuffled. If cards are missing, the round is void and the deck is counted."""
    round_ = d.round
    cards, source = d.state.decks[round_.deck].cards, SOURCE[round_.method]
    if not reshuffle_due(d.state):
        return Refusal("enough cards are left", "too few are left after an exchange", _RESHUFFLE)
    if next_stack(round_) is not None:
        return Refusal("cards of the stock are still in the shoe", "they lie with the discards", _RESHUFFLE)
    expected = cards.get(source, 0) + cards.get(ledger.DISCARDS, 0)
    refusal = _cannot_cut(round_, act.cut_by) or impossible(d.state, act.cards, Rule.RESHUFFLE_STOCK)
    if refusal:
        return refusal
    refusal = unlikely(d.state, round_.deck, act.cards, pile=0, expected=expected, blind=True, rules=_RESHUFFLE)
    if stands(refusal, act.confirmed):
        return refusal
    moves = ledger.emptying_moves(cards, (ledger.DISCARDS, source), act.cards, source)
    d.emit(
        StockReshuffled(
            round=round_.number, deck=round_.deck, cards=act.cards, moves=moves, cut_by=act.cut_by, who=act.who
        ),
        Rule.RESHUFFLE_STOCK,
    )
    record_difference(d, round_.deck, ledger.DISCARDS, moves)
    if act.cards != expected:
        void(d, Rule.RESHUFFLE_STOCK, reason=f"stock and discards were {act.cards} cards instead of {expected}")
    return None


def _cannot_cut(round_: Round, seat: int) -> Refusal | None:
    """Refuse a cut by somebody who does not play, or by the player who deals and has shuffled."""
    if seat not in round_.seats:
        seats = ", ".join(str(one) for one in sorted(round_.seats))
        return Refusal(f"seat {seat} does not play in this round", f"one of the seats {seats} has cut", _RESHUFFLE)
    if seat == round_.button:
        return Refusal(f"seat {seat} deals in this round, and shuffles", "another player has cut", _RESHUFFLE)
    return None
