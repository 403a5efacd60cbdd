"""Dragon Poker's numbers: its deck, and its dealing programmes."""

from __future__ import annotations

from controller.games.game import DEALER, PLAYERS, Deal, Game, Method

_ONE_BY_ONE = (Deal(PLAYERS, 1), Deal(DEALER, 1)) * 3

DRAGON_POKER = Game(
    name="Dragon Poker",
    kinds=("red dragon", "blue dragon", "gold dragon", "phoenix", "tiger", "panda", "monkey", "rabbit"),
    copies=(3, 3, 1, 7, 8, 9, 10, 12),
    deck_size=53,
    most_seats=6,
    programme={
        Method.AUTOMATED_SHOE: (Deal(PLAYERS, 3), Deal(DEALER, 3, last=True)),
        Method.MANUAL_SHOE: _ONE_BY_ONE,
        Method.HAND: _ONE_BY_ONE,
    },
)
