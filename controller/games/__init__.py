"""The games, their rulebooks and their odds, by name. Each game is a module of data."""

from __future__ import annotations

from collections.abc import Callable

from controller.games import dragon_baccarat_pay, dragon_poker_pay
from controller.games.dragon_poker import DRAGON_POKER, RULEBOOK
from controller.games.game import Game
from controller.games.odds import BetOdds
from controller.games.rulebook import Rulebook

__all__ = ["DRAGON_POKER", "GAMES", "ODDS", "RULEBOOK", "game_named", "rulebook_of"]

GAMES: dict[str, Game] = {"dragon-poker": DRAGON_POKER}
ODDS: dict[str, Callable[..., list[BetOdds]]] = {  # the parameters are what a person may choose
    "dragon-poker": dragon_poker_pay.odds,
    "dragon-baccarat-tournament": dragon_baccarat_pay.odds,
}
_RULEBOOKS: dict[str, Rulebook] = {DRAGON_POKER.name: RULEBOOK}


def game_named(name: str) -> Game | None:
    """The game with this name; the first version wrote names with an underscore."""
    return GAMES.get(name.replace("_", "-"))


def rulebook_of(game: Game) -> Rulebook:
    """The rulebook of a game; a game without its own is played by Dragon Poker's equipment rules."""
    return _RULEBOOKS.get(game.name, RULEBOOK)
