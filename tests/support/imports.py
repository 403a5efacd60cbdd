"""Reads from the source which module imports which, and which package each module belongs to."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("firmware_bridge", "controller", "simulators")
SIMULATION_STARTS_IN = "controller.daemon.simulate"  # the one module of the controller that may load the simulators

# What a pure module neither imports nor calls.
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
    """The parsed source of a file."""
    return ast.parse(path.read_text(), str(path))


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of the product by its full name; a package stands for its `__init__`."""
    found = {}
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """The full names that a file imports anywhere in it, including inside functions."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; use the full name"
            assert node.module is not None
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "import_module":
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    return frozenset(found)


def top_names(path: Path) -> set[str]:
    """The top-level packages that a file imports."""
    return {name.split(".")[0] for name in imported(path)}


def files(folder: str) -> list[Path]:
    """The Python files in a folder, which must have some."""
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, f"no Python files in {folder}"
    return found


def package_of(module: str) -> str:
    """`controller.core.rules.dealing` belongs to `controller.core`; a module outside the packages stands for itself."""
    return ".".join(module.split(".")[:2])


def module_imports() -> set[tuple[str, str]]:
    """Every import of one module of the product by another in a different package."""
    known = modules()
    found = set()
    for importer, path in known.items():
        for name in imported(path) & known.keys():
            if "." in name and package_of(name) != package_of(importer):
                found.add((importer, name))
    return found


def package_imports() -> dict[str, set[str]]:
    """For each package the others that it imports; the run-time start of the simulation is left out."""
    found: dict[str, set[str]] = {package_of(name): set() for name in modules() if "." in name}
    for importer, name in module_imports():
        if not (importer == SIMULATION_STARTS_IN and name.startswith("simulators.")):
            found[package_of(importer)].add(package_of(name))
    return found


def direct_imports() -> dict[str, set[str]]:
    """`package_imports` without what follows from the rest: if a imports b and b imports c, a → c is left out."""
    graph = package_imports()

    def reachable(start: str, without: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            package = waiting.pop()
            if package not in seen and package != without:
                seen.add(package)
                waiting += graph[package]
        return seen

    return {
        package: {
            target
            for target in targets
            if not any(target in reachable(other, without=package) for other in targets - {target})
        }
        for package, targets in graph.items()
    }
