"""The arguments and options that the verbs share."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from controller.cli.client import INSTALLED, SIMULATED, VARIABLE, Client, ClientError, find_socket
from firmware_bridge.ports.transport import PortSettings, PortUnsuitable, parse_address


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


class Daemon(click.ParamType[Client]):
    """The socket of a daemon, and whoever is behind it."""

    name = "socket"

    def convert(self, value: str | Path | Client, param: click.Parameter | None, ctx: click.Context | None) -> Client:
        """Nothing is asked yet: whether anybody is there is seen when something is."""
        return value if isinstance(value, Client) else Client(Path(value))


def _daemon(ctx: click.Context, param: click.Parameter, given: Client | None) -> Client:
    if given is not None:
        return given
    try:
        return Client(find_socket())
    except ClientError as error:
        raise click.ClickException(str(error)) from None


socket_option = click.option(
    "--socket", "daemon", type=Daemon(), metavar="PATH", callback=_daemon,
    help=f"The daemon's socket; otherwise ${VARIABLE}, {INSTALLED} or {SIMULATED}, whichever is there.",
)  # fmt: skip
