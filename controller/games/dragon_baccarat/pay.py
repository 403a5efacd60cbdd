"""Dragon Baccarat Tournament: the bets, what they pay (chapter 4), and the settlement of a round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from controller.games.dragon_baccarat.hands import BaccaratResult, Result, baccarat_result
from controller.games.payments import Payment

BaccaratWagers = Mapping[str, Mapping[str, int]]  # how much lies on each bet, for each seat


class BaccaratBet(StrEnum):
    """The bets that a round decides."""

    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"
    PLAYER_PAIR = "player pair"
    BANKER_PAIR = "banker pair"


class DragonBet(StrEnum):
    """The bets that a session decides."""

    PLAYER = "player dragon"
    BANKER = "banker dragon"
    ANY = "any dragon"


class Dragon(StrEnum):
    """The longest streak of a session, as the dragon bets name it."""

    RUBY = "ruby dragon"
    GOLDEN = "golden dragon"
    ROYAL = "royal dragon"


STREAKS: dict[Dragon, int] = {Dragon.RUBY: 5, Dragon.GOLDEN: 6, Dragon.ROYAL: 7}  # wins in a row, at least
PAYS: dict[str, int] = {
    BaccaratBet.PLAYER: 1,
    BaccaratBet.BANKER: 1,
    BaccaratBet.TIE: 8,
    BaccaratBet.PLAYER_PAIR: 11,
    BaccaratBet.BANKER_PAIR: 11,
}
_ON_A_SIDE = {Dragon.RUBY: 2, Dragon.GOLDEN: 4, Dragon.ROYAL: 10}
DRAGON_PAYS: dict[str, dict[Dragon, int]] = {
    DragonBet.PLAYER: _ON_A_SIDE,
    DragonBet.BANKER: _ON_A_SIDE,
    DragonBet.ANY: {Dragon.RUBY: 1, Dragon.GOLDEN: 2, Dragon.ROYAL: 5},
}
LOST, RETURNED = "lost", "returned"


def settle(wagers: BaccaratWagers, player: Sequence[str], banker: Sequence[str]) -> list[Payment]:
    """The settlement of a round that has ended with these cards: its bets, not the dragon bets of the session.

    ValueError: the cards do not agree with the table of play, or a wager is not one of a round.
    """
    check_wagers(wagers, BaccaratBet)
    lines = _lines(baccarat_result(player, banker))
    return in_order_of_payment(
        Payment(seat, bet, lines[bet], amount * _net(bet, lines[bet]))
        for seat, bets in wagers.items()
        for bet, amount in bets.items()
    )


def _lines(ended: BaccaratResult) -> dict[str, str]:
    """The outcome of each bet."""
    returned = ended.result is Result.TIE
    lines = {str(side): RETURNED if returned else LOST for side in (Result.PLAYER, Result.BANKER)}
    lines[BaccaratBet.TIE] = LOST
    lines[ended.result] = str(ended.result)
    lines[BaccaratBet.PLAYER_PAIR] = "pair" if ended.player_pair else LOST
    lines[BaccaratBet.BANKER_PAIR] = "pair" if ended.banker_pair else LOST
    return lines


def _net(bet: str, line: str) -> int:
    return {LOST: -1, RETURNED: 0}.get(line, PAYS[bet])


def check_wagers(wagers: BaccaratWagers, bets: Iterable[str]) -> None:
    """ValueError: a wager is not on one of these bets, or is not a positive amount."""
    names = [str(bet) for bet in bets]
    for seat, placed in wagers.items():
        for bet, amount in placed.items():
            if bet not in names:
                raise ValueError(f"{seat}: unknown bet {bet!r}; expected one of {', '.join(names)}")
            if amount < 1:
                raise ValueError(f"{seat}: {amount} on {bet}; a wager is 1 unit or more")


def in_order_of_payment(steps: Iterable[Payment]) -> list[Payment]:
    """Lost wagers are collected before winning ones are paid (1.1.10); wagers that are returned come last."""
    return sorted(steps, key=lambda step: (step.net >= 0, step.net == 0))
