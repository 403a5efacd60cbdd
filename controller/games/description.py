"""The description of a game: its numbers, the script of its round, its rulebook, and functions of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from controller.games.board import BoardBlock
from controller.games.game import Deal, Game
from controller.games.odds import BetOdds
from controller.games.payments import HandResult, Payment
from controller.games.record import Consequence, Decided, DueCard, PlayerTurn, RoundRecord, SessionEnd, Stakes
from controller.games.rulebook import Rule, Rulebook


class StepType(StrEnum):
    """The types of the steps of a round. The table's state machine knows these types, and no game."""

    DEAL = "deal"
    ACT = "act"  # players decide
    REVEAL = "reveal"  # hidden cards are turned over
    SETTLE = "settle"  # wagers are settled and the cards collected


USUAL_SCRIPT = (StepType.DEAL, StepType.ACT, StepType.REVEAL, StepType.SETTLE)


def _same_game(game: Game, options: dict[str, Any]) -> Game:
    return game


def _no_fault(options: dict[str, Any]) -> str:
    return ""


def _no_bets_fault(record: RoundRecord, hand_or_bet: str) -> str:
    return ""


def _no_seats_fault(record: RoundRecord) -> str:
    return ""


@dataclass(frozen=True)
class Hidden:
    """Cards that are dealt face down, and what turns them over for everybody to see; nothing does, if it is not given.

    Cards that are not dealt are always hidden. The tests of secrecy go by this, and docs/games.md shows it as a table.
    """

    cards: str  # which, in a few words
    turned_by: tuple[str, ...] = ()  # the reveal, or the choices with which a player turns them over
    when: str = ""  # in words


@dataclass(frozen=True)
class Irregularity:
    """Something that went wrong, which a person reports and which voids the round."""

    text: str  # why the round is void
    rule: Rule | None = None  # if the rules of the game provide for it
    keeps: bool = False  # the cards that are left to deal can still be used
    drawn: int = 0  # cards that came out of a manual shoe with it, and belong to no hand
    fault: Callable[[RoundRecord], str] = _no_seats_fault  # why it does not void this round
    otherwise: str = ""  # what to do then


@dataclass(frozen=True)
class Description:
    """A game as the table plays it; whatever it does not need is left out.

    Its functions are pure. They say what is due and what follows; they never command a device.
    """

    game: Game  # its numbers
    rulebook: Rulebook  # its clauses
    script: tuple[StepType, ...] = USUAL_SCRIPT  # the types of the steps of a round, in order
    prompts: Mapping[StepType, tuple[str, str]] = field(default_factory=dict)  # by step: what people do, and why
    options: Mapping[str, Any] = field(default_factory=dict)  # what the house may choose, with the usual values
    example_options: Mapping[str, Any] = field(default_factory=dict)  # of a simulated table, where none is usual
    options_fault: Callable[[dict[str, Any]], str] = _no_fault  # why the house cannot choose these
    ask_for_bets: str = "Take the bets, then announce: no more bets."  # what the dealer does before a round
    bets: tuple[str, ...] = ()  # whose amounts can be recorded
    offered: Callable[[dict[str, Any]], Sequence[str]] | None = None  # by the house; all, if not given
    seat_bets: tuple[str, ...] = ()  # those of the bets whose amount is the number of another seat
    bet_fault: Callable[[RoundRecord, str], str] = _no_bets_fault  # why this bet cannot be made now
    bets_fault: Callable[[RoundRecord, str], str] = _no_bets_fault  # why the bets of this hand do not fit together
    seats_fault: Callable[[RoundRecord], str] = _no_seats_fault  # why these seats cannot play the next round
    button_waits: bool = False  # after a void round, the same seat has the button again
    takes_button: Callable[[RoundRecord, str], bool] | None = None  # whether the button can move to this hand
    stakes: Callable[[RoundRecord], Stakes | None] | None = None  # what is noted when bets are closed
    leave: Callable[[RoundRecord, str], dict[str, Any] | None] | None = None  # what is remembered without this player
    needed_bets: Callable[[RoundRecord, str], dict[str, int]] | None = None  # that a simulated player makes to play
    with_options: Callable[[Game, dict[str, Any]], Game] = _same_game  # the numbers that follow from the options
    deals: Callable[[RoundRecord], tuple[Deal, ...] | None] | None = None  # of this round; None: the programme
    due_card: Callable[[RoundRecord], DueCard] | None = None  # the hand that gets a further card in the deal, if any
    reconstruct: Callable[[Sequence[str]], Sequence[str]] | None = None  # whose each card is; empty: nobody's
    must_decide: bool = False  # every decision is recorded; otherwise the dealer may report that all have acted
    must_settle: bool = False  # the table works out the result of every round; otherwise this is up to the dealer
    turn: Callable[[RoundRecord], PlayerTurn | None] | None = None  # who decides next
    decide: Callable[[RoundRecord, Decided], Consequence] | None = None  # what follows from a decision
    correct: Callable[[RoundRecord, Decided], str] | None = None  # why cards cannot belong to this choice instead
    places: tuple[str, ...] = ()  # the choices that say where a card lies: a card is corrected to one of them
    answers: tuple[str, ...] = ()  # the choices without cards that can be corrected
    hands_out: Callable[[RoundRecord], list[str]] | None = None  # hands that are collected while others play
    reshuffle_due: Callable[[RoundRecord], bool] | None = None  # whether stock and discards are shuffled now
    hidden: tuple[Hidden, ...] = ()  # cards that are dealt face down
    shown: Callable[[RoundRecord], list[str]] | None = None  # the hands that are turned over; all, if not given
    settle: Callable[[RoundRecord], list[Payment]] | None = None  # what is paid; ValueError: people decide
    result: Callable[[RoundRecord], str] | None = None  # of the round as a whole, in a few words
    results: Callable[[RoundRecord], list[HandResult]] | None = None  # of each hand, in the order of settlement
    carry: Callable[[RoundRecord], dict[str, Any] | None] | None = None  # what is remembered after this round
    session_bets: tuple[str, ...] = ()  # those of the bets that a session of several rounds decides
    end_session: Callable[[RoundRecord], SessionEnd] | None = None  # without a result, none has begun
    session_over: Callable[[RoundRecord], bool] | None = None  # whether it ends by itself now
    irregularities: Mapping[str, Irregularity] = field(default_factory=dict)  # by name
    odds: Callable[..., list[BetOdds]] | None = None  # the parameters are what a person may choose
    board: Callable[[RoundRecord], list[BoardBlock]] | None = None  # what the screen shows besides seats and cards

    def after(self, step: StepType) -> StepType:
        """The type of the step after one of this type."""
        return self.script[self.script.index(step) + 1]

    def fault_of(self, options: Mapping[str, Any]) -> str:
        """What is wrong with the choices of the house, all of which there are; empty if nothing is."""
        chosen = {**self.options, **options}
        mistyped = next(filter(None, (_mistyped(name, options[name], self.options[name]) for name in options)), "")
        if not mistyped:
            return self.options_fault(chosen)
        try:
            return self.options_fault(chosen) or mistyped
        except Exception:  # the game need not expect another type
            return mistyped


def _mistyped(name: str, found: Any, usual: Any) -> str:
    """Why a choice cannot be of this type; empty if it is of the type of the usual one."""
    wanted = _IN_WORDS.get(type(usual))
    return f"{name}: found {found!r}; expected {wanted}" if wanted and type(found) is not type(usual) else ""


_IN_WORDS: Final[dict[type, str]] = {int: "a whole number", str: "text", bool: "true or false", dict: "a table"}


def script_fault(script: tuple[StepType, ...]) -> str:
    """What is wrong with a script; empty if nothing is."""
    if script != tuple(step for step in StepType if step in script):
        return "each type of step comes at most once: deal, act, reveal, settle"
    if script[:1] != (StepType.DEAL,) or script[-1:] != (StepType.SETTLE,):
        return "a script begins with a deal and ends with a settlement"
    return ""
