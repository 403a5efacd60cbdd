"""The picture of the table, as the daemon tells it, in lines of text: what to do now, decks, devices, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from controller.cli import terminal

_STATES = {"ready": "green", "working": "green", "unknown": "yellow", "out_of_service": "yellow"}


class Line(NamedTuple):
    """A line, and how it is shown."""

    text: str
    colour: str | None = None
    bold: bool = False


def lines(table: dict[str, Any], now_ms: int | None = None) -> Iterator[Line]:
    """The whole picture. `now_ms` is the table's clock, where it has gone on since the picture was taken."""
    since_ms = max(0, (now_ms or table["now_ms"]) - table["now_ms"])
    simulated = ", simulated" if table["simulated"] else ""
    state = table.get("table_words") or table["table"]
    yield Line(terminal.plain(f"{table['name'] or 'the table'}: {state}{simulated}, event {table['seq']}"), bold=True)
    if table.get("stopped"):
        yield Line(terminal.plain(f"  stopped: {table['stopped']}"), "red", bold=True)
        yield Line(
            "  `shoectl doctor` looks for the reason; what the table knows is in its journal, and nothing is lost"
        )
        return
    yield from _step(table["step"])
    if table.get("round"):
        yield from _round(table["round"], table["method"])
    yield from _void(table.get("void_steps") or ())
    yield from _warnings(table["warnings"])
    yield Line("")
    yield from _decks(table["decks"], since_ms)
    yield Line("")
    yield from _devices(table["devices"])
    locked = ", ".join(person["name"] for person in table.get("access", {}).get("locked", ()))
    if locked:
        yield Line(terminal.plain(f"locked out after wrong PINs: {locked}"), "yellow")
    if not table["journal"]["ok"]:
        yield Line("the journal did not verify: `shoectl journal verify` names the first bad event", "red")


def in_a_line(table: dict[str, Any]) -> str:
    """What matters most, where there is no terminal to draw on."""
    warnings = "".join(f"; {warning['text']}" for warning in table["warnings"])
    return terminal.plain(f"{table['table_words']}: {table['step']['text']}{warnings}")


def clauses(named: list[str]) -> str:
    """The clauses behind something, in brackets."""
    return f" ({', '.join(named)})" if named else ""


def _step(step: dict[str, Any]) -> Iterator[Line]:
    who = {"device": "the device", "": ""}.get(step.get("who") or "", f"the {step.get('who')}")
    yield Line(terminal.plain(f"  now    {step['text']}"), "cyan", bold=True)
    because = terminal.plain(f"{step['why']}{clauses(step['clause'])}".strip())
    if because:
        yield Line(f"  why    {because}")
    if who:
        yield Line(f"  who    {who}")


def _round(playing: dict[str, Any], method: str) -> Iterator[Line]:
    seats = ", ".join(map(str, playing["seats"])) or "none"
    stacks = playing["stacks"]
    words = f"{playing['number']}, deck {playing['deck']}, {method.replace('_', ' ')}, seats {seats}"
    yield Line(
        terminal.plain(f"  round  {words}{', void' if playing['void'] else ''}"), "red" if playing["void"] else None
    )
    told = ", ".join(f"{stack['target']} {stack['cards']} ({stack['state'].replace('_', ' ')})" for stack in stacks)
    if told:
        yield Line(terminal.plain(f"  stacks {told}"))


def _void(steps: Any) -> Iterator[Line]:
    for step in steps:
        yield Line(terminal.plain(f"  void   {_box(step)} {step['text']}"), "red")


def _warnings(warnings: list[dict[str, Any]]) -> Iterator[Line]:
    for warning in warnings:
        aside = warning.get("aside", False)
        text = f"  {'aside' if aside else 'alarm'}  {warning['text']}{clauses(warning['clause'])} [{warning['key']}]"
        yield Line(terminal.plain(text), None if aside else "yellow" if warning["gone"] else "red", bold=not aside)
        for step in warning["steps"]:
            yield Line(terminal.plain(f"           {_box(step)} {step['text']}"))


def _box(step: dict[str, Any]) -> str:
    return "[x]" if step["done"] else "[ ]"


def _decks(decks: list[dict[str, Any]], since_ms: int) -> Iterator[Line]:
    if not decks:
        yield Line("no deck at the table")
        return
    rows = [
        (
            ("> " if deck["due"] else "  ") + deck["name"],
            deck["back"],
            deck["state_words"] or deck["state"],
            f"{deck['total']}" + (f" ({deck['missing']} missing)" if deck["missing"] else ""),
            "yes" if deck["counted"] else "no",
            _left(deck, since_ms),
            ", ".join(f"{place} {number}" for place, number in deck["cards"].items()) or "-",
        )
        for deck in decks
    ]
    heads, *told = terminal.table(("  DECK", "BACK", "STATE", "CARDS", "COUNTED", "TIME LEFT", "WHERE"), rows)
    yield Line(heads, bold=True)
    for deck, line in zip(decks, told, strict=True):
        yield Line(line, "yellow" if deck["change_due"] or deck["missing"] else None)


def _left(deck: dict[str, Any], since_ms: int) -> str:
    if deck["change_due"]:
        return "change it"
    return "-" if deck["left_ms"] is None else terminal.duration(max(0, deck["left_ms"] - since_ms))


def _devices(devices: list[dict[str, Any]]) -> Iterator[Line]:
    if not devices:
        yield Line("no device is configured")
        return
    rows = [
        (
            f"  {device['name']}",
            device["state"].replace("_", " "),
            device["link"],
            "locked" if device["locked"] else "-",
            device["doing"] or "-",
            device["hindered"] or device["out_how"] or "-",
        )
        for device in devices
    ]
    heads, *told = terminal.table(("  DEVICE", "STATE", "LINK", "LOCK", "DOING", "HINDERED"), rows)
    yield Line(heads, bold=True)
    for device, line in zip(devices, told, strict=True):
        good = device["link"] == "ok" or not device["online"]
        yield Line(line, _STATES.get(device["state"], "red") if good else "yellow")
