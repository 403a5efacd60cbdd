"""The rulebook as a list: each clause with its summary, the functions that enforce it, and the tests that show it.

In a checkout the tests are read from their source; an installed package carries the list in `core/clause_tests.json`.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec

from controller.core import history, table  # noqa: F401 - importing them registers what enforces each rule
from controller.core.enforcement import enforced_by
from controller.games.rulebook import Rulebook

TESTS = Path(__file__).parents[2] / "tests" / "core"
SHIPPED = Path(__file__).parents[1] / "core" / "clause_tests.json"


def rows(rulebook: Rulebook, clauses: list[str]) -> list[dict[str, Any]]:
    """Clause, summary, the functions that enforce it, the tests that show it."""
    tests = tests_by_clause()
    return [
        {
            "clause": clause,
            "summary": rulebook.clauses[clause],
            "enforced_by": enforced_by(rulebook, clause),
            "tests": tests.get(clause, []),
        }
        for clause in clauses
    ]


def tests_by_clause() -> dict[str, list[str]]:
    """The tests that name each clause: from their source in a checkout, otherwise as the package carries them."""
    return tests_in(TESTS) if TESTS.is_dir() else msgspec.json.decode(SHIPPED.read_bytes(), type=dict[str, list[str]])


def shipped_tests() -> bytes:
    """What the package carries for a machine without the tests."""
    return msgspec.json.format(msgspec.json.encode(tests_in(TESTS)), indent=1) + b"\n"


def tests_in(folder: Path) -> dict[str, list[str]]:
    """The tests that name each clause, as `file::test`, read from the source without running it."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for clause in _clauses_named_by(node):
                    found.setdefault(clause, []).append(f"tests/core/{path.name}::{node.name}")
    return found


def _clauses_named_by(test: ast.FunctionDef) -> list[str]:
    """The arguments of a test's `@clause(...)` marks."""
    calls = [mark for mark in test.decorator_list if isinstance(mark, ast.Call)]
    marks = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "clause"]
    return [str(word.value) for mark in marks for word in mark.args if isinstance(word, ast.Constant)]
