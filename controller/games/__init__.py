"""The games by name. Each is a package with a description in play.py, a rulebook, and functions of its own."""

from __future__ import annotations

from typing import Any

from controller.games.chinese_deck.play import DESCRIPTION as CHINESE_DECK
from controller.games.description import Description, script_fault
from controller.games.dragon_baccarat.play import DESCRIPTION as DRAGON_BACCARAT
from controller.games.dragon_poker.cards import DRAGON_POKER
from controller.games.dragon_poker.play import DESCRIPTION as DRAGON_POKER_DESCRIPTION
from controller.games.dragon_poker.rulebook import RULEBOOK
from controller.games.face_up.play import DESCRIPTION as FACE_UP
from controller.games.game import Game
from controller.games.rulebook import Rulebook

__all__ = [
    "DRAGON_POKER",
    "GAMES",
    "RULEBOOK",
    "add_game",
    "described",
    "description_named",
    "game_with",
    "rulebook_of",
]

GAMES: dict[str, Description] = {}  # by the name in the configuration
_DESCRIPTIONS: dict[str, Description] = {}  # by the name that the journal has


def add_game(name: str, description: Description) -> None:
    """Make a game known under this name."""
    fault = script_fault(description.script)
    assert not fault, fault
    GAMES[name] = _DESCRIPTIONS[description.game.name] = description


def description_named(name: str) -> Description | None:
    """The game with this name; the first version wrote names with an underscore."""
    return GAMES.get(name.replace("_", "-"))


def described(game: Game) -> Description:
    """The description of a game; one without its own is played like Dragon Poker."""
    return _DESCRIPTIONS.get(game.name, DRAGON_POKER_DESCRIPTION)


def game_with(description: Description, options: dict[str, Any]) -> Game:
    """The numbers of a game with what the house has chosen; its own, if that is not possible."""
    chosen = {**description.options, **options}
    if chosen.keys() != description.options.keys() or description.options_fault(chosen):
        return description.game  # the check of the set-up says what is wrong
    return description.with_options(description.game, chosen)


def rulebook_of(game: Game) -> Rulebook:
    """The rulebook of a game; a game without its own is played by Dragon Poker's equipment rules."""
    return _DESCRIPTIONS.get(game.name, DRAGON_POKER_DESCRIPTION).rulebook


add_game("dragon-poker", DRAGON_POKER_DESCRIPTION)
add_game("dragon-baccarat-tournament", DRAGON_BACCARAT)
add_game("dragon-poker-chinese-deck", CHINESE_DECK)
add_game("face-up-chinese-poker", FACE_UP)
