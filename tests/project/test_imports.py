"""Imports point one way, and the pure modules touch neither clock nor disk nor network."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIMULATION_STARTS_IN = "controller/daemon/simulate.py"  # the one place where the controller may load the simulators

PURE_PACKAGES = ("controller/core", "controller/games", "firmware_bridge/wire", "simulators/devices")
PURE = [
    *[str(path.relative_to(ROOT)) for folder in PURE_PACKAGES for path in sorted((ROOT / folder).rglob("*.py"))],
    "simulators/pipes/wires.py",
]
IMPURE = {
    "asyncio",
    "time",
    "socket",
    "os",
    "threading",
    "serial",
    "usb",
    "subprocess",
    "pathlib",
    "select",
    "datetime",
}
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def imported(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it, as full names."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: an import without its full name"
            assert node.module is not None
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "import_module":
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    return found


def top_names(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


def files(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, f"nothing in {folder}"
    return found


@pytest.mark.parametrize("path", files("firmware_bridge"), ids=str)
def test_the_bridge_knows_neither_controller_nor_simulators(path: Path) -> None:
    assert not top_names(path) & {"controller", "simulators", "tests"}


def test_the_controller_loads_the_simulators_in_one_place_only() -> None:
    loading = {str(path.relative_to(ROOT)) for path in files("controller") if top_names(path) & {"simulators", "tests"}}
    assert loading <= {SIMULATION_STARTS_IN}


@pytest.mark.parametrize("path", files("simulators"), ids=str)
def test_no_part_of_the_product_imports_the_tests(path: Path) -> None:
    assert "tests" not in top_names(path)


@pytest.mark.parametrize("name", PURE)
def test_the_pure_modules_touch_nothing_outside(name: str) -> None:
    path = ROOT / name
    assert not top_names(path) & IMPURE
    called = {n.func.id for n in ast.walk(tree(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not called & IMPURE_CALLS


@pytest.mark.parametrize("name", [name for name in PURE if name.startswith("firmware_bridge")])
def test_no_chance_in_the_pure_bridge(name: str) -> None:
    assert not top_names(ROOT / name) & {"random", "secrets", "uuid"}


@pytest.mark.parametrize("name", [name for name in PURE if name.startswith("simulators")])
def test_the_simulators_draw_from_their_own_generators(name: str) -> None:
    """The functions of the module `random` share one hidden state: one seed could not give one story."""
    path = ROOT / name
    used = {
        node.attr
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random"
    }
    assert used <= {"Random"}
    assert not imported(path) & {"secrets", "uuid", *(f"random.{name}" for name in ("random", "choice", "randrange"))}
