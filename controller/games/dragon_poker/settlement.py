"""Dragon Poker's wagers (chapter 7) and the settlement of a round (chapter 11).

Amounts are whole numbers of whatever unit the table counts in. The rules give no lowest and no highest wager.

The rules permit a progressive wager (7.F(4)) but neither say what it pays nor when, so the house's own table is an
option. Each of its lines pays a fixed amount, or a share of the jackpot rounded down. The jackpot is that of the table.
It begins with the amount in the options, and begins again if that is changed. Every progressive wager goes into it
before its round is settled, and is not returned to a player who wins. It is settled after the dragon wager, and a
forfeited hand keeps it alive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from controller.games.dragon_poker.cards import DRAGON_POKER
from controller.games.dragon_poker.pay import (
    ANTE_BONUS,
    DRAGON_WAGER,
    GOLD,
    HAND_SIZE,
    THREE_CARD_BONUS,
    Category,
    Rank,
    RankedHand,
    best_hand,
    dragons,
    hand_name,
    pay_line,
)
from controller.games.payments import Payment

SEATS = tuple(f"seat{number}" for number in range(DRAGON_POKER.most_seats, 0, -1))  # from the dealer's right (11.D(3))

WON, LOST, TIE, FORFEITED = "won", "lost", "tie", "forfeited"


class DragonPokerBet(StrEnum):
    """The bets, as payments name them."""

    THREE_CARD_BONUS = "three card bonus"
    DRAGON_WAGER = "dragon wager"
    PROGRESSIVE = "progressive wager"
    ANTE = "ante"
    ANTE_BONUS = "ante bonus"
    PLAY = "play"


class PlayOrForfeit(StrEnum):
    """What a player decides after looking at the cards."""

    PLAY = "play"
    FORFEIT = "forfeit"


class SeatWagers(msgspec.Struct, frozen=True):
    """What lies on one betting area before the deal. A seat without a wager has none of these."""

    ante: int = 0
    ante_bonus: int = 0
    three_card_bonus: int = 0
    dragon_wager: int = 0
    progressive: int = 0


class ProgressiveLine(msgspec.Struct, frozen=True):
    """A line of the house's progressive table: paid unless a line above is. It has an amount or a share."""

    outcome: str  # one of PROGRESSIVE_OUTCOMES
    amount: int = 0
    share_percent: int = 0  # of what is left of the jackpot


class DragonPokerOptions(msgspec.Struct, frozen=True):
    """What the house chooses: the paytable of each bet, and what it offers and permits."""

    ante_bonus: str = "A"
    three_card_bonus: str = "A"  # empty: not offered
    dragon_wager: str = "A"  # empty: not offered
    progressive: tuple[ProgressiveLine, ...] = ()  # empty: not offered
    two_areas: bool = False  # whether a player may wager on two adjacent betting areas
    jackpot: int = 0  # with which it begins


# The outcomes of the dragon wager, and every pair and trips. "Three dragons" are any three.
PROGRESSIVE_OUTCOMES = tuple(
    dict.fromkeys(
        [outcome for pays in DRAGON_WAGER.values() for outcome in pays]
        + [hand_name(RankedHand(kind, (rank,))) for kind in (Category.TRIPS, Category.PAIR) for rank in reversed(Rank)]
    )
)


# --- wagers -----------------------------------------------------------------------------------------------------------


def options_fault(options: DragonPokerOptions) -> str:
    """Why the house cannot choose this; empty if it can."""
    choices = (
        (DragonPokerBet.ANTE_BONUS, options.ante_bonus, [*ANTE_BONUS], "12.B"),
        (DragonPokerBet.THREE_CARD_BONUS, options.three_card_bonus, ["", *THREE_CARD_BONUS], "12.C"),
        (DragonPokerBet.DRAGON_WAGER, options.dragon_wager, ["", *DRAGON_WAGER], "12.D"),
    )
    for bet, chosen, known, clause in choices:
        if chosen not in known:
            expected = " or ".join(repr(name) for name in known)
            return f"unknown paytable {chosen!r} of the {bet}; expected {expected} ({clause})"
    if options.jackpot < 0:
        return "jackpot: found a negative amount; expected 0 or more"
    outcomes = [line.outcome for line in options.progressive]
    for line in options.progressive:
        if line.outcome not in PROGRESSIVE_OUTCOMES:
            return f"unknown progressive outcome {line.outcome!r}; expected one of {', '.join(PROGRESSIVE_OUTCOMES)}"
        if outcomes.count(line.outcome) > 1:
            return f"the progressive table lists {line.outcome!r} more than once"
        if min(line.amount, line.share_percent) < 0 or bool(line.amount) == bool(line.share_percent):
            return f"progressive outcome {line.outcome!r}: enter either an amount or a share"
        if line.share_percent > 100:
            return f"progressive outcome {line.outcome!r}: a share is at most 100 percent"
    return ""


def wager_fault(wagers: SeatWagers, options: DragonPokerOptions) -> str:
    """Why these wagers of a seat are refused, with the clause; empty if they stand."""
    if min(msgspec.structs.astuple(wagers)) < 0:
        return "a wager cannot be less than 0 (7.A)"
    if not wagers.ante:
        return "an ante is required before any other wager (1.B(1))"
    if wagers.ante_bonus != wagers.ante:
        return f"the ante bonus must equal the ante: {wagers.ante}, not {wagers.ante_bonus} (7.F(1))"
    side_bets = (
        (DragonPokerBet.THREE_CARD_BONUS, wagers.three_card_bonus, bool(options.three_card_bonus), "7.F(2)(3)"),
        (DragonPokerBet.DRAGON_WAGER, wagers.dragon_wager, bool(options.dragon_wager), "7.F(2)(3)"),
        (DragonPokerBet.PROGRESSIVE, wagers.progressive, bool(options.progressive), "7.F(4)"),
    )
    for bet, amount, offered, clause in side_bets:
        if amount and not offered:
            return f"this table does not offer the {bet} ({clause})"
    return ""


def play_fault(play: int, wagers: SeatWagers) -> str:
    """Why a play wager of this amount is refused, with the clause; empty if it stands."""
    return "" if play == wagers.ante else f"the play wager must equal the ante: {wagers.ante}, not {play} (7.F(1))"


def areas_fault(areas: Sequence[str], options: DragonPokerOptions) -> str:
    """Why one player cannot wager on these betting areas, with the clause; empty if the player can."""
    unknown = [area for area in areas if area not in SEATS]
    if unknown:
        return f"unknown seat {unknown[0]!r}; expected {SEATS[-1]} to {SEATS[0]} (2.A)"
    if len(areas) < 2:
        return ""
    if not options.two_areas:
        return "a player may wager on only one betting area at this table (7.G)"
    if len(areas) > 2:
        return "a player may wager on two betting areas at most (7.G)"
    first, second = (SEATS.index(area) for area in areas)
    return "" if abs(first - second) == 1 else "the two betting areas of a player must be adjacent (7.G)"


# --- settlement -------------------------------------------------------------------------------------------------------


def hands_to_rack_at_once(wagers: Mapping[str, SeatWagers], decisions: Mapping[str, PlayOrForfeit]) -> list[str]:
    """The forfeited hands whose cards go to the rack before the dealer's cards are shown (11.D(1)).

    The cards of a seat with a side wager stay, since that wager is still alive.
    """
    return [
        seat
        for seat in SEATS
        if decisions.get(seat) is PlayOrForfeit.FORFEIT
        and not (wagers[seat].three_card_bonus or wagers[seat].dragon_wager or wagers[seat].progressive)
    ]


def forfeits(wagers: Mapping[str, SeatWagers], decisions: Mapping[str, PlayOrForfeit]) -> list[Payment]:
    """The forfeited wagers, which are collected before the dealer's cards are shown (11.D(1))."""
    found = []
    for seat in SEATS:
        if decisions.get(seat) is PlayOrForfeit.FORFEIT:
            found.append(Payment(seat, DragonPokerBet.ANTE, FORFEITED, -wagers[seat].ante))
            found.append(Payment(seat, DragonPokerBet.ANTE_BONUS, FORFEITED, -wagers[seat].ante_bonus))
    return found


def deal_fault(hands: Mapping[str, Sequence[str]], dealer: Sequence[str]) -> str:
    """Why these cards cannot have been dealt from one deck; empty if they can. `dealer` may be empty: not shown."""
    for place, kinds in [*hands.items(), *([("dealer", dealer)] if dealer else [])]:
        if place not in (*SEATS, "dealer"):
            return f"unknown seat {place!r}; expected {SEATS[-1]} to {SEATS[0]} (2.A)"
        if len(kinds) != HAND_SIZE:
            return f"{place} has {len(kinds)} cards, not {HAND_SIZE}: the round is void (13.D)"
    copies = dict(zip(DRAGON_POKER.kinds, DRAGON_POKER.copies, strict=True))
    for kind, number in Counter([*dealer, *(kind for kinds in hands.values() for kind in kinds)]).items():
        if kind not in copies:
            return f"unknown card {kind!r}; expected one of {', '.join(copies)}"
        if number > copies[kind]:
            return f"{number} cards are {kind}, but a deck has {copies[kind]} (3.A(3))"
    return ""


def settlement(
    hands: Mapping[str, Sequence[str]],
    dealer: Sequence[str],
    wagers: Mapping[str, SeatWagers],
    decisions: Mapping[str, PlayOrForfeit],
    options: DragonPokerOptions,
    jackpot: int = 0,
) -> list[Payment]:
    """What every seat wins and loses, in the order of settlement: forfeits first, then seat by seat (11.D).

    `wagers` and `decisions` have the same seats, and so has `hands`, except for those that went to the rack at once.
    `dealer` may be empty if every hand was forfeited. `jackpot` is needed if the progressive table has shares.
    ValueError: the cards, wagers, decisions or options do not belong to a round that can be settled.
    """
    fault = _round_fault(hands, dealer, wagers, decisions, options, jackpot)
    if fault:
        raise ValueError(fault)
    found = forfeits(wagers, decisions)
    for seat in SEATS:
        if seat not in hands:
            continue
        found += side_bets(seat, hands[seat], wagers[seat], options)
        if wagers[seat].progressive:
            outcome, paid, jackpot = progressive_result(hands[seat], options, jackpot)
            found.append(Payment(seat, DragonPokerBet.PROGRESSIVE, outcome, paid - wagers[seat].progressive))
        if decisions[seat] is PlayOrForfeit.PLAY:
            found += comparison(seat, best_hand(hands[seat]), best_hand(dealer), wagers[seat], options)
    return found


def seat_result(kinds: Sequence[str], dealer: Sequence[str]) -> str:
    """The comparison with the dealer in words. Of each hand it names as many cards as decide."""
    mine, theirs = best_hand(kinds), best_hand(dealer)
    if mine == theirs:
        return "tie, wagers returned"
    ranks = 1
    while hand_name(mine, ranks) == hand_name(theirs, ranks):
        ranks += 1
    beats, loses = ("beat", "lose to") if mine.category is Category.TRIPS else ("beats", "loses to")
    verb = beats if mine > theirs else loses
    return f"{hand_name(mine, ranks)} {verb} the dealer's {hand_name(theirs, ranks)}"


def unit_results(
    kinds: Sequence[str], dealer: Sequence[str], decision: PlayOrForfeit, options: DragonPokerOptions
) -> str:
    """What each bet of a seat is paid to 1, whatever was staked: for a table that does not record wagers."""
    unit = SeatWagers(1, 1, int(bool(options.three_card_bonus)), int(bool(options.dragon_wager)))
    found = side_bets("", kinds, unit, options)
    if decision is PlayOrForfeit.PLAY:
        found += comparison("", best_hand(kinds), best_hand(dealer), unit, options)
    words = [
        (one.bet, f"pays {one.net} to 1" if one.net > 0 else "loses" if one.net else "is returned") for one in found
    ]
    return ", ".join(f"{bet} {result}" for bet, result in words)


def jackpot_after(
    hands: Mapping[str, Sequence[str]], wagers: Mapping[str, SeatWagers], options: DragonPokerOptions, jackpot: int
) -> int:
    """What is left of the jackpot once all seats have been paid."""
    for seat in SEATS:
        if seat in hands and wagers[seat].progressive:
            jackpot = progressive_result(hands[seat], options, jackpot)[2]
    return jackpot


def _round_fault(
    hands: Mapping[str, Sequence[str]],
    dealer: Sequence[str],
    wagers: Mapping[str, SeatWagers],
    decisions: Mapping[str, PlayOrForfeit],
    options: DragonPokerOptions,
    jackpot: int,
) -> str:
    fault = options_fault(options) or deal_fault(hands, dealer)
    if fault:
        return fault
    if not dealer and PlayOrForfeit.PLAY in decisions.values():
        return "the dealer's cards are not known"
    if not hands.keys() <= wagers.keys() == decisions.keys():
        return "every seat needs a hand, wagers and a decision"
    unknown = wagers.keys() - hands.keys() - set(hands_to_rack_at_once(wagers, decisions))
    if unknown:
        return f"the cards of {min(unknown).replace('seat', 'seat ')} are not known"
    for seat, placed in wagers.items():
        fault = wager_fault(placed, options)
        if fault:
            return f"{seat}: {fault}"
    shares = any(line.share_percent for line in options.progressive)
    if shares and jackpot <= 0 and any(placed.progressive for placed in wagers.values()):
        return "the progressive table pays shares of the jackpot, and there is none"
    return ""


def side_bets(seat: str, kinds: Sequence[str], wagers: SeatWagers, options: DragonPokerOptions) -> list[Payment]:
    found = []
    if wagers.three_card_bonus:
        line = pay_line(THREE_CARD_BONUS[options.three_card_bonus], best_hand(kinds))
        outcome, pays = (line.outcome, line.pays) if line else (LOST, -1)
        found.append(Payment(seat, DragonPokerBet.THREE_CARD_BONUS, outcome, wagers.three_card_bonus * pays))
    if wagers.dragon_wager:
        outcome = dragons(kinds) or LOST
        pays = DRAGON_WAGER[options.dragon_wager].get(outcome, -1)
        found.append(Payment(seat, DragonPokerBet.DRAGON_WAGER, outcome, wagers.dragon_wager * pays))
    return found


def progressive_result(kinds: Sequence[str], options: DragonPokerOptions, jackpot: int) -> tuple[str, int, int]:
    """The outcome of a progressive wager, what is paid, and what is left of the jackpot for the next seat."""
    reached = {dragons(kinds), hand_name(best_hand(kinds))} | ({GOLD} & set(kinds))
    line = next((line for line in options.progressive if line.outcome in reached), None)
    if line is None:
        return LOST, 0, jackpot
    share = jackpot * line.share_percent // 100
    return line.outcome, line.amount + share, jackpot - share


def comparison(
    seat: str, mine: RankedHand, theirs: RankedHand, wagers: SeatWagers, options: DragonPokerOptions
) -> list[Payment]:
    ante, bonus = wagers.ante, wagers.ante_bonus
    if mine > theirs:
        line = pay_line(ANTE_BONUS[options.ante_bonus], mine)
        assert line is not None  # the last line is for any winning hand
        results = (WON, ante), (line.outcome, bonus * line.pays), (WON, ante)
    elif mine < theirs:
        results = (LOST, -ante), (LOST, -bonus), (LOST, -ante)
    else:
        results = (TIE, 0), (TIE, 0), (TIE, 0)
    bets = (DragonPokerBet.ANTE, DragonPokerBet.ANTE_BONUS, DragonPokerBet.PLAY)
    return [Payment(seat, bet, outcome, net) for bet, (outcome, net) in zip(bets, results, strict=True)]
