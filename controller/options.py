"""The arguments and options that the verbs of a technician share."""

from __future__ import annotations

import dataclasses

import click

from firmware_bridge.transport import PortSettings, PortUnsuitable, parse_address


class Address(click.ParamType[str]):
    """A port address as open_port() takes it."""

    name = "port"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Wrong usage if it is none."""
        try:
            parse_address(value)
        except PortUnsuitable as error:
            raise click.UsageError(str(error), ctx) from None
        return value


def _settings(ctx: click.Context, param: click.Parameter, baud: int) -> PortSettings:
    """The settings for a port; a program that calls the verbs may bring its own in the context."""
    given = ctx.obj if isinstance(ctx.obj, PortSettings) else PortSettings()
    return dataclasses.replace(given, baud=baud)


baud_option = click.option(
    "--baud", "settings", type=click.IntRange(min=50), default=115200, show_default=True, callback=_settings,
    help="Speed of a serial port.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
lines_option = click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")
