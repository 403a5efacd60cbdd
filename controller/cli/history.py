"""The verbs about the past of the table: its rounds, one round in full, and the rounds that a wrong count affects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from controller.api.history import entry_of, find_rounds
from controller.cli import terminal
from controller.cli.client import Client, ClientError, RequestRefused, find_socket
from controller.cli.daemon_option import daemon_errors, optional_socket_option
from controller.cli.events import readable_filter
from controller.cli.journal_option import (
    from_records,
    journal_errors,
    journal_option,
    no_such,
    number_option,
    number_type,
    optional_journal_option,
    since_option,
    until_option,
    warn_if_incomplete,
    who_option,
)
from controller.cli.options import json_option
from controller.cli.progress import Progress
from controller.cli.table_text import clauses, settlement
from controller.core.events import UnreadableEvent
from controller.core.events.event import Entry
from controller.core.history import impact, rebuild
from controller.core.names import cards, place_name, plural, spoken
from controller.journal import JournalForbidden, JournalReader, check


def _events(reader: JournalReader) -> Iterator[Entry]:
    """The events as the core reads them, each checked against the chain: a forged journal must not settle a dispute."""
    with Progress("read {} events", reader.head.seq) as progress:
        for event in progress.over(check(reader.events())):
            try:
                yield entry_of(event)
            except UnreadableEvent as error:
                raise click.ClickException(f"{error}; use the version of shoectl that wrote this journal") from None


# --- rounds ---------------------------------------------------------------------------------------------------------


@click.command("rounds")
@number_option("rounds")
@click.option("--before", type=click.IntRange(min=1), metavar="N", help="Only rounds before this one.")
@since_option
@until_option
@who_option
@click.option("--round", "round", type=click.IntRange(min=1), metavar="N", help="Only this round.")
@optional_journal_option
@optional_socket_option
@json_option
@daemon_errors()
@journal_errors()
def rounds_verb(
    number: int, before: int | None, path: Path | None, daemon: Client | None, as_json: bool, **filters: Any
) -> None:
    """List the rounds, newest first. `shoectl round N` shows one of them.

    With --journal it reads a journal or a copy of one, without a daemon.

    \b
    Examples:
      shoectl rounds -n 5
      shoectl rounds --journal copy.db --since 2026-01-31 --who dana
    """
    wanted = readable_filter(filters)
    given = {name: value or None for name, value in msgspec.structs.asdict(wanted).items()}
    found = from_records(
        path,
        daemon,
        lambda client: client.get("rounds", limit=number, before=before, **given)["rounds"],
        lambda reader: find_rounds(reader, wanted, before=before or 0, limit=number),
    )
    if as_json:
        terminal.print_json({"rounds": found})
        return
    if not found:
        terminal.print_message("there are no such rounds" if any(given.values()) else "no round has been played yet")
        return
    rows = [
        (
            str(one["round"]),
            terminal.utc(one["started_ts"]),
            one["deck"],
            ", ".join(map(str, one["seats"])),
            spoken(one["method"]),
            one["ended"] or "not yet",
            str(one["seq"]),
        )
        for one in found
    ]
    heads = ("ROUND", "STARTED (UTC)", "DECK", "SEATS", "METHOD", "ENDED", "EVENT")
    terminal.print_table(heads, rows, ["red" if one["ended"] == "voided" else None for one in found])


# --- one round ------------------------------------------------------------------------------------------------------


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
    """Explain what happened in a round.

    When it started and ended, the bets that were recorded, who got which stack when, what was
    decided, and in which order the hands were collected. What the table worked out: the result and
    every payment, in order. If it is void: why, by which clause, and who returned the wagers. The
    warnings that were raised, and who cleared them.

    \b
    Example:
      shoectl round 17
      shoectl round 17 --journal copy.db
    """
    try:
        with JournalReader(path) as reader:
            events = _events(reader)
            found = rebuild(events, number)
            for _ in events:  # the rest of the chain is checked too
                pass
            if not found:
                raise no_such(reader, f"there was no round {number}")
            warn_if_incomplete(reader)
    except JournalForbidden:
        if click.get_current_context().get_parameter_source("path") is not ParameterSource.DEFAULT:
            raise
        found = _round_from_daemon(number)
        if not found:
            raise
    if as_json:
        terminal.print_json(found)
        return 0
    _print_round(found)
    return 0


def _print_round(found: dict[str, Any]) -> None:
    void = found["void"]
    ended = {"round.completed": "completed", "round.voided": "void", "": "not ended yet"}[found["ended"]]
    text = f"round {found['round']}: {ended}, deck {found['deck']}, {spoken(found['method'])}"
    terminal.print_line(terminal.printable(text), "red" if void else None, bold=True)
    lines = [("started", f"{_at(found['started_ts'])}, seats {', '.join(map(str, found['seats']))}")]
    for hand, bets in found["bets"].items():
        lines.append(("bets", f"{place_name(hand)}: {', '.join(f'{bet} {amount}' for bet, amount in bets.items())}"))
    for stack in found["stacks"]:
        seen = ", ".join(map(str, stack["kinds"])) or stack["seen"]
        kinds = f": {seen}" if seen else ""
        lines.append(("dealt", f"{_at(stack['ts'])}, {place_name(stack['target'])}, {cards(stack['cards'])}{kinds}"))
    for asked in found["requested"]:
        lines.append(("requested", f"{_at(asked['ts'])}, the cards of the hands, by {asked['who']}: {asked['reason']}"))
    lines += _played(found)
    if found["face_up"]:
        lines.append(("face up", cards(found["face_up"])))
    if found["collected"] or not void:
        lines.append(("collected", ", ".join(map(place_name, found["collected"])) or "nothing yet"))
    if void:
        lines.append(("void", f"{_at(found['ended_ts'])}, {void['reason']}{clauses(void['clause'])}"))
        wagers = void["wagers"]
        lines.append(
            ("wagers", f"returned {_at(wagers['ts'])} by {wagers['returned_by']}" if wagers else "not returned")
        )
        lines.append(("settled", _at(void["settled_ts"]) if void["settled_ts"] else "not yet"))
    elif found["ended_ts"]:
        lines.append(("completed", _at(found["ended_ts"])))
    for warning in found["warnings"]:
        role = {"floor": "floorperson"}.get(warning["cleared_role"], warning["cleared_role"])
        who = f"{warning['cleared_by']} ({role}), {_at(warning['cleared_ts'])}"
        cleared = f"cleared by {who}" if warning["cleared_ts"] else "not cleared before the next round"
        lines.append(("warning", f"{_at(warning['ts'])}, {warning['text']}{clauses(warning['clause'])}; {cleared}"))
    if void and found["settled"]:
        lines.append(("result", f"{found['settled']['result'] or 'settled'}; it does not count"))
    else:
        lines += _settlement(found["settled"], found["hands"])
    lines.append(("events", f"{found['first_seq']} to {found['last_seq']}"))
    terminal.print_pairs(lines)


def _played(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What people decided, and the cards that they entered."""
    for one in found["decisions"]:
        what = f" ({', '.join(one['kinds'])})" if one["kinds"] else f" ({one['number']})" if one["number"] else ""
        mistake = ", corrected" * one["corrected"] + ", taken back" * one["taken_back"]
        yield "decided", f"{_at(one['ts'])}, {place_name(one['target'])}: {spoken(one['choice'])}{what}{mistake}"
    for one in found["reshuffled"]:
        what = f"{cards(one['cards'])}, cut by seat {one['cut_by']}"
        yield "reshuffled", f"{_at(one['ts'])}, stock and discards: {what}, entered by {one['who']}"
    for one in found["reconstructed"]:
        yield (
            "worked out",
            f"{_at(one['ts'])}, from its cards in order, by {one['who']}: {', '.join(one['kinds'])}",
        )
    for target, kinds in found["entered"].items():
        if kinds:
            yield "entered", f"{place_name(target)}: {', '.join(kinds)}"


def _settlement(settled: dict[str, Any] | None, hands: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the table worked out, and when."""
    if settled is None:
        return
    result = f": {settled['result']}" if settled["result"] else ""
    yield "settled", f"{_at(settled['ts'])}{result}{clauses(settled['clause'])}"
    yield from settlement(settled, hands)


def _at(ts: str) -> str:
    return f"{terminal.utc(ts, digits=3)} UTC"


# --- the impact of a wrong count ------------------------------------------------------------------------------------


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
            raise no_such(reader, f"deck {deck} was never at the table; these were: {known}")
        warn_if_incomplete(reader)
    if as_json:
        terminal.print_json(rounds)
        return 0
    stacks = plural(sum(len(one["stacks"]) for one in rounds), "stack")
    terminal.print_line(f"deck {deck}: {plural(len(rounds), 'round')} with {stacks} since its last correct count")
    for one in rounds:
        hands = ", ".join(f"{stack['target']} {stack['cards']}" for stack in one["stacks"])
        terminal.print_line(f"  round {one['round']}: {hands}")
    return 0
