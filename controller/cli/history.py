"""`shoectl round` and `shoectl impact`: a round as it was dealt, and what a wrong count may have touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from controller.cli import terminal
from controller.cli.client import Answered, Client, ClientError, find_socket
from controller.cli.journal_proof import journal_option, number_type, told
from controller.cli.options import json_option
from controller.cli.progress import Progress
from controller.core.events import read
from controller.core.events.event import Entry
from controller.core.history import impact, rebuild
from controller.journal import JournalForbidden, JournalReader, check


def _events(reader: JournalReader) -> Iterator[Entry]:
    """The events as the core knows them, each checked against the chain: a dispute is not settled by a forgery."""
    with Progress("read {} events", reader.head.seq) as progress:
        for event in progress.over(check(reader.events())):
            yield read(event.seq, event.kind, event.clause, event.data)


def _asked(number: int) -> dict[str, Any]:
    """The round as the daemon tells it, for whoever has a role at the table but may not read the journal's file.

    Empty where no daemon answers.
    """
    try:
        told: dict[str, Any] = Client(find_socket()).get(f"rounds/{number}")
    except Answered as error:
        raise click.ClickException(str(error)) from None
    except ClientError:
        return {}
    terminal.tell("this user may not read the journal: told by the daemon, the chain was not checked here")
    return told


@click.command("round")
@click.argument("number", type=number_type)
@journal_option
@json_option
@told
def round_verb(number: int, path: Path, as_json: bool) -> int:
    """Rebuild a round as it was dealt.

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
        found = _asked(number)
        if not found:
            raise
    if not found:
        raise click.ClickException(f"{path}: there was no round {number}")
    if as_json:
        terminal.say_json(found)
        return 0
    how = {"round.completed": "completed", "round.voided": "void", "": "not ended yet"}[found["ended"]]
    terminal.say(f"round {number}: deck {found['deck']}, {found['method'].replace('_', ' ')}, {how}")
    for target, hand in found["hands"].items():
        kinds = f": kinds {', '.join(map(str, hand['kinds']))}" if hand["kinds"] else ""
        terminal.say(f"  {target:<8} {hand['cards']} cards{kinds}")
    terminal.say(f"  collected: {', '.join(found['collected']) or 'nothing yet'}")
    if found["face_up"]:
        terminal.say(f"  found face up: {found['face_up']}")
    return 0


@click.command("impact")
@click.argument("deck")
@journal_option
@json_option
@told
def impact_verb(deck: str, path: Path, as_json: bool) -> int:
    """Tell what was dealt from DECK since its last good count.

    These are the rounds and stacks that a wrong count may have touched.

    \b
    Example:
      shoectl impact red-1
    """
    with JournalReader(path) as reader:
        decks: set[str] = set()

        def seen() -> Iterator[Entry]:
            for event in _events(reader):
                if event.kind == "deck.received":
                    decks.add(event.data["deck"])
                yield event

        rounds = impact(seen(), deck)
    if deck not in decks:
        known = ", ".join(sorted(decks)) or "none"
        raise click.ClickException(f"{path}: no deck {deck} ever came to the table; there were: {known}")
    if as_json:
        terminal.say_json(rounds)
        return 0
    stacks = sum(len(one["stacks"]) for one in rounds)
    terminal.say(f"deck {deck}: {len(rounds)} rounds with {stacks} stacks since its last good count")
    for one in rounds:
        hands = ", ".join(f"{stack['target']} {stack['cards']}" for stack in one["stacks"])
        terminal.say(f"  round {one['round']}: {hands}")
    return 0
