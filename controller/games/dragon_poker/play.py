"""The description of Dragon Poker, for the table."""

from __future__ import annotations

from typing import Any

import msgspec

from controller.games.description import Description, Hidden, StepType
from controller.games.dragon_poker.cards import DRAGON_POKER
from controller.games.dragon_poker.odds import odds
from controller.games.dragon_poker.rulebook import RULEBOOK
from controller.games.dragon_poker.settlement import (
    DragonPokerBet,
    DragonPokerOptions,
    PlayOrForfeit,
    SeatWagers,
    hands_to_rack_at_once,
    options_fault,
    settlement,
    wager_fault,
)
from controller.games.game import DEALER
from controller.games.payments import Payment
from controller.games.record import Consequence, Decided, PlayerTurn, RoundRecord

BETS = tuple(bet for bet in DragonPokerBet if bet is not DragonPokerBet.PLAY)  # the play wager equals the ante
_FIELDS: dict[str, str] = {str(bet): bet.removesuffix(" wager").replace(" ", "_") for bet in BETS} | {
    DragonPokerBet.DRAGON_WAGER: "dragon_wager"
}


def _chosen(options: dict[str, Any]) -> DragonPokerOptions:
    """What the house has chosen, without the amount of the jackpot. ValueError: a value has the wrong type."""
    known = {name: value for name, value in options.items() if name != "jackpot"}
    return msgspec.convert(known, DragonPokerOptions)


def _options_fault(options: dict[str, Any]) -> str:
    try:
        return options_fault(_chosen(options))
    except msgspec.ValidationError as error:
        return str(error)


def _wagers(bets: dict[str, int]) -> SeatWagers:
    return SeatWagers(**{_FIELDS[bet]: amount for bet, amount in bets.items()})


def _bets_fault(record: RoundRecord, hand: str) -> str:
    return wager_fault(_wagers(record.wagers[hand]), _chosen(record.options))


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
            return PlayerTurn(hand, tuple(PlayOrForfeit), f"Ask seat {seat} to play or forfeit.")
    return None


def _decide(record: RoundRecord, decided: Decided) -> Consequence:
    return Consequence()


def _hands_out(record: RoundRecord) -> list[str]:
    """The forfeited hands that go to the rack at once (11.D(1))."""
    decisions = _decisions(record)
    if record.wagers:
        placed = {hand: _wagers(record.wagers.get(hand, {})) for hand in decisions}
        return hands_to_rack_at_once(placed, decisions)
    return [hand for hand, decision in decisions.items() if decision is PlayOrForfeit.FORFEIT]


def _shown(record: RoundRecord) -> list[str]:
    """The hands that the settlement needs: those with wagers that are still on the table, and the dealer's."""
    out = _hands_out(record)
    return [*(hand for hand in record.wagers if hand in record.held and hand not in out), DEALER]


def _settle(record: RoundRecord) -> list[Payment]:
    hands = {hand: kinds for hand, kinds in record.kinds.items() if hand != DEALER and hand in record.wagers}
    wagers = {hand: _wagers(record.wagers[hand]) for hand in hands}
    decisions = {hand: decision for hand, decision in _decisions(record).items() if hand in hands}
    jackpot = int(record.options.get("jackpot", 0))
    return settlement(hands, record.kinds[DEALER], wagers, decisions, _chosen(record.options), jackpot)


DESCRIPTION = Description(
    game=DRAGON_POKER,
    rulebook=RULEBOOK,
    prompts={
        StepType.ACT: ("Ask each player to play or fold.", "Report it when all have acted."),
        StepType.REVEAL: ("Show the dealer's cards.", "All players have acted."),
        StepType.SETTLE: ("Settle the bets and collect the hands from your right to your left.", ""),
    },
    options=msgspec.to_builtins(DragonPokerOptions()) | {"jackpot": 0},
    options_fault=_options_fault,
    bets=BETS,
    bets_fault=_bets_fault,
    turn=_turn,
    decide=_decide,
    hands_out=_hands_out,
    hidden=(Hidden("all hands", (StepType.REVEAL,), "with the dealer's cards, after all players have acted"),),
    shown=_shown,
    settle=_settle,
    odds=odds,
)
