"""`shoectl rules` and `shoectl diagram`: the clauses with the code and the tests of each, and the state machines."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import click
import msgspec

from controller import core
from controller.cli import terminal
from controller.cli.options import json_option
from controller.core.clauses import CLAUSES, enforced_by, matching

TESTS = Path(__file__).parents[2] / "tests" / "core"
SHIPPED = Path(__file__).parents[1] / "core" / "clause_tests.json"


def tests_in(folder: Path) -> dict[str, list[str]]:
    """The tests that name each clause, as `file::test`, read from the source without running it."""
    found: dict[str, list[str]] = {clause: [] for clause in CLAUSES}
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            for clause in _named(node):
                found[clause].append(f"tests/core/{path.name}::{node.name}")  # type: ignore[attr-defined]
    return found


def _named(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
        return []
    calls = [mark for mark in node.decorator_list if isinstance(mark, ast.Call)]
    marks = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "clause"]
    return [word.value for mark in marks for word in mark.args if isinstance(word, ast.Constant)]  # type: ignore[misc]


def tests_by_clause() -> dict[str, list[str]]:
    """From the tests themselves in a checkout, otherwise as they were when the package was made."""
    if TESTS.is_dir():
        return tests_in(TESTS)
    return msgspec.json.decode(SHIPPED.read_bytes(), type=dict[str, list[str]])


def shipped_tests() -> bytes:
    """What the package carries for a place where the tests are not."""
    return msgspec.json.format(msgspec.json.encode(tests_in(TESTS)), indent=1) + b"\n"


def rows(clauses: list[str]) -> list[dict[str, Any]]:
    """Clause, summary, what enforces it, which tests show it."""
    for module in pkgutil.iter_modules(core.__path__, "controller.core."):  # what enforces a clause registers itself
        importlib.import_module(module.name)

    tests = tests_by_clause()
    return [
        {"clause": clause, "summary": CLAUSES[clause], "enforced_by": enforced_by(clause), "tests": tests[clause]}
        for clause in clauses
    ]


@click.command("rules")
@click.argument("clause", required=False, metavar="[CLAUSE]")
@json_option
def rules_verb(clause: str | None, as_json: bool) -> None:
    """List the clauses of the rules, their code and tests.

    CLAUSE is a clause, such as 13.G, or a chapter, such as 13.

    \b
    Example:
      shoectl rules 3.C
    """
    found = rows(matching(clause) if clause else list(CLAUSES))
    if not found:
        raise click.ClickException(f"there is no clause {clause}; `shoectl rules` lists them all")
    if as_json:
        terminal.print_json(found)
    elif clause:
        for row in found:
            terminal.print_line(f"{row['clause']}  {row['summary']}", bold=True)
            terminal.print_pairs([("enforced by", ", ".join(row["enforced_by"])), ("tests", ", ".join(row["tests"]))])
    else:
        cells = [(r["clause"], r["summary"], str(len(r["enforced_by"])), str(len(r["tests"]))) for r in found]
        terminal.print_table(("CLAUSE", "SUMMARY", "ENFORCED", "TESTS"), cells)


@click.command("diagram")
@click.argument("machine", type=click.Choice(["table", "deck", "device"]), required=False)
@json_option
def diagram_verb(machine: str | None, as_json: bool) -> None:
    """Print the state machines as Mermaid diagrams.

    \b
    Example:
      shoectl diagram table > table.mmd
    """
    from controller.core.machines import MACHINES, diagram

    drawn = {m.name: diagram(m) for m in MACHINES if machine in (None, m.name)}
    if as_json:
        terminal.print_json(drawn)
        return
    for number, (name, text) in enumerate(drawn.items()):
        if len(drawn) > 1:
            terminal.print_line(f"{'' if number == 0 else chr(10)}%% {name}")
        terminal.print_line(text)
