"""`shoectl config`: checks the table's configuration file, or prints an example of one."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from controller.cli import terminal
from controller.cli.options import json_option
from controller.daemon.config import CONFIG_FILE, EXAMPLE, ConfigError, read_config


@contextlib.contextmanager
def config_errors() -> Iterator[None]:
    """Print every error in a configuration or people file on its own line; used as a decorator of verbs."""
    try:
        yield
    except ConfigError as error:
        *first, last = str(error).splitlines()
        for line in first:
            terminal.print_message(line)
        raise click.ClickException(last) from None


@click.group("config")
def config() -> None:
    """Check the table's configuration, or print an example.

    The daemon reads its configuration when it starts: `sudo systemctl restart shoed` applies a
    change.
    """


@config.command("check")
@click.argument("file", metavar="[FILE]", type=click.Path(path_type=Path, readable=False), default=CONFIG_FILE)
@json_option
@config_errors()
def check(file: Path, as_json: bool) -> int:
    """Check the whole of FILE, as the daemon does. Default: /etc/shoed/table.toml.

    Every error names the key, its value and what is allowed. Exit code 0 only if the daemon would
    start with this file.

    \b
    Examples:
      shoectl config check
      shoectl config check new.toml
    """
    try:
        found = read_config(file)
    except ConfigError as error:
        if not as_json:
            raise
        terminal.print_json({"file": str(file), "good": False, "faults": str(error).splitlines()})
        return 1
    if as_json:
        terminal.print_json({"file": str(file), "good": True, "faults": []})
    else:
        method = found.table.method.replace("_", " ")
        text = f"{file}: valid: {found.name}, {method}, backs {', '.join(found.table.backs)}"
        terminal.print_line(terminal.printable(text), "green")
    return 0


@config.command("example")
def example() -> None:
    """Print a configuration with all settings and comments.

    \b
    Example:
      shoectl config example | sudo tee /etc/shoed/table.toml
    """
    sys.stdout.write(EXAMPLE)
