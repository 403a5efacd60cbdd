"""`shoectl rules` and `shoectl diagram`: every clause has a guard and a test; and the core is pure."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner, Result

from controller.api import rulebook
from controller.cli.shoectl import cli
from controller.core.enforcement import enforced_by
from controller.core.machines import MACHINES
from controller.games import GAMES, RULEBOOK
from controller.games.dragon_poker.rulebook import CLAUSES
from controller.games.game import Method
from controller.games.rulebook import Rule
from tests.support.imports import IMPURE, IMPURE_CALLS, ROOT, files, imported, top_names, tree

CORE = files("controller/core")


def shoectl(*words: str) -> Result:
    result = CliRunner().invoke(cli, list(words))
    structlog.reset_defaults()
    return result


@pytest.mark.parametrize("game", ["dragon-poker", "dragon-poker-chinese-deck", "face-up-chinese-poker"])
def test_no_clause_is_empty(game: str) -> None:
    found = json.loads(shoectl("rules", "--game", game, "--json").stdout)
    assert [row["clause"] for row in found] == list(GAMES[game].rulebook.clauses)
    for row in found:
        assert set(row) == {"clause", "summary", "enforced_by", "tests", "scenarios"}
        assert row["summary"].endswith(".")
        assert row["enforced_by"], f"nothing enforces {row['clause']}"
        assert row["tests"], f"no test shows {row['clause']}"


@pytest.mark.parametrize("game", ["dragon-baccarat-tournament"])
def test_every_clause_of_a_game_has_code_a_test_and_a_scenario(game: str) -> None:
    for row in json.loads(shoectl("rules", "--game", game, "--json").stdout):
        assert row["summary"].endswith(".")
        for column in ("enforced_by", "tests", "scenarios"):
            assert row[column], f"{game}, {row['clause']}: {column} is empty"


def test_scenarios_are_listed_with_the_clauses_they_name() -> None:
    (row,) = json.loads(shoectl("rules", "5.F", "--json").stdout)
    assert "tests/scenarios/cut_at_least_ten.toml" in row["scenarios"]


def test_what_enforces_a_clause_is_there() -> None:
    for clause in CLAUSES:
        for name in enforced_by(RULEBOOK, clause):
            module, _, function = name.rpartition(".")
            assert callable(getattr(importlib.import_module(module), function))


def test_every_test_that_is_named_is_there() -> None:
    for clauses in rulebook.tests_in(rulebook.TESTS).values():
        for name in (name for tests in clauses.values() for name in tests):
            path, _, function = name.partition("::")
            assert f"def {function}(" in (ROOT / path).read_text()


def test_no_clause_is_named_in_the_core() -> None:
    """The core refers to rules by name; only the game's rulebook has clause numbers."""
    looks = re.compile(r'"(?:[2-9]|1[0-3])(?:\.[A-J](?:\([0-9]\))*)?"')
    for path in CORE:
        assert not looks.findall(path.read_text()), f"{path.name} names a clause"


def test_every_rule_has_a_clause_and_every_clause_a_rule_or_a_function_of_the_game() -> None:
    cited = {clause for rule in Rule for clause in RULEBOOK.clauses_of(rule)}
    assert cited | set(RULEBOOK.decided_by) == set(CLAUSES)
    assert set(Rule) - set(RULEBOOK.rules) == OF_OTHER_GAMES


# Rules that Dragon Poker does not have.
OF_OTHER_GAMES = {
    Rule.BETS_CLOSED,
    Rule.BUTTON,
    Rule.COLLECTION,
    Rule.CUT_CARD,
    Rule.FOREIGN_CARD,
    Rule.FURTHER_CARDS,
    Rule.ORDER_ALTERED,
    Rule.RECONSTRUCT,
    Rule.RESHUFFLE_STOCK,
    Rule.SESSION,
    Rule.TABLE_STAKES,
    Rule.TOO_FEW_CARDS,
    Rule.TWO_CARDS,
    Rule.VOID_KEEPS,
}


def test_a_rule_that_depends_on_the_dealing_method_is_cited_by_it() -> None:
    cited = [RULEBOOK.cite((Rule.STUB_WRONG, "13.G"), method) for method in Method]
    assert cited == [("10.E", "13.G"), ("8.G", "13.G"), ("9.F", "13.G")]


def test_every_clause_that_a_test_names_is_one() -> None:
    for game, clauses in rulebook.tests_by_clause().items():
        assert set(clauses) <= set(GAMES[game].rulebook.clauses)


def test_what_the_package_carries_is_fresh() -> None:
    assert rulebook.SHIPPED.read_bytes() == rulebook.shipped_tests(), "run `make docs`"


def test_without_the_tests_the_carried_list_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_checkout = rulebook.tests_by_clause()
    monkeypatch.setattr(rulebook, "TESTS", tmp_path / "none")
    assert rulebook.tests_by_clause() == in_checkout


def test_one_clause_and_a_chapter() -> None:
    text = shoectl("rules", "13.G").stdout
    assert text.startswith("13.G  When the automated shoe")
    assert "controller.core.rules.stopping.stopped" in text
    assert RULEBOOK.matching("13") == [clause for clause in CLAUSES if clause.startswith("13.")]
    assert RULEBOOK.matching("9") == [clause for clause in CLAUSES if clause == "9" or clause.startswith("9.")]
    assert len(shoectl("rules").stdout.splitlines()) == len(CLAUSES) + 1
    unknown = shoectl("rules", "99.Z")
    assert unknown.exit_code == 1
    assert unknown.stdout == ""
    assert "unknown clause 99.Z" in unknown.stderr


def test_the_diagrams() -> None:
    assert shoectl("diagram", "deck").stdout.startswith("stateDiagram-v2\n    [*] --> received\n")
    assert shoectl("diagram").stdout.count("stateDiagram-v2") == 3
    drawn = json.loads(shoectl("diagram", "--json").stdout)
    assert list(drawn) == [machine.name for machine in MACHINES]
    assert shoectl("diagram", "moon").exit_code == 2


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_the_core_touches_nothing_outside(path: Path) -> None:
    import ast

    outside = {"firmware_bridge", "msgspec", "transitions"}
    allowed = {
        "controller",
        *outside,
        "typing",
        "dataclasses",
        "types",
        "enum",
        "collections",
        "functools",
        "difflib",
        "math",
        "copy",
    }
    assert top_names(path) - {"__future__"} <= allowed
    assert not top_names(path) & IMPURE
    assert all(
        name.startswith(("controller.core", "controller.games"))
        for name in imported(path)
        if name.startswith("controller")
    )
    called = {n.func.id for n in ast.walk(tree(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not called & IMPURE_CALLS
