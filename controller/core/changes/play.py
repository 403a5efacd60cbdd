"""How the events of a game's own procedure change the state."""
# mypyc

from __future__ import annotations

from typing import Any

from controller.core import ledger
from controller.core.changes.change import changes
from controller.core.events.play import (
    ActingResumed,
    BetRecorded,
    CardDue,
    CardsCorrected,
    CardsEntered,
    CardsSeen,
    CutCardAppeared,
    DecisionCorrected,
    DecisionTakenBack,
    DeckFinished,
    HandDecided,
    HandsReconstructed,
    RoundSettled,
    SeatLeft,
    SessionEnded,
    StakesNoted,
    StockReshuffled,
)
from controller.core.events.rounds import PlannedStack
from controller.core.state import BeforeDecision, Round, Settled, State, replaced
from controller.games import described
from controller.games.game import Method
from controller.games.record import Decided


def _now(state: State) -> Round:
    assert state.round is not None, "an event of a round, but there is no round"
    return state.round


def _in_order(value: Any) -> Any:
    """What a game remembers, its keys in the order of the journal: so a replay gives the same bytes."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(each) for each in value] if isinstance(value, list) else value


@changes(BetRecorded)
def _bet(state: State, event: BetRecorded) -> None:
    hand = ledger.seat(event.seat)
    bets = state.bets.setdefault(hand, {})
    bets.pop(event.bet, None)
    if event.amount:
        bets[event.bet] = event.amount
    elif not bets:
        del state.bets[hand]
    if state.round is None:
        others = [seat for seat in state.seats if seat != event.seat]
        state.seats = sorted([*others, event.seat]) if bets else others


def forget_bets(state: State) -> None:
    """A round is over, or none will be played: only the bets of a whole session stay."""
    session = described(state.setup.game).session_bets
    stay = {hand: {bet: n for bet, n in bets.items() if bet in session} for hand, bets in state.bets.items()}
    state.bets = {hand: bets for hand, bets in stay.items() if bets}


@changes(StakesNoted)
def _noted(state: State, event: StakesNoted) -> None:
    state.carried = _in_order(event.carried)


@changes(SeatLeft)
def _left(state: State, event: SeatLeft) -> None:
    state.carried = _in_order(event.carried)
    state.bets.pop(ledger.seat(event.seat), None)
    state.seats = [seat for seat in state.seats if seat != event.seat]


@changes(CardDue)
def _due(state: State, event: CardDue) -> None:
    _now(state).plan.append(PlannedStack(event.target, 1, face_up=event.face_up))


@changes(CardsSeen)
def _seen(state: State, event: CardsSeen) -> None:
    device = state.devices[event.device]
    for given in (device.doing, device.at_exit):
        if given and given.id == event.command:
            given.seen = list(event.kinds)


def add_kinds(state: State, round_: Round, target: str, kinds: list[str]) -> None:
    """These cards of a hand were seen."""
    round_.kinds.setdefault(target, []).extend(kinds)
    deck = state.decks.get(round_.deck)
    if deck:
        for kind in kinds:
            deck.seen[kind] = deck.seen.get(kind, 0) + 1


def _remove_kinds(state: State, round_: Round, target: str, kinds: list[str]) -> None:
    del round_.kinds[target][len(round_.kinds[target]) - len(kinds) :]
    deck = state.decks.get(round_.deck)
    if deck:
        for kind in kinds:
            deck.seen[kind] -= 1


@changes(CardsEntered)
def _entered(state: State, event: CardsEntered) -> None:
    round_ = _now(state)
    add_kinds(state, round_, event.target, event.kinds)
    round_.entered = event.target
    for device in state.devices.values():  # the shoe, which has not answered, need not be asked any more
        if device.dealt:
            device.dealt = [one for one in device.dealt if not one.wanted or one.target != event.target]
    left = round_.unseen.get(event.target, 0) - len(event.kinds)
    if left > 0:
        round_.unseen[event.target] = left
    else:
        round_.unseen.pop(event.target, None)


@changes(CardsCorrected)
def _corrected(state: State, event: CardsCorrected) -> None:
    round_ = _now(state)
    round_.kinds[event.target] = replaced(round_.kinds[event.target], event.was, event.kinds)
    deck = state.decks.get(round_.deck)
    if deck:
        for was, kind in zip(event.was, event.kinds, strict=True):
            deck.seen[was] -= 1
            deck.seen[kind] = deck.seen.get(kind, 0) + 1
    renamed = dict(zip(event.was, event.kinds, strict=True))
    for number, one in enumerate(round_.decisions):
        if one.hand == event.target:
            kinds = tuple(renamed.get(kind, kind) for kind in one.kinds)
            round_.decisions[number] = Decided(one.hand, one.choice, one.number, kinds, one.moved)
    not_settled(state, round_)


@changes(HandsReconstructed)
def _reconstructed(state: State, event: HandsReconstructed) -> None:
    round_ = _now(state)
    for target, kinds in list(round_.kinds.items()):
        _remove_kinds(state, round_, target, list(kinds))
    round_.kinds.clear()
    for target, kinds in event.hands.items():
        add_kinds(state, round_, target, kinds)
    burnt = [stack for stack in event.plan if stack.target == ledger.BURNT]
    round_.plan, round_.in_hand = list(event.plan), 0
    round_.dealt = len(burnt) + sum(len(kinds) for hand, kinds in event.hands.items() if hand != ledger.ASIDE)
    not_settled(state, round_)


@changes(HandDecided)
def _decided(state: State, event: HandDecided) -> None:
    round_ = _now(state)
    round_.decisions.append(Decided(event.target, event.choice, event.number, tuple(event.kinds)))
    hidden = min(event.turned, _held(state, round_, event.target) - len(round_.kinds.get(event.target, ())))
    entered = bool(event.kinds) and hidden > 0
    round_.before.append(BeforeDecision(len(round_.plan), entered))
    round_.plan += event.deals
    if entered:
        add_kinds(state, round_, event.target, event.kinds)
    elif hidden > 0:
        _turned_over(state, round_, event.target, hidden)


def _held(state: State, round_: Round, target: str) -> int:
    deck = state.decks.get(round_.deck)
    return deck.cards.get(target, 0) if deck else 0


def _turned_over(state: State, round_: Round, target: str, number: int) -> None:
    """Hidden cards are face up now: the shoe is asked which they are, if it knows; otherwise they are entered."""
    stacks = [
        stack
        for device in state.devices.values()
        for stack in device.dealt
        if stack.round == round_.number and stack.target == target
    ]
    for stack in stacks:
        if not stack.wanted:
            stack.wanted = True
            return
    if not stacks:
        round_.unseen[target] = round_.unseen.get(target, 0) + number


@changes(DecisionTakenBack)
def _taken_back(state: State, event: DecisionTakenBack) -> None:
    round_ = _now(state)
    last = round_.decisions.pop()
    del round_.plan[round_.before.pop().plan :]
    if event.turned:
        _remove_kinds(state, round_, event.target, list(last.kinds))
    elif not last.moved:
        round_.unseen.pop(event.target, None)  # they are face down again
    not_settled(state, round_)
    round_.acted = False


@changes(DecisionCorrected)
def _decision_corrected(state: State, event: DecisionCorrected) -> None:
    round_ = _now(state)
    moved = Decided(event.target, event.choice, kinds=tuple(event.kinds), moved=True)
    round_.decisions.append(moved)
    round_.before.append(BeforeDecision(len(round_.plan)))
    not_settled(state, round_)


@changes(ActingResumed)
def _acting_resumed(state: State, event: ActingResumed) -> None:
    _now(state).acted = False


@changes(StockReshuffled)
def _reshuffled(state: State, event: StockReshuffled) -> None:
    round_, shoe = _now(state), state.devices.get("shoe")
    round_.reshuffles += 1
    round_.stock_outside = bool(shoe and round_.method is Method.AUTOMATED_SHOE and not shoe.sensed.get(ledger.SHOE))


@changes(SessionEnded)
def _session_ended(state: State, event: SessionEnded) -> None:
    session = described(state.setup.game).session_bets
    for hand, bets in list(state.bets.items()):
        state.bets[hand] = {bet: amount for bet, amount in bets.items() if bet not in session}
        if not state.bets[hand]:
            del state.bets[hand]
    state.carried = _in_order(event.carried)
    state.session_ended = Settled(0, event.result, list(event.payments))


@changes(DeckFinished)
def _finished(state: State, event: DeckFinished) -> None:
    round_ = _now(state)
    round_.keeps, round_.last = False, True
    state.due = event.next_back


def not_settled(state: State, round_: Round) -> None:
    """The result does not stand: what the game remembers is what it was before."""
    if round_.settled:
        round_.settled, round_.result, round_.payments = False, "", []
        state.settled, state.carried = None, round_.carried_before


@changes(RoundSettled)
def _settled(state: State, event: RoundSettled) -> None:
    round_ = _now(state)
    round_.settled, round_.result, round_.payments = True, event.result, list(event.payments)
    round_.carried_before = state.carried
    state.session_ended = None
    state.settled = Settled(round_.number, event.result, list(event.payments), list(event.results))
    if event.carried is not None:
        state.carried = _in_order(event.carried)


@changes(CutCardAppeared)
def _cut_card(state: State, event: CutCardAppeared) -> None:
    state.decks[event.deck].rounds_left = event.rounds
    if state.round and not event.rounds:
        state.round.last = True
    state.due = event.next_back or state.due
