"""Works a round out again from its cards in the order in which they were drawn, wherever they were put.

A card that went to the wrong hand, was entered as another one, or was entered although it was never drawn does not void
the round: the order decides which hand each card belongs to. Cards that the round does not need go to the rack with it.
"""

# mypyc
from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.core import ledger
from controller.core.actions import ReconstructHands
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.play import HandsReconstructed
from controller.core.events.rounds import PlannedStack
from controller.core.machines import TableState
from controller.core.names import plural, sentence
from controller.core.rules.dealing import next_stack
from controller.core.rules.guards import SOURCE
from controller.core.rules.irregular import no_such_rule
from controller.core.rules.script import planned, record_of, unknown_cards
from controller.core.state import Round, State
from controller.games import described
from controller.games.game import Method
from controller.games.rulebook import Rule


@enforces(Rule.FURTHER_CARDS)
def no_card_due(state: State) -> Refusal | None:
    """Refuse a card that the rules of the game do not call for; None if one may be due."""
    game = described(state.setup.game)
    if game.due_card is None or state.round is None or state.table is not TableState.CLEARING:
        return None
    why = game.due_card(record_of(state, state.round)).why
    return Refusal(f"no card is due: {why}", "the next round has begun", (Rule.FURTHER_CARDS,))


def why_none_is_due(state: State) -> str:
    """The same for the guide, as a sentence; empty if the game deals no further cards by its own rules."""
    refusal = no_card_due(state)
    return sentence(refusal.reason) if refusal else ""


@enforces(Rule.RECONSTRUCT)
@handles(ReconstructHands)
def reconstruct(d: Decision, act: ReconstructHands) -> Refusal | None:
    """These are the cards of the round in the order in which they were drawn; the rules say whose each of them is."""
    return work_out(d, act.kinds, act.who)


def work_out(d: Decision, drawn: Sequence[str], who: str) -> Refusal | None:
    """Work the round out again from these cards, in the order in which they were drawn."""
    state, round_ = d.state, d.round
    game = described(state.setup.game)
    if game.reconstruct is None:
        return no_such_rule(state, "hands that are worked out again")
    before = [kind for kinds in round_.kinds.values() for kind in kinds]
    refusal = (
        _not_possible(state, round_)
        or _wrong_number(state, round_, drawn)
        or unknown_cards(state, drawn, instead_of=before)
    )
    if refusal:
        return refusal
    order = [hand or ledger.ASIDE for hand in game.reconstruct(drawn)]
    hands: dict[str, list[str]] = {}
    for kind, hand in zip(drawn, order, strict=True):
        hands.setdefault(hand, []).append(kind)
    cards = state.decks[round_.deck].cards
    d.emit(
        HandsReconstructed(
            round=round_.number,
            deck=round_.deck,
            kinds=list(drawn),
            hands=hands,
            moves=ledger.changing_moves(cards, _wanted(round_, cards, hands)),
            plan=_plan(state, round_, order),
            who=who,
        ),
        Rule.RECONSTRUCT,
    )
    return None


def _hands(round_: Round) -> list[str]:
    """The hands of the round, and what was set aside."""
    return [*dict.fromkeys(stack.target for stack in round_.plan if stack.target != ledger.BURNT), ledger.ASIDE]


def _not_possible(state: State, round_: Round) -> Refusal | None:
    """Refuse while it is not certain how many cards were drawn, or once hands were collected."""
    shoe, stack = state.devices.get("shoe"), next_stack(round_)
    dealing = round_.method is Method.AUTOMATED_SHOE and shoe is not None and (shoe.doing or shoe.at_exit)
    if dealing or round_.unseen:
        return Refusal("a card has just been dealt", "it has been taken and entered", (Rule.RECONSTRUCT,))
    if stack is not None and stack.target == ledger.BURNT:
        return Refusal("cards are still to be burnt", "a card of the round has been drawn", (Rule.RECONSTRUCT,))
    cards = state.decks[round_.deck].cards
    if any(cards.get(hand, 0) < len(kinds) for hand, kinds in round_.kinds.items()):
        return Refusal("hands have been collected", "all cards of the round are on the table", (Rule.RECONSTRUCT,))
    return None


def _wrong_number(state: State, round_: Round, kinds: Sequence[str]) -> Refusal | None:
    """Refuse a number of cards that the round cannot have: an automated shoe knows how many it has dealt."""
    cards = state.decks[round_.deck].cards
    there = ledger.count(cards, _hands(round_))
    if round_.method is Method.AUTOMATED_SHOE and len(kinds) != there:
        return Refusal(f"the shoe has dealt {plural(there, 'card')}", "all of them are named", (Rule.RECONSTRUCT,))
    most = there + cards.get(SOURCE[round_.method], 0)
    if not 1 <= len(kinds) <= most:
        return Refusal(f"{plural(len(kinds), 'card')} cannot have been drawn", f"1 to {most} cards are named")
    return None


def _wanted(round_: Round, cards: ledger.CardCounts, hands: dict[str, list[str]]) -> ledger.CardCounts:
    """Where the cards are then. A card that was entered and not drawn is still where cards are dealt from."""
    wanted, source = dict(cards), SOURCE[round_.method]
    for hand in _hands(round_):
        number = len(hands.get(hand, ()))
        wanted[source] = wanted.get(source, 0) + wanted.get(hand, 0) - number
        wanted[hand] = number
    return {place: number for place, number in wanted.items() if number}


def in_drawn_order(round_: Round, hands: Mapping[str, Sequence[str]]) -> list[str]:
    """The cards of a round in the order in which they were drawn, if its hands are these."""
    rest = {hand: list(kinds) for hand, kinds in hands.items()}
    dealt = [stack.target for stack in round_.plan[: round_.dealt] if stack.target != ledger.BURNT]
    return [*(rest[hand].pop(0) for hand in dealt if rest.get(hand)), *rest.get(ledger.ASIDE, [])]


def _plan(state: State, round_: Round, order: Sequence[str]) -> list[PlannedStack]:
    """What was dealt, and then what is still to be dealt of the initial deal; the rest follows from the rules."""
    burnt = [stack for stack in round_.plan if stack.target == ledger.BURNT]
    initial = [planned(deal, deal.to) for deal in state.setup.game.programme[round_.method]]
    dealt = [PlannedStack(hand, 1, face_up=True) for hand in order if hand != ledger.ASIDE]
    return burnt + dealt + initial[len(dealt) :]
