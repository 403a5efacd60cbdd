"""`shoectl screen`: the address of the table's own screen, with the token that lets it read everything."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import terminal
from controller.cli.config import config_errors
from controller.cli.options import json_option
from controller.daemon.config import CONFIG_FILE, ConfigError, ScreenConfig, read_config
from controller.daemon.screen_token import screen_url, write_token


@click.command("screen")
@click.option("--config", "config_file", type=click.Path(path_type=Path), default=CONFIG_FILE, show_default=True,
              help="The table's configuration. If this user may not read it, the defaults are used.")  # fmt: skip
@click.option("--new", is_flag=True, help="Replace the token first: only the new address works from then on.")
@json_option
@config_errors()
def screen_verb(config_file: Path, new: bool, as_json: bool) -> None:
    """Print the address of the table's own screen, for its browser.

    The address contains a token. Whoever opens it sees everything that the screen shows, but needs
    a PIN to act.

    \b
    Examples:
      shoectl screen
      chromium --kiosk "$(shoectl screen)"
      sudo shoectl screen --new
    """
    screen = _screen(config_file)
    if new:
        write_token(Path(screen.token))
    url = screen_url(screen)
    if as_json:
        terminal.print_json({"url": url})
    else:
        terminal.print_line(url)


def _screen(config_file: Path) -> ScreenConfig:
    try:
        found = read_config(config_file).screen
    except ConfigError:
        return ScreenConfig()
    if found is None:
        raise ConfigError(f"{config_file}: the table has no screen; add a section [screen]")
    return found
