"""`shoectl person` and `shoectl config`: who may sign in at the screen, and the table's configuration file."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click
from click.shell_completion import CompletionItem

from controller.cli import terminal
from controller.cli.options import json_option
from controller.core.actions import Role
from controller.daemon.config import CONFIG_FILE, EXAMPLE, ConfigError, ScreenConfig, read_config

if TYPE_CHECKING:
    from controller.daemon.people import PeopleFile, Person

P = ParamSpec("P")
R = TypeVar("R")


def told(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb, what is wrong with a file told a line each."""

    @functools.wraps(verb)
    def wrapped(*args: P.args, **given: P.kwargs) -> R:
        try:
            return verb(*args, **given)
        except ConfigError as error:
            *first, last = str(error).splitlines()
            for line in first:
                terminal.tell(line)
            raise click.ClickException(last) from None

    return wrapped


# --- config ---------------------------------------------------------------------------------------------------------


@click.group("config")
def config() -> None:
    """Check the table's configuration, or print an example.

    The daemon reads it when it starts: `sudo systemctl restart shoed` takes up a change.
    """


@config.command("check")
@click.argument("file", metavar="[FILE]", type=click.Path(path_type=Path, readable=False), default=CONFIG_FILE)
@json_option
@told
def check(file: Path, as_json: bool) -> int:
    """Check FILE as a whole, as the daemon does; otherwise /etc/shoed/table.toml.

    Every error names the key, what was found and what is allowed. Exit code 0 only if the daemon
    would start with it.

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
        terminal.say_json({"file": str(file), "good": False, "faults": str(error).splitlines()})
        return 1
    if as_json:
        terminal.say_json({"file": str(file), "good": True, "faults": []})
    else:
        how = found.table.method.replace("_", " ")
        terminal.say(
            terminal.plain(f"{file}: good: {found.name}, {how}, backs {', '.join(found.table.backs)}"), "green"
        )
    return 0


@config.command("example")
def example() -> None:
    """Print a configuration with all that can be in it, and remarks.

    \b
    Example:
      shoectl config example | sudo tee /etc/shoed/table.toml
    """
    sys.stdout.write(EXAMPLE)


# --- person ---------------------------------------------------------------------------------------------------------


def _people_file(ctx: click.Context, param: click.Parameter, given: Path | None) -> Path:
    """The file that was given, or the one that the configuration names, or the usual one."""
    if given is not None:
        return given
    try:
        screen = read_config(CONFIG_FILE).screen
    except ConfigError:
        screen = None
    return Path((screen or ScreenConfig()).people)


people_option = click.option(
    "--people", "path", type=click.Path(path_type=Path, readable=False), metavar="FILE", callback=_people_file,
    help="The people file; otherwise the one that the configuration names.",
)  # fmt: skip
roles_option = click.option(
    "--role", "roles", type=click.Choice([str(role) for role in Role]), multiple=True, required=True,
    help="What the person is at the table; may be given again.",
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
    """Say who may sign in at the screen, and as what.

    Of a PIN only a salted hash is kept (scrypt). The daemon looks at the file whenever somebody
    signs in: nothing needs a restart.
    """


def _known(path: Path, name: str) -> tuple[PeopleFile, Person]:
    from controller.daemon.people import read_people

    people = read_people(path)
    found = next((one for one in people.person if one.name == name), None)
    if found is None:
        names = ", ".join(one.name for one in people.person) or "nobody"
        raise click.ClickException(f"{path}: there is no {name}; there is {names}")
    return people, found


def _new_pin(name: str) -> str:
    """The hash of a PIN that a person types twice without it being seen, or that comes on standard input."""
    from controller.daemon.people import hash_pin, pin_fault

    if sys.stdin.isatty():
        pin = click.prompt(f"PIN of {name}", hide_input=True, confirmation_prompt="Again", err=True)
    else:
        pin = sys.stdin.readline().rstrip("\r\n")
    fault = pin_fault(pin)
    if fault:
        raise click.ClickException(fault)
    return hash_pin(pin)


def _kept(path: Path, people: PeopleFile, as_json: bool, done: str) -> None:
    from controller.daemon.people import write_people

    write_people(path, people)
    if as_json:
        terminal.say_json(_shown(people))
    else:
        terminal.say(terminal.plain(f"{path}: {done}"))


def _shown(people: PeopleFile) -> list[dict[str, object]]:
    return [{"name": one.name, "roles": [str(role) for role in one.roles]} for one in people.person]


@person.command("list")
@people_option
@json_option
@told
def list_people(path: Path, as_json: bool) -> None:
    """List the people and their roles.

    \b
    Example:
      sudo shoectl person list
    """
    from controller.daemon.people import read_people

    people = _shown(read_people(path))
    if as_json:
        terminal.say_json(people)
    elif not people:
        terminal.tell(f"{path}: nobody yet; `shoectl person add NAME --role ROLE`")
    else:
        rows = [(str(one["name"]), ", ".join(map(str, one["roles"]))) for one in people]  # type: ignore[call-overload]
        heads, *lines = terminal.table(("NAME", "ROLES"), rows)
        terminal.say(heads, bold=True)
        for line in lines:
            terminal.say(line)


@person.command()
@click.argument("name")
@roles_option
@people_option
@json_option
@told
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
        raise click.UsageError(f"{name!r} is no name: letters, digits and blanks, at most 40")
    if any(one.name == name for one in people.person):
        raise click.ClickException(f"{path}: {name} is there already; `shoectl person roles` changes what {name} is")
    wanted = [Role(role) for role in dict.fromkeys(roles)]
    people.person.append(Person(name, wanted, _new_pin(name)))
    _kept(path, people, as_json, f"{name} may sign in as {', '.join(wanted)}")


@person.command()
@name_argument
@people_option
@json_option
@told
def pin(name: str, path: Path, as_json: bool) -> None:
    """Give a person a new PIN. It is asked for, or read from standard input.

    \b
    Example:
      sudo shoectl person pin Dana
    """
    people, found = _known(path, name)
    found.pin = _new_pin(name)
    _kept(path, people, as_json, f"{name} has a new PIN")


@person.command()
@name_argument
@roles_option
@people_option
@json_option
@told
def roles(name: str, roles: tuple[str, ...], path: Path, as_json: bool) -> None:
    """Change what a person is at the table.

    \b
    Example:
      sudo shoectl person roles Dana --role dealer --role floor
    """
    people, found = _known(path, name)
    found.roles = [Role(role) for role in dict.fromkeys(roles)]
    _kept(path, people, as_json, f"{name} may sign in as {', '.join(found.roles)}")


@person.command()
@name_argument
@people_option
@json_option
@told
def remove(name: str, path: Path, as_json: bool) -> None:
    """Remove a person: no more signing in.

    \b
    Example:
      sudo shoectl person remove Dana
    """
    people, found = _known(path, name)
    people.person.remove(found)
    _kept(path, people, as_json, f"{name} may not sign in any more")
