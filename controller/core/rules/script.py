"""The script of a game: the record of the round for its functions, and the state in which the next step takes place."""

# mypyc
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from controller.core import ledger
from controller.core.enforcement import enforces
from controller.core.events.rounds import PlannedStack
from controller.core.machines import TableState
from controller.core.names import place_name
from controller.core.refusal import Refusal
from controller.core.rules.guards import SOURCE, has_rule
from controller.core.state import DealtStack, Round, State, due_deck
from controller.games import described, rulebook_of
from controller.games.description import StepType
from controller.games.game import Deal
from controller.games.record import PlayerTurn, RoundRecord
from controller.games.rulebook import Rule

_PLACE_OF: Final = {  # the table's state while a step of this type takes place
    StepType.DEAL: TableState.DEALING,
    StepType.ACT: TableState.ACTING,
    StepType.REVEAL: TableState.REVEALING,
    StepType.SETTLE: TableState.CLEARING,
}
_USUAL: Final = {
    StepType.DEAL: TableState.ACTING,
    StepType.ACT: TableState.REVEALING,
    StepType.REVEAL: TableState.CLEARING,
}


def then(state: State, step: StepType) -> str:
    """The table's state after a step of this type, for an event's field `then`; empty if it is the usual one."""
    following = _PLACE_OF[described(state.setup.game).after(step)]
    return "" if following is _USUAL[step] else str(following)


def record_of(state: State, round_: Round) -> RoundRecord:
    """What is known of a round, for the functions of its game."""
    deck = state.decks.get(round_.deck)
    cards = deck.cards if deck else {}
    hands = dict.fromkeys(stack.target for stack in round_.plan if stack.target != ledger.DISCARDS)
    return RoundRecord(
        seats=tuple(round_.seats),
        held={hand: cards.get(hand, 0) for hand in hands},
        kinds={hand: tuple(kinds) for hand, kinds in round_.kinds.items()},
        decisions=tuple(round_.decisions),
        wagers=state.bets,
        stock=cards.get(SOURCE[round_.method], 0),
        discards=cards.get(ledger.DISCARDS, 0),
        options=options_of(state),
        carried=state.carried,
        first_round=deck.first_round if deck else 0,
        method=str(round_.method),
        button=round_.button,
        reshuffles=round_.reshuffles,
        started_ms=round_.started_ms,
        now_ms=state.now_ms,
    )


def record_between(state: State) -> RoundRecord:
    """What is known between two rounds."""
    deck = state.decks.get(due_deck(state))
    return RoundRecord(
        seats=(),
        held={},
        kinds={},
        wagers=state.bets,
        first_round=deck.first_round if deck else 0,
        options=options_of(state),
        carried=state.carried,
        now_ms=state.now_ms,
    )


def turned_over(state: State, record: RoundRecord) -> list[str]:
    """The hands whose cards are face up at the end of a round: after a reveal all, otherwise those that are shown."""
    game = described(state.setup.game)
    if game.shown and StepType.REVEAL not in game.script:
        return game.shown(record)
    return [hand for hand in record.held if hand != ledger.BURNT]


def hidden_hands(state: State, record: RoundRecord) -> list[str]:
    """The hands that the settlement needs and whose cards are not all known."""
    game = described(state.setup.game)
    shown = game.shown(record) if game.shown else [hand for hand in record.held if hand != ledger.BURNT]
    return [hand for hand in shown if len(record.kinds.get(hand, ())) < max(record.held[hand], 1)]


def reshuffle_due(state: State) -> bool:
    """Whether stock and discards are to be shuffled before the round goes on."""
    game = described(state.setup.game)
    return (
        game.reshuffle_due is not None and state.round is not None and game.reshuffle_due(record_of(state, state.round))
    )


def options_of(state: State) -> dict[str, Any]:
    """What the house has chosen where the game leaves a choice, with the usual values where it has not."""
    return {**described(state.setup.game).options, **state.setup.options}


def planned(deal: Deal, hand: str, held: bool = False) -> PlannedStack:
    """A deal to one hand, as a stack in the plan of the round."""
    stack = PlannedStack(hand, deal.cards, held, deal.after_acting)
    if deal.face_up:
        stack.face_up = True
    return stack


def turn_of(state: State, round_: Round) -> PlayerTurn | None:
    """Who decides now; None if nobody does, or if the game leaves it to the dealer."""
    game = described(state.setup.game)
    turn = game.turn(record_of(state, round_)) if game.turn else None
    if turn and turn.enter and not turn.in_order and _known_to_shoe(state, round_, turn.hand):
        return msgspec.structs.replace(turn, enter={})
    return turn


def asked_stacks(state: State, round_: Round, hand: str = "") -> list[DealtStack]:
    """The stacks of this round, or of one hand, whose cards the shoe has been asked for and has not named yet."""
    stacks = (stack for device in state.devices.values() for stack in device.dealt)
    return [stack for stack in stacks if stack.wanted and stack.round == round_.number and hand in ("", stack.target)]


def _known_to_shoe(state: State, round_: Round, hand: str) -> bool:
    """Whether the shoe will say which cards a hand turns over, so that nobody has to enter them."""
    stacks = (stack for device in state.devices.values() for stack in device.dealt)
    return any(stack.round == round_.number and stack.target == hand and not stack.wanted for stack in stacks)


def refused_by_game(state: State, fault: str, possible_when: str, rule: Rule) -> Refusal:
    """A refusal because of what the game says is wrong: by the clause that it names, otherwise by this rule."""
    reason, clause = rulebook_of(state.setup.game).split(fault)
    return Refusal(reason, possible_when, (clause or rule,))


@enforces(Rule.BETS)
def wrong_bets(state: State) -> Refusal | None:
    """Refuse to close the bets while the recorded bets of a seat do not fit together."""
    wrong = hand_with_wrong_bets(state)
    if wrong is None:
        return None
    hand, refused = wrong
    return msgspec.structs.replace(refused, reason=f"{place_name(hand)}: {refused.reason}")


def hand_with_wrong_bets(state: State) -> tuple[str, Refusal] | None:
    """The first hand whose recorded bets do not fit together, and why."""
    if not state.bets:
        return None
    game, record = described(state.setup.game), record_between(state)
    for hand in state.bets:
        fault = game.bets_fault(record, hand)
        if fault:
            return hand, refused_by_game(state, fault, "the bets of this seat have been corrected", Rule.BETS)
    return None


@enforces(Rule.FOREIGN_CARD, Rule.DECK_COMPOSITION)
def unknown_cards(state: State, kinds: Sequence[str], instead_of: Sequence[str] = ()) -> Refusal | None:
    """Refuse cards that the game does not have, or of which all have been seen since the shuffle.

    `instead_of`: cards that were entered by mistake, which these replace.
    """
    game = state.setup.game
    deck = state.decks.get(state.round.deck) if state.round else None
    for kind in kinds:
        if kind not in game.kinds:
            return Refusal(f"{kind!r} is not a card of {game.name}", "a card of this game is entered")
        copies = game.copies[game.kinds.index(kind)]
        seen = deck.seen.get(kind, 0) - list(instead_of).count(kind) if deck else 0
        entered = list(kinds).count(kind)
        if deck and seen + entered > copies:
            reason = f"the {kind} was dealt before" if copies == 1 else f"every {kind} of this deck was dealt before"
            if entered > copies:
                reason = f"the {kind} is entered {entered} times: the deck has only {copies}"
            elif seen < copies:
                reason = f"the deck has {copies} of the {kind}, and {seen} were dealt before"
            if has_rule(state, Rule.FOREIGN_CARD):
                wanted, rule = "another card is entered, or a foreign card is reported", Rule.FOREIGN_CARD
            else:
                wanted, rule = "another card is entered", Rule.DECK_COMPOSITION
            return Refusal(reason, wanted, (rule,))
    return None
