"""The commands of docs/shift.md, in their order, at a simulated table: each works, and prints what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from controller.cli import client
from tests.support.served import Served, simulated
from tests.support.shoectl import shoectl

PAGE = Path(__file__).parents[2] / "docs/shift.md"
PINS = {"Flo": "147036"}


class Typed(NamedTuple):
    """A command of the page, and the lines that it shows below."""

    words: list[str]
    shown: list[str]


def typed() -> list[Typed]:
    """The commands of the page: lines that begin with a dollar sign."""
    found: list[Typed] = []
    for line in PAGE.read_text().splitlines():
        command = re.fullmatch(r" {4}\$ shoectl (.+)", line)
        if command:
            found.append(Typed(shlex.split(command[1], comments=True), []))
        elif found and re.match(r" {4}\S| {6}", line):
            found[-1].shown.append(line[4:])
        elif line and not line.startswith("    "):
            found = [*found, Typed([], [])]  # text: what follows belongs to no command
    return [one for one in found if one.words]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with simulated(tmp_path_factory.mktemp("shift"), "--paused", "--speed", "20") as (served, _):
        served.wait(lambda seen: all(device["state"] == "ready" for device in seen["devices"]))
        yield served


def wait_for_a_person(served: Served) -> None:
    """Wait until the devices have done what comes before, and the guide asks for something."""
    served.wait(lambda seen: seen["step"]["do"] and not any(device["doing"] for device in seen["devices"]))


def masked(line: str) -> str:
    """A line without the numbers of events, which depend on what the devices have reported."""
    return re.sub(r"^ *\d+  |event \d+", "#", line.rstrip())


def test_the_shift_on_the_page_can_be_typed(table: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(client.VARIABLE, str(table.socket))
    commands = typed()
    assert len(commands) > 30
    for words, shown in commands:
        wait_for_a_person(table)
        name = words[words.index("--name") + 1] if "--name" in words else ""
        result = shoectl(*words, input=f"{PINS[name]}\n" if name else "")
        assert result.exit_code == 0, (words, result.output)
        printed = {masked(line) for line in result.stdout.splitlines()}
        for line in shown:
            assert masked(line) in printed, f"{words}: expected {line!r} in\n{result.stdout}"
    assert table.table()["table"] == "closed"
