"""`shoectl do`: performs an action at the table, or lists the actions. Everything the screen can do."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from controller.api.spelling import nearest
from controller.cli import terminal
from controller.cli.client import Client, RequestRefused
from controller.cli.daemon_option import daemon_errors, get_for_completion, socket_option
from controller.cli.options import json_option
from controller.cli.pin_prompt import read_pin
from controller.cli.table_text import clauses, command_lines
from controller.games.standard_cards import kind_of_code

YES, NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")


# --- completion -----------------------------------------------------------------------------------------------------


def _actions(ctx: click.Context) -> list[dict[str, Any]]:
    answer = get_for_completion(ctx, "actions")
    return answer["actions"] if answer else []


def _complete_action(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    return [
        CompletionItem(action["action"], help=action["title"] if action["allowed"] else f"not now: {action['title']}")
        for action in sorted(_actions(ctx), key=lambda action: not action["allowed"])
        if action["action"].startswith(incomplete)
    ]


def _complete_field(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    fields = [f for action in _actions(ctx) if action["action"] == ctx.params.get("action") for f in action["fields"]]
    name, equals, typed = incomplete.partition("=")
    if not equals:
        given = {word.partition("=")[0] for word in ctx.params.get("words") or ()}
        return [
            CompletionItem(f"{f['name']}=") for f in fields if f["name"].startswith(name) and f["name"] not in given
        ]
    choices = [choice for field in fields if field["name"] == name for choice in _choices(field)]
    return [CompletionItem(f"{name}={choice}") for choice in choices if choice.startswith(typed)]


def _choices(field: dict[str, Any]) -> list[str]:
    """What makes sense now; the rules may allow nothing of it."""
    found = field.get("possible") or field.get("choices") or ()
    return ["yes", "no"] if field["type"] == "boolean" else [str(choice) for choice in found]


# --- do -------------------------------------------------------------------------------------------------------------


@click.command("do")
@click.argument("action", required=False, shell_complete=_complete_action)
@click.argument("words", metavar="[FIELD=VALUE]...", nargs=-1, shell_complete=_complete_field)
@click.option("--role", type=click.Choice(["dealer", "floor", "technician", "auditor"]),
              help="Which of your roles to use. Default: the first that is allowed.")  # fmt: skip
@click.option("--name", default="", help="Who performs the action, with their PIN. Default: you.")
@click.option("--yes", is_flag=True, help="Do not ask before an action that cannot be undone.")
@socket_option
@json_option
@daemon_errors()
def do_verb(
    action: str | None, words: tuple[str, ...], role: str | None, name: str, yes: bool, daemon: Client, as_json: bool
) -> None:
    """Perform an action, or list the actions.

    Without ACTION, it lists the actions with their fields, who may perform them, and whether they
    are allowed now or why not.

    A VALUE is a number (20), a list of numbers (1,3,6), yes or no, or a name. Cards can be written
    as "ace of spades,ten of hearts" or, if they are of the standard pack, as As,10h. Your groups
    determine your roles. Exit code 1 if the table refuses; the reason, and when the action would be
    possible, is printed on standard error.

    What only a floorperson or a technician may do needs their PIN. It is asked for, or read from
    standard input; a simulated table asks for none here. An action that cannot be undone is
    performed after you have confirmed it.

    \b
    Examples:
      shoectl do
      shoectl do wager seats=1,3,6
      shoectl do cut_deck deck=red-1 depth=20
      shoectl do verify_deck deck=red-1 --name Flo
      shoectl do receive_deck deck=red-2 back=red prepared=yes came_from="card room"
    """
    known = daemon.get("actions")["actions"]
    if action is None:
        terminal.print_json({"actions": known}) if as_json else _list(known)
        return
    body = {"action": action, **read_fields(action, words, known)}
    body |= {key: value for key, value in (("role", role), ("name", name)) if value}
    if not yes:
        _ask_first(next(one for one in known if one["action"] == action))
    answer = _post(daemon, body)
    if as_json:
        terminal.print_json(answer)
        return
    for event in answer["events"]:
        terminal.print_line(terminal.printable(f"{event['seq']:>6}  {event['text']}{clauses(event['clause'])}"))
    step = answer.get("step") or {}
    if step.get("text"):
        terminal.print_line(terminal.printable(f"next: {step['text']}{clauses(step.get('clause') or [])}"), bold=True)
        for line in command_lines(step):
            terminal.print_line(*line)


def _ask_first(action: dict[str, Any]) -> None:
    """Ask before an action that cannot be undone; one that is not allowed now will be refused anyway."""
    consequence = action.get("consequence")
    if not consequence or not action["allowed"]:
        return
    if not sys.stdin.isatty():
        raise click.ClickException(f"{consequence} Add --yes to confirm it.")
    click.confirm(f"{action['title']}? {consequence}", abort=True, err=True)


def _post(daemon: Client, body: dict[str, Any]) -> Any:
    """Perform an action; ask for the PIN or for a confirmation if the table wants it."""
    while True:
        try:
            return daemon.post("actions", body)
        except RequestRefused as refusal:
            if refusal.code == "pin_needed" and "pin" not in body:
                name = refusal.name or (click.prompt("Name", err=True) if sys.stdin.isatty() else "")
                pin = read_pin(name) if name else ""
                if not pin:
                    raise
                body = {**body, "name": name, "pin": pin}
            elif refusal.confirm and not body.get("confirmed") and sys.stdin.isatty():
                terminal.print_message(f"{refusal.message}. Count the cards again.")
                click.confirm(f"Is {body['cards']} right?", abort=True, err=True)
                body = {**body, "confirmed": True}
            else:
                raise


def _list(known: list[dict[str, Any]]) -> None:
    for action in known:
        fields = " ".join(map(_field_usage, action["fields"]))
        head = f"{'+' if action['allowed'] else '-'} {action['action']} {fields}".rstrip()
        terminal.print_line(terminal.printable(head), "green" if action["allowed"] else None, bold=action["allowed"])
        lines = [("", f"{action.get('text') or action['title'] + '.'} By: {', '.join(action['roles'])}{_pin(action)}.")]
        if action["fields"]:
            lines.append(
                ("", f"For example: shoectl do {action['action']} {' '.join(_example_fields(action['fields']))}")
            )
        if action["why_not"]:
            why = action["why_not"]
            text = f"not now: {why['reason']}{clauses(list(why.get('clause') or ()))}"
            lines.append(("", f"{text}; possible when {why['possible_when']}" if why.get("possible_when") else text))
        terminal.print_pairs(lines)


def _pin(action: dict[str, Any]) -> str:
    return ", with PIN" if action.get("pin") else ""


# What to type for a field of each type, as a placeholder and as an example.
_TYPED = {
    "integer": ("NUMBER", "20"),
    "integers": ("N,N,…", "1,3,6"),
    "cards": ("CARD,CARD,…", '"ace of spades,ten of hearts"'),
    "boolean": ("yes|no", "yes"),
    "string": ("TEXT", '"the card room"'),
    "choice": ("NAME", "NAME"),
}
_NAMED = {"deck": ("NAME", "red-1"), "reason": ("TEXT", '"a player disputes it"')}


def _typed(field: dict[str, Any]) -> tuple[str, str]:
    choices = _choices(field) if field["type"] != "boolean" else []
    if choices and field["type"] == "cards":
        return _TYPED["cards"][0], shlex.quote(",".join(choices[:2]))
    if choices and field["type"] != "integers":
        return "|".join(choices), shlex.quote(choices[0])
    return _NAMED.get(field["name"]) or _TYPED[field["type"]]


def _field_usage(field: dict[str, Any]) -> str:
    usage = f"{field['name']}={_typed(field)[0]}"
    return usage if field["required"] else f"[{usage}]"


def _example_fields(fields: list[dict[str, Any]]) -> list[str]:
    """The required fields with a value each; if none is required, the first one."""
    shown = [field for field in fields if field["required"]] or fields[:1]
    return [f"{field['name']}={_typed(field)[1]}" for field in shown]


def read_fields(action: str, words: tuple[str, ...], known: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields for JSON; UsageError names what is wrong and what is expected."""
    found = next((one for one in known if one["action"] == action), None)
    if found is None:
        raise click.UsageError(
            f"unknown action {action}{nearest(action, [one['action'] for one in known])}; `shoectl do` lists them"
        )
    fields = {field["name"]: field for field in found["fields"]}
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in fields:
            expected = f"expected one of {', '.join(fields)}" if fields else "it has no fields"
            raise click.UsageError(f"{action} has no field {name!r}{nearest(name, list(fields))}; {expected}")
        if not equals:
            raise click.UsageError(f"{name} has no value; expected {_field_usage(fields[name]).strip('[]')}")
        if name in given:
            raise click.UsageError(f"{name} is given twice")
        given[name] = _value(fields[name], value)
    missing = [_field_usage(field) for name, field in fields.items() if field["required"] and name not in given]
    if missing:
        raise click.UsageError(f"{action} is missing {' '.join(missing)}")
    return given


def _value(field: dict[str, Any], text: str) -> Any:
    name, kind, choices = field["name"], field["type"], [str(choice) for choice in field.get("choices") or ()]
    if kind == "boolean":
        if text.lower() not in YES + NO:
            raise click.UsageError(f"{name} must be yes or no, not {text!r}")
        return text.lower() in YES
    if kind == "cards":
        named = [_card(card.strip(), choices) for card in text.split(",")] if text else []
        for card in named:
            if choices and card not in choices:
                raise click.UsageError(f"{name}: unknown card {card!r}{nearest(card, choices)}")
        return named
    if kind in ("integer", "integers"):
        numbers = _numbers(text)
        if numbers is not None and (kind == "integers" or len(numbers) == 1):
            return numbers if kind == "integers" else numbers[0]
        what = "a list of numbers such as 1,3,6" if kind == "integers" else "a number"
        raise click.UsageError(f"{name} must be {what}, not {text!r}")
    if kind == "choice" and choices and text not in choices:
        raise click.UsageError(f"{name} must be one of {', '.join(choices)}, not {text!r}")
    return text


def _card(text: str, choices: list[str]) -> str:
    """A card of the standard pack can be written short."""
    kind = kind_of_code(text)
    return kind if kind in choices else text


def _numbers(text: str) -> list[int] | None:
    try:
        return [int(part) for part in text.split(",")] if text else []
    except ValueError:
        return None
