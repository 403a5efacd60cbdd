"""Corrects the last count that a person entered, as long as nothing depends on it.

Nothing depends on a count while the deck's cards are where it left them and the deck is still being gathered, or while
the question whether the cards of a wrong stub were misdealt has not been answered. Both numbers are in the journal.
"""

# mypyc
from __future__ import annotations

from controller.core import ledger
from controller.core.actions import CorrectCount
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.decks import CountAccepted, CountCorrected, CountRejected
from controller.core.events.rounds import RevealResumed, StubMatched
from controller.core.machines import TableState
from controller.core.rules.counting import impossible, stands
from controller.core.rules.gathering import (
    GATHERED_STATES,
    doubtful_pile,
    doubtful_place,
    pile_moves,
    place_moves,
    record_difference,
)
from controller.core.rules.script import then
from controller.core.state import LastCount, State
from controller.games.description import StepType
from controller.games.rulebook import Rule


def correctable(state: State) -> LastCount | None:
    """The last count, if nothing depends on it."""
    last = state.last_count
    deck = state.decks.get(last.deck) if last else None
    if last is None or deck is None or deck.cards != last.left:
        return None
    at_stub = last.place == ledger.STUB and state.table is TableState.STUB_COUNT
    return last if at_stub or (last.place != ledger.STUB and deck.state in GATHERED_STATES) else None


@handles(CorrectCount)
def correct(d: Decision, act: CorrectCount) -> Refusal | None:
    """The person who entered the last count replaces its number."""
    last = correctable(d.state)
    if last is None:
        return Refusal("no count can be corrected", "a count has just been entered and nothing followed from it")
    if act.who != last.who:
        return Refusal(f"{last.who} entered the last count", f"{last.who} corrects it")
    if act.cards == last.cards:
        return Refusal(f"{act.cards} is the number that was entered", "another number is entered")
    refusal = impossible(d.state, act.cards)
    if refusal is None:
        refusal = _correct_stub(d, act, last) if last.place == ledger.STUB else _correct_gathering(d, act, last)
    return refusal


def _correct_gathering(d: Decision, act: CorrectCount, last: LastCount) -> Refusal | None:
    state, before = d.state, last.before
    if last.place == ledger.TABLE:  # the whole pile was counted
        refusal = doubtful_pile(state, last.deck, before, act.cards)
        kept = {ledger.TABLE, ledger.MISSING} | last.left.keys()
        places = [place for place in before if place not in kept]
        moves = pile_moves(before, places, act.cards)
    else:
        refusal = doubtful_place(state, last.deck, before, last.place, act.cards)
        moves = place_moves(before, last.place, act.cards)
    if stands(refusal, act.confirmed):
        return refusal
    _emit(d, act, last, moves)
    if refusal:
        record_difference(d, last.deck, last.place, moves)
    return None


@enforces(Rule.STUB_FITS, Rule.STUB_WRONG)
def _correct_stub(d: Decision, act: CorrectCount, last: LastCount) -> Refusal | None:
    """If the stub has the right number after all, the round continues where it was."""
    size, there = d.state.setup.game.deck_size, last.before.get(ledger.STUB, 0)
    if act.cards != there:
        moves = ledger.emptying_moves(last.before, (ledger.STUB,), act.cards, ledger.STUB)
        _emit(d, act, last, moves)
        d.emit(
            CountRejected(deck=last.deck, by="stub by dealer", cards=act.cards, expected=there, moves=[]),
            Rule.STUB_WRONG,
        )
        return None
    _emit(d, act, last, [(ledger.STUB, ledger.RACK, there)] if there else [])
    after = then(d.state, StepType.DEAL)
    d.emit(StubMatched(round=d.round.number, then=after), Rule.STUB_FITS)
    if d.round.acted and not after:
        d.emit(RevealResumed(round=d.round.number))
    d.emit(CountAccepted(deck=last.deck, by="stub", cards=size), Rule.STUB_FITS)
    return None


def _emit(d: Decision, act: CorrectCount, last: LastCount, moves: list[ledger.Move]) -> None:
    """Record the correction: the cards move from where the wrong number left them to where the right one has them."""
    wanted = dict(last.before)
    ledger.move(wanted, moves)
    d.emit(
        CountCorrected(
            deck=last.deck,
            place=last.place,
            cards=act.cards,
            was=last.cards,
            by_event=last.event,
            moves=ledger.changing_moves(last.left, wanted),
            who=act.who,
        )
    )
