"""`shoectl person`: the people who may sign in at the screen, their roles and PINs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from controller.cli import terminal
from controller.cli.client import Client
from controller.cli.config import config_errors
from controller.cli.daemon_option import daemon_errors, socket_option
from controller.cli.options import json_option
from controller.cli.pin_prompt import read_pin
from controller.core.actions import Role
from controller.daemon.config import CONFIG_FILE, ConfigError, ScreenConfig, read_config

if TYPE_CHECKING:
    from controller.daemon.people import PeopleFile, Person  # loaded when used: hashing takes time to import


def _people_file(ctx: click.Context, param: click.Parameter, given: Path | None) -> Path:
    """The given file, the configured one, or the default."""
    if given is not None:
        return given
    try:
        screen = read_config(CONFIG_FILE).screen
    except ConfigError:
        screen = None
    return Path((screen or ScreenConfig()).people)


people_option = click.option(
    "--people", "path", type=click.Path(path_type=Path, readable=False), metavar="FILE", callback=_people_file,
    help="The people file. Default: the one in the configuration.",
)  # fmt: skip
roles_option = click.option(
    "--role", "roles", type=click.Choice([str(role) for role in Role]), multiple=True, required=True,
    help="A role of the person at the table; can be repeated.",
)  # fmt: skip


def _complete_name(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    from controller.daemon.people import read_people

    try:
        path = _people_file(ctx, param, ctx.params.get("path"))
        return [CompletionItem(one.name) for one in read_people(path).person if one.name.startswith(incomplete)]
    except ConfigError:
        return []


name_argument = click.argument("name", shell_complete=_complete_name)


@click.group("person")
def person() -> None:
    """Manage who may sign in at the screen, and in which roles.

    Only a salted hash of each PIN is stored (scrypt). The daemon reads the file whenever somebody
    signs in: no restart is needed.
    """


@person.command("list")
@people_option
@json_option
@config_errors()
def list_people(path: Path, as_json: bool) -> None:
    """List the people and their roles.

    \b
    Example:
      sudo shoectl person list
    """
    from controller.daemon.people import read_people

    people = read_people(path)
    if as_json:
        terminal.print_json(_fields(people))
    elif not people.person:
        terminal.print_message(f"{path}: nobody is registered; use `shoectl person add NAME --role ROLE`")
    else:
        terminal.print_table(("NAME", "ROLES"), [(one.name, ", ".join(one.roles)) for one in people.person])


@person.command()
@click.argument("name")
@roles_option
@people_option
@json_option
@config_errors()
def add(name: str, roles: tuple[str, ...], path: Path, as_json: bool) -> None:
    """Add a person. The PIN is asked for, or read from standard input.

    \b
    Examples:
      sudo shoectl person add Dana --role dealer
      sudo shoectl person add "Flo Adams" --role floor --role dealer
    """
    from controller.daemon.people import NAME, Person, read_people

    people = read_people(path)
    if not NAME.fullmatch(name):
        raise click.UsageError(f"{name!r} is not a valid name: use letters, digits and spaces, at most 40")
    if any(one.name == name for one in people.person):
        raise click.ClickException(f"{path}: {name} already exists; `shoectl person roles` changes the roles")
    people.person.append(_with_new_pin(Person(name, _unique(roles), "")))
    _save(path, people, as_json, f"{name} may sign in as {', '.join(_unique(roles))}")


def _change(change: Callable[..., str]) -> click.Command:
    """Make a verb of this group from a function that changes a person and returns what it did."""

    @functools.wraps(change)
    @config_errors()
    def verb(name: str, path: Path, as_json: bool, **arguments: Any) -> None:
        people, found = _find(path, name)
        _save(path, people, as_json, change(people, found, **arguments))

    return person.command()(name_argument(people_option(json_option(verb))))


@_change
def pin(people: PeopleFile, found: Person) -> str:
    """Give a person a new PIN. It is asked for, or read from standard input.

    \b
    Example:
      sudo shoectl person pin Dana
    """
    _with_new_pin(found)
    return f"{found.name} has a new PIN"


@_change
@roles_option
def roles(people: PeopleFile, found: Person, roles: tuple[str, ...]) -> str:
    """Change a person's roles.

    \b
    Example:
      sudo shoectl person roles Dana --role dealer --role floor
    """
    found.roles = _unique(roles)
    text = f"{found.name} may sign in as {', '.join(found.roles)}"
    advice = f"; a floorperson needs a six-digit PIN: shoectl person pin {found.name}"
    return text + advice if found.pin_short else text


@_change
def remove(people: PeopleFile, found: Person) -> str:
    """Remove a person, who can then no longer sign in. A running daemon signs them out at once.

    \b
    Example:
      sudo shoectl person remove Dana
    """
    people.person.remove(found)
    return f"{found.name} can no longer sign in"


@person.command()
@click.argument("name")
@socket_option
@json_option
@daemon_errors()
def unlock(name: str, daemon: Client, as_json: bool) -> None:
    """End the lock-out of a person after wrong PINs. You must be a floorperson or a technician.

    The journal records who did it.

    \b
    Example:
      sudo shoectl person unlock "Flo Adams"
    """
    answer = daemon.post("people/unlock", {"name": name})
    if as_json:
        terminal.print_json(answer)
    else:
        terminal.print_line(terminal.printable(f"{name} may try again"))


def _find(path: Path, name: str) -> tuple[PeopleFile, Person]:
    from controller.daemon.people import read_people

    people = read_people(path)
    found = next((one for one in people.person if one.name == name), None)
    if found is None:
        names = ", ".join(one.name for one in people.person) or "nobody"
        raise click.ClickException(f"{path}: there is no {name}; registered: {names}")
    return people, found


def _unique(roles: tuple[str, ...]) -> list[Role]:
    return [Role(role) for role in dict.fromkeys(roles)]


def _with_new_pin(found: Person) -> Person:
    """The person with a new PIN, which is typed twice."""
    from controller.daemon.people import FLOOR_PIN_DIGITS, hash_pin, pin_fault

    pin = read_pin(found.name, twice=True)
    fault = pin_fault(pin, found.roles)
    if fault:
        raise click.ClickException(fault)
    found.pin, found.six_digits = hash_pin(pin), len(pin) >= FLOOR_PIN_DIGITS
    return found


def _save(path: Path, people: PeopleFile, as_json: bool, done: str) -> None:
    from controller.daemon.people import write_people

    write_people(path, people)
    if as_json:
        terminal.print_json(_fields(people))
    else:
        terminal.print_line(terminal.printable(f"{path}: {done}"))


def _fields(people: PeopleFile) -> list[dict[str, object]]:
    """The people for JSON, without their PINs."""
    return [{"name": one.name, "roles": [str(role) for role in one.roles]} for one in people.person]
