"""`shoectl config`: the example is valid, and every error in a file is reported."""

from __future__ import annotations

import json
from pathlib import Path

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
