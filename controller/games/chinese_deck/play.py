"""The description of Dragon Poker with the Chinese deck, for the table.

The cards of a hand stay hidden until it wins: those of the other hands are never shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.games.board import BoardBlock
from controller.games.chinese_deck.pack import (
    CLASS_NAMES,
    EXAMPLE_PACK,
    FEWEST_PLAYERS,
    HAND_SIZE,
    MOST_PLAYERS,
    pack_fault,
    pack_size,
)
from controller.games.chinese_deck.pay import (
    ANTE,
    EXCHANGES,
    WhenWon,
    deal_winner,
    exchange_cost,
    may_exchange,
    odds,
    reshuffle_due,
    tally,
    when_won,
    winning_class,
)
from controller.games.chinese_deck.rulebook import RULEBOOK
from controller.games.description import Description, Hidden, Irregularity, StepType
from controller.games.game import PLAYERS, Deal, Game, Method
from controller.games.payments import Payment
from controller.games.record import Consequence, Decided, PlayerTurn, RoundRecord

EXCHANGE, PASS, WIN, NO_WIN = "exchange", "pass", "win", "no win"
_ONE_BY_ONE = (Deal(PLAYERS, 1),) * HAND_SIZE


def _game(pack: Mapping[str, int]) -> Game:
    return Game(
        name="Dragon Poker with the Chinese Deck",
        kinds=tuple(pack),
        copies=tuple(pack.values()),
        deck_size=pack_size(pack),
        most_seats=MOST_PLAYERS,
        fewest_seats=FEWEST_PLAYERS,
        programme=dict.fromkeys(Method, _ONE_BY_ONE),
        stub_count_rounds=0,
        life_h={},
        draws=True,
        has_button=True,
    )


def _with_options(game: Game, options: dict[str, Any]) -> Game:
    return _game(options["pack"])


def _options_fault(options: dict[str, Any]) -> str:
    pack = options["pack"]
    if not isinstance(pack, dict):
        return "pack: expected kinds of cards, each with its number of copies"
    if wrong := [kind for kind, copies in pack.items() if type(copies) is not int]:
        return f"pack: expected a whole number of copies of {', '.join(wrong)}"
    if not pack:
        where = "[table.options.pack]; docs/games/dragon-poker-chinese-deck.md has an example"
        return f"pack: the rules do not say which cards it has; enter the number of copies of each kind in {where}"
    fault = pack_fault(pack)
    return f"pack: {fault}" if fault else ""


# --- a round ----------------------------------------------------------------------------------------------------------


def _hands(record: RoundRecord) -> list[str]:
    return [f"seat{seat}" for seat in record.seats]


def _spoken(hand: str) -> str:
    return hand.replace("seat", "seat ")


def _turns(record: RoundRecord) -> list[Decided]:
    """The turns to exchange so far, passes included."""
    return [one for one in record.decisions if one.choice in (EXCHANGE, PASS)]


def _winners(record: RoundRecord) -> list[str]:
    return [one.hand for one in record.decisions if one.choice == WIN]


def _turn(record: RoundRecord) -> PlayerTurn | None:
    hands = _hands(record)
    if _winners(record):
        return _others_who_won(record) if not _turns(record) else None
    hand = hands[len(_turns(record)) % len(hands)]
    return PlayerTurn(
        hand,
        (EXCHANGE, PASS),
        f"Ask {_spoken(hand)} to exchange cards or pass.",
        "Whoever has a winning hand says so at once.",
        numbers={EXCHANGE: (EXCHANGES[0], min(EXCHANGES[-1], record.stock))},
        enter={WIN: HAND_SIZE},
        in_order=True,
        anybody=(WIN,),
    )


def _others_who_won(record: RoundRecord) -> PlayerTurn | None:
    """After a win in the deal, the others say whether they have won too: the higher class counts."""
    decided = {one.hand for one in record.decisions}
    for hand in _hands(record):
        if hand not in decided:
            text = f"Ask {_spoken(hand)} for a winning hand."
            return PlayerTurn(
                hand, (WIN, NO_WIN), text, "The higher class wins.", enter={WIN: HAND_SIZE}, in_order=True
            )
    return None


def _decide(record: RoundRecord, decided: Decided) -> Consequence:
    if decided.choice == EXCHANGE:
        if not may_exchange(decided.number, record.stock):
            most = min(EXCHANGES[-1], record.stock)
            return Consequence(f"{decided.number} cards cannot be exchanged", f"1 to {most} cards are exchanged")
        return Consequence(discard=decided.number, deals=(Deal(decided.hand, decided.number),))
    if decided.choice == WIN:
        if len(decided.kinds) != HAND_SIZE:
            return Consequence(f"a winning hand is shown with its {HAND_SIZE} cards", "all of them are entered")
        if winning_class(decided.kinds) is None:
            return Consequence("these six cards do not win", "they form a winning hand")
        return Consequence(turned=HAND_SIZE)
    return Consequence()


def _reshuffle_due(record: RoundRecord) -> bool:
    return reshuffle_due(record.stock) and not _winners(record)


# --- the end of a round -----------------------------------------------------------------------------------------------


def _pot(record: RoundRecord) -> int:
    return sum(_put_in(record, hand) for hand in _hands(record))


def _when(record: RoundRecord) -> WhenWon:
    return when_won(len(_turns(record)), len(record.seats))


def _settle(record: RoundRecord) -> list[Payment]:
    winner, winning = _winner(record)
    others = [hand for hand in _hands(record) if hand != winner]
    return tally(winner, others, winning, _pot(record), _when(record))


def _winner(record: RoundRecord) -> tuple[str, Any]:
    won = set(_winners(record))
    found = deal_winner({hand: record.kinds[hand] for hand in _hands(record) if hand in won})
    if found is None:  # the cards of a winning hand were corrected, and the others do not win
        raise ValueError("no hand wins with the cards that were entered")
    return found


def _result(record: RoundRecord) -> str:
    winner, winning = _winner(record)
    return f"{_spoken(winner)} wins with {CLASS_NAMES[winning]}"


def _put_in(record: RoundRecord, hand: str) -> int:
    exchanged = sum(exchange_cost(one.number) for one in record.decisions_of(hand) if one.choice == EXCHANGE)
    return ANTE + exchanged


def _board(record: RoundRecord) -> list[BoardBlock]:
    if not record.seats:
        return []
    paid = tuple(f"{_spoken(hand)}: {_put_in(record, hand)}" for hand in _hands(record))
    return [
        BoardBlock("Pot", figure=f"{_pot(record)} units", lines=paid),
        BoardBlock("Stock", figure=str(record.stock)),
        BoardBlock("Discards", figure=str(record.discards)),
    ]


DESCRIPTION = Description(
    game=_game(EXAMPLE_PACK),
    rulebook=RULEBOOK,
    script=(StepType.DEAL, StepType.ACT, StepType.SETTLE),
    prompts={StepType.SETTLE: ("Pay the winner and collect the cards.", "")},
    options={"pack": {}},
    options_fault=_options_fault,
    example_options={"pack": dict(EXAMPLE_PACK)},
    with_options=_with_options,
    ask_for_bets="Take an ante of one unit from each player, then announce: no more bets.",
    must_decide=True,
    must_settle=True,
    turn=_turn,
    decide=_decide,
    reshuffle_due=_reshuffle_due,
    hidden=(
        Hidden("a winning hand", (WIN,), "when its player declares it"),
        Hidden("all other hands"),
        Hidden("discards"),
    ),
    shown=_winners,
    settle=_settle,
    result=_result,
    irregularities={
        "exposed_card": Irregularity("a card was seen that should be hidden"),
        "foreign_card": Irregularity("a card does not belong to the deck"),
        "no_winner": Irregularity("the players end it without a winner"),
    },
    odds=odds,
    board=_board,
)
