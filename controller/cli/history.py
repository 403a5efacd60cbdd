"""`shoectl round` and `shoectl impact`: a round as it was dealt; the rounds that a wrong count may have affected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from controller.cli import terminal
from controller.cli.client import Client, ClientError, RequestRefused, find_socket
from controller.cli.journal_option import journal_errors, journal_option, number_type
from controller.cli.options import json_option
from controller.cli.progress import Progress
from controller.core.events import UnreadableEvent, read
from controller.core.events.event import Entry
from controller.core.history import impact, rebuild
from controller.journal import JournalForbidden, JournalReader, check


def _events(reader: JournalReader) -> Iterator[Entry]:
    """The events as the core reads them, each checked against the chain: a forged journal must not settle a dispute."""
    with Progress("read {} events", reader.head.seq) as progress:
        for event in progress.over(check(reader.events())):
            try:
                yield read(event.seq, event.kind, event.clause, event.data)
            except UnreadableEvent as error:
                raise click.ClickException(f"{error}; use the version of shoectl that wrote this journal") from None


def _round_from_daemon(number: int) -> dict[str, Any]:
    """The round, for users who have a role at the table but may not read the journal's file.

    Empty if no daemon answers.
    """
    try:
        found: dict[str, Any] = Client(find_socket()).get(f"rounds/{number}")
    except RequestRefused as error:
        raise click.ClickException(str(error)) from None
    except ClientError:
        return {}
    terminal.print_message("this user may not read the journal; the daemon supplied this, its chain was not checked")
    return found


@click.command("round")
@click.argument("number", type=number_type)
@journal_option
@json_option
@journal_errors()
def round_verb(number: int, path: Path, as_json: bool) -> int:
    """Show a round as it was dealt.

    Who got which stack, and in which order the hands were collected.

    \b
    Example:
      shoectl round 17
    """
    try:
        with JournalReader(path) as reader:
            found = rebuild(_events(reader), number)
    except JournalForbidden:
        if click.get_current_context().get_parameter_source("path") is not ParameterSource.DEFAULT:
            raise
        found = _round_from_daemon(number)
        if not found:
            raise
    if not found:
        raise click.ClickException(f"{path}: there was no round {number}")
    if as_json:
        terminal.print_json(found)
        return 0
    ended = {"round.completed": "completed", "round.voided": "void", "": "not ended yet"}[found["ended"]]
    terminal.print_line(f"round {number}: deck {found['deck']}, {found['method'].replace('_', ' ')}, {ended}")
    for target, hand in found["hands"].items():
        kinds = f": kinds {', '.join(map(str, hand['kinds']))}" if hand["kinds"] else ""
        terminal.print_line(f"  {target:<8} {hand['cards']} cards{kinds}")
    terminal.print_line(f"  collected: {', '.join(found['collected']) or 'nothing yet'}")
    if found["face_up"]:
        terminal.print_line(f"  found face up: {found['face_up']}")
    return 0


@click.command("impact")
@click.argument("deck")
@journal_option
@json_option
@journal_errors()
def impact_verb(deck: str, path: Path, as_json: bool) -> int:
    """Show what was dealt from DECK since its last correct count.

    These are the rounds and stacks that a wrong count may have affected.

    \b
    Example:
      shoectl impact red-1
    """
    with JournalReader(path) as reader:
        decks: set[str] = set()

        def noting_decks() -> Iterator[Entry]:
            for event in _events(reader):
                if event.kind == "deck.received":
                    decks.add(event.data["deck"])
                yield event

        rounds = impact(noting_decks(), deck)
    if deck not in decks:
        known = ", ".join(sorted(decks)) or "none"
        raise click.ClickException(f"{path}: deck {deck} was never at the table; these were: {known}")
    if as_json:
        terminal.print_json(rounds)
        return 0
    stacks = terminal.count(sum(len(one["stacks"]) for one in rounds), "stack")
    terminal.print_line(
        f"deck {deck}: {terminal.count(len(rounds), 'round')} with {stacks} since its last correct count"
    )
    for one in rounds:
        hands = ", ".join(f"{stack['target']} {stack['cards']}" for stack in one["stacks"])
        terminal.print_line(f"  round {one['round']}: {hands}")
    return 0
