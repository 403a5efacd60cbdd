"""Finds the conditions in a module and changes one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True, order=True, slots=True)
class Mutant:
    """One change: what stands at this position of a file is replaced."""

    file: str
    line: int
    column: int  # in bytes, as the parser counts
    end_line: int
    end_column: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.old.split())}  ->  {' '.join(self.new.split())}"

    def applied_to(self, source: str) -> str:
        """The source with the change."""
        lines = source.encode().splitlines(keepends=True)
        before = b"".join(lines[: self.line - 1]) + lines[self.line - 1][: self.column]
        after = lines[self.end_line - 1][self.end_column :] + b"".join(lines[self.end_line :])
        return (before + self.new.encode() + after).decode()


def mutants(file: str, source: str) -> list[Mutant]:
    """Every change of a module: each condition forced false, each comparison flipped."""
    found: set[Mutant] = set()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for node in _executed(function):
                for changed, new in _changes(node):
                    old = ast.get_source_segment(source, changed) or ""
                    end_line, end_column = changed.end_lineno or 0, changed.end_col_offset or 0
                    found.add(Mutant(file, changed.lineno, changed.col_offset, end_line, end_column, old, new))
    return sorted(found)


def _executed(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Everything in the body of a function except assertions, which are no decisions."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.Assert):
            yield node
            waiting += ast.iter_child_nodes(node)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The expressions to replace for this node, each with its replacement."""
    conditions: list[ast.expr] = []
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        conditions = [node.test]
    elif isinstance(node, ast.comprehension):
        conditions = node.ifs
    elif isinstance(node, ast.BoolOp):
        conditions = [value for value in node.values if isinstance(value, ast.Compare | ast.Call | ast.UnaryOp)]
    for condition in conditions:
        yield condition, "False"
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            ops = [*node.ops[:at], FLIPPED[type(operator)](), *node.ops[at + 1 :]]
            yield node, f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})"


def all_mutants(root: Path, folder: str) -> list[Mutant]:
    """Every change of every module in a folder, in the same order everywhere."""
    found: list[Mutant] = []
    for path in sorted((root / folder).glob("*.py")):
        found += mutants(str(path.relative_to(root)), path.read_text())
    return found
