"""Arguments and options shared by several verbs: PORT, --baud, --driver, --json, --force. Those for the daemon and the
journal are in daemon_option.py and journal_option.py.
"""

from __future__ import annotations

import dataclasses

import click

from controller.games import GAMES, not_loaded
from firmware_bridge.drivers.angel_eye.recognise import BAUD as ANGEL_EYE_BAUD
from firmware_bridge.ports.transport import PortSettings, PortUnsuitable, parse_address

ANGEL_EYE = "angel-eye"


class Address(click.ParamType[str]):
    """The address of a port, as open_port() takes it."""

    name = "port"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the address; UsageError if it is not valid."""
        try:
            parse_address(value)
        except PortUnsuitable as error:
            raise click.UsageError(str(error), ctx) from None
        return value


class GameName(click.Choice[str]):
    """The name of a game. The error also says which modules with games cannot be used, and why."""

    def __init__(self) -> None:
        super().__init__(list(GAMES))

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """What is wrong with the name."""
        return "; ".join([super().get_invalid_choice_message(value, ctx).rstrip("."), *not_loaded()])


def _settings(ctx: click.Context, param: click.Parameter, baud: int) -> PortSettings:
    """The settings for a port. A caller can pass its own as the context's object."""
    given = ctx.obj if isinstance(ctx.obj, PortSettings) else PortSettings()
    return dataclasses.replace(given, baud=baud)


baud_option = click.option(
    "--baud", "settings", type=click.IntRange(min=50), default=115200, show_default=True, callback=_settings,
    help="Speed of a serial port.",
)  # fmt: skip
driver_option = click.option(
    "--driver", type=click.Choice([ANGEL_EYE]), callback=lambda ctx, param, name: name or "",
    help="The protocol of another maker's device, at its own speed unless --baud is given.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
lines_option = click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")
force_option = click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")


def of_driver(driver: str, settings: PortSettings) -> PortSettings:
    """The settings for a port at which a device of this driver is."""
    if not driver or settings.baud != PortSettings().baud:
        return settings
    return dataclasses.replace(settings, baud=ANGEL_EYE_BAUD)
