"""Cards and decisions that were entered wrong: they are corrected while the hands are on the table."""

# mypyc
from __future__ import annotations

from collections import Counter

from controller.core.actions import CorrectCards, CorrectDecision
from controller.core.decision import Decision, Refusal, handles
from controller.core.events.play import CardsCorrected, DecisionCorrected
from controller.core.names import plural
from controller.core.rules.reconstructing import in_drawn_order, work_out
from controller.core.rules.script import record_of, unknown_cards
from controller.core.state import replaced
from controller.games import described
from controller.games.record import Decided
from controller.games.rulebook import Rule


@handles(CorrectCards)
def correct_cards(d: Decision, act: CorrectCards) -> Refusal | None:
    """Cards that were entered were others. If further cards may follow from them, the round is worked out again."""
    round_ = d.round
    known = round_.kinds.get(act.target, [])
    was = list(act.was) or (known[len(known) - len(act.kinds) :] if len(act.kinds) <= len(known) else [])
    if Counter(was) - Counter(known):
        return Refusal("these are not cards of this hand", "cards are named that were entered for it")
    if not act.kinds or len(was) != len(act.kinds):
        named = f"{plural(len(act.kinds), 'card')} cannot replace {len(was)}"
        return Refusal(named, "as many cards are named as were entered wrong")
    if described(d.state.setup.game).reconstruct is not None:
        hands = round_.kinds | {act.target: replaced(known, was, act.kinds)}
        return work_out(d, in_drawn_order(round_, hands), act.who)
    refusal = _collected(d, act.target) or unknown_cards(d.state, act.kinds, instead_of=was)
    if refusal is None:
        d.emit(
            CardsCorrected(
                round=round_.number, deck=round_.deck, target=act.target, was=was, kinds=list(act.kinds), who=act.who
            ),
            Rule.DEALING,
        )
    return refusal


@handles(CorrectDecision)
def correct_decision(d: Decision, act: CorrectDecision) -> Refusal | None:
    """A card was entered with the wrong choice. It stays where it is: nothing follows but another settlement."""
    state, round_ = d.state, d.round
    game = described(state.setup.game)
    if game.correct is None:
        return Refusal(
            f"in {state.setup.game.name} decisions are not about the place of a card", "the last one is taken back"
        )
    refusal = _collected(d, act.target)
    if refusal:
        return refusal
    fault = game.correct(record_of(state, round_), Decided(act.target, act.choice, kinds=tuple(act.kinds)))
    if fault:
        return Refusal(fault, "cards of this hand and another place for them are named", (Rule.DECISIONS,))
    d.emit(
        DecisionCorrected(
            round=round_.number, target=act.target, choice=act.choice, kinds=list(act.kinds), who=act.who
        ),
        Rule.DECISIONS,
    )
    return None


def _collected(d: Decision, target: str) -> Refusal | None:
    """Refuse to correct a hand that is not on the table any more, or a settled round while the hands are collected."""
    hands = [stack.target for stack in d.round.plan[: d.round.dealt]] if d.round.settled else [target]
    if all(d.state.decks[d.round.deck].cards.get(hand) for hand in hands):
        return None
    return Refusal("the cards are being collected", "they are still on the table")
