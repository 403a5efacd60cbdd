"""The source tree stays easy to find one's way in: packages, one class per name, files of a readable length."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.support.imports import ROOT, modules, tree

MOST_LINES = 500
SOURCES = (".py", ".js", ".css", ".html", ".md")
FOLDERS = ("firmware_bridge", "controller", "simulators", "docs", "debian")


def test_the_controller_has_no_modules_beside_its_packages() -> None:
    assert {path.name for path in (ROOT / "controller").glob("*.py")} == {"__init__.py"}


def test_every_folder_with_python_in_it_is_a_package() -> None:
    missing = {
        str(path.parent.relative_to(ROOT)) for path in modules().values() if not (path.parent / "__init__.py").exists()
    }
    assert not missing


def test_a_class_name_stands_for_one_thing() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in modules().items():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
        for alias in aliases(tree(path)):
            places[alias.lstrip("_")].append(name)
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice


def test_no_file_is_too_long() -> None:
    files = [
        *ROOT.glob("*.md"),
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES),
    ]
    long = {str(path.relative_to(ROOT)): length(path) for path in files if length(path) > MOST_LINES}
    assert not long


def aliases(module: ast.Module) -> list[str]:
    """The types that a module names by assignment: `Move = tuple[str, str, int]`."""
    targets = [node.targets[0] for node in module.body if isinstance(node, ast.Assign)]
    return [
        node.id for node in targets if isinstance(node, ast.Name) and re.fullmatch("_?[A-Z]+[a-z][A-Za-z]*", node.id)
    ]


def length(path: Path) -> int:
    return len(path.read_text().splitlines())
