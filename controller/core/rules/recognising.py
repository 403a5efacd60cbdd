"""Recognising the cards of the hands: the shoe is asked after they have been turned over, and never before.

A hand that is face down is as secret as the stub. A shoe that recognises cards therefore keeps their kinds to itself
until it is asked. `questions_of` in state.py says what to ask: the hands of a round once the dealer's cards are shown,
cards that a player has turned over, and the hands of a void round if a floorperson requests them. A shoe that has
forgotten them does not answer, and then nothing is recorded. What nobody turned over stays hidden after its round.
"""

# mypyc
from __future__ import annotations

from controller.core.actions import RequestHands
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.rounds import HandRecognised, HandsRequested
from controller.core.reports import CardsRecognised
from controller.core.state import requestable_rounds
from controller.games.rulebook import Rule


@enforces(Rule.COLLECT_HANDS)
def recognised(d: Decision, report: CardsRecognised) -> None:
    """A shoe has answered which cards it dealt to a hand. An answer that was not asked for is ignored."""
    device = d.state.devices.get(report.device)
    asked = [stack for stack in device.dealt if stack.wanted and stack.command == report.command] if device else []
    names = d.state.setup.game.kinds
    for stack in asked:
        kinds = [names[kind] if 0 <= kind < len(names) else "unknown" for kind in report.kinds]
        d.emit(
            HandRecognised(
                device=report.device, round=stack.round, target=stack.target, command=stack.command, kinds=kinds
            ),
            Rule.COLLECT_HANDS,
        )


@enforces(Rule.COLLECT_HANDS)
@handles(RequestHands)
def request_hands(d: Decision, act: RequestHands) -> Refusal | None:
    """A floorperson resolves a dispute about a void round: the shoe is asked which cards the hands had."""
    round_ = d.state.round
    if round_ and round_.number == act.round and not round_.void:
        return Refusal(
            f"the cards of round {act.round} are still hidden",
            "the dealer's cards have been shown, or the round is void",
            (Rule.REVEAL_DEALER,),
        )
    if act.round not in requestable_rounds(d.state):
        return Refusal(
            f"the shoe has no hidden hands of round {act.round}",
            "one of the last void rounds is named, and the shoe recognises cards and has not restarted",
            (Rule.COLLECT_HANDS,),
        )
    if not act.reason.strip():
        return Refusal("no reason is given", "the reason is given", (Rule.COLLECT_HANDS,))
    d.emit(HandsRequested(round=act.round, reason=act.reason.strip(), who=act.who), Rule.COLLECT_HANDS)
    return None
