"""The description of Dragon Baccarat Tournament, for the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from controller.games.board import BoardBlock, GridCell
from controller.games.description import Description, Hidden, Irregularity, StepType
from controller.games.dragon_baccarat.hands import (
    FEWEST_DECKS,
    MOST_DECKS,
    BaccaratResult,
    Result,
    baccarat_result,
    due_card,
    due_card_reason,
    hand_points,
    reconstruct,
)
from controller.games.dragon_baccarat.odds import odds
from controller.games.dragon_baccarat.pay import BaccaratBet, DragonBet, settle
from controller.games.dragon_baccarat.rulebook import RULEBOOK
from controller.games.dragon_baccarat.scoreboards import ROWS, BoardCell, bead_plate, big_road
from controller.games.dragon_baccarat.session import (
    SessionLength,
    announcement,
    session_length_fault,
    session_over,
    settle_dragons,
)
from controller.games.game import Deal, Game, Method
from controller.games.payments import Payment
from controller.games.record import DueCard, RoundRecord, SessionEnd
from controller.games.rulebook import Rule
from controller.games.standard_cards import KINDS

PLAYER, BANKER = "player", "banker"
COLOURS = {PLAYER: "blue", f"{PLAYER} pair": "blue", BANKER: "red", f"{BANKER} pair": "red", str(Result.TIE): "green"}
MOST_SEATS = 9
MOST_BURNT = 10
_INITIAL_DEAL = (Deal(PLAYER, 1, face_up=True), Deal(BANKER, 1, face_up=True)) * 2


def _game(decks: int, burnt: int) -> Game:
    return Game(
        name="Dragon Baccarat Tournament",
        kinds=KINDS,
        copies=(decks,) * len(KINDS),
        deck_size=decks * len(KINDS),
        most_seats=MOST_SEATS,
        programme={Method.AUTOMATED_SHOE: _INITIAL_DEAL, Method.MANUAL_SHOE: _INITIAL_DEAL},
        stub_count_rounds=0,
        life_h={},
        keeps_dealing=True,
        burnt=burnt,
        packed=decks,
    )


def _with_options(game: Game, options: dict[str, Any]) -> Game:
    return _game(options["decks"], options["burn_cards"])


_RANGES = {
    "decks": (FEWEST_DECKS, MOST_DECKS),
    "burn_cards": (0, MOST_BURNT),
    "cut_card": (0, 104),
    "rounds_after_cut_card": (0, 1),
    "session_rounds": (0, 200),
    "session_minutes": (0, 600),
}


def _options_fault(options: dict[str, Any]) -> str:
    for name, (least, most) in _RANGES.items():
        found = options[name]
        if type(found) is not int or not least <= found <= most:
            return f"{name}: found {found!r}; expected a number from {least} to {most}"
    return session_length_fault(_session_length(options))


def _session_length(options: dict[str, Any]) -> SessionLength:
    return SessionLength(options["session_rounds"], options["session_minutes"])


# --- a round ----------------------------------------------------------------------------------------------------------


def _hands(record: RoundRecord) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return record.kinds.get(PLAYER, ()), record.kinds.get(BANKER, ())


def _due_card(record: RoundRecord) -> DueCard:
    return DueCard(due_card(*_hands(record)) or "", due_card_reason(*_hands(record)))


def _reconstruct(drawn: Sequence[str]) -> list[str]:
    return [hand or "" for hand in reconstruct(drawn)]


def _initial_deal_over(record: RoundRecord) -> str:
    return "the initial deal is over" if sum(record.held.get(hand, 0) for hand in (PLAYER, BANKER)) > 3 else ""


def _settle(record: RoundRecord) -> list[Payment]:
    session = set(DragonBet)
    wagers = {hand: {bet: n for bet, n in bets.items() if bet not in session} for hand, bets in record.wagers.items()}
    return settle(wagers, *_hands(record))


def _result(record: RoundRecord) -> str:
    player, banker = _hands(record)
    ended = baccarat_result(player, banker)
    points = f"player {hand_points(player)}, banker {hand_points(banker)}"
    pairs = [f"{name} pair" for name, has in ((PLAYER, ended.player_pair), (BANKER, ended.banker_pair)) if has]
    winner = "tie" if ended.result is Result.TIE else f"{ended.result} wins"
    return ", ".join([f"{points}: {winner}", *pairs])


# --- what is remembered -----------------------------------------------------------------------------------------------


def _carry(record: RoundRecord) -> dict[str, Any]:
    """The results of this shoe with its first round, and those of this session with the time when it began."""
    ended = msgspec.to_builtins(baccarat_result(*_hands(record)))
    session = record.carried.get("session", [])
    since_ms = record.carried.get("since_ms", 0) if session else record.started_ms
    return {
        "shoe": [*_of_this_shoe(record), ended],
        "first_round": record.first_round,
        "session": [*session, ended],
        "since_ms": since_ms,
    }


def _of_this_shoe(record: RoundRecord) -> list[Any]:
    """The results since the shuffle: what is remembered may be those of the shoe before."""
    remembered: list[Any] = record.carried.get("shoe", [])
    return remembered if record.carried.get("first_round") == record.first_round else []


def _session(record: RoundRecord) -> list[BaccaratResult]:
    return msgspec.convert(record.carried.get("session", []), list[BaccaratResult])


def _bet_fault(record: RoundRecord, bet: str) -> str:
    if bet in tuple(DragonBet) and record.carried.get("session"):
        return "dragon bets are made at the beginning of a session, and stay until its end (1.1.1)"
    return ""


def _session_over(record: RoundRecord) -> bool:
    elapsed_s = (record.now_ms - record.carried.get("since_ms", record.now_ms)) / 1000
    return session_over(_session_length(record.options), _session(record), elapsed_s)


def _end_session(record: RoundRecord) -> SessionEnd:
    rounds = _session(record)
    if not rounds:
        return SessionEnd("")
    dragons = {
        hand: {bet: n for bet, n in bets.items() if bet in set(DragonBet)} for hand, bets in record.wagers.items()
    }
    carried = {**record.carried, "session": []}
    return SessionEnd(" ".join(announcement(rounds)), tuple(settle_dragons(dragons, rounds)), carried)


# --- the screen -------------------------------------------------------------------------------------------------------


def _board(record: RoundRecord) -> list[BoardBlock]:
    blocks = []
    for name, cards in zip((PLAYER, BANKER), _hands(record), strict=True):
        if cards:
            blocks.append(BoardBlock(name.capitalize(), figure=str(hand_points(cards)), hand=name, cards={"": cards}))
    rounds = msgspec.convert(_of_this_shoe(record), list[BaccaratResult])
    blocks.append(BoardBlock("Bead plate", cells=_cells(bead_plate(rounds)), rows=ROWS, colours=COLOURS))
    blocks.append(BoardBlock("Big road", cells=_cells(big_road(rounds)), rows=ROWS, colours=COLOURS, outlined=True))
    return blocks


def _cells(board: Sequence[BoardCell]) -> tuple[GridCell, ...]:
    return tuple(map(_cell, board))


def _cell(cell: BoardCell) -> GridCell:
    pairs = tuple(f"{name} pair" for name, has in ((PLAYER, cell.player_pair), (BANKER, cell.banker_pair)) if has)
    ties = f"{cell.ties} tie{'s' * (cell.ties > 1)}" if cell.ties else ""
    before_a_win = ties if cell.result is Result.TIE else ""
    label = before_a_win or ", ".join(filter(None, (str(cell.result), ties, *pairs)))
    return GridCell(cell.column, cell.row, str(cell.result), label, str(cell.ties or ""), pairs)


DESCRIPTION = Description(
    game=_game(8, 1),
    rulebook=RULEBOOK,
    script=(StepType.DEAL, StepType.SETTLE),
    prompts={StepType.SETTLE: ("Announce the result, settle the bets and collect the cards.", "")},
    options={
        "decks": 8,
        "burn_cards": 1,
        "cut_card": 14,  # cards behind it
        "rounds_after_cut_card": 1,
        "session_rounds": 0,
        "session_minutes": 0,
    },
    options_fault=_options_fault,
    with_options=_with_options,
    bets=(*BaccaratBet, *DragonBet),
    bet_fault=_bet_fault,
    due_card=_due_card,
    reconstruct=_reconstruct,
    hidden=(Hidden("burnt cards"),),
    must_settle=True,
    settle=_settle,
    result=_result,
    carry=_carry,
    session_bets=tuple(DragonBet),
    session_over=_session_over,
    end_session=_end_session,
    irregularities={
        "foreign_card": Irregularity("a foreign card was found", Rule.FOREIGN_CARD),
        "two_cards": Irregularity(
            "two or more cards were drawn at once",
            Rule.TWO_CARDS,
            keeps=True,
            drawn=2,
            fault=_initial_deal_over,
            otherwise="the cards are named in the order in which they were drawn, or a wrong number is reported",
        ),
        "order_altered": Irregularity("the order of the cards in the shoe was altered", Rule.ORDER_ALTERED),
    },
    odds=odds,
    board=_board,
)
