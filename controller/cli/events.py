"""`shoectl events`: what happened at the table, from the daemon or from a journal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from controller.api.history import EventFilter, check_device, check_kind, check_origin, check_times, find_events
from controller.cli import terminal
from controller.cli.client import Client, find_socket
from controller.cli.daemon_option import complete_device, daemon_errors, optional_socket_option
from controller.cli.journal_option import (
    MOST_FROM_DAEMON,
    from_records,
    journal_errors,
    number_option,
    optional_journal_option,
    since_option,
    until_option,
    who_option,
)
from controller.cli.options import lines_option
from controller.cli.table_text import clauses


def _checked(check: Callable[[str], None]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback for an option, which may be repeated: UsageError, with the known words, if a value is unknown."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        for one in value if isinstance(value, tuple) else [value]:
            if one:
                try:
                    check(one)
                except ValueError as error:
                    raise click.UsageError(str(error), ctx) from None
        return value

    return callback


checked_kind = _checked(check_kind)


def readable_filter(given: dict[str, Any]) -> EventFilter:
    """The filter of a command. An argument that is not valid UTF-8 matches nothing."""
    given = {name: value for name, value in given.items() if value is not None}
    try:
        check_times(given.get("since", ""), given.get("until", ""))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    text = {name: value.encode(errors="replace").decode() for name, value in given.items() if isinstance(value, str)}
    return EventFilter(**given | text)


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Continue with new events as they happen, until Ctrl-C.")
@click.option("--kind", metavar="KIND", callback=checked_kind,
              help="Only events of this kind or group of kinds: round.voided, or round.")  # fmt: skip
@click.option("--after", type=click.IntRange(min=0), metavar="SEQ", help="Only events after this number.")
@number_option("events", ": the newest, or the first ones after --after")
@since_option
@until_option
@who_option
@click.option("--origin", metavar="WHERE", callback=_checked(check_origin),
              help="Only actions that came from there: screen, socket or device.")  # fmt: skip
@click.option("--round", "round", type=click.IntRange(min=1), metavar="N",
              help="Only events from the first to the last of this round.")  # fmt: skip
@click.option("--deck", metavar="NAME", help="Only events of this deck.")
@click.option("--device", metavar="NAME", shell_complete=complete_device, callback=_checked(check_device),
              help="Only events of this device: shuffler or shoe.")  # fmt: skip
@click.option("--text", metavar="WORDS", help="Only events whose sentence or data contains these words.")
@optional_journal_option
@optional_socket_option
@lines_option
@daemon_errors()
@journal_errors()
def events(
    follow: bool,
    after: int | None,
    number: int,
    path: Path | None,
    daemon: Client | None,
    as_json: bool,
    **filters: Any,
) -> None:
    """Show what happened at the table, oldest first.

    With --journal it reads a journal or a copy of one, without a daemon.

    \b
    Examples:
      shoectl events
      shoectl events --follow
      shoectl events --round 17
      shoectl events --kind device --text jam
      shoectl events --journal copy.db --who flo --since '2026-01-31 22:00'
    """
    wanted = readable_filter(filters)
    if follow:
        _follow(wanted, after, number, path, daemon, as_json)
        return

    if wanted.round and click.get_current_context().get_parameter_source("number") is ParameterSource.DEFAULT:
        number = MOST_FROM_DAEMON  # a round is shown from its first event to its last

    def ask(client: Client) -> list[dict[str, Any]]:
        return _ask(client, wanted, after, min(number + 1, MOST_FROM_DAEMON))

    found = from_records(
        path,
        daemon,
        ask,
        lambda reader: find_events(reader, wanted, after=after or 0, limit=number + 1, newest=after is None),
    )
    shown = found[-number:] if after is None else found[:number]
    for event in shown:
        _print_event(event, as_json)
    if len(found) > number:
        which = "newest" if after is None else "first"
        terminal.print_message(f"only the {which} {number} events are shown; -n N shows up to N of them")
    if not found and not as_json:
        terminal.print_message(
            f"there was no round {wanted.round}" if _only_round(wanted) else "there are no such events"
        )


def _only_round(wanted: EventFilter) -> bool:
    return bool(wanted.round) and wanted == EventFilter(round=wanted.round)


def _ask(client: Client, wanted: EventFilter, after: int | None, number: int) -> list[dict[str, Any]]:
    given = {name: getattr(wanted, name) or None for name in wanted.__struct_fields__}
    answer = client.get("events", after=after, limit=number, newest=after is None or None, **given)
    return sorted(answer["events"], key=lambda event: int(event["seq"]))


def _follow(
    wanted: EventFilter, after: int | None, number: int, path: Path | None, daemon: Client | None, as_json: bool
) -> None:
    if path is not None or any(getattr(wanted, name) for name in wanted.__struct_fields__ if name != "kind"):
        raise click.UsageError("--follow can only be combined with --kind and --after")
    client = daemon or Client(find_socket())
    head = client.get("journal")["head"]  # asked first, so that no event is missed in between
    found = _ask(client, wanted, after, number)
    for event in found:
        _print_event(event, as_json)
    last = found[-1]["seq"] if found else 0
    seen = last if after is not None and len(found) == number else max(head, last)
    with contextlib.suppress(KeyboardInterrupt):
        _print_new(client, seen, wanted.kind, as_json)


def _print_new(daemon: Client, seen: int, kind: str, as_json: bool) -> None:
    sys.stdout.flush()
    for message in daemon.stream(after=seen, only="journal"):
        if message.event == "gap":
            terminal.print_message(f"some events were skipped: {message.data}")
        if message.event != "journal" or message.data["seq"] <= seen:
            continue
        seen = message.data["seq"]
        if message.data["kind"].startswith(kind):
            _print_event(message.data, as_json)
            sys.stdout.flush()


def _print_event(event: dict[str, Any], as_json: bool) -> None:
    if as_json:
        terminal.print_json(event)
        return
    head = f"{event['seq']:>6}  {terminal.utc(event['ts'])}  {event['kind']:<20}  "
    terminal.print_wrapped(head, f"{event['text']}{clauses(event['clause'])}{_by_whom(event)}")


def _by_whom(event: dict[str, Any]) -> str:
    """The person, if the sentence does not name them, and where the action came from."""
    who, origin = event["data"].get("who") or "", event["data"].get("origin") or ""
    named = who.casefold() in event["text"].casefold()
    said = ["" if named else who, "" if origin == who else origin]
    return f" [{', '.join(filter(None, said))}]" if any(said) else ""
