"""The games by name. Each is a package with a description in play.py, a rulebook, and functions of its own.

Games of other people are modules of the package `dragonshoe_games`, in any folder where Python looks for modules.
"""

from __future__ import annotations

import importlib
import pkgutil
import traceback
from typing import Any

from controller.games.chinese_deck.play import DESCRIPTION as CHINESE_DECK
from controller.games.description import Description
from controller.games.description_check import description_fault
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
    "GameFault",
    "add_game",
    "described",
    "description_named",
    "game_with",
    "is_installed",
    "load_games",
    "not_loaded",
    "rulebook_of",
    "unknown_game",
]

GAMES: dict[str, Description] = {}  # by the name in the configuration
_DESCRIPTIONS: dict[str, Description] = {}  # by the name that the journal has
_NOT_LOADED: dict[str, str] = {}  # the modules of other people that cannot be used, and why
_OTHERS = "dragonshoe_games"


class GameFault(ValueError):
    """A description that cannot be played. The text says what is wrong with it."""


def add_game(name: str, description: Description) -> None:
    """Make a game known under this name. GameFault says why it cannot be played."""
    fault = description_fault(name, description)
    if not fault and name in GAMES:
        fault = "there is a game of this name already"
    if not fault and description.game.name in _DESCRIPTIONS:
        fault = f"game.name: there is a game {description.game.name!r} already"
    if fault:
        raise GameFault(f"{name}: {fault}")
    GAMES[name] = _DESCRIPTIONS[description.game.name] = description


def load_games(package: str = _OTHERS) -> None:
    """Import the modules of this package, which add games. One that fails is noted for `unknown_game`."""
    try:
        found = importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name == package:
            return  # there are no such games
        raise
    for module in pkgutil.iter_modules(found.__path__, f"{package}."):
        try:
            importlib.import_module(module.name)
        except Exception as error:  # the other games can be played
            _NOT_LOADED[module.name] = _why_not(error)


def _why_not(error: Exception) -> str:
    """What went wrong in a module, on one line, with its place."""
    if isinstance(error, GameFault | SyntaxError):  # these say where
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"


def unknown_game(name: str) -> str:
    """What to say of a name that no game has: the names that there are, and the modules that cannot be used."""
    return "; ".join([f"unknown game {name!r}; expected one of {', '.join(GAMES)}", *not_loaded()])


def not_loaded() -> list[str]:
    """The modules of other people that cannot be used, and why."""
    return [f"{module} cannot be used: {why}" for module, why in _NOT_LOADED.items()]


def description_named(name: str) -> Description | None:
    """The game with this name; the first version wrote names with an underscore."""
    return GAMES.get(name.replace("_", "-"))


def is_installed(game: Game) -> bool:
    """Whether this game has a description here; that of another journal may not."""
    return game.name in _DESCRIPTIONS


def described(game: Game) -> Description:
    """The description of a game; a journal of one that is not installed is read like one of Dragon Poker."""
    return _DESCRIPTIONS.get(game.name, DRAGON_POKER_DESCRIPTION)


def game_with(description: Description, options: dict[str, Any]) -> Game:
    """The numbers of a game with what the house has chosen; its own, if that is not possible."""
    if options.keys() - description.options.keys() or description.fault_of(options):
        return description.game  # the check of the set-up says what is wrong
    return description.with_options(description.game, {**description.options, **options})


def rulebook_of(game: Game) -> Rulebook:
    """The rulebook of a game; a game without its own is played by Dragon Poker's equipment rules."""
    return _DESCRIPTIONS.get(game.name, DRAGON_POKER_DESCRIPTION).rulebook


add_game("dragon-poker", DRAGON_POKER_DESCRIPTION)
add_game("dragon-baccarat-tournament", DRAGON_BACCARAT)
add_game("dragon-poker-chinese-deck", CHINESE_DECK)
add_game("face-up-chinese-poker", FACE_UP)
load_games()
