"""Irregularities that people report, the question whether cards were misdealt, and how a round becomes void."""

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
from controller.core.names import place_name, plural
from controller.core.rules.counting import impossible, stands, unlikely_hand
from controller.core.rules.gathering import lock_out
from controller.core.rules.guards import SOURCE, has_rule
from controller.core.state import State
from controller.games.game import Method
from controller.games.rulebook import Rule


@enforces(
    Rule.SECOND_FACE_UP, Rule.WRONG_NUMBER, Rule.DEALER_EXPOSED, Rule.SHOE_STOPS, Rule.MISDEALT, Rule.NOT_MISDEALT
)
def void(d: Decision, *rules: Rule, reason: str, keeps: bool = False) -> None:
    """The round is void. The steps that follow are derived from the ledger: see gathering.py.

    `keeps`: the cards that are left to deal stay where they are, in games whose deck lasts several rounds.
    """
    if d.state.round and d.may(RoundVoided, d.state.round.deck):
        why = list(cite(d.state, rules))
        keeps = keeps and d.state.setup.game.keeps_dealing and _rest_is_certain(d.state, d.round.deck)
        d.emit(RoundVoided(round=d.round.number, deck=d.round.deck, reason=reason, why=why, keeps=keeps), *rules)


def _rest_is_certain(state: State, deck: str) -> bool:
    """Whether no card of the deck is missing or between the shoe and the hands."""
    cards, shoe = state.decks[deck].cards, state.devices.get("shoe")
    return not cards.get(ledger.MISSING) and not cards.get(ledger.EXIT) and not (shoe and shoe.doing)


@enforces(Rule.FACE_UP, Rule.SECOND_FACE_UP)
def found_face_up(d: Decision, *, device: str = "", target: str = "", moves: list[ledger.Move] | None = None) -> None:
    """A card is face up: it goes to the rack, now from the deck or a hand, or later from the stack it is in."""
    second = d.round.face_up > 0
    d.emit(
        CardFoundFaceUp(
            round=d.round.number,
            deck=d.round.deck,
            to_rack=0 if moves else 1,
            moves=moves or [],
            device=device,
            target=target,
        ),
        Rule.SECOND_FACE_UP if second else Rule.FACE_UP,
    )
    if second:
        void(d, Rule.SECOND_FACE_UP, reason="a second card was face up in the same deal")


@handles(ReportFaceUp)
def report_face_up(d: Decision, act: ReportFaceUp) -> Refusal | None:
    """The dealer found a card face up: in the deck, in the stack at the exit, or in a hand that was just dealt.

    Dealing by hand, the dealer replaces it at once: whatever hand it was meant for, the deck has one card less. The
    automated shoe deals another card to a hand whose stack was already taken.
    """
    source, cards = SOURCE[d.round.method], d.state.decks[d.round.deck].cards
    if not has_rule(d.state, Rule.FACE_UP):
        return no_such_rule(d.state, "a card that is found face up")
    if act.target and act.target not in {stack.target for stack in d.round.plan}:
        return no_such_hand(act.target)
    if d.round.dealt >= len(d.round.plan):
        return Refusal("all hands have their cards", "cards are still to be dealt", (Rule.FACE_UP,))
    if d.round.method is not Method.AUTOMATED_SHOE:
        if not cards.get(source):
            return Refusal("there are no cards left to deal", "cards are being dealt", (Rule.FACE_UP,))
        found_face_up(d, target=act.target, moves=[(source, ledger.RACK, 1)])
        return None
    at_exit = d.state.devices["shoe"].at_exit
    if at_exit and at_exit.target == (act.target or at_exit.target):
        found_face_up(d, target=act.target)
        return None
    if not cards.get(act.target):
        where = f"{place_name(act.target)} has no cards yet" if act.target else "there is no stack at the shoe's exit"
        return Refusal(where, "the hand with the face-up card is named", (Rule.FACE_UP,))
    found_face_up(d, target=act.target, moves=[(act.target, ledger.RACK, 1)])
    return None


def no_such_rule(state: State, what: str) -> Refusal:
    """Refuse to report what the rules of this game do not know."""
    return Refusal(f"{state.setup.game.name} has no rule for {what}", "the game has such a rule")


def no_such_hand(target: str) -> Refusal:
    """Refuse a hand that is not dealt in this round."""
    return Refusal(f"{place_name(target)} has no hand in this round", "a hand of this round is named", (Rule.SEATS,))


@enforces(Rule.DRAWN_IN_ERROR)
@handles(ReportDrawnInError)
def drawn_in_error(d: Decision, act: ReportDrawnInError) -> Refusal | None:
    """The card is set aside, face down, and dealt next."""
    source = SOURCE[d.round.method]
    cards = d.state.decks[d.round.deck].cards
    if not has_rule(d.state, Rule.DRAWN_IN_ERROR):
        return no_such_rule(d.state, "a card that is drawn in error")
    if not cards.get(source) or cards.get(ledger.ASIDE):
        return Refusal(
            "a card drawn in error is already set aside, or no card is left",
            "that card has been dealt",
            (Rule.DRAWN_IN_ERROR,),
        )
    if d.round.dealt >= len(d.round.plan) and not d.state.setup.game.keeps_dealing:
        return Refusal("all hands have their cards", "cards are still to be dealt", (Rule.DRAWN_IN_ERROR,))
    moves = [(source, ledger.ASIDE, 1)]
    d.emit(CardDrawnInError(round=d.round.number, deck=d.round.deck, moves=moves, who=act.who), Rule.DRAWN_IN_ERROR)
    return None


@enforces(Rule.WRONG_NUMBER)
@handles(ReportWrongNumber)
def wrong_number(d: Decision, act: ReportWrongNumber) -> Refusal | None:
    """A hand has too few or too many cards."""
    share = sum(stack.cards for stack in d.round.plan if stack.target == act.target)
    if not share or act.target == ledger.DISCARDS:
        return no_such_hand(act.target)
    share -= sum(decided.number for decided in d.round.decisions if decided.hand == act.target)  # it put these aside
    refusal = impossible(d.state, act.cards, Rule.WRONG_NUMBER)
    if refusal:
        return refusal
    if act.cards == share:
        return Refusal(f"{share} is the right number of cards", "the number is wrong", (Rule.WRONG_NUMBER,))
    refusal = unlikely_hand(act.cards, share, Rule.WRONG_NUMBER)
    if stands(refusal, act.confirmed):
        return refusal
    deck = d.round.deck
    moves = unreported(d, act.target, act.cards - d.state.decks[deck].cards.get(act.target, 0))
    d.emit(
        HandFoundWrong(
            round=d.round.number,
            target=act.target,
            cards=act.cards,
            share=share,
            deck=deck if moves else "",
            moves=moves,
            who=act.who,
        ),
        Rule.WRONG_NUMBER,
    )
    reason = f"{place_name(act.target)} has {plural(act.cards, 'card')} instead of {share}"
    void(d, Rule.WRONG_NUMBER, reason=reason, keeps=True)
    return None


def unreported(d: Decision, target: str, number: int) -> list[ledger.Move] | None:
    """The moves of cards that came out of a manual shoe unreported, in games that deal on from the same deck.

    An automated shoe reports each card, and in other games all cards are gathered and counted.
    """
    source = SOURCE[d.round.method]
    there = d.state.decks[d.round.deck].cards.get(source, 0)
    if not d.state.setup.game.keeps_dealing or source == ledger.SHOE or min(number, there) < 1:
        return None
    return [(source, target, min(number, there))]


@enforces(Rule.DEALER_EXPOSED)
@handles(ReportDealerExposed)
def dealer_exposed(d: Decision, act: ReportDealerExposed) -> Refusal | None:
    """One of the dealer's cards was exposed too early."""
    if not has_rule(d.state, Rule.DEALER_EXPOSED):
        return no_such_rule(d.state, "a dealer's card that is exposed")
    d.emit(DealerCardExposed(round=d.round.number, who=act.who), Rule.DEALER_EXPOSED)
    void(d, Rule.DEALER_EXPOSED, reason="one of the dealer's cards was exposed too early")
    return None


@enforces(Rule.STUB_WRONG, Rule.MISDEALT, Rule.NOT_MISDEALT)
@handles(AnswerMisdeal)
def answer_misdeal(d: Decision, act: AnswerMisdeal) -> Refusal | None:
    """The dealer says whether cards were misdealt. The round is void either way; if not, the deck leaves too."""
    deck = d.round.deck
    rule = Rule.MISDEALT if act.misdealt else Rule.NOT_MISDEALT
    d.emit(MisdealAnswered(round=d.round.number, misdealt=act.misdealt, who=act.who), rule)
    void(d, rule, reason="cards were misdealt" if act.misdealt else "the deck is not complete")
    if not act.misdealt:
        lock_out(d, deck, rule, reason="the stub was wrong and cards were not misdealt")
    return None
