"""The rulebook as a list: each clause with its summary, the functions that enforce it, and what shows it.

In a checkout tests and scenarios are read from their source. An installed package carries the list of tests in
`core/clause_tests.json`, and no scenarios.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from controller.core import history, table  # noqa: F401 - importing them registers what enforces each rule
from controller.core.enforcement import enforced_by
from controller.games import GAMES
from controller.games.rulebook import Rulebook

TESTS = Path(__file__).parents[2] / "tests"
FOLDERS = ("core", "games")
DRAGON_POKER = "dragon-poker"  # the game of a mark that names none
SHIPPED = Path(__file__).parents[1] / "core" / "clause_tests.json"


def rows(rulebook: Rulebook, clauses: list[str]) -> list[dict[str, Any]]:
    """Clause, summary, the functions that enforce it, the tests and the scenarios that show it."""
    tests, scenarios = tests_by_clause().get(game_of(rulebook), {}), scenarios_by_clause(game_of(rulebook))
    return [
        {
            "clause": clause,
            "summary": rulebook.clauses[clause],
            "enforced_by": enforced_by(rulebook, clause),
            "tests": tests.get(clause, []),
            "scenarios": scenarios.get(clause, []),
        }
        for clause in clauses
    ]


TestsByClause = dict[str, list[str]]


def game_of(rulebook: Rulebook) -> str:
    """The name of the game that has this rulebook."""
    return next(name for name, game in GAMES.items() if game.rulebook is rulebook)


def tests_by_clause() -> dict[str, TestsByClause]:
    """For each game the tests that name each clause: from their source, otherwise as the package carries them."""
    found = TESTS.is_dir()
    return tests_in(TESTS) if found else msgspec.json.decode(SHIPPED.read_bytes(), type=dict[str, TestsByClause])


def shipped_tests() -> bytes:
    """What the package carries for a machine without the tests."""
    return msgspec.json.format(msgspec.json.encode(tests_in(TESTS)), indent=1) + b"\n"


def tests_in(folder: Path) -> dict[str, TestsByClause]:
    """The tests that name each clause of each game, as `file::test`, read from the source without running it."""
    found: dict[str, TestsByClause] = {}
    for path in sorted(path for name in FOLDERS for path in (folder / name).glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for game, clause in _clauses_named_by(node):
                    test = f"tests/{path.parent.name}/{path.name}::{node.name}"
                    found.setdefault(game, {}).setdefault(clause, []).append(test)
    return found


def scenarios_by_clause(game: str) -> TestsByClause:
    """The scenarios of a game that name each clause, as their files."""
    found: TestsByClause = {}
    for path in sorted((TESTS / "scenarios").glob("*.toml")):
        scenario = tomllib.loads(path.read_text())
        for clause in scenario.get("clauses", []) if scenario.get("game", DRAGON_POKER) == game else []:
            found.setdefault(clause, []).append(f"tests/scenarios/{path.name}")
    return found


def _clauses_named_by(test: ast.FunctionDef) -> list[tuple[str, str]]:
    """The arguments of a test's `@clause(...)` marks, each with its game."""
    calls = [mark for mark in test.decorator_list if isinstance(mark, ast.Call)]
    marks = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "clause"]
    named = []
    for mark in marks:
        games = [word.value.value for word in mark.keywords if isinstance(word.value, ast.Constant)]
        game = str(games[0]) if games else DRAGON_POKER
        named += [(game, str(word.value)) for word in mark.args if isinstance(word, ast.Constant)]
    return named
