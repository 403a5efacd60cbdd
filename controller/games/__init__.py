"""The games and their rulebooks, by name. Each game is a module of data."""

from __future__ import annotations

from controller.games.dragon_poker import DRAGON_POKER, RULEBOOK
from controller.games.game import Game
from controller.games.rulebook import Rulebook

__all__ = ["DRAGON_POKER", "GAMES", "RULEBOOK", "rulebook_of"]

GAMES: dict[str, Game] = {"dragon_poker": DRAGON_POKER}
_RULEBOOKS: dict[str, Rulebook] = {DRAGON_POKER.name: RULEBOOK}


def rulebook_of(game: Game) -> Rulebook:
    """The rulebook of a game; a game without its own is played by Dragon Poker's equipment rules."""
    return _RULEBOOKS.get(game.name, RULEBOOK)
