"""`shoectl rules` and `shoectl diagram`: the clauses with the code and the tests of each, and the state machines."""

from __future__ import annotations

import click

from controller.api.rulebook import rows
from controller.cli import terminal
from controller.cli.options import GameName, json_option
from controller.core.machines import MACHINES
from controller.games import GAMES

COLUMNS = ("enforced_by", "tests", "scenarios")


@click.command("rules")
@click.argument("clause", required=False, metavar="[CLAUSE]")
@click.option("--game", type=GameName(), default="dragon-poker", help="The game (dragon-poker).")
@json_option
def rules_verb(clause: str | None, game: str, as_json: bool) -> None:
    """List the clauses of the rules, their code, tests and scenarios.

    CLAUSE is a clause, such as 13.G, or a chapter, such as 13.

    \b
    Example:
      shoectl rules 3.C
    """
    rulebook = GAMES[game].rulebook
    found = rows(rulebook, rulebook.matching(clause) if clause else list(rulebook.clauses))
    if not found:
        raise click.ClickException(f"unknown clause {clause}; `shoectl rules` lists all clauses")
    if as_json:
        terminal.print_json(found)
    elif clause:
        for row in found:
            terminal.print_line(f"{row['clause']}  {row['summary']}", bold=True)
            shown = [(name.replace("_", " "), ", ".join(row[name])) for name in COLUMNS]
            terminal.print_pairs([pair for pair in shown if pair[1]])
    else:
        cells = [(r["clause"], r["summary"], *(str(len(r[name])) for name in COLUMNS)) for r in found]
        terminal.print_table(("CLAUSE", "SUMMARY", "ENFORCED", "TESTS", "SCENARIOS"), cells)


@click.command("diagram")
@click.argument("machine", type=click.Choice(["table", "deck", "device"]), required=False)
@json_option
def diagram_verb(machine: str | None, as_json: bool) -> None:
    """Print the state machines as Mermaid diagrams.

    \b
    Example:
      shoectl diagram table > table.mmd
    """
    drawn = {m.name: m.diagram() for m in MACHINES if machine in (None, m.name)}
    if as_json:
        terminal.print_json(drawn)
        return
    for number, (name, text) in enumerate(drawn.items()):
        if len(drawn) > 1:
            terminal.print_line(f"{'' if number == 0 else chr(10)}%% {name}")
        terminal.print_line(text)
