"""The verbs that do something at the table: `shoectl do`, all that the screen can do; and `shoectl sim`, what can
happen to simulated devices.
"""

from __future__ import annotations

import difflib
from typing import Any

import click
import msgspec
from click.shell_completion import CompletionItem

from controller.cli import terminal
from controller.cli.client import Client, ClientError, find_socket
from controller.cli.options import json_option, socket_option
from controller.cli.table import COMPLETE_WITHIN_S, asks
from controller.cli.table_text import clauses

YES, NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")


# --- completion -----------------------------------------------------------------------------------------------------


def _asked(ctx: click.Context) -> list[dict[str, Any]]:
    """The actions as the daemon tells them; none if it does not tell at once: a person is waiting at the prompt."""
    try:
        given = ctx.params.get("daemon")
        path = given.path if isinstance(given, Client) else find_socket()
        found: list[dict[str, Any]] = Client(path, COMPLETE_WITHIN_S).get("actions")["actions"]
    except ClientError:
        return []
    return found


def _complete_action(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    return [
        CompletionItem(action["action"], help=action["title"] if action["allowed"] else f"not now: {action['title']}")
        for action in sorted(_asked(ctx), key=lambda action: not action["allowed"])
        if action["action"].startswith(incomplete)
    ]


def _complete_field(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    fields = [f for action in _asked(ctx) if action["action"] == ctx.params.get("action") for f in action["fields"]]
    name, equals, begun = incomplete.partition("=")
    if not equals:
        given = {word.partition("=")[0] for word in ctx.params.get("words") or ()}
        return [
            CompletionItem(f"{f['name']}=") for f in fields if f["name"].startswith(name) and f["name"] not in given
        ]
    choices = [choice for field in fields if field["name"] == name for choice in _choices(field)]
    return [CompletionItem(f"{name}={choice}") for choice in choices if choice.startswith(begun)]


def _choices(field: dict[str, Any]) -> list[str]:
    return ["yes", "no"] if field["type"] == "boolean" else [str(choice) for choice in field.get("choices") or ()]


# --- do -------------------------------------------------------------------------------------------------------------


@click.command("do")
@click.argument("action", required=False, shell_complete=_complete_action)
@click.argument("words", metavar="[FIELD=VALUE]...", nargs=-1, shell_complete=_complete_field)
@click.option("--role", type=click.Choice(["dealer", "floor", "technician", "auditor"]),
              help="In which of your roles; otherwise the first that may.")  # fmt: skip
@socket_option
@json_option
@asks
def do_verb(action: str | None, words: tuple[str, ...], role: str | None, daemon: Client, as_json: bool) -> None:
    """Do what the screen can do; alone, list what that is.

    The list has the fields of each action, who may do it, and whether it is allowed now or why not.

    A number is written as 20, a list of numbers as 1,3,6, yes or no as yes or no. Who you are and
    what you may do comes from your groups. Exit code 1 if the table refuses; why, and when it
    would be possible, is told on standard error.

    \b
    Examples:
      shoectl do
      shoectl do wager seats=1,3,6
      shoectl do cut_deck deck=red-1 depth=20
      shoectl do verify_deck deck=red-1 --role floor
    """
    known = daemon.get("actions")["actions"]
    if action is None:
        terminal.say_json({"actions": known}) if as_json else _list(known)
        return
    body = {"action": action, **_fields(action, words, known), **({"role": role} if role else {})}
    answer = daemon.post("actions", body)
    if as_json:
        terminal.say_json(answer)
        return
    for event in answer["events"]:
        terminal.say(terminal.plain(f"{event['seq']:>6}  {event['text']}{clauses(event['clause'])}"))
    step = answer.get("step") or {}
    if step.get("text"):
        terminal.say(terminal.plain(f"next: {step['text']}{clauses(step.get('clause') or [])}"), bold=True)


def _list(known: list[dict[str, Any]]) -> None:
    for action in known:
        fields = " ".join(map(_field_words, action["fields"]))
        head = f"{'+' if action['allowed'] else '-'} {action['action']} {fields}".rstrip()
        terminal.say(terminal.plain(head), "green" if action["allowed"] else None, bold=action["allowed"])
        rows = [("", f"{action.get('text') or action['title'] + '.'} By: {', '.join(action['roles'])}.")]
        if action["why_not"]:
            why = action["why_not"]
            text = f"not now: {why['reason']}{clauses(list(why.get('clause') or ()))}"
            rows.append(("", f"{text}; possible when {why['possible_when']}" if why.get("possible_when") else text))
        for line in terminal.pairs(rows):
            terminal.say(line)


def _field_words(field: dict[str, Any]) -> str:
    kinds = {"integer": "NUMBER", "integers": "N,N,…", "boolean": "yes|no", "string": "TEXT"}
    choices = field.get("choices") or ()
    value = "|".join(map(str, choices)) if choices and field["type"] != "integers" else kinds.get(field["type"], "JSON")
    return f"{field['name']}={value}" if field["required"] else f"[{field['name']}={value}]"


def _fields(action: str, words: tuple[str, ...], known: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields as JSON has them; wrong usage names what is wrong and what there is."""
    found = next((one for one in known if one["action"] == action), None)
    if found is None:
        raise click.UsageError(
            f"there is no action {action}{_meant(action, [one['action'] for one in known])}; `shoectl do` lists them"
        )
    fields = {field["name"]: field for field in found["fields"]}
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in fields:
            there_are = f"it has {', '.join(fields)}" if fields else "it has none"
            raise click.UsageError(f"{action} has no field {name!r}{_meant(name, list(fields))}; {there_are}")
        if not equals:
            raise click.UsageError(f"{name} has no value; write {_field_words(fields[name]).strip('[]')}")
        if name in given:
            raise click.UsageError(f"{name} is given twice")
        given[name] = _value(fields[name], value)
    missing = [_field_words(field) for name, field in fields.items() if field["required"] and name not in given]
    if missing:
        raise click.UsageError(f"{action} also needs {' '.join(missing)}")
    return given


def _meant(word: str, words: list[str]) -> str:
    near = difflib.get_close_matches(word, words, 1)
    return f" (did you mean {near[0]}?)" if near else ""


def _value(field: dict[str, Any], text: str) -> Any:
    name, kind, choices = field["name"], field["type"], [str(choice) for choice in field.get("choices") or ()]
    if kind == "boolean":
        if text.lower() not in YES + NO:
            raise click.UsageError(f"{name} is yes or no, not {text!r}")
        return text.lower() in YES
    if kind in ("integer", "integers"):
        numbers = _numbers(text)
        if numbers is not None and (kind == "integers" or len(numbers) == 1):
            return numbers if kind == "integers" else numbers[0]
        what = "a list of numbers such as 1,3,6" if kind == "integers" else "a number"
        raise click.UsageError(f"{name} is {what}, not {text!r}")
    if kind == "choice" and choices and text not in choices:
        raise click.UsageError(f"{name} is one of {', '.join(choices)}, not {text!r}")
    if kind in ("string", "choice"):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"{name} is JSON: {error}") from None


def _numbers(text: str) -> list[int] | None:
    try:
        return [int(part) for part in text.split(",")] if text else []
    except ValueError:
        return None


# --- sim ------------------------------------------------------------------------------------------------------------


@click.group("sim")
def sim() -> None:
    """Play with a simulated table.

    The robot dealer can pause, and devices can fail in every way.

    Only for a daemon that was started with --simulate.
    """


@sim.command("status")
@socket_option
@json_option
@asks
def sim_status(daemon: Client, as_json: bool) -> None:
    """Show the robot dealer, the simulated devices, and the faults that there are.

    \b
    Example:
      shoectl sim status
    """
    answer = daemon.get("simulation")
    if as_json:
        terminal.say_json(answer)
        return
    robot = answer["robot"]
    doing = robot["doing"] if robot["running"] else "paused"
    terminal.say(terminal.plain(f"robot dealer: {doing}, speed {robot['speed']:g}"), bold=True)
    for name, device in answer["devices"].items():
        state = "no power" if not device["power"] else device["mode"].lower() if device["plugged"] else "unplugged"
        door = ", door open" if device["door_open"] else ""
        faults = ", ".join(device["faults"]) or "none"
        terminal.say(terminal.plain(f"{name}: {state}{door}, faults: {faults}"), "red" if device["faults"] else None)
    rows = [(fault["name"], ", ".join(fault["devices"]), fault["text"]) for fault in answer["faults"]]
    for line in terminal.table(("FAULT", "DEVICES", "WHAT HAPPENS"), rows):
        terminal.say(line)


def _sim(daemon: Client, as_json: bool, **body: Any) -> None:
    answer = daemon.post("simulation", {name: value for name, value in body.items() if value is not None})
    if as_json:
        terminal.say_json(answer)


@sim.command()
@socket_option
@json_option
@asks
def pause(daemon: Client, as_json: bool) -> None:
    """Let the robot dealer pause: the table is yours.

    \b
    Example:
      shoectl sim pause
    """
    _sim(daemon, as_json, do="pause")


@sim.command()
@socket_option
@json_option
@asks
def resume(daemon: Client, as_json: bool) -> None:
    """Let the robot dealer go on.

    \b
    Example:
      shoectl sim resume
    """
    _sim(daemon, as_json, do="resume")


@sim.command()
@click.argument("speed", type=click.FloatRange(min=0, min_open=True))
@socket_option
@json_option
@asks
def speed(speed: float, daemon: Client, as_json: bool) -> None:
    """Let the robot dealer work so many times as fast as life.

    \b
    Example:
      shoectl sim speed 5
    """
    _sim(daemon, as_json, do="speed", speed=speed)


@sim.command()
@click.argument("device")
@click.argument("fault")
@click.option("--after-cards", type=click.IntRange(min=0), metavar="N", help="Let so many cards move before.")
@click.option("--for", "for_s", type=click.FloatRange(min=0), metavar="SECONDS", help="Mend it after this time.")
@socket_option
@json_option
@asks
def inject(
    device: str, fault: str, after_cards: int | None, for_s: float | None, daemon: Client, as_json: bool
) -> None:
    """Let FAULT happen to DEVICE. `shoectl sim status` lists the faults.

    \b
    Examples:
      shoectl sim inject shoe jam
      shoectl sim inject shuffler unplug --for 3
    """
    _sim(daemon, as_json, do="inject", device=device, fault=fault, after_cards=after_cards, for_s=for_s)


@sim.command()
@click.argument("device")
@click.argument("fault")
@socket_option
@json_option
@asks
def mend(device: str, fault: str, daemon: Client, as_json: bool) -> None:
    """Put FAULT of DEVICE right again: plug in, switch on, free the jam.

    \b
    Example:
      shoectl sim mend shoe jam
    """
    _sim(daemon, as_json, do="mend", device=device, fault=fault)
