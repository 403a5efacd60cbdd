"""The games, by the name that a table's configuration gives them."""

from __future__ import annotations

from controller.games.game import DRAGON_POKER, Game

GAMES: dict[str, Game] = {"dragon_poker": DRAGON_POKER}
