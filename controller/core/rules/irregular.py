"""Irregularities of chapter 13 that people see, the question of a misdeal, and how a round becomes void."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core import ledger
from controller.core.actions import (
    AnswerMisdeal,
    ReportDealerExposed,
    ReportDrawnInError,
    ReportFaceUp,
    ReportWrongNumber,
)
from controller.core.clauses import enforces
from controller.core.decision import Decision, Refusal, takes
from controller.core.rules.gathering import lock_out
from controller.core.rules.guards import SOURCE
from controller.games.game import Method

MISDEALT: Final = {Method.MANUAL_SHOE: "8.G", Method.HAND: "9.G", Method.AUTOMATED_SHOE: "10.F"}
NOT_MISDEALT: Final = {Method.MANUAL_SHOE: "8.G", Method.HAND: "9.H", Method.AUTOMATED_SHOE: "10.G"}


@enforces("13.B", "13.D", "13.E", "13.G", "8.G", "9.G", "9.H", "10.F", "10.G")
def void(d: Decision, *clause: str, reason: str) -> None:
    """The round is void. What must be done then follows from the ledger, step by step."""
    if d.state.round and d.may("round.voided", d.state.round.deck):
        d.emit("round.voided", *clause, round=d.round.number, deck=d.round.deck, reason=reason, why=list(clause))


@enforces("13.A", "13.B")
def found_face_up(d: Decision, *, device: str = "", moves: list[ledger.Move] | None = None) -> None:
    """A card lay the wrong way: it goes to the rack, from the deck now or with the stack it lies in."""
    second = d.round.face_up > 0
    data = {"device": device} if device else {}
    d.emit(
        "card.face_up",
        "13.B" if second else "13.A",
        round=d.round.number,
        deck=d.round.deck,
        to_rack=0 if moves else 1,
        moves=moves or [],
        **data,
    )
    if second:
        void(d, "13.B", reason="a second card lay face up in the same deal")


@takes(ReportFaceUp)
def report_face_up(d: Decision, act: ReportFaceUp) -> Refusal | None:
    """Found by the dealer."""
    source = SOURCE[d.round.method]
    if d.round.method is not Method.AUTOMATED_SHOE:
        if not d.state.decks[d.round.deck].cards.get(source):
            return Refusal("no card is left to be dealt", "cards are being dealt", ("13.A",))
        found_face_up(d, moves=[(source, ledger.RACK, 1)])
        return None
    if d.state.devices["shoe"].at_exit is None:
        return Refusal("no stack lies at the shoe's exit", "the stack with that card lies there", ("13.A",))
    found_face_up(d)
    return None


@enforces("13.C")
@takes(ReportDrawnInError)
def drawn_in_error(d: Decision, act: ReportDrawnInError) -> Refusal | None:
    """The card is kept aside, face down, and dealt next."""
    source = SOURCE[d.round.method]
    cards = d.state.decks[d.round.deck].cards
    if not cards.get(source) or cards.get(ledger.ASIDE):
        return Refusal("a card drawn in error waits already, or none is left", "that card has been dealt", ("13.C",))
    if d.round.dealt >= len(d.round.plan):
        return Refusal("all hands have their cards", "a card is still to be dealt", ("13.C",))
    moves = [(source, ledger.ASIDE, 1)]
    d.emit("card.drawn_in_error", "13.C", round=d.round.number, deck=d.round.deck, moves=moves, who=act.who)
    return None


@enforces("13.D")
@takes(ReportWrongNumber)
def wrong_number(d: Decision, act: ReportWrongNumber) -> Refusal | None:
    """A hand with too few or too many cards."""
    share = sum(stack.cards for stack in d.round.plan if stack.target == act.target)
    if not share:
        return Refusal(f"{act.target} has no hand in this round", "a hand of this round is named", ("2.A",))
    if act.cards == share or act.cards < 0:
        return Refusal(f"{share} cards are right", "the number is wrong", ("13.D",))
    d.emit(
        "hand.found_wrong", "13.D", round=d.round.number, target=act.target, cards=act.cards, share=share, who=act.who
    )
    void(d, "13.D", reason=f"{act.target} has {act.cards} cards instead of {share}")
    return None


@enforces("13.E")
@takes(ReportDealerExposed)
def dealer_exposed(d: Decision, act: ReportDealerExposed) -> Refusal | None:
    """A dealer's card was seen before its time."""
    d.emit("dealer_card.exposed", "13.E", round=d.round.number, who=act.who)
    void(d, "13.E", reason="a card of the dealer was exposed too early")
    return None


@enforces("8.G", "9.F", "9.G", "9.H", "10.E", "10.F", "10.G")
@takes(AnswerMisdeal)
def answer_misdeal(d: Decision, act: AnswerMisdeal) -> Refusal | None:
    """The dealer answers, the table decides: void in any case; not misdealt, the deck leaves too."""
    method, deck = d.round.method, d.round.deck
    clause = MISDEALT[method] if act.misdealt else NOT_MISDEALT[method]
    d.emit("misdeal.answered", clause, round=d.round.number, misdealt=act.misdealt, who=act.who)
    void(d, clause, reason="cards were misdealt" if act.misdealt else "the deck does not have its cards")
    if not act.misdealt:
        lock_out(d, deck, clause, reason="the stub did not fit, and cards were not misdealt")
    return None
