"""A game's own procedure: bets, cards that are seen, further cards, decisions about hands, and the settlement."""

# mypyc
from __future__ import annotations

from controller.core import ledger
from controller.core.action import Role
from controller.core.actions import (
    DecideHand,
    EndSession,
    EnterCards,
    RecordBet,
    ReportCutCard,
    ReportIrregularity,
    TakeBackDecision,
)
from controller.core.decision import Decision, Refusal, handles
from controller.core.enforcement import enforces
from controller.core.events.play import (
    ActingResumed,
    BetRecorded,
    CardDue,
    CardsEntered,
    CutCardAppeared,
    DecisionTakenBack,
    HandDecided,
    IrregularityReported,
    RoundSettled,
    SessionEnded,
)
from controller.core.events.rounds import AllActed
from controller.core.machines import DeckState, TableState
from controller.core.names import place_name, plural, spoken
from controller.core.rules.dealing import next_stack, waits_for_players
from controller.core.rules.gathering import finish_deck
from controller.core.rules.guards import SOURCE, has_rule
from controller.core.rules.irregular import unreported, void
from controller.core.rules.script import (
    asked_stacks,
    hidden_hands,
    options_of,
    planned,
    record_between,
    record_of,
    refused_by_game,
    reshuffle_due,
    then,
    turn_of,
    turned_over,
    unknown_cards,
)
from controller.core.state import Round, State, due_deck, next_back
from controller.games import described
from controller.games.description import StepType
from controller.games.record import Decided
from controller.games.rulebook import Rule

# --- bets -------------------------------------------------------------------------------------------------------------


@enforces(Rule.BETS)
@handles(RecordBet)
def record_bet(d: Decision, act: RecordBet) -> Refusal | None:
    """Record the amount of a player's bet; 0 takes it back. The seat has wagered."""
    state, bets = d.state, described(d.state.setup.game).bets
    if not 1 <= act.seat <= state.setup.seats:
        return Refusal(f"the table has seats 1 to {state.setup.seats}", "one of these is named", (Rule.SEATS,))
    if act.bet not in bets:
        known = ", ".join(bets) or "none"
        return Refusal(f"there is no bet {act.bet!r}: the bets are {known}", "one of these is named", (Rule.BETS,))
    if act.amount < 0:
        return Refusal(f"{act.amount} cannot be staked", "the amount is 0 or more", (Rule.BETS,))
    game = described(state.setup.game)
    asked = act.amount or act.bet in game.session_bets  # other bets can always be taken back
    fault = game.bet_fault(record_between(state), act.bet) if asked else ""
    if fault:
        return refused_by_game(state, fault, "the rules allow the bet", Rule.BETS)
    d.emit(BetRecorded(seat=act.seat, bet=act.bet, amount=act.amount, who=act.who), Rule.BETS)
    return None


@enforces(Rule.LATE_BET, Rule.WITHDRAWN_BET)
def too_late_to_bet(state: State, act: RecordBet) -> Refusal | None:
    """Refuse a bet in a round that has begun: none is made or raised, and none is withdrawn or lowered."""
    if state.round is None or not has_rule(state, Rule.LATE_BET):
        return None
    made = state.bets.get(ledger.seat(act.seat), {}).get(act.bet, 0)
    more = act.amount > made
    return Refusal(
        f"no more bets: none is {'made or raised' if more else 'withdrawn or lowered'} in this round",
        "bets are open",
        (Rule.BETS, Rule.LATE_BET if more else Rule.WITHDRAWN_BET),
    )


# --- cards that are seen ----------------------------------------------------------------------------------------------


def revealed(state: State, round_: Round) -> bool:
    """Whether the cards of all hands that the game turns over are face up."""
    return state.table is TableState.CLEARING and not round_.void


def cards_wanted(state: State, round_: Round, target: str) -> int:
    """How many cards of a hand are face up and not known."""
    there, known = state.decks[round_.deck].cards.get(target, 0), len(round_.kinds.get(target, ()))
    if round_.unseen.get(target):
        return round_.unseen[target]
    if not revealed(state, round_):
        return len(asked_stacks(state, round_, target))
    return there - known if target in turned_over(state, record_of(state, round_)) else 0


def hand_to_enter(state: State, round_: Round) -> str:
    """The first hand whose cards the settlement needs from a person; empty if there is none."""
    if round_.settled or not _settles(state, round_):
        return ""
    named_by_shoe = {
        stack.target
        for device in state.devices.values()
        for stack in device.dealt
        if device.online and stack.wanted and stack.round == round_.number
    }
    hands = hidden_hands(state, record_of(state, round_))
    return next((hand for hand in hands if hand not in named_by_shoe and cards_wanted(state, round_, hand) > 0), "")


@enforces(Rule.FOREIGN_CARD)
@handles(EnterCards)
def enter_cards(d: Decision, act: EnterCards) -> Refusal | None:
    """The dealer enters which cards were dealt face up, or which cards a hand had once it was turned over."""
    round_ = d.round
    wanted = cards_wanted(d.state, round_, act.target)
    if wanted < 1:
        hand, there = place_name(act.target), d.state.decks[round_.deck].cards.get(act.target, 0)
        known = there and len(round_.kinds.get(act.target, ())) == there
        reason = f"the cards of {hand} are known" if known else f"no card of {hand} is to be entered"
        return Refusal(reason, "cards were turned over and not entered")
    if len(act.kinds) != wanted:
        return Refusal(
            f"{plural(wanted, 'card')} of {place_name(act.target)} are to be entered", "all of them are named"
        )
    refusal = unknown_cards(d.state, act.kinds)
    if refusal is None:
        d.emit(
            CardsEntered(round=round_.number, deck=round_.deck, target=act.target, kinds=list(act.kinds), who=act.who),
            Rule.DEALING,
        )
    return refusal


@enforces(Rule.FURTHER_CARDS)
def drawing(d: Decision) -> bool:
    """All planned cards are dealt, and the rules of the game call for another one. True if it decided anything."""
    state, round_ = d.state, d.round
    game = described(state.setup.game)
    if game.due_card is None or next_stack(round_) is not None:
        return False
    due = game.due_card(record_of(state, round_))
    if not due.hand:
        return False
    d.emit(CardDue(round=round_.number, target=due.hand, why=due.why, face_up=True), Rule.FURTHER_CARDS)
    return True


# --- decisions --------------------------------------------------------------------------------------------------------


@enforces(Rule.DECISIONS)
@handles(DecideHand)
def decide(d: Decision, act: DecideHand) -> Refusal | None:
    """A decision about a hand. It must be that hand's turn, and the game says what follows."""
    state, round_ = d.state, d.round
    game = described(state.setup.game)
    turn = turn_of(state, round_)
    due = next_stack(round_)
    if round_.unseen:
        hand = place_name(next(iter(round_.unseen)))
        return Refusal(f"the cards of {hand} are not entered", "they have been entered", (Rule.DECISIONS,))
    if due is not None and not waits_for_players(round_):
        where = place_name(due.target)
        return Refusal(f"cards are still to be dealt to {where}", "they have been dealt", (Rule.DECISIONS,))
    if reshuffle_due(state) and not (turn and act.choice in turn.anybody):
        return Refusal("too few cards are left", "stock and discards have been shuffled", (Rule.RESHUFFLE_STOCK,))
    if turn is None or game.decide is None:
        return Refusal("no decision is due", "it is a hand's turn", (Rule.DECISIONS,))
    out_of_turn = act.choice in turn.anybody and not round_.kinds.get(act.target)
    if act.target != turn.hand and not (out_of_turn and act.target in record_of(state, round_).held):
        return Refusal(
            f"it is the turn of {place_name(turn.hand)}", f"{place_name(turn.hand)} has decided", (Rule.DECISIONS,)
        )
    if act.choice not in turn.choices and act.choice not in turn.anybody:
        known = " or ".join(spoken(choice) for choice in turn.choices)
        return Refusal(f"{spoken(act.choice)!r} is not possible now", f"the choice is {known}", (Rule.DECISIONS,))
    if act.kinds and act.choice not in turn.enter and not turn.cards:
        return Refusal("no cards are turned over now", "the decision is entered without cards", (Rule.DECISIONS,))
    if act.number and act.choice not in turn.numbers:
        return Refusal("this is not about a number of cards", "no number is entered", (Rule.DECISIONS,))
    refusal = unknown_cards(state, act.kinds) if act.choice in turn.enter else None
    if refusal:
        return refusal
    follows = game.decide(record_of(state, round_), Decided(act.target, act.choice, act.number, tuple(act.kinds)))
    if follows.fault:
        return refused_by_game(state, follows.fault, follows.possible_when, Rule.DECISIONS)
    d.emit(
        HandDecided(
            round=round_.number,
            deck=round_.deck,
            target=act.target,
            choice=act.choice,
            number=act.number,
            kinds=list(act.kinds),
            moves=[(act.target, ledger.DISCARDS, follows.discard)] if follows.discard else None,
            deals=[planned(deal, deal.to) for deal in follows.deals],
            turned=follows.turned,
            who=act.who,
        ),
        Rule.DECISIONS,
    )
    return None


def resuming_play(d: Decision) -> bool:
    """After a correction, a decision is due that was not before. An automatic rule: True if it decided anything."""
    state, round_ = d.state, d.round
    if not described(state.setup.game).must_decide or round_.settled or turn_of(state, round_) is None:
        return False
    d.emit(ActingResumed(round=round_.number), Rule.DECISIONS)
    return True


@enforces(Rule.REVEAL_DEALER)
def acted(d: Decision) -> bool:
    """Every decision that the game wants has been made. An automatic rule: True if it decided anything."""
    state, round_ = d.state, d.round
    if round_.in_hand or round_.unseen or next_stack(round_) or not described(state.setup.game).must_decide:
        return False
    if reshuffle_due(state):
        return False
    if turn_of(state, round_) is not None or asked_stacks(state, round_):
        return False
    d.emit(AllActed(round=round_.number, then=then(state, StepType.ACT), who=""), Rule.REVEAL_DEALER)
    return True


@handles(TakeBackDecision)
def take_back(d: Decision, act: TakeBackDecision) -> Refusal | None:
    """The last decision was entered by mistake. Only while nothing has followed from it but a settlement."""
    round_ = d.round
    before = round_.before[-1] if round_.before else None
    if before is None or (round_.settled and not before.turned):
        return Refusal("no decision can be taken back", "a decision has just been entered", (Rule.DECISIONS,))
    last = round_.decisions[-1]
    shoe = d.state.devices.get("shoe")
    cards = d.state.decks[round_.deck].cards
    if not cards.get(last.hand):
        return Refusal("the hand has been collected", "nothing has followed from it", (Rule.DECISIONS,))
    moves = [(ledger.DISCARDS, last.hand, last.number)] if cards.get(ledger.DISCARDS) and last.number else None
    busy = shoe is not None and (shoe.doing is not None or shoe.at_exit is not None)
    if len(round_.plan) > before.plan and (busy or round_.in_hand or round_.dealt > before.plan):
        return Refusal("cards were dealt because of it", "nothing has followed from it", (Rule.DECISIONS,))
    if round_.settled and (busy or round_.stub_out or cards.get(ledger.RACK)):
        return Refusal("the cards are being collected", "they are still on the table", (Rule.DECISIONS,))
    d.emit(
        DecisionTakenBack(
            round=round_.number,
            deck=round_.deck,
            target=last.hand,
            choice=last.choice,
            moves=moves,
            turned=before.turned,
            who=act.who,
        ),
        Rule.DECISIONS,
    )
    return None


# --- the end of a round and of a deck -------------------------------------------------------------------------------


def _settles(state: State, round_: Round) -> bool:
    """Whether the table works out what is paid: always, or if bets were recorded."""
    game = described(state.setup.game)
    return game.must_settle or (game.settle is not None and bool(state.bets))


@enforces(Rule.SETTLEMENT)
def settling(d: Decision) -> bool:
    """Work out the result once all cards are known. An automatic rule: True if it decided anything."""
    state, round_ = d.state, d.round
    game = described(state.setup.game)
    known_anyway = game.results is not None and round_.kinds  # the shoe recognised the cards
    if round_.settled or round_.unseen or not (known_anyway or _settles(state, round_)):
        return False
    record = record_of(state, round_)
    if hidden_hands(state, record):
        return False
    event = RoundSettled(round=round_.number)
    try:
        event.result = game.result(record) if game.result else ""
        event.results = game.results(record) if game.results else []
        if not event.results and not _settles(state, round_):
            return False
        event.payments = game.settle(record) if game.settle else []
        event.carried = game.carry(record) if game.carry else None
    except ValueError as error:  # these cards or bets cannot be: people decide
        event.result = f"not by the table: {error}"
    d.emit(event, Rule.SETTLEMENT)
    return True


@enforces(Rule.CUT_CARD)
@handles(ReportCutCard)
def cut_card(d: Decision, act: ReportCutCard) -> Refusal | None:
    """The cut card has come out: this round is completed, and as many more are dealt as the house allows."""
    state = d.state
    if not state.setup.game.keeps_dealing:
        return Refusal("the deck is shuffled after every round", "the deck lasts several rounds", (Rule.CUT_CARD,))
    name = state.round.deck if state.round else due_deck(state)
    if not state.round and (not name or state.decks[name].state is not DeckState.LOADED):
        return Refusal("no deck is being dealt from", "a deck has been loaded", (Rule.CUT_CARD,))
    if state.decks[name].rounds_left >= 0:
        return Refusal("the cut card has already come out", "a new deck is dealt from", (Rule.CUT_CARD,))
    more = int(options_of(state).get("rounds_after_cut_card", 1))
    back = "" if more else next_back(state)
    d.emit(CutCardAppeared(deck=name, rounds=more, next_back=back, who=act.who), Rule.CUT_CARD)
    return None


@enforces(Rule.CUT_CARD)
def few_cards_left(d: Decision) -> bool:
    """No more cards are left than lie behind the cut card, and nobody has reported it. True if it decided anything."""
    state, round_ = d.state, d.round
    if not state.setup.game.keeps_dealing:
        return False
    deck, behind = state.decks[round_.deck], int(options_of(state).get("cut_card", 0))
    if not behind or deck.rounds_left >= 0 or deck.cards.get(SOURCE[round_.method], 0) > behind:
        return False
    return cut_card(d, ReportCutCard(who="", role=Role.DEALER)) is None


@enforces(Rule.TOO_FEW_CARDS)
def too_few_cards(d: Decision) -> bool:
    """The deck has too few cards to complete the round. An automatic rule: True if it decided anything."""
    state, round_ = d.state, d.round
    stack, cards = next_stack(round_), state.decks[round_.deck].cards
    there = cards.get(SOURCE[round_.method], 0) + cards.get(ledger.ASIDE, 0)
    if stack is None or there >= stack.cards - round_.in_hand:
        return False
    shoe = state.devices.get("shoe")
    if shoe and (shoe.doing or shoe.at_exit):
        return False
    finish_deck(d, round_.deck, "too few cards are left")
    void(d, Rule.TOO_FEW_CARDS, reason="too few cards are left to complete it")
    return True


# --- sessions and irregularities --------------------------------------------------------------------------------------


@enforces(Rule.SESSION)
@handles(EndSession)
def end_session(d: Decision, act: EndSession) -> Refusal | None:
    """A session of several rounds is over: announce and pay what it decides."""
    game = described(d.state.setup.game)
    if game.end_session is None:
        return Refusal(f"{d.state.setup.game.name} is not played in sessions", "the game has sessions", (Rule.SESSION,))
    ended = game.end_session(record_between(d.state))
    if not ended.result:
        return Refusal("no session has begun", "a round has been played in it", (Rule.SESSION,))
    d.emit(
        SessionEnded(result=ended.result, payments=list(ended.payments), carried=ended.carried, who=act.who),
        Rule.SESSION,
    )
    return None


@enforces(Rule.SESSION)
def ending_session(d: Decision) -> bool:
    """The session has had all its rounds. An automatic rule: True if it decided anything."""
    if not d.state.carried:
        return False
    game = described(d.state.setup.game)
    if game.session_over is None or game.end_session is None or not game.session_over(record_between(d.state)):
        return False
    ended = game.end_session(record_between(d.state))
    event = SessionEnded(result=ended.result, payments=list(ended.payments), carried=ended.carried, who="")
    d.emit(event, Rule.SESSION)
    return True


@enforces(Rule.FOREIGN_CARD, Rule.TWO_CARDS, Rule.ORDER_ALTERED)
@handles(ReportIrregularity)
def report_irregularity(d: Decision, act: ReportIrregularity) -> Refusal | None:
    """Something went wrong that voids the round by the rules of this game."""
    known = described(d.state.setup.game).irregularities
    found = known.get(act.irregularity)
    if found is None:
        names = ", ".join(known) or "none"
        return Refusal(f"{act.irregularity!r} is no irregularity of this game", f"it is one of: {names}")
    rules = (found.rule,) if found.rule else ()
    fault = found.fault(record_of(d.state, d.round))
    if fault:
        return Refusal(fault, found.otherwise, rules)
    deck = d.round.deck
    moves = unreported(d, ledger.ASIDE, found.drawn)
    event = IrregularityReported(
        round=d.round.number, irregularity=act.irregularity, deck=deck if moves else "", moves=moves, who=act.who
    )
    d.emit(event, *rules)
    if not found.keeps:
        finish_deck(d, deck, found.text)
    void(d, *rules, reason=found.text, keeps=found.keeps)
    return None
