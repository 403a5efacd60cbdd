"""The description of Dragon Poker, for the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from controller.games.board import BoardBlock
from controller.games.description import Description, Hidden, StepType
from controller.games.dragon_poker.cards import DRAGON_POKER
from controller.games.dragon_poker.odds import odds
from controller.games.dragon_poker.pay import HAND_SIZE
from controller.games.dragon_poker.rulebook import RULEBOOK
from controller.games.dragon_poker.settlement import (
    FORFEITED,
    SEATS,
    DragonPokerBet,
    DragonPokerOptions,
    PlayOrForfeit,
    SeatWagers,
    areas_fault,
    hands_to_rack_at_once,
    jackpot_after,
    options_fault,
    play_fault,
    seat_result,
    settlement,
    unit_results,
    wager_fault,
)
from controller.games.game import DEALER
from controller.games.payments import HandResult, Payment
from controller.games.record import Consequence, Decided, PlayerTurn, RoundRecord

BETS = tuple(bet for bet in DragonPokerBet if bet is not DragonPokerBet.PLAY)  # the play wager equals the ante
SECOND_AREA = "second area of seat"  # its amount is the number of the seat whose player also wagers here (7.G)
_FIELDS: dict[str, str] = {str(bet): bet.removesuffix(" wager").replace(" ", "_") for bet in BETS} | {
    DragonPokerBet.DRAGON_WAGER: "dragon_wager"
}


def _chosen(options: dict[str, Any]) -> DragonPokerOptions:
    """What the house has chosen. ValueError: a value has the wrong type."""
    return msgspec.convert(options, DragonPokerOptions)


def _options_fault(options: dict[str, Any]) -> str:
    try:
        return options_fault(_chosen(options))
    except msgspec.ValidationError as error:
        return str(error)


# --- wagers -----------------------------------------------------------------------------------------------------------


def _wagers(bets: Mapping[str, int]) -> SeatWagers:
    return SeatWagers(**{_FIELDS[bet]: amount for bet, amount in bets.items() if bet != SECOND_AREA})


def _offered(options: dict[str, Any]) -> list[str]:
    """The bets that people are asked for; whoever records another is refused when the bets are closed."""
    chosen = _chosen(options)
    left_out = {
        DragonPokerBet.THREE_CARD_BONUS: not chosen.three_card_bonus,
        DragonPokerBet.DRAGON_WAGER: not chosen.dragon_wager,
        DragonPokerBet.PROGRESSIVE: not chosen.progressive,
        SECOND_AREA: not chosen.two_areas,
    }
    return [bet for bet in DESCRIPTION.bets if not left_out.get(bet)]


def _bets_fault(record: RoundRecord, hand: str) -> str:
    bets = record.wagers[hand]
    return wager_fault(_wagers(bets), _chosen(record.options)) or _areas_fault(record, bets.get(SECOND_AREA, 0))


def _areas_fault(record: RoundRecord, first: int) -> str:
    """Why the player of this seat cannot wager on all of these areas too; empty if there is no second area."""
    if not first:
        return ""
    others = [hand for hand, bets in record.wagers.items() if bets.get(SECOND_AREA) == first]
    fault = areas_fault([f"seat{first}", *others], _chosen(record.options))
    if not fault and record.wagers.get(f"seat{first}", {}).get(SECOND_AREA):
        fault = "a player may wager on two betting areas at most (7.G)"
    if not fault and f"seat{first}" not in record.wagers:
        fault = f"seat {first} has no wager (7.G)"
    return fault


def _seats_fault(record: RoundRecord) -> str:
    """Whoever has made a wager is dealt a hand."""
    for hand in record.wagers:
        if hand not in [f"seat{seat}" for seat in record.seats]:
            return f"{hand.replace('seat', 'seat ')} has a wager and would get no cards (7.D)"
    return ""


# --- decisions --------------------------------------------------------------------------------------------------------


def _decisions(record: RoundRecord) -> dict[str, PlayOrForfeit]:
    """What each seat decided; a seat of which no decision was recorded has played."""
    found = {hand: PlayOrForfeit.PLAY for hand in record.held if hand != DEALER}
    return found | {one.hand: PlayOrForfeit(one.choice) for one in record.decisions}


def _turn(record: RoundRecord) -> PlayerTurn | None:
    """The next seat from the dealer's left that has not decided (11.B)."""
    decided = {one.hand for one in record.decisions}
    for seat in record.seats:
        hand = f"seat{seat}"
        if hand not in decided:
            ante = record.wagers.get(hand, {}).get(DragonPokerBet.ANTE, 0)
            return PlayerTurn(
                hand,
                tuple(PlayOrForfeit),
                f"Ask seat {seat} to play or forfeit.",
                f"The play wager equals the ante: {ante}." if ante else "",
                numbers={PlayOrForfeit.PLAY: (ante, ante)} if ante else {},
            )
    return None


def _decide(record: RoundRecord, decided: Decided) -> Consequence:
    wagers = _wagers(record.wagers.get(decided.hand, {}))
    if decided.number and decided.choice == PlayOrForfeit.PLAY:
        return Consequence(play_fault(decided.number, wagers), f"it is {wagers.ante}")
    return Consequence()


def _hands_out(record: RoundRecord) -> list[str]:
    """The forfeited hands that go to the rack at once (11.D(1))."""
    decisions = _decisions(record)
    if record.wagers:
        placed = {hand: _wagers(record.wagers.get(hand, {})) for hand in decisions}
        return hands_to_rack_at_once(placed, decisions)
    return [hand for hand, decision in decisions.items() if decision is PlayOrForfeit.FORFEIT]


# --- the settlement ---------------------------------------------------------------------------------------------------


def _shown(record: RoundRecord) -> list[str]:
    """The hands that the settlement needs: those with wagers, or all, that are on the table."""
    out, decisions = _hands_out(record), _decisions(record)
    wanted = [hand for hand in decisions if hand in record.wagers or not record.wagers]
    compared = any(decisions[hand] is PlayOrForfeit.PLAY for hand in wanted)
    shown = [hand for hand in wanted if record.held[hand] and hand not in out]
    return [*shown, DEALER] if compared or not record.wagers else shown


def _with_wagers(record: RoundRecord) -> dict[str, tuple[str, ...]]:
    """The hands whose wagers are settled. ValueError: not all cards that were seen belong to the hand."""
    hands = {hand: kinds for hand, kinds in record.kinds.items() if hand in record.wagers}
    for hand, kinds in {**hands, DEALER: record.kinds.get(DEALER, ())}.items():
        if kinds and len(kinds) != record.held[hand] == HAND_SIZE:
            name = hand.replace("seat", "seat ") if hand != DEALER else "the dealer"
            raise ValueError(f"one of the cards for {name} was face up and not used")
    return hands


def _results(record: RoundRecord) -> list[HandResult]:
    """Each hand's comparison with the dealer's, from the dealer's right; without wagers also what each bet is paid."""
    known = {hand: kinds for hand, kinds in record.kinds.items() if len(kinds) == record.held.get(hand) == HAND_SIZE}
    decisions, dealer, found = _decisions(record), known.get(DEALER, ()), {}
    for hand in SEATS:
        forfeited = decisions.get(hand) is PlayOrForfeit.FORFEIT
        if forfeited and (record.wagers or known):
            found[hand] = FORFEITED
        elif hand in known and dealer:
            found[hand] = seat_result(known[hand], dealer)
        if hand in found and hand in known and hand not in record.wagers:
            paid = unit_results(known[hand], dealer, decisions[hand], _chosen(record.options))
            found[hand] += f": {paid}" if paid else ""
    return [HandResult(hand, text) for hand, text in found.items()]


def _jackpot(record: RoundRecord) -> int:
    """The jackpot with the progressive wagers that are on the table."""
    carried = record.carried if record.carried.get("began_with") == record.options["jackpot"] else {}
    staked = sum(bets.get(DragonPokerBet.PROGRESSIVE, 0) for bets in record.wagers.values())
    return int(carried.get("jackpot", record.options["jackpot"])) + staked


def _settle(record: RoundRecord) -> list[Payment]:
    wagers = {hand: _wagers(bets) for hand, bets in record.wagers.items()}
    decisions = {hand: decision for hand, decision in _decisions(record).items() if hand in wagers}
    hands, dealer = _with_wagers(record), record.kinds.get(DEALER, ())
    return settlement(hands, dealer, wagers, decisions, _chosen(record.options), _jackpot(record))


def _carry(record: RoundRecord) -> dict[str, Any] | None:
    """The jackpot after this round."""
    if not record.options["progressive"]:
        return None
    hands = _with_wagers(record)
    wagers = {hand: _wagers(record.wagers[hand]) for hand in hands}
    left = jackpot_after(hands, wagers, _chosen(record.options), _jackpot(record))
    return {"jackpot": left, "began_with": record.options["jackpot"]}


def _board(record: RoundRecord) -> list[BoardBlock]:
    return [BoardBlock("Jackpot", figure=f"{_jackpot(record):,}")] if record.options["progressive"] else []


DESCRIPTION = Description(
    game=DRAGON_POKER,
    rulebook=RULEBOOK,
    prompts={
        StepType.ACT: ("Ask each player to play or forfeit.", "Report it when all have acted."),
        StepType.REVEAL: ("Show the dealer's cards.", "All players have acted."),
        StepType.SETTLE: ("Settle the bets and collect the hands from your right to your left.", ""),
    },
    options=msgspec.to_builtins(DragonPokerOptions()),
    options_fault=_options_fault,
    bets=(*BETS, SECOND_AREA),
    offered=_offered,
    seat_bets=(SECOND_AREA,),
    bets_fault=_bets_fault,
    seats_fault=_seats_fault,
    turn=_turn,
    decide=_decide,
    hands_out=_hands_out,
    hidden=(
        Hidden("the hands on the table", (StepType.REVEAL,), "with the dealer's cards, after all players have acted"),
        Hidden("hands that were forfeited and collected before"),
    ),
    shown=_shown,
    settle=_settle,
    results=_results,
    carry=_carry,
    board=_board,
    odds=odds,
)
