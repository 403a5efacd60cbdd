"""A game in a folder of its own is known to every command, and one that cannot be played says what is wrong with it."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller import games
from controller.core.names import place_name, where
from controller.core.setup import Setup, setup_fault
from controller.daemon.config import ConfigError, parse_config
from controller.games import GAMES
from controller.games.description_check import description_fault
from controller.games.game import Deal, Method
from tests.support.high_card import PAGE

(PROGRAM,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
CONFIG = '[table]\ngame = "high-card"\nmethod = "hand"\nbacks = ["red"]\n'

Load = Callable[[str], None]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Loads a program as a module of `dragonshoe_games`; what it adds is forgotten afterwards."""
    known: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (one, dict(one)) for one in (games.GAMES, games._DESCRIPTIONS, games._NOT_LOADED)
    ]
    folder = tmp_path / "dragonshoe_games"
    folder.mkdir()
    monkeypatch.syspath_prepend(tmp_path)

    def load(program: str) -> None:
        (folder / "high_card.py").write_text(program)
        importlib.invalidate_caches()
        games.load_games()

    yield load
    for now, before in known:
        now.clear()
        now.update(before)
    for name in [name for name in sys.modules if name.startswith("dragonshoe_games")]:
        del sys.modules[name]


def test_a_game_in_a_folder_of_its_own_is_known(load: Load) -> None:
    load(PROGRAM)
    assert [*GAMES][-1] == "high-card"
    assert parse_config(CONFIG, "table.toml").setup().game.name == "High Card"


def test_the_commands_know_it(tmp_path: Path) -> None:
    folder = tmp_path / "dragonshoe_games"
    folder.mkdir()
    (folder / "high_card.py").write_text(PROGRAM)
    command = [str(Path(sys.executable).with_name("shoectl")), "rules", "pay", "--game", "high-card"]
    found = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert "an equal card returns the bet" in found.stdout, found.stderr


BROKEN = {
    "a wrong order": ("StepType.DEAL, StepType.REVEAL", "StepType.REVEAL, StepType.DEAL", "script: each type of step"),
    "an unfinished script": (", StepType.SETTLE)", ")", "script: a script begins with a deal and ends with"),
    "an unknown clause": ('DEALING: "deal"', 'DEALING: "dael"', "rulebook.rules: DEALING is clause 'dael', which is"),
    "no rule": ("Rule.DEALING:", '"delaing":', "rulebook.rules: 'delaing' is not a member of Rule"),
    "a wrong sum": ("deck_size=len(KINDS)", "deck_size=51", "game: the kinds add up to 52 cards, but a deck of High"),
    "too many cards": (
        "Deal(PLAYERS, 1)",
        "Deal(PLAYERS, 60)",
        "a round of 1 with automated_shoe needs 61 cards of 52",
    ),
    "an empty deal": ("Deal(PLAYERS, 1)", "Deal(PLAYERS, 0)", "a deal of automated_shoe has no cards"),
    "one kind twice": ("kinds=KINDS", "kinds=(*KINDS[:51], KINDS[0])", "game: a kind of card comes twice"),
    "a number as text": ("most_seats=6", 'most_seats="6"', "game.most_seats: expected int, got str"),
    "a taken name": ('"high-card"', '"dragon-poker"', "dragon-poker: there is a game of this name already"),
    "a name on the screen": ('name="High Card"', 'name="Dragon Poker"', "game.name: there is a game 'Dragon Poker'"),
    "a capital letter": ('"high-card"', '"High Card"', "High Card: a game's name has small letters, digits and"),
    "bets as text": ('bets=("bet",)', 'bets=("bet")', "bets: expected a tuple; one of a single element ends with"),
    "no text": ('("Turn all cards over.", "")', '"Turn them."', "prompts: 'reveal' needs two texts"),
    "a prompt too many": ("prompts={StepType.REVEAL", "prompts={StepType.ACT", "prompts: the script has no step 'act'"),
    "no settlement": ("settle=settle,", "", "must_settle: needs `settle`, `results` or `result`"),
    "a wrong function": ("def settle(record:", "def settle(bets: int, record:", "settle: is called with (RoundRecord)"),
    "an unknown field": ("must_settle=", "must_setle=", "TypeError: Description.__init__() got an unexpected"),
    "an exception": ("GAME = Game(", "{}['x']\nGAME = Game(", "KeyError: 'x' ("),
    "wrong grammar": ("GAME = Game(", "GAME = = Game(", "invalid syntax (high_card.py, line 13)"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_game_that_cannot_be_played_says_what_is_wrong_with_it(load: Load, name: str) -> None:
    """No other game is affected, and there is no game of this name."""
    found, instead, expected = BROKEN[name]
    assert found in PROGRAM
    before = [*GAMES]
    load(PROGRAM.replace(found, instead, 1))
    assert [*GAMES] == before
    with pytest.raises(ConfigError) as refused:
        parse_config(CONFIG, "table.toml")
    text = str(refused.value)
    assert text.startswith("table.toml: table.game: unknown game 'high-card'; expected one of dragon-poker, ")
    assert "; dragonshoe_games.high_card cannot be used: " in text
    assert expected in text


@pytest.mark.parametrize("name", GAMES)
def test_the_games_of_the_project_have_no_fault(name: str) -> None:
    assert description_fault(name, GAMES[name]) == ""


def test_what_belongs_together_is_given_together() -> None:
    poker, baccarat = GAMES["dragon-poker"], GAMES["dragon-baccarat-tournament"]
    wrong = {
        "turn: needs `decide` too": replace(poker, decide=None),
        "must_decide: without `turn` nobody decides anything": replace(poker, must_decide=True, turn=None, decide=None),
        "turn: players decide, but the script has no step 'act'": replace(
            poker, script=baccarat.script, prompts={}, hidden=()
        ),
        "session_bets: 'player dragon' is not among the bets": replace(baccarat, bets=("player",)),
        "reconstruct: works only if": replace(poker, reconstruct=lambda drawn: drawn),
        "example_options: unknown option 'x'": replace(poker, example_options={"x": 1}),
        "options: checking the usual ones fails with KeyError: 'x'": replace(poker, options_fault=lambda one: one["x"]),
        "hidden: the hands on the table cannot be turned over by a reveal": replace(
            poker, script=poker.script[:2] + poker.script[3:], prompts={}
        ),
    }
    for fault, description in wrong.items():
        assert description_fault("a-game", description).startswith(fault), fault


def test_a_hand_has_the_name_that_the_game_gives_it() -> None:
    assert (place_name("left"), where("left")) == ("the left", "in the left's hand")
    assert (place_name("seat3"), where("seat3")) == ("seat 3", "at seat 3")


@pytest.mark.parametrize("name", ["rack", "seat", "seat1", "discards"])
def test_a_hand_cannot_have_the_name_of_another_place(name: str) -> None:
    game = GAMES["dragon-poker"].game
    refused = setup_fault(Setup(game=msgspec.structs.replace(game, programme={Method.HAND: (Deal(name, 1),)})))
    assert refused is not None
    assert refused.reason == f"no hand of Dragon Poker can be called {name!r}: that is another place at the table"


@pytest.mark.parametrize(
    ("game", "options", "fault"),
    [
        ("face-up-chinese-poker", {"schedule": [1]}, "schedule: found [1]; expected a whole number"),
        ("face-up-chinese-poker", {"schedule": True}, "schedule: found True; expected a whole number"),
        ("dragon-baccarat-tournament", {"cut_card": {}}, "cut_card: found {}; expected a number from 0 to 104"),
    ],
)
def test_an_option_of_another_type_is_refused(game: str, options: dict[str, object], fault: str) -> None:
    refused = setup_fault(Setup(game=GAMES[game].game, method=Method.MANUAL_SHOE, seats=4, options=options))
    assert refused is not None
    assert (refused.key, refused.reason) == ("table.options", fault)
