"""Runs `shoectl` inside the test's process, and reads what it printed."""

from __future__ import annotations

import json
import sys
from typing import Any

from click.testing import CliRunner, Result

from controller.cli.shoectl import cli

SHOECTL = [sys.executable, "-c", "from controller.cli.shoectl import main; main()"]  # as a process of its own


def shoectl(*words: str, obj: object = None, **more: Any) -> Result:
    """The result of a command; an exception that shoectl did not catch is raised."""
    result = CliRunner().invoke(cli, list(words), obj=obj, **more)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def complaint(result: Result, code: int = 1) -> str:
    """The error message, which is a single line."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("shoectl: ")
    return line


def json_lines(text: str) -> list[dict[str, Any]]:
    """The values of JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]
