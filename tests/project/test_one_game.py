"""No file outside a game's package names a game, its hands or its bets: everything else asks its description.

Dragon Poker is named where it is the usual game, and compared with nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from controller.games import GAMES
from controller.games.game import DEALER
from tests.support.imports import ROOT

ORDINARY = {DEALER, "stack"}  # words that are used for other things too
EXAMPLES = ("controller/cli/odds.py",)  # in its help
BRIDGE = "firmware_bridge/"  # it knows no game, but the words of the devices of other makers

NAMES = re.compile(r"baccarat|face.?up.(chinese|poker)|chinese.?(deck|poker)", re.IGNORECASE)
COMPARED = re.compile(
    r"\bgame(\.name)? (==|!=) (?!first_game|Setup|game)"
    r"|([!=]==?|\bis|\bis not|\bin|\bcase|startswith\() ?[\[(\"']*dragon.?poker",
    re.IGNORECASE,
)


def words() -> set[str]:
    """The names of the hands and the bets of all games."""
    found = {word for game in GAMES.values() for word in (*game.game.hands(), *map(str, game.bets))}
    return found - ORDINARY


WORDS = "|".join(sorted(map(re.escape, words()), key=len, reverse=True))
QUOTED = re.compile(f"[\"'`](?:{WORDS})[\"'`]")
STYLED = re.compile(f"[.-](?:{WORDS.replace(chr(92) + ' ', '-')})(?![\\w-])")


def wrong(name: str, text: str) -> Iterator[str]:
    """The lines of a file that name a game, one of its hands or one of its bets."""
    looks = (NAMES, STYLED) if name.endswith(".css") else (NAMES, COMPARED, QUOTED)
    if name.startswith(BRIDGE):
        looks = (NAMES, COMPARED)
    for number, line in enumerate(text.splitlines(), 1):
        if any(look.search(line) for look in looks) and "import" not in line and "plural(" not in line:
            yield f"{name}:{number}: {line.strip()}"


def test_a_game_is_named_only_in_its_own_package() -> None:
    found = [
        line
        for folder in ("controller", "firmware_bridge", "simulators")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".js", ".css", ".html") and "games" not in path.relative_to(ROOT).parts
        for line in wrong(str(path.relative_to(ROOT)), path.read_text())
    ]
    assert [line for line in found if not line.startswith(EXAMPLES)] == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("core/x.py", 'if state.setup.game.name == "Dragon Poker":'),
        ("core/x.py", 'if description_named("dragon-baccarat-tournament") is game:'),
        ("core/x.py", "if state.setup.game == DRAGON_POKER:"),
        ("core/x.py", "if state.setup.game is DRAGON_POKER:"),
        ("core/x.py", 'if game.name in ("Dragon Poker",):'),
        ("core/x.py", '    case "dragon-poker":'),
        ("core/x.py", 'if game.name.startswith("Dragon Poker"):'),
        ("core/x.py", 'if "banker" in round_.held:'),
        ("core/x.py", 'if act.bet == "ante":'),
        ("core/x.py", 'bonus = bets["three card bonus"]'),
        ("web/x.js", 'if (table.game === "Dragon Poker") draw();'),
        ("web/x.js", 'if (hand.name === "player") draw();'),
        ("web/x.js", "place.classList.toggle(`banker`);"),
        ("web/x.css", ".mark-player .hand-box { stroke: blue; }"),
        ("web/x.css", ".three-card-bonus { color: red; }"),
    ],
)
def test_a_line_that_is_about_one_game_is_found(name: str, line: str) -> None:
    assert list(wrong(name, line))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("core/x.py", 'game: str = "dragon-poker"'),
        ("core/x.py", "if shift.game != first_game():"),
        ("core/x.py", "the player who has the button"),
        ("web/x.css", ".player-list { margin: 0; }"),
    ],
)
def test_ordinary_words_are_not(name: str, line: str) -> None:
    assert not list(wrong(name, line))
