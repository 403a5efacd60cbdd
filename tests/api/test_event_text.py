"""Every event has a line of its own, and no line lacks a word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.api.event_text import LINES, line_of
from simulators.table.scenario import play, read_scenario

CORE = Path(__file__).parents[2] / "controller/core"
SCENARIOS = sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml"))


def test_every_kind_that_the_core_emits_has_a_line() -> None:
    text = "\n".join(path.read_text() for path in CORE.rglob("*.py"))
    kinds = set(re.findall(r'emit\(\s*"([a-z_]+\.[a-z_]+)"', text))
    assert len(kinds) > 70
    assert kinds <= set(LINES)


@pytest.mark.parametrize("path", SCENARIOS[::6], ids=lambda path: path.stem)
def test_no_line_lacks_a_word(path: Path) -> None:
    for event in play(read_scenario(path.read_text())).events:
        said = line_of(event.kind, event.data)
        assert "?" not in said, (event.kind, event.data, said)
        assert not said[0].islower()
        assert said.endswith(".")
