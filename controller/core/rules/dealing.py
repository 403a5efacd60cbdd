"""A round from the closing of the bets to the rack: chapters 8 to 11."""

# mypyc
from __future__ import annotations

from typing import Any, Final

from controller.core import ledger
from controller.core.actions import (
    CloseBets,
    CollectAll,
    CollectHand,
    CountStub,
    DealCards,
    FinishDeal,
    PlayersActed,
    RemoveStub,
    RequestCard,
    RevealDealer,
    Wager,
    WantStubCount,
)
from controller.core.clauses import enforces
from controller.core.decision import Decision, Refusal, takes
from controller.core.machines import TableState
from controller.core.rules.gathering import emptied_by_device, tell_difference
from controller.core.rules.guards import SOURCE, STUB_CLAUSE, cannot_start, rack_taken, stub_count_due
from controller.core.rules.irregular import void
from controller.core.state import Given, Round, Stack, State, deck_with_back, due_deck
from controller.games.game import PLAYERS, Method

STUB_FITS: Final = {Method.MANUAL_SHOE: "8.F", Method.HAND: "9.E", Method.AUTOMATED_SHOE: "10.D"}
STUB_WRONG: Final = {Method.MANUAL_SHOE: "8.G", Method.HAND: "9.F", Method.AUTOMATED_SHOE: "10.E"}
CHAPTER: Final = {Method.MANUAL_SHOE: "8", Method.HAND: "9", Method.AUTOMATED_SHOE: "10"}


# --- bets and the plan of the deal ----------------------------------------------------------------------------------


@enforces("2.A")
def no_such_seats(state: State, seats: tuple[int, ...]) -> Refusal | None:
    """Seats that the table does not have."""
    if all(1 <= seat <= state.setup.seats for seat in seats) and len(set(seats)) == len(seats):
        return None
    return Refusal(f"the table has seats 1 to {state.setup.seats}", "each seat is one of them, named once", ("2.A",))


@takes(Wager)
def wager(d: Decision, act: Wager) -> Refusal | None:
    """Who has wagered, seen from the dealer's left."""
    refusal = no_such_seats(d.state, act.seats)
    if refusal is None:
        d.emit("seats.wagered", seats=sorted(act.seats), who=act.who)
    return refusal


@enforces("8", "9", "10", "3.B(3)")
@takes(CloseBets)
def close_bets(d: Decision, act: CloseBets) -> Refusal | None:
    """No more bets: everything is looked at once more, and the round begins."""
    state = d.state
    seats = tuple(state.seats) if act.seats is None else act.seats
    refusal = no_such_seats(state, seats) or cannot_start(state, d.now_ms)
    if refusal is None and not seats:
        refusal = Refusal("nobody has wagered", "a player has wagered", ("10.B(1)(2)",))
    if refusal:
        return refusal
    chapter = CHAPTER[state.method]
    d.emit("bets.closed", chapter, seats=sorted(seats), who=act.who)
    others = [back for back in state.setup.backs if back != state.due and deck_with_back(state, back)]
    d.emit(
        "round.started",
        chapter,
        round=state.rounds + 1,
        deck=due_deck(state),
        seats=sorted(seats),
        method=str(state.method),
        plan=_plan(state, sorted(seats)),
        next_back=others[0] if others else state.due,
    )
    return None


@enforces("10.B(1)(2)", "10.B(3)(4)")
def _plan(state: State, seats: list[int]) -> list[dict[str, Any]]:
    """Who gets how many cards, in which order: from the dealer's left, clockwise."""
    plan: list[dict[str, Any]] = []
    for deal in state.setup.game.programme[state.method]:
        held = deal.last and state.setup.hold_dealer and state.method is Method.AUTOMATED_SHOE
        hands = [ledger.seat(seat) for seat in seats] if deal.to == PLAYERS else [deal.to]
        for hand in hands:
            plan.append({"target": hand, "cards": deal.cards, "held": held, "after_acting": deal.after_acting})
    return plan


def next_stack(round_: Round) -> Stack | None:
    """The stack that is dealt now; None when all are."""
    plan, dealt = round_.plan, round_.dealt
    return plan[dealt] if dealt < len(plan) else None


def waits_for_players(round_: Round) -> bool:
    """Whether what is left to deal comes only after the players have acted."""
    if round_.acted:
        return False
    stack = next_stack(round_)
    return stack is not None and (stack.after_acting or round_.held)


def stub_may_leave(state: State, round_: Round) -> bool:
    """Whether no more cards of this round can come from the deck."""
    return next_stack(round_) is None and (not state.setup.game.extra_cards or round_.acted) and not round_.stub_out


# --- the automated shoe ---------------------------------------------------------------------------------------------


@enforces("10.B(1)(2)", "10.B(3)(4)", "13.D")
def presented(d: Decision, given: Given, number: int, at_held: bool) -> None:
    """A stack lies at the exit, or is kept inside. Another number than asked for is 13.D."""
    round_ = d.round
    cards = d.state.decks[round_.deck].cards
    release = given.name == "Release"
    asked = cards.get(ledger.HELD, 0) if release else int(given.args["cards"])
    number = number if number >= 0 else asked
    target = ledger.HELD if at_held else ledger.EXIT
    moves = (
        ledger.seen(cards, (ledger.HELD,), number, target)
        if release
        else ledger.part(cards, ledger.SHOE, number, target)
    )
    kind = "dealer.held" if at_held else "stack.dispensed"
    if not d.may(kind):  # the round became void meanwhile
        kind = "cards.held" if at_held else "cards.presented"
    clause = "10.B(3)(4)" if at_held else "10.B(1)(2)"
    d.emit(
        kind, clause, round=round_.number, target=given.target, device="shoe", deck=round_.deck, cards=number,
        moves=moves,
    )  # fmt: skip
    tell_difference(d, round_.deck, ledger.SHOE, moves)
    if number != asked:
        void(d, "13.D", reason=f"the shoe has counted {number} cards for {given.target} instead of {asked}")


@enforces("10.B(1)(2)", "13.A", "13.D", "11.E")
def taken(d: Decision, given: Given, number: int, kinds: list[int]) -> None:
    """The stack was taken to its hand; a face-up card in it goes to the rack instead."""
    round_ = d.round
    cards = d.state.decks[round_.deck].cards
    there = cards.get(ledger.EXIT, 0)
    number = number if number >= 0 else there
    aside = min(round_.to_rack, number)
    moves = ledger.seen(cards, (ledger.EXIT,), number, given.target)
    if aside:
        moves.append((given.target, ledger.RACK, aside))
    names = d.state.setup.game.kinds if kinds else ()
    shown = [names[kind] if 0 <= kind < len(names) else "unknown" for kind in kinds]
    d.emit(
        "stack.taken", "13.A" if aside else "10.B(1)(2)", device="shoe", deck=round_.deck, round=round_.number,
        target=given.target, cards=number, kept=number - aside, kinds=shown, moves=moves,
    )  # fmt: skip
    tell_difference(d, round_.deck, ledger.EXIT, moves)
    if number != there:
        void(d, "13.D", reason=f"{number} cards were taken to {given.target}, {there} lay at the exit")


def stub_at_exit(d: Decision, given: Given, number: int, **late: bool) -> None:
    """The shoe has brought out the stub and counted it: it must be what the ledger has."""
    cards = d.state.decks[d.round.deck].cards
    there = cards.get(ledger.SHOE, 0)
    number = number if number >= 0 else there
    moves = ledger.seen(cards, (ledger.SHOE,), number, ledger.EXIT)
    d.emit("cards.presented", "10.B(5)", device="shoe", deck=d.round.deck, cards=number, moves=moves, **late)
    tell_difference(d, d.round.deck, ledger.SHOE, moves)
    if number != there:
        _stub_wrong(d, number, there, by="shoe")


def stub_taken(d: Decision, number: int) -> None:
    """The dealer has taken the stub from the exit."""
    cards = d.state.decks[d.round.deck].cards
    there = cards.get(ledger.EXIT, 0)
    target = _stub_goes_to(d)
    moves = ledger.seen(cards, (ledger.EXIT,), number if number >= 0 else there, target)
    d.emit("exit.emptied", device="shoe", cards=number)
    d.emit("stub.removed", "10.B(5)", deck=d.round.deck, round=d.round.number, cards=number, moves=moves)
    tell_difference(d, d.round.deck, ledger.EXIT, moves)
    if number not in (-1, there):
        _stub_wrong(d, number, there, by="shoe")


def _stub_goes_to(d: Decision) -> str:
    return ledger.STUB if stub_count_due(d.state) else ledger.RACK


# --- manual shoe and hand -------------------------------------------------------------------------------------------


@enforces("8", "9", "10.B(1)(2)")
@takes(DealCards)
def deal_cards(d: Decision, act: DealCards) -> Refusal | None:
    """The dealer has laid cards before a hand: the one whose turn it is, and no more than its share."""
    stack = next_stack(d.round)
    if d.round.method is Method.AUTOMATED_SHOE:
        return Refusal("the automated shoe deals", "the cards are dealt by hand or from a manual shoe", ("10",))
    if stack is None or waits_for_players(d.round):
        return Refusal("all that is due has been dealt", "cards are still to be dealt")
    chapter = CHAPTER[d.round.method]
    if act.target != stack.target:
        return Refusal(f"the next card goes to {stack.target}", f"{stack.target} has it", (chapter,))
    due = stack.cards - d.round.in_hand
    if not 1 <= act.cards <= due:
        return Refusal(f"{stack.target} gets {due} now", "a wrong number is reported as such", (chapter, "13.D"))
    _lay(d, stack.target, act.cards)
    return None


@takes(FinishDeal)
def finish_deal(d: Decision, act: FinishDeal) -> Refusal | None:
    """Everything that was due has been dealt in its order."""
    if d.round.method is Method.AUTOMATED_SHOE:
        return Refusal("the automated shoe deals", "the cards are dealt by hand or from a manual shoe", ("10",))
    if next_stack(d.round) is None:
        return Refusal("all that is due has been dealt", "cards are still to be dealt")
    while (stack := next_stack(d.round)) and not waits_for_players(d.round):
        _lay(d, stack.target, stack.cards - d.round.in_hand)
    return None


@enforces("13.C", "8", "9")
def _lay(d: Decision, target: str, number: int) -> None:
    """Cards from the deck to a hand; one that was drawn in error is the first of them."""
    cards, source = d.state.decks[d.round.deck].cards, SOURCE[d.round.method]
    waiting = min(cards.get(ledger.ASIDE, 0), number)
    moves = [(ledger.ASIDE, target, waiting)] if waiting else []
    moves += ledger.part(cards, source, number - waiting, target) if number > waiting else []
    d.emit(
        "stack.taken", CHAPTER[d.round.method], *(["13.C"] if waiting else []), deck=d.round.deck,
        round=d.round.number, target=target, cards=number, kept=number, moves=moves,
    )  # fmt: skip


def lay_aside_card(d: Decision) -> None:
    """Automated shoe: the card drawn in error goes to the hand that is next."""
    stack = next_stack(d.round)
    assert stack is not None
    _lay(d, stack.target, 1)


@takes(RequestCard)
def request_card(d: Decision, act: RequestCard) -> Refusal | None:
    """A further card for a hand, in games that have it."""
    dealt = {stack.target for stack in d.round.plan}
    most = d.state.setup.game.extra_cards
    if act.target not in dealt or d.round.extra.get(act.target, 0) >= most or next_stack(d.round):
        return Refusal("this hand draws no further card now", "the game gives it one and none is being dealt")
    d.emit("card.requested", round=d.round.number, target=act.target, who=act.who)
    return None


# --- acting, revealing, collecting ----------------------------------------------------------------------------------


def _stub_first(d: Decision) -> Refusal | None:
    if not stub_count_due(d.state) or next_stack(d.round) is not None:
        return None
    clause = STUB_CLAUSE[d.round.method]
    return Refusal("the stub must be counted in this round", "it is counted", (clause,))


@takes(PlayersActed)
def players_acted(d: Decision, act: PlayersActed) -> Refusal | None:
    """Every player has decided."""
    refusal = _stub_first(d) if not d.state.setup.game.extra_cards else None
    if refusal is None:
        d.emit("players.acted", "11.D(2)", round=d.round.number, who=act.who)
    return refusal


@enforces("11.D(2)")
@takes(RevealDealer)
def reveal(d: Decision, act: RevealDealer) -> Refusal | None:
    """After all players have acted, and with all of the dealer's cards out."""
    if next_stack(d.round) is not None:
        return Refusal("the dealer's cards are not all out", "they are taken from the shoe", ("11.D(2)",))
    refusal = _stub_first(d)
    if refusal is None:
        d.emit("dealer.revealed", "11.D(2)", round=d.round.number, who=act.who)
    return refusal


@enforces("11.E", "3.B(4)")
@takes(CollectHand)
def collect(d: Decision, act: CollectHand) -> Refusal | None:
    """A hand goes to the rack; the order is kept in the journal."""
    state = d.state
    number = state.decks[d.round.deck].cards.get(act.target, 0)
    if not number or act.target not in {stack.target for stack in d.round.plan}:
        return Refusal(f"{act.target} has no cards", "a hand that lies on the table is named", ("11.E",))
    if act.target in state.setup.game.hands() and state.table is not TableState.CLEARING:
        return Refusal("the dealer's cards are not shown yet", "they have been shown", ("11.D(2)",))
    refusal = rack_taken(state, d.round.deck)
    if refusal is None:
        _collect(d, act.target, number, act.who)
    return refusal


def _collect(d: Decision, target: str, number: int, who: str) -> None:
    moves = [(target, ledger.RACK, number)]
    d.emit("hand.collected", "11.E", deck=d.round.deck, round=d.round.number, target=target, moves=moves, who=who)


@takes(CollectAll)
def collect_all(d: Decision, act: CollectAll) -> Refusal | None:
    """From the dealer's right to the left, then the dealer's own."""
    if d.state.table is not TableState.CLEARING:
        return Refusal("the dealer's cards are not shown yet", "they have been shown", ("11.D(2)",))
    refusal = rack_taken(d.state, d.round.deck)
    if refusal:
        return refusal
    hands = dict.fromkeys(stack.target for stack in d.round.plan)
    dealers = d.state.setup.game.hands()
    players = [hand for hand in hands if hand not in dealers]
    cards = d.state.decks[d.round.deck].cards
    lying = [(hand, cards[hand]) for hand in [*reversed(players), *dealers] if cards.get(hand)]
    if not lying:
        return Refusal("no hand lies on the table", "hands lie there", ("11.E",))
    for hand, number in lying:
        _collect(d, hand, number, act.who)
    return None


# --- the stub -------------------------------------------------------------------------------------------------------


@takes(WantStubCount)
def want_count(d: Decision, act: WantStubCount) -> Refusal | None:
    """Counted in this round, due or not."""
    if d.round.stub_out or d.round.count_wanted:
        return Refusal("the stub is out, or its count is due already", "the stub is still in")
    d.emit("stub.count_wanted", STUB_CLAUSE[d.round.method], round=d.round.number, who=act.who)
    return None


@enforces("8", "9", "10.B(5)", "3.B(4)")
@takes(RemoveStub)
def remove_stub(d: Decision, act: RemoveStub) -> Refusal | None:
    """Manual shoe and hand, or a shoe that cannot bring it out: the dealer takes the stub."""
    state = d.state
    if not stub_may_leave(state, d.round):
        return Refusal("cards are still to be dealt, or the stub is out", "all hands have their cards", ("10.B(5)",))
    if d.round.method is Method.AUTOMATED_SHOE and emptied_by_device(state, ledger.SHOE):
        return Refusal("the shoe brings the stub out by itself", "the shoe cannot be used", ("10.B(5)",))
    refusal = rack_taken(state, d.round.deck)
    if refusal is None:
        remove_stub_by_hand(d, act.who)
    return refusal


def remove_stub_by_hand(d: Decision, who: str) -> None:
    """All that is left goes to be counted, or to the rack."""
    cards = d.state.decks[d.round.deck].cards
    target = _stub_goes_to(d)
    places = (SOURCE[d.round.method], ledger.ASIDE, ledger.EXIT)
    moves = [(place, target, cards[place]) for place in places if cards.get(place)]
    number = sum(n for _, _, n in moves)
    d.emit("stub.removed", CHAPTER[d.round.method], deck=d.round.deck, round=d.round.number, cards=number,
           moves=moves, who=who)  # fmt: skip


@enforces("8.E", "8.F", "8.G", "9.D", "9.E", "9.F", "10.C", "10.D", "10.E")
@takes(CountStub)
def count_stub(d: Decision, act: CountStub) -> Refusal | None:
    """The stub and the dealt cards must make a deck."""
    there = d.state.decks[d.round.deck].cards.get(ledger.STUB, 0)
    if not d.round.stub_out or d.round.stub_counted or (not there and not stub_count_due(d.state)):
        return Refusal("no stub lies there to be counted", "the stub is taken out to be counted")
    if act.cards < 0:
        return Refusal(f"{act.cards} cards cannot be", "the number is right")
    clause = STUB_CLAUSE[d.round.method]
    if act.cards != there:
        d.emit("stub.counted", clause, deck=d.round.deck, round=d.round.number, cards=act.cards, who=act.who)
        _stub_wrong(d, act.cards, there, by="dealer")
        return None
    moves = [(ledger.STUB, ledger.RACK, there)] if there else []
    d.emit("stub.counted", clause, deck=d.round.deck, round=d.round.number, cards=act.cards, moves=moves, who=act.who)
    size = d.state.setup.game.deck_size
    d.emit("count.accepted", STUB_FITS[d.round.method], deck=d.round.deck, by="stub", cards=size)
    return None


def _stub_wrong(d: Decision, number: int, expected: int, by: str) -> None:
    """Not the number there should be: the dealer must say whether cards were misdealt."""
    clause, deck = STUB_WRONG[d.round.method], d.round.deck
    cards = d.state.decks[deck].cards
    moves = ledger.seen(cards, (ledger.STUB,), number, ledger.STUB) if by == "dealer" else []
    moves = [move for move in moves if move[0] != move[1]]
    d.emit("count.rejected", clause, deck=deck, by=f"stub by {by}", cards=number, expected=expected, moves=moves)
    if d.may("stub.rejected", deck):
        d.emit("stub.rejected", clause, round=d.round.number, cards=number, expected=expected)
