"""How a round starts: who has wagered, the closing of bets, and the plan of the deal."""

# mypyc
from __future__ import annotations

from controller.core import ledger
from controller.core.actions import CloseBets, LeaveSeat, Wager
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.play import SeatLeft, StakesNoted
from controller.core.events.rounds import PlannedStack, RoundStarted
from controller.core.events.table import BetsClosed, SeatsWagered
from controller.core.names import plural
from controller.core.rules.guards import cannot_start
from controller.core.rules.script import options_of, planned, record_between, refused_by_game, wrong_bets
from controller.core.state import State, due_deck, next_back
from controller.games import described
from controller.games.game import PLAYERS, Method
from controller.games.record import RoundRecord
from controller.games.rulebook import Rule


@enforces(Rule.SEATS)
def invalid_seats(state: State, seats: tuple[int, ...]) -> Refusal | None:
    """Refuse seats that the table does not have, or that are named twice."""
    reason = "" if len(set(seats)) == len(seats) else "a seat is named twice"
    if not all(1 <= seat <= state.setup.seats for seat in seats):
        reason = f"the table has seats 1 to {state.setup.seats}"
    return Refusal(reason, "seats of this table are named, each once", (Rule.SEATS,)) if reason else None


@handles(Wager)
def wager(d: Decision, act: Wager) -> Refusal | None:
    """Record which seats have wagered."""
    refusal = invalid_seats(d.state, act.seats)
    if refusal is None:
        d.emit(SeatsWagered(seats=sorted(act.seats), who=act.who))
    return refusal


@enforces(Rule.DEALING, Rule.BETS_CLOSED, Rule.DECKS_ALTERNATE)
@handles(CloseBets)
def close_bets(d: Decision, act: CloseBets) -> Refusal | None:
    """No more bets: check every condition once more and start the round."""
    state = d.state
    seats = tuple(state.seats) if act.seats is None else act.seats
    refusal = (
        invalid_seats(state, seats)
        or cannot_start(state, d.now_ms)
        or _too_few(state, seats)
        or wrong_bets(state)
        or _cannot_play(state, seats)
    )
    if refusal:
        return refusal
    deck = due_deck(state)
    last = not state.setup.game.keeps_dealing or state.decks[deck].rounds_left == 1
    button = _next_button(state, seats)
    order = in_dealing_order(seats, button, state.setup.game.most_hands)
    d.emit(BetsClosed(seats=sorted(seats), who=act.who), Rule.DEALING, Rule.BETS_CLOSED)
    _note_stakes(d, order)
    d.emit(
        RoundStarted(
            round=state.rounds + 1,
            deck=deck,
            seats=order,
            method=str(state.method),
            plan=_plan(state, order),
            next_back=next_back(state) if last else state.due,
            button=button,
            bets={hand: dict(bets) for hand, bets in state.bets.items()},
            last=last and state.setup.game.keeps_dealing,
        ),
        Rule.DEALING,
        *([Rule.BUTTON] if button else []),
    )
    return None


@enforces(Rule.COLLECTION, Rule.TABLE_STAKES)
def _note_stakes(d: Decision, order: list[int]) -> None:
    """What the game notes when a round begins, and the fees that are due by the table's clock."""
    game = described(d.state.setup.game)
    noted = game.stakes(_before_the_deal(d.state, order, int(d.now_ms))) if game.stakes else None
    if noted:
        rule = Rule.COLLECTION if noted.fees else Rule.TABLE_STAKES
        d.emit(StakesNoted(carried=noted.carried, fees=list(noted.fees)), rule)


@enforces(Rule.TABLE_STAKES)
@handles(LeaveSeat)
def leave_seat(d: Decision, act: LeaveSeat) -> Refusal | None:
    """A player takes the chips and leaves; whoever sits down there next begins as a new player."""
    refusal = invalid_seats(d.state, (act.seat,))
    if refusal:
        return refusal
    game = described(d.state.setup.game)
    carried = game.leave(record_between(d.state), ledger.seat(act.seat)) if game.leave else None
    if carried is None:
        return Refusal(
            f"seat {act.seat} is not in the game", "a player who is in the game is named", (Rule.TABLE_STAKES,)
        )
    d.emit(SeatLeft(seat=act.seat, carried=carried, who=act.who), Rule.TABLE_STAKES)
    return None


def _too_few(state: State, seats: tuple[int, ...]) -> Refusal | None:
    """Refuse a round with fewer players than the game needs."""
    fewest = state.setup.game.fewest_seats
    if len(seats) >= fewest:
        return None
    reason = "nobody has wagered" if not seats else f"{plural(len(seats), 'player')} cannot play"
    wanted = "a player has wagered" if fewest == 1 else f"at least {fewest} players play"
    return Refusal(reason, wanted, (Rule.DEAL_STACKS,))


@enforces(Rule.BETS)
def _cannot_play(state: State, seats: tuple[int, ...]) -> Refusal | None:
    """Refuse a round that the game does not allow these seats to play."""
    order = in_dealing_order(seats, _next_button(state, seats), state.setup.game.most_hands)
    fault = described(state.setup.game).seats_fault(_before_the_deal(state, order))
    return refused_by_game(state, fault, "it has been put right", Rule.BETS) if fault else None


@enforces(Rule.BUTTON)
def _next_button(state: State, seats: tuple[int, ...]) -> int:
    """The seat that has the button in the next round: clockwise, the next that plays. 0 if the game has no button."""
    if not state.setup.game.has_button:
        return 0
    takes = described(state.setup.game).takes_button
    record = record_between(state)
    able = [seat for seat in sorted(seats) if takes is None or takes(record, ledger.seat(seat))] or sorted(seats)
    return next((seat for seat in able if seat > state.button), able[0])


@enforces(Rule.BUTTON)
def in_dealing_order(seats: tuple[int, ...], button: int, most: int = 0) -> list[int]:
    """The seats clockwise: from the dealer's left, or from the left of the button, whose own seat is last.

    If the game deals to fewer hands than there are players, it deals to the one with the button and those on its left.
    """
    if not button:
        return sorted(seats)
    others = sorted((seat for seat in seats if seat != button), key=lambda seat: (seat < button, seat))
    return [*others[: most - 1 if most else None], button]


@enforces(Rule.DEAL_STACKS, Rule.DEALER_STACK)
def _plan(state: State, seats: list[int]) -> list[PlannedStack]:
    """Who gets how many cards, in which order: seats clockwise."""
    game, plan = state.setup.game, list[PlannedStack]()
    if game.burnt and not state.decks[due_deck(state)].first_round:
        plan.append(PlannedStack(ledger.BURNT, game.burnt))
    deals = described(game).deals
    programme = (deals(_before_the_deal(state, seats)) if deals else None) or game.programme[state.method]
    for deal in programme:
        held = deal.last and state.setup.hold_dealer and state.method is Method.AUTOMATED_SHOE
        hands = [ledger.seat(seat) for seat in seats] if deal.to == PLAYERS else [deal.to]
        plan += [planned(deal, hand, held) for hand in hands]
    return plan


def _before_the_deal(state: State, seats: list[int], now_ms: int = 0) -> RoundRecord:
    """What a game knows when it decides how this round is dealt."""
    return RoundRecord(
        seats=tuple(seats),
        held={},
        kinds={},
        wagers=state.bets,
        options=options_of(state),
        carried=state.carried,
        method=str(state.method),
        now_ms=now_ms,
    )
