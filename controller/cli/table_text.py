"""Renders the table's state, as the API returns it, as lines of text: next step, round, alarms, decks, devices."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from controller.cli import terminal
from controller.core.actions import Action, Role
from controller.core.names import place_name
from controller.core.step import ACTIONS

_BY_WHOM = {field.name for field in msgspec.structs.fields(Action)}  # fields that nobody enters
_BLANKS = {"kinds": "'CARD,CARD'", "was": "'CARD,CARD'"}  # names of cards contain spaces
_STATES = {"ready": "green", "working": "green", "unknown": "yellow", "out_of_service": "yellow"}


class TextLine(NamedTuple):
    """A line and its style."""

    text: str
    colour: str | None = None
    bold: bool = False


def _line(text: str, colour: str | None = None, bold: bool = False) -> TextLine:
    return TextLine(terminal.printable(text), colour, bold)


def table_lines(table: dict[str, Any], now_ms: int | None = None) -> Iterator[TextLine]:
    """The whole table. `now_ms` is the table's clock now, if it has advanced since `table` was made."""
    since_ms = max(0, (now_ms or table["now_ms"]) - table["now_ms"])
    simulated = ", simulated" if table["simulated"] else ""
    state = table.get("table_words") or table["table"]
    yield _line(f"{table['name'] or 'the table'}: {state}{simulated}, event {table['seq']}", bold=True)
    if table.get("stopped"):
        yield _line(f"  stopped: {table['stopped']}", "red", bold=True)
        yield _line("  `shoectl doctor` looks for the cause; the journal has everything, nothing is lost")
        return
    yield from step_lines(table["step"])
    yield from command_lines(table["step"])
    if table.get("round"):
        yield from _round(table["round"], table["method"])
    yield from _game(table)
    for step in table.get("void_steps") or ():
        yield _line(f"  void   {_checkbox(step)} {step['text']}", "red")
    yield from _warnings(table["warnings"])
    for trouble in table.get("troubles") or ():
        yield _line(f"  alarm  {trouble['text']} {trouble['remedy']}", "red", bold=True)
    yield _line("")
    yield from _decks(table["decks"], since_ms)
    yield _line("")
    yield from _devices(table["devices"])
    locked = ", ".join(person["name"] for person in table.get("access", {}).get("locked", ()))
    if locked:
        yield _line(f"locked out after wrong PINs: {locked}", "yellow")
    if not table["journal"]["ok"]:
        yield _line("the journal is damaged: `shoectl journal verify` names the first bad event", "red")


def one_line(table: dict[str, Any]) -> str:
    """The next step and the alarms, for output that is not a terminal."""
    alarms = [*table["warnings"], *table.get("troubles", ())]
    warnings = "".join(f"; {alarm['text']}" for alarm in alarms)
    return terminal.printable(f"{table['table_words']}: {table['step']['text']}{warnings}")


def clauses(numbers: Sequence[str]) -> str:
    """Clause numbers in brackets, or nothing."""
    return f" ({', '.join(numbers)})" if numbers else ""


def step_lines(step: dict[str, Any]) -> Iterator[TextLine]:
    """What to do now, why, and who does it."""
    yield _line(f"  now    {step['text']}", "cyan", bold=True)
    why = f"{step['why']}{clauses(step['clause'])}".strip()
    if why:
        yield _line(f"  why    {why}")
    if step.get("who"):
        yield _line(f"  who    {'a floorperson' if step['who'] == 'floor' else 'the ' + step['who']}")


def command_lines(step: dict[str, Any]) -> Iterator[TextLine]:
    """The commands that report the step as done. A word in capitals stands for what the person must give."""
    offers = step.get("do") or ()
    for number, (offer, asks) in enumerate(zip(offers, step.get("asks") or [()] * len(offers), strict=True)):
        yield _line(f"  {'or' if number else 'do'}     shoectl do {_command(offer, asks)}")


def _command(offer: dict[str, Any], asks: Sequence[str]) -> str:
    """An action with its fields and those that must be added now, as a shell passes it on to `shoectl do`."""
    fields = {name: shlex.quote(_value(value)) for name, value in offer.items() if name != "action"}
    kind = ACTIONS.get(offer["action"])
    for field in msgspec.structs.fields(kind) if kind else ():
        if (field.required or field.name in asks) and field.name not in _BY_WHOM:
            fields.setdefault(field.name, _BLANKS.get(field.name, "NUMBER" if field.type is int else "NAME"))
    if offer["action"] == "close_bets":
        fields.setdefault("seats", "N,N")  # unless they were reported before
    if offer["action"] == "deal_cards" and "kinds" in asks:  # dealt face up
        fields["kinds"] = shlex.quote(",".join(["CARD"] * offer["cards"]))
    words = [offer["action"], *(f"{name}={value}" for name, value in fields.items())]
    if kind and Role.DEALER not in kind.roles:  # it needs a PIN
        words += ["--name", "NAME"]
    return " ".join(words)


def _value(value: Any) -> str:
    """A field's value as `shoectl do` reads it."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _round(playing: dict[str, Any], method: str) -> Iterator[TextLine]:
    seats = ", ".join(map(str, playing["seats"])) or "none"
    text = f"{playing['number']}, deck {playing['deck']}, {method.replace('_', ' ')}, seats {seats}"
    void = playing["void"]
    yield _line(f"  round  {text}{', void' if void else ''}", "red" if void else None)
    stacks: Counter[tuple[str, str]] = Counter()
    for one in playing["stacks"]:
        stacks[one["target"], one["state"].replace("_", " ")] += one["cards"]
    if stacks:
        text = ", ".join(f"{target} {number} ({how})" for (target, how), number in stacks.items())
        yield _line(f"  stacks {text}")


def _game(table: dict[str, Any]) -> Iterator[TextLine]:
    """What the game is about: its figures, bets, cards that are face up, and the result of this round."""
    for block in table.get("board") or ():
        lines = f" ({', '.join(block['lines'])})" if block["lines"] else ""
        if block["figure"] or lines:
            yield _line(f"  board  {block['label']}: {block['figure']}{lines}")
    hands = table.get("hands") or ()
    for hand in hands:
        if hand["bets"]:
            bets = ", ".join(f"{bet} {amount}" for bet, amount in hand["bets"].items())
            yield _line(f"  bets   {place_name(hand['name'])}: {bets}")
    for hand in hands:
        if hand["kinds"]:
            yield _line(f"  cards  {place_name(hand['name'])}: {', '.join(hand['kinds'])}")
    settled, playing = table.get("settled"), table.get("round")
    if settled and playing and settled["round"] == playing["number"] and not playing["void"]:
        for label, text in settlement(settled, [hand["name"] for hand in hands]):
            yield _line(f"  {label:<6} {text}", bold=label == "paid")


def settlement(settled: dict[str, Any], hands: Container[str]) -> Iterator[tuple[str, str]]:
    """The result of each hand, every payment in order, and what each hand has in all."""
    for one in settled["results"]:
        yield "result", f"{place_name(one['hand'])}: {one['text']}"
    totals: dict[str, int] = {}
    for one in settled["payments"]:
        other = f" from {place_name(one['other'])}" if one["other"] else ""
        yield "paid", f"{place_name(one['hand'])}, {one['bet']}, {one['outcome']}: {one['net']:+d}{other}"
        totals[one["hand"]] = totals.get(one["hand"], 0) + one["net"]
        if one["other"] in hands:
            totals[one["other"]] = totals.get(one["other"], 0) - one["net"]
    for hand, net in totals.items():
        yield "in all", f"{place_name(hand)}: {net:+d}"


def _warnings(warnings: list[dict[str, Any]]) -> Iterator[TextLine]:
    for warning in warnings:
        aside = warning.get("aside", False)
        text = f"  {'aside' if aside else 'alarm'}  {warning['text']}{clauses(warning['clause'])} [{warning['key']}]"
        yield _line(text, None if aside else "yellow" if warning["gone"] else "red", bold=not aside)
        for step in warning["steps"]:
            yield _line(f"           {_checkbox(step)} {step['text']}")


def checklist_lines(tasks: list[dict[str, Any]]) -> Iterator[TextLine]:
    """Tasks with their boxes."""
    for task in tasks:
        yield _line(f"  {_checkbox(task)} {task['text']}")


def _checkbox(step: dict[str, Any]) -> str:
    return "[x]" if step["done"] else "[ ]"


def _decks(decks: list[dict[str, Any]], since_ms: int) -> Iterator[TextLine]:
    if not decks:
        yield _line("no deck at the table")
        return
    rows = [
        (
            ("> " if deck["due"] else "  ") + deck["name"],
            deck["back"],
            deck["state_words"] or deck["state"],
            f"{deck['total']}" + (f" ({deck['missing']} missing)" if deck["missing"] else ""),
            "yes" if deck["counted"] else "no",
            _time_left(deck, since_ms),
            ", ".join(f"{place} {number}" for place, number in deck["cards"].items()) or "-",
        )
        for deck in decks
    ]
    heads = ("  DECK", "BACK", "STATE", "CARDS", "COUNTED", "TIME LEFT", "PLACE")
    yield from _table(heads, rows, ["yellow" if deck["change_due"] or deck["missing"] else None for deck in decks])


def _time_left(deck: dict[str, Any], since_ms: int) -> str:
    if deck["change_due"]:
        return "change it"
    return "-" if deck["left_ms"] is None else terminal.duration(max(0, deck["left_ms"] - since_ms))


def _devices(devices: list[dict[str, Any]]) -> Iterator[TextLine]:
    if not devices:
        yield _line("no device is configured")
        return
    rows = [
        (
            f"  {device['name']}",
            device["state"].replace("_", " "),
            device["link"],
            "locked" if device["locked"] else "-",
            device["doing"] or "-",
            device["hindered"] or device["out_words"] or "-",
        )
        for device in devices
    ]
    yield from _table(("  DEVICE", "STATE", "LINK", "LOCK", "DOING", "PROBLEM"), rows, map(_device_colour, devices))


def _device_colour(device: dict[str, Any]) -> str:
    if device["online"] and device["link"] != "ok":
        return "yellow"
    return _STATES.get(device["state"], "red")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], colours: Iterable[str | None]) -> Iterator[TextLine]:
    first, *lines = terminal.table(heads, rows)
    yield TextLine(first, bold=True)
    for line, colour in zip(lines, colours, strict=True):
        yield TextLine(line, colour)
