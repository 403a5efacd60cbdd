"""The games of a campaign by their names. A game without a module here is played with the tables it allows."""

from __future__ import annotations

import functools
import itertools
from importlib import import_module
from importlib.util import find_spec

from controller.core.setup import Setup, ShufflerKind, setup_fault
from controller.games import GAMES, game_with
from controller.games.description import Description
from controller.games.game import Method
from simulators.campaign.checks import CHECKS
from simulators.campaign.games.model import CampaignGame

_SHUFFLERS = (
    ShufflerKind(counts=True, feeds_shoe=True),
    ShufflerKind(counts=True, feeds_shoe=True, recognises=True),
    ShufflerKind(counts=True),
    ShufflerKind(),
    None,
)
_BACKS = (("red", "blue"), ("red",))


def first_game() -> str:
    """The game that is meant where none is named."""
    return next(iter(GAMES))


def campaign_game(name: str) -> CampaignGame:
    """A game of a campaign: its module here if it has one, else every table that its description allows."""
    return _found(name, GAMES[name].game.name)


def every_check() -> dict[str, str]:
    """The checks of all games, and what each of them says."""
    own = (campaign_game(name).witness.checks for name in GAMES)
    return {**CHECKS, **{check: text for checks in own for check, text in checks.items()}}


@functools.cache
def _found(name: str, journal_name: str) -> CampaignGame:
    module = f"{__name__}.{name.replace('-', '_')}"
    if find_spec(module) is not None:
        found: CampaignGame = import_module(module).GAME
        return found
    return CampaignGame(
        setups=possible_setups(GAMES[name]), seats=tuple(range(GAMES[name].game.fewest_seats, 7)), bets=True
    )


def possible_setups(description: Description) -> tuple[Setup, ...]:
    """Tables with each dealing method, kind of shuffler and number of decks, if the game allows them."""
    options = dict(description.example_options)
    game = game_with(description, options)
    tables = (
        Setup(
            method=method,
            backs=backs,
            shuffler=shuffler,
            seats=min(game.most_seats, 6),
            game=game,
            options=options,
        )
        for method, shuffler, backs in itertools.product(Method, _SHUFFLERS, _BACKS)
    )
    return tuple(table for table in tables if setup_fault(table) is None)
