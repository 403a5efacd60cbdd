"""Irregularities of chapter 13 that people see, the question of a misdeal, and how a round becomes void."""

# mypyc
from __future__ import annotations

from controller.core import ledger
from controller.core.actions import (
    AnswerMisdeal,
    ReportDealerExposed,
    ReportDrawnInError,
    ReportFaceUp,
    ReportWrongNumber,
)
from controller.core.decision import Decision, Refusal, cite, handles
from controller.core.enforcement import enforces
from controller.core.events.rounds import (
    CardDrawnInError,
    CardFoundFaceUp,
    DealerCardExposed,
    HandFoundWrong,
    MisdealAnswered,
    RoundVoided,
)
from controller.core.rules.gathering import lock_out
from controller.core.rules.guards import SOURCE
from controller.games.game import Method
from controller.games.rulebook import Rule


@enforces(
    Rule.SECOND_FACE_UP, Rule.WRONG_NUMBER, Rule.DEALER_EXPOSED, Rule.SHOE_STOPS, Rule.MISDEALT, Rule.NOT_MISDEALT
)
def void(d: Decision, *rules: Rule, reason: str) -> None:
    """The round is void. What must be done then follows from the ledger, step by step."""
    if d.state.round and d.may(RoundVoided, d.state.round.deck):
        why = list(cite(d.state, rules))
        d.emit(RoundVoided(round=d.round.number, deck=d.round.deck, reason=reason, why=why), *rules)


@enforces(Rule.FACE_UP, Rule.SECOND_FACE_UP)
def found_face_up(d: Decision, *, device: str = "", moves: list[ledger.Move] | None = None) -> None:
    """A card lay the wrong way: it goes to the rack, from the deck now or with the stack it lies in."""
    second = d.round.face_up > 0
    d.emit(
        CardFoundFaceUp(
            round=d.round.number, deck=d.round.deck, to_rack=0 if moves else 1, moves=moves or [], device=device
        ),
        Rule.SECOND_FACE_UP if second else Rule.FACE_UP,
    )
    if second:
        void(d, Rule.SECOND_FACE_UP, reason="a second card lay face up in the same deal")


@handles(ReportFaceUp)
def report_face_up(d: Decision, act: ReportFaceUp) -> Refusal | None:
    """Found by the dealer."""
    source = SOURCE[d.round.method]
    if d.round.method is not Method.AUTOMATED_SHOE:
        if not d.state.decks[d.round.deck].cards.get(source):
            return Refusal("no card is left to be dealt", "cards are being dealt", (Rule.FACE_UP,))
        found_face_up(d, moves=[(source, ledger.RACK, 1)])
        return None
    if d.state.devices["shoe"].at_exit is None:
        return Refusal("no stack lies at the shoe's exit", "the stack with that card lies there", (Rule.FACE_UP,))
    found_face_up(d)
    return None


@enforces(Rule.DRAWN_IN_ERROR)
@handles(ReportDrawnInError)
def drawn_in_error(d: Decision, act: ReportDrawnInError) -> Refusal | None:
    """The card is kept aside, face down, and dealt next."""
    source = SOURCE[d.round.method]
    cards = d.state.decks[d.round.deck].cards
    if not cards.get(source) or cards.get(ledger.ASIDE):
        return Refusal(
            "a card drawn in error waits already, or none is left", "that card has been dealt", (Rule.DRAWN_IN_ERROR,)
        )
    if d.round.dealt >= len(d.round.plan):
        return Refusal("all hands have their cards", "a card is still to be dealt", (Rule.DRAWN_IN_ERROR,))
    moves = [(source, ledger.ASIDE, 1)]
    d.emit(CardDrawnInError(round=d.round.number, deck=d.round.deck, moves=moves, who=act.who), Rule.DRAWN_IN_ERROR)
    return None


@enforces(Rule.WRONG_NUMBER)
@handles(ReportWrongNumber)
def wrong_number(d: Decision, act: ReportWrongNumber) -> Refusal | None:
    """A hand with too few or too many cards."""
    share = sum(stack.cards for stack in d.round.plan if stack.target == act.target)
    if not share:
        return Refusal(f"{act.target} has no hand in this round", "a hand of this round is named", (Rule.SEATS,))
    if act.cards == share or act.cards < 0:
        return Refusal(f"{share} cards are right", "the number is wrong", (Rule.WRONG_NUMBER,))
    d.emit(
        HandFoundWrong(round=d.round.number, target=act.target, cards=act.cards, share=share, who=act.who),
        Rule.WRONG_NUMBER,
    )
    void(d, Rule.WRONG_NUMBER, reason=f"{act.target} has {act.cards} cards instead of {share}")
    return None


@enforces(Rule.DEALER_EXPOSED)
@handles(ReportDealerExposed)
def dealer_exposed(d: Decision, act: ReportDealerExposed) -> Refusal | None:
    """A dealer's card was seen before its time."""
    d.emit(DealerCardExposed(round=d.round.number, who=act.who), Rule.DEALER_EXPOSED)
    void(d, Rule.DEALER_EXPOSED, reason="a card of the dealer was exposed too early")
    return None


@enforces(Rule.STUB_WRONG, Rule.MISDEALT, Rule.NOT_MISDEALT)
@handles(AnswerMisdeal)
def answer_misdeal(d: Decision, act: AnswerMisdeal) -> Refusal | None:
    """The dealer answers, the table decides: void in any case; not misdealt, the deck leaves too."""
    deck = d.round.deck
    rule = Rule.MISDEALT if act.misdealt else Rule.NOT_MISDEALT
    d.emit(MisdealAnswered(round=d.round.number, misdealt=act.misdealt, who=act.who), rule)
    void(d, rule, reason="cards were misdealt" if act.misdealt else "the deck does not have its cards")
    if not act.misdealt:
        lock_out(d, deck, rule, reason="the stub did not fit, and cards were not misdealt")
    return None
