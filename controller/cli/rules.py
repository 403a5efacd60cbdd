"""`shoectl rules` and `shoectl diagram`: the clauses with what enforces each, and the state machines as diagrams."""

from __future__ import annotations

import click

from controller.api.rulebook import rows
from controller.cli import terminal
from controller.cli.options import json_option
from controller.core.machines import MACHINES
from controller.games import RULEBOOK


@click.command("rules")
@click.argument("clause", required=False, metavar="[CLAUSE]")
@json_option
def rules_verb(clause: str | None, as_json: bool) -> None:
    """List the clauses, what enforces each, and which tests show it.

    CLAUSE is one of them, such as 13.G, or a chapter, such as 13.

    \b
    Example:
      shoectl rules 3.C
    """
    found = rows(RULEBOOK, RULEBOOK.matching(clause) if clause else list(RULEBOOK.clauses))
    if not found:
        raise click.ClickException(f"there is no clause {clause}; `shoectl rules` lists them all")
    if as_json:
        terminal.say_json(found)
    elif clause:
        for row in found:
            terminal.say(f"{row['clause']}  {row['summary']}", bold=True)
            for line in terminal.pairs(
                [("enforced by", ", ".join(row["enforced_by"])), ("tests", ", ".join(row["tests"]))]
            ):
                terminal.say(line)
    else:
        cells = [(r["clause"], r["summary"], str(len(r["enforced_by"])), str(len(r["tests"]))) for r in found]
        heads, *lines = terminal.table(("CLAUSE", "WHAT HOLDS", "ENFORCED", "TESTS"), cells)
        terminal.say(heads, bold=True)
        for line in lines:
            terminal.say(line)


@click.command("diagram")
@click.argument("machine", type=click.Choice(["table", "deck", "device"]), required=False)
@json_option
def diagram_verb(machine: str | None, as_json: bool) -> None:
    """Draw the state machines as Mermaid diagrams.

    \b
    Example:
      shoectl diagram table > table.mmd
    """
    drawn = {m.name: m.diagram() for m in MACHINES if machine in (None, m.name)}
    if as_json:
        terminal.say_json(drawn)
        return
    for at, (name, text) in enumerate(drawn.items()):
        if len(drawn) > 1:
            terminal.say(f"{'' if at == 0 else chr(10)}%% {name}")
        terminal.say(text)
