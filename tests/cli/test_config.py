"""`shoectl config`: the example is valid, and every error in a file is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller.cli.shoed import shoed
from controller.daemon.config import EXAMPLE
from tests.support.shoectl import complaint, shoectl


def test_config(tmp_path: Path) -> None:
    file = tmp_path / "table.toml"
    file.write_text(shoectl("config", "example").stdout)
    assert file.read_text() == EXAMPLE
    good = shoectl("config", "check", str(file))
    assert (good.exit_code, good.stdout) == (0, f"{file}: valid: Table 1, automated shoe, backs red, blue\n")
    assert json.loads(shoectl("config", "check", str(file), "--json").stdout)["good"] is True
    file.write_text("nmae = 1\n[table]\nseats = 'six'\n")
    bad = shoectl("config", "check", str(file))
    assert (bad.exit_code, bad.stdout) == (1, "")
    first, second = bad.stderr.splitlines()
    assert first.startswith(f"shoectl: {file}: nmae: ")
    assert "table.seats" in second
    result = shoectl("config", "check", str(file), "--json")
    assert (result.exit_code, result.stderr) == (1, "")
    assert len(json.loads(result.stdout)["faults"]) == 2
    assert "No such file" in complaint(shoectl("config", "check", str(tmp_path / "nothing")))


PORTS = '[shuffler]\nport = "/dev/a"\n{}[shoe]\nport = "/dev/b"\n'
NO_SHOE = '[shuffler]\nport = "/dev/a"\nfeeds_shoe = {}\n'
BACCARAT, CHINESE = "dragon-baccarat-tournament", "dragon-poker-chinese-deck"


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ('[table]\nmethod = "hand"\nbacks = ["red"]\n', "table.method", "(9.A(1))"),
        ('[table]\nmethod = "manual_shoe"\n', "table.backs", "(3.B)"),
        ('[table]\nmethod = "hand"\n' + NO_SHOE.format("true"), "shuffler.feeds_shoe", "(5.C, 9)"),
        (PORTS.format("counts = false\nreshuffles = true\n"), "shuffler.counts", "(5.I)"),
        (
            f'[table]\ngame = "{BACCARAT}"\nmethod = "hand"\n' + NO_SHOE.format("false"),
            "table.method",
            "is not dealt by hand; allowed when the dealing method is automated shoe or manual shoe (3.7)",
        ),
        (
            f'[table]\ngame = "{CHINESE}"\nseats = 4\n[table.options.pack]\nF1 = 1\n' + PORTS.format(""),
            "table.options",
            "pack",
        ),
        (f'[table]\ngame = "{BACCARAT}"\nhold_dealer = true\n' + PORTS.format(""), "table.hold_dealer", "dealer's"),
        ('[table.options]\nante_bonus = "C"\n' + PORTS.format(""), "table.options", "(12.B)"),
        ('[table.options]\ncolour = "C"\n' + PORTS.format(""), "table.options.colour", "the options are ante_bonus"),
    ],
)
def test_a_set_up_that_the_rules_do_not_allow_is_refused_with_its_key_and_its_clause_or_reason(
    tmp_path: Path, text: str, key: str, reason: str
) -> None:
    file = tmp_path / "table.toml"
    file.write_text(text)
    checked = shoectl("config", "check", str(file))
    started = CliRunner().invoke(shoed, ["--config", str(file)])
    for result in (checked, started):
        assert (result.exit_code, result.stdout) == (1, "")
        lines = [line for line in result.stderr.splitlines() if f"{file}: {key}: " in line]
        assert len(lines) == 1, result.stderr
        assert reason in lines[0]
        assert "Traceback" not in result.stderr
        assert isinstance(result.exception, SystemExit)
