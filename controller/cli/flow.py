"""`shoectl flow`: shows the way to a goal, such as a closed table, and the command for the next step."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from controller.cli import terminal
from controller.cli.client import Client
from controller.cli.daemon_option import daemon_errors, get_for_completion, socket_option
from controller.cli.options import json_option
from controller.cli.table_text import checklist_lines, command_lines, step_lines
from controller.core.flows import Goal


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    answer = get_for_completion(ctx, "flows") or {"flows": []}
    goal = ctx.params.get("goal")
    found = {
        one["about"] if goal else one["goal"]: one["title"] for one in answer["flows"] if goal in (None, one["goal"])
    }
    return [CompletionItem(word, help=title) for word, title in found.items() if word and word.startswith(incomplete)]


@click.command("flow")
@click.argument("goal", required=False, type=click.Choice([str(goal) for goal in Goal]), shell_complete=_complete)
@click.argument("about", metavar="[DECK|DEVICE]", required=False, shell_complete=_complete)
@socket_option
@json_option
@daemon_errors()
def flow_verb(goal: str | None, about: str | None, daemon: Client, as_json: bool) -> None:
    """Show the way to a goal: what is done, and what to do next.

    Without GOAL, it lists the goals. Run it again after each step.

    \b
    Examples:
      shoectl flow
      shoectl flow close
      shoectl flow change-deck red-1
      shoectl flow out-of-service shuffler
    """
    if goal is None:
        answer = daemon.get("flows")
        terminal.print_json(answer) if as_json else _list(answer["flows"])
        return
    if goal != Goal.CLOSE and about is None:
        what = "the name of a deck" if goal == Goal.CHANGE_DECK else "the name of a device"
        raise click.UsageError(f"{goal} is missing {what}; `shoectl flow` lists what is possible")
    found = daemon.get(f"flows/{goal}", about=about)
    if as_json:
        terminal.print_json(found)
        return
    terminal.print_line(terminal.printable(found["title"]), bold=True)
    for line in checklist_lines(found["tasks"]):
        terminal.print_line(*line)
    if found["done"]:
        terminal.print_line("Done.", "green")
        return
    for line in step_lines(found["step"]):
        terminal.print_line(*line)
    for line in command_lines(found["step"]):
        terminal.print_line(*line)


def _list(found: list[dict[str, Any]]) -> None:
    if not found:
        terminal.print_message("there is nothing to be guided to now")
        return
    width = max(len(f"{one['goal']} {one['about']}") for one in found)
    for one in found:
        terminal.print_line(terminal.printable(f"{one['goal']} {one['about']}".ljust(width + 2) + one["title"]))
