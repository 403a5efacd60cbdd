"""What the verbs that talk to the daemon share: --socket, error messages, and names for completion."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from controller.cli.client import INSTALLED, SIMULATED, VARIABLE, Client, ClientError, RequestRefused, find_socket

COMPLETION_TIMEOUT_S = 1.0  # the person waits at the prompt


class DaemonAddress(click.ParamType[Client]):
    """The path of a daemon's socket, converted to a client for it."""

    name = "socket"

    def convert(self, value: str | Path | Client, param: click.Parameter | None, ctx: click.Context | None) -> Client:
        """The client. It connects with its first request, not here."""
        return value if isinstance(value, Client) else Client(Path(value))


@contextlib.contextmanager
def daemon_errors() -> Iterator[None]:
    """Turn errors of the client into errors of the command; used as a decorator of verbs."""
    try:
        yield
    except RequestRefused as error:
        raise (click.UsageError if error.is_usage else click.ClickException)(str(error)) from None
    except ClientError as error:
        raise click.ClickException(str(error)) from None


def _found_daemon(ctx: click.Context, param: click.Parameter, given: Client | None) -> Client:
    with daemon_errors():
        return given or Client(find_socket())


_option = partial(click.option, "--socket", "daemon", type=DaemonAddress(), metavar="PATH")
socket_option = _option(
    help=f"The daemon's socket. Default: ${VARIABLE}, {INSTALLED} or {SIMULATED}, the first that exists.",
    callback=_found_daemon,
)
optional_socket_option = _option(help="The daemon's socket.")  # for verbs that also work without a daemon


def get_for_completion(ctx: click.Context, path: str) -> Any:
    """The daemon's answer, or None if there is none at once."""
    given = ctx.params.get("daemon")
    try:
        socket = given.path if isinstance(given, Client) else find_socket()
        return Client(socket, COMPLETION_TIMEOUT_S).get(path)
    except ClientError:
        return None


def complete_device(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The names of the table's devices that begin with what was typed."""
    table = get_for_completion(ctx, "table")
    names = [device["name"] for device in table["devices"]] if table else []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
