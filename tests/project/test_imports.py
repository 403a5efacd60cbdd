"""Imports point one way, and the pure modules touch neither clock nor disk nor network."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.imports import (
    IMPURE,
    IMPURE_CALLS,
    ROOT,
    SIMULATION_STARTS_IN,
    files,
    imported,
    module_imports,
    modules,
    package_of,
    top_names,
    tree,
)

# Which packages each package may import, lowest layer first: a package names only packages above it in this table.
# Everything not listed is forbidden, inside functions too.
LAYERS: dict[str, set[str]] = {
    "firmware_bridge.wire": set(),
    "firmware_bridge.drivers": set(),
    "firmware_bridge.ports": {"firmware_bridge.wire"},
    "firmware_bridge.connection": {"firmware_bridge.wire", "firmware_bridge.ports"},
    "firmware_bridge.tools": {
        "firmware_bridge.wire",
        "firmware_bridge.drivers",
        "firmware_bridge.ports",
        "firmware_bridge.connection",
    },
    "controller.games": set(),
    "controller.core": {"controller.games", "firmware_bridge.wire"},
    "controller.journal": set(),
    "controller.daemon": {
        "controller.games",
        "controller.core",
        "controller.journal",
        "firmware_bridge.wire",
        "firmware_bridge.ports",
        "firmware_bridge.connection",
    },
    "controller.api": {
        "controller.games",
        "controller.core",
        "controller.journal",
        "controller.daemon",
        "firmware_bridge.wire",
    },
    "controller.cli": {
        "controller.games",
        "controller.core",
        "controller.journal",
        "controller.daemon",
        "controller.api",
        "firmware_bridge.wire",
        "firmware_bridge.drivers",
        "firmware_bridge.ports",
        "firmware_bridge.connection",
        "firmware_bridge.tools",
    },
    "simulators.devices": {"firmware_bridge.wire", "firmware_bridge.drivers"},
    "simulators.faulty_firmware": {"firmware_bridge.wire", "simulators.devices"},
    "simulators.pipes": {"firmware_bridge.wire", "firmware_bridge.ports", "simulators.devices"},
    "simulators.angel_eye": {"controller.games", "simulators.devices", "simulators.pipes"},
    "simulators.control": {"firmware_bridge.wire", "simulators.devices", "simulators.pipes"},
    "simulators.table": {
        "controller.games",
        "controller.core",
        "controller.journal",
        "controller.daemon",
        "firmware_bridge.wire",
        "simulators.devices",
        "simulators.pipes",
        "simulators.control",
    },
    "simulators.campaign": {
        "controller.games",
        "controller.core",
        "controller.journal",
        "controller.daemon",
        "firmware_bridge.wire",
        "simulators.devices",
        "simulators.pipes",
        "simulators.table",
    },
    "simulators.compiled": set(),
    "simulators.shoesim": {
        "simulators.angel_eye",
        "firmware_bridge.wire",
        "simulators.devices",
        "simulators.pipes",
        "simulators.control",
        "simulators.table",
        "simulators.campaign",
        "simulators.faulty_firmware",
    },
}

PURE_PACKAGES = (
    "controller/core",
    "controller/games",
    "firmware_bridge/drivers",
    "firmware_bridge/wire",
    "simulators/devices",
)
PURE = [
    *[str(path.relative_to(ROOT)) for folder in PURE_PACKAGES for path in sorted((ROOT / folder).rglob("*.py"))],
    "simulators/pipes/wires.py",
]


def test_every_package_has_a_layer() -> None:
    packages = {package_of(name) for name in modules() if "." in name}
    assert packages <= LAYERS.keys(), "give the new package a place in LAYERS"


def test_a_layer_names_only_layers_below_it() -> None:
    """So the table itself cannot allow a cycle."""
    below: set[str] = set()
    for package, allowed in LAYERS.items():
        assert allowed <= below, f"{package} may not import {allowed - below}: it is not below"
        below.add(package)


def test_imports_between_packages_point_one_way() -> None:
    wrong = {
        (importer, name)
        for importer, name in module_imports()
        if package_of(name) not in LAYERS[package_of(importer)]
        and not (importer == SIMULATION_STARTS_IN and name.startswith("simulators."))
    }
    assert not wrong


def test_the_simulation_is_loaded_at_run_time_only() -> None:
    """`shoed` starts without the simulators, which a table's computer need not have."""
    (path,) = [path for name, path in modules().items() if name == SIMULATION_STARTS_IN]
    at_import = [node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in at_import}
    assert not any(name.startswith("simulators") for name in names)


@pytest.mark.parametrize("path", files("firmware_bridge"), ids=str)
def test_the_bridge_knows_neither_controller_nor_simulators(path: Path) -> None:
    assert not top_names(path) & {"controller", "simulators", "tests"}


def test_the_controller_loads_the_simulators_in_one_place_only() -> None:
    loading = {
        name for name, path in modules().items() if name.startswith("controller") and "simulators" in top_names(path)
    }
    assert loading <= {SIMULATION_STARTS_IN}


@pytest.mark.parametrize("path", [*files("controller"), *files("simulators")], ids=str)
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
    """The functions of the module `random` share one hidden state: runs would not repeat from their seed."""
    path = ROOT / name
    used = {
        node.attr
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random"
    }
    assert used <= {"Random"}
    assert not imported(path) & {"secrets", "uuid", *(f"random.{name}" for name in ("random", "choice", "randrange"))}
