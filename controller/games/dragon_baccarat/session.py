"""Dragon Baccarat Tournament: a session of tournament play, its streaks, and the dragon bets that it decides.

Every session starts without a streak. A void round counts neither as a round of the session nor in a streak.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import msgspec

from controller.games.dragon_baccarat.hands import BaccaratRounds, Result
from controller.games.dragon_baccarat.pay import (
    DRAGON_PAYS,
    LOST,
    STREAKS,
    BaccaratWagers,
    Dragon,
    DragonBet,
    check_wagers,
    in_order_of_payment,
)
from controller.games.payments import Payment

NOTHING_WON = "No dragon bet has won."
_SIDES = {  # the wins that a dragon bet counts
    DragonBet.PLAYER: (Result.PLAYER,),
    DragonBet.BANKER: (Result.BANKER,),
    DragonBet.ANY: (Result.PLAYER, Result.BANKER),
}


class Streak(NamedTuple):
    """Wins of one side in a row."""

    side: Result
    wins: int


class SessionLength(msgspec.Struct, frozen=True):
    """When a session ends (1.1.13): after a number of rounds, or after a length of time.

    The other one is 0. If both are, the pit supervisor ends it.
    """

    rounds: int = 0
    minutes: int = 0


def session_length_fault(length: SessionLength) -> str:
    """What is wrong with the length of a session; empty if nothing is."""
    if min(length.rounds, length.minutes) < 0 or (length.rounds > 0 and length.minutes > 0):
        return f"a session of {length.rounds} rounds and {length.minutes} minutes: set one of them, and the other to 0"
    return ""


def session_over(length: SessionLength, rounds: BaccaratRounds, elapsed_s: float) -> bool:
    """Whether no further round starts in this session. Ask between rounds: a round that has started is completed."""
    played = rounds_played(rounds)
    if length.rounds:
        return played >= length.rounds
    return length.minutes > 0 and played > 0 and elapsed_s >= length.minutes * 60


def rounds_played(rounds: BaccaratRounds) -> int:
    """How many rounds count: all but the void ones."""
    return sum(ended is not None for ended in rounds)


def streaks(rounds: BaccaratRounds) -> list[Streak]:
    """All streaks in order; the last one is still open. Ties and void rounds do not interrupt a streak (3.11)."""
    wins = [ended.result for ended in rounds if ended is not None and ended.result is not Result.TIE]
    return [Streak(side, len(list(run))) for side, run in itertools.groupby(wins)]


def longest_streak(rounds: BaccaratRounds, bet: DragonBet = DragonBet.ANY) -> int:
    """The most wins in a row that a dragon bet counts."""
    return max((streak.wins for streak in streaks(rounds) if streak.side in _SIDES[bet]), default=0)


def dragon_of(wins: int) -> Dragon | None:
    """The dragon that this many wins in a row are."""
    return next((dragon for dragon, least in reversed(STREAKS.items()) if wins >= least), None)


def dragons_won(rounds: BaccaratRounds) -> dict[DragonBet, Dragon]:
    """The dragon bets that win, each with the dragon that it is paid for: the one of the longest streak."""
    found = {bet: dragon_of(longest_streak(rounds, bet)) for bet in DragonBet}
    return {bet: dragon for bet, dragon in found.items() if dragon}


def announcement(rounds: BaccaratRounds) -> list[str]:
    """What the pit supervisor announces at the end of a session (3.12)."""
    found = []
    for bet, dragon in dragons_won(rounds).items():
        wins, pays = longest_streak(rounds, bet), DRAGON_PAYS[bet][dragon]
        found.append(f"{bet.capitalize()}: {dragon}, {wins} wins in a row, pays {pays} to 1.")
    return found or [NOTHING_WON]


def settle_dragons(wagers: BaccaratWagers, rounds: BaccaratRounds) -> list[Payment]:
    """The settlement of the dragon bets at the end of a session (4.2). ValueError: a wager is not a dragon bet."""
    check_wagers(wagers, DragonBet)
    won = {str(bet): dragon for bet, dragon in dragons_won(rounds).items()}
    return in_order_of_payment(
        Payment(seat, bet, won.get(bet, LOST), amount * (DRAGON_PAYS[bet][won[bet]] if bet in won else -1))
        for seat, bets in wagers.items()
        for bet, amount in bets.items()
    )
