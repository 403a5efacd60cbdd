"""The games, their rulebooks and their odds, by name. Each game is a module of data."""

from __future__ import annotations

from collections.abc import Callable

from controller.games import dragon_baccarat, dragon_poker_pay
from controller.games.dragon_poker import DRAGON_POKER, RULEBOOK
from controller.games.game import Game
from controller.games.odds import BetOdds
from controller.games.rulebook import Rulebook

__all__ = ["DRAGON_POKER", "GAMES", "ODDS", "RULEBOOK", "rulebook_of"]

GAMES: dict[str, Game] = {"dragon_poker": DRAGON_POKER}
ODDS: dict[str, Callable[..., list[BetOdds]]] = {  # the parameters are what a person may choose
    "dragon-poker": dragon_poker_pay.odds,
    "dragon-baccarat-tournament": dragon_baccarat.odds,
}
_RULEBOOKS: dict[str, Rulebook] = {DRAGON_POKER.name: RULEBOOK}


def rulebook_of(game: Game) -> Rulebook:
    """The rulebook of a game; a game without its own is played by Dragon Poker's equipment rules."""
    return _RULEBOOKS.get(game.name, RULEBOOK)
