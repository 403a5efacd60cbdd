"""Writes the generated parts of docs/. Run `make docs` after a change; a test fails while a part is out of date."""

from __future__ import annotations

import ast
import collections
import enum
import functools
import inspect
import re
import sys
import typing
from pathlib import Path

import msgspec

from controller.api import available_actions, rulebook
from controller.api.openapi import describe
from controller.core.events import KINDS
from controller.core.machines import MACHINES, StateMachine
from controller.core.setup import DEALT_HOW, Setup, ShufflerKind, setup_fault
from controller.core.state import State
from controller.games import GAMES, RULEBOOK, board, description, game_with, payments, record
from controller.games import game as game_model
from controller.games import rulebook as rulebook_model
from controller.games.description import Description
from controller.games.game import PLAYERS, Method
from firmware_bridge.connection import STAGES, Stage
from firmware_bridge.tools.conform import OUTSIDE, POINTS
from firmware_bridge.wire.messages import (
    ALL_MESSAGES,
    COMMANDS,
    EVENTS,
    QUESTIONS,
    DeviceRole,
    Message,
    Mode,
    Outcome,
    enums,
    message_number,
)
from firmware_bridge.wire.sequences import ENDINGS, STATUS_FIELD, WORKS, Course, SequenceStep, Work, works_of
from simulators.devices import faults
from simulators.faulty_firmware import MECHANICAL
from tests.support import worked_examples
from tests.support.imports import SIMULATION_STARTS_IN, direct_imports, package_of

DOCS = Path(__file__).parent

WORDS = {
    "Id": "0 to 2^53-1",
    "EventNumber": "1 to 2^53-1",
    "Boot": "0 to 2^32-1",
    "CardCount": "-1 to 65535",
    "Milliseconds": "0 to 2^53-1",
    "Version": "0 to 255",
    "Name": "text, at most 24 characters",
    "Text": "text, at most 64 characters",
    "Digest": "binary, the SHA-256 of the firmware image (32 bytes) or empty",
    "Numbers": "array of at most 16 integers, 0 to 255",
    "CardKind": "-1 to 255",
    "Kinds": "array of at most 64 integers, 0 to 65535",
    "ShownKinds": "array of at most 64 integers, -1 to 255",
    "Durations": "array of at most 16 integers, 0 to 2^53-1",
    "Total": "0 to 2^53-1",
    "bool": "true or false",
}
PROTOCOL_NAMES = {"DeviceRole": "Role"}  # lists whose class has another name than on the protocol page


def message_tables() -> str:
    """Every message with its fields, ordered by number."""
    groups = [
        ("Handshake and answers", range(16)),
        ("Commands (host to device)", COMMANDS),
        ("Questions (host to device)", QUESTIONS),
        ("Events (device to host)", EVENTS),
    ]
    out = []
    for title, numbers in groups:
        out += [
            f"### {title}",
            "",
            "| number | message | fields after the number | meaning |",
            "| --- | --- | --- | --- |",
        ]
        for kind in sorted((k for k in ALL_MESSAGES if message_number(k) in numbers), key=message_number):
            fields = "; ".join(_field(kind, field) for field in msgspec.structs.fields(kind))
            meaning = " ".join((kind.__doc__ or "").split()).replace("`", "")
            out.append(f"| {message_number(kind)} | {kind.__name__} | {fields} | {meaning} |")
        out.append("")
    return "\n".join(out)


def _field(kind: type[Message], field: msgspec.structs.FieldInfo) -> str:
    owner = next(base for base in kind.__mro__ if field.name in inspect.get_annotations(base))
    word = str(owner.__annotations__[field.name])
    text = f"`{field.name}` ({WORDS.get(word, PROTOCOL_NAMES.get(word, word))})"
    if field.required:
        return text
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    shown = default.name if isinstance(default, enum.Enum) else default
    return f"{text}, optional, {shown!r}".replace("'", '"')


def enum_tables() -> str:
    """Every enumeration used in messages, with the comments in the source as meanings."""
    source = Path(enums.__file__).read_text()
    out = []
    for name, kind in vars(enums).items():
        if not (isinstance(kind, type) and issubclass(kind, enum.IntEnum)) or name.startswith("_") or len(kind) == 0:
            continue
        block = source.split(f"class {name}(")[1].split("\nclass ")[0]
        members = [member for member in kind if member.value != 255]
        notes = {member: _remark(block, member.name) for member in members}
        head = f"**{PROTOCOL_NAMES.get(name, name)}**: {' '.join((kind.__doc__ or '').split())}"
        if any(notes.values()):
            out += [head, "", *(f"- {member.value} {member.name}{notes[member]}" for member in members)]
        else:
            out.append(f"{head} {', '.join(f'{member.value} {member.name}' for member in members)}.")
        out.append("")
    return "\n".join(out)


def _remark(block: str, member: str) -> str:
    """What the comment beside a member of an enumeration says, after a colon; empty if there is none."""
    found = re.search(rf"^    {member} = \d+  # (.*)$", block, re.M)
    return f": {found.group(1)}" if found else ""


def fault_table() -> str:
    """Every fault, described by the comment beside it in the source."""
    source = Path(faults.__file__).read_text()
    out = ["| fault | affects | what happens |", "| --- | --- | --- |"]
    for fault in faults.FaultName:
        remark = re.search(rf'^    {fault.name} = "\w+"  # (.*)$', source, re.M)
        assert remark, fault
        of = "the mechanics" if fault in faults.OF_THE_MECHANICS else "power and wire"
        out.append(f"| `{fault}` | {of} | {remark.group(1)} |")
    return "\n".join(out)


# --- worked sequences -------------------------------------------------------------------------------------------------


def _in_order(steps: typing.Iterable[SequenceStep]) -> str:
    return ", then ".join(_described(step) for step in steps) or "none"


def _described(step: SequenceStep) -> str:
    """One event of a sequence, in words."""
    name = step.event.__name__
    parts = [member.name for member in (step.outcome, step.door) if member is not None]
    if step.memory_kept is not None:
        parts.append(f"`memory_kept` {str(step.memory_kept).lower()}")
    if step.place is not None:
        parts.append(f"at {step.place.name}")
    if step.cards is not None:
        parts.append(f"`cards`: {step.cards.value}")
    text = f"**{name}** {' '.join(parts[:1])}{''.join(', ' + part for part in parts[1:])}".rstrip()
    if step.needs is not None:
        text += f" (with {step.needs.name})"
    return text + (" (one for each)" if step.repeats else "")


def _moved(work: Work) -> str:
    """What Status counts before and after, in words."""
    if not work.sources:
        return "no card moves"
    sources = " + ".join(dict.fromkeys(f"`{STATUS_FIELD[place]}`" for place in work.sources))
    target = f"to `{STATUS_FIELD[work.target]}`" if work.target else "out of the device"
    through = "".join(f", through `{STATUS_FIELD[place]}`" for place in work.through)
    return f"from {sources}{through} {target}"


def sequence_table() -> str:
    """Every command: what it moves and what is reported if nothing disturbs it."""
    out = ["| command | on | cards move | events, in this order |", "| --- | --- | --- | --- |"]
    for work in WORKS:
        on = " and ".join(role.name.lower() for role in work.roles)
        on += "".join(f", with {item.name}" for item in [work.needs] if item)
        on += "".join(f", without {item.name}" for item in [work.lacks] if item)
        steps = _in_order(ENDINGS[work.name][Course.COMPLETE].steps)
        out.append(f"| {work.name} | {on} | {_moved(work)} | {steps} |")
    return "\n".join(out)


def course_table() -> str:
    """How a cycle ends when something disturbs it; courses whose events are the same for all cycles have one row."""
    out = ["| what happens | in the cycle of | events, in this order | mode afterwards |", "| --- | --- | --- | --- |"]
    for course in list(Course)[1:]:
        rows: dict[tuple[str, Mode | None], list[str]] = {}
        for work in WORKS:
            ending = ENDINGS[work.name].get(course)
            if work.cycle and ending:
                before_end = "its events as above, then " if course is Course.INCOMPLETE and work.steps else ""
                own = [step for step in ending.steps if not (before_end and step in work.steps)]
                rows.setdefault((before_end + _in_order(own), ending.mode), []).append(work.name)
        for (steps, mode), names in rows.items():
            after = mode.name if mode is not None else "READY, or JAMMED while a jam is not cleared"
            out.append(f"| {course.value} | {_together(names)} | {steps} | {after} |")
    return "\n".join(out)


def _together(names: list[str]) -> str:
    cycles = [work for work in WORKS if work.cycle]
    if names == [work.name for work in cycles]:
        return "every command"
    return "every command that moves cards" if names == [w.name for w in cycles if w.moves_cards] else ", ".join(names)


def mode_diagram(role: DeviceRole) -> str:
    """The modes of a device, and the commands and events between them, as a Mermaid diagram."""
    arrows: dict[tuple[str, str], list[str]] = {}

    def arrow(source: Mode, target: Mode, label: str) -> None:
        labels = arrows.setdefault((source.name, target.name), [])
        if label not in labels:
            labels.append(label)

    for work in works_of(role):
        if work.cycle is None:
            continue
        clearing = work.command.__name__ == "ClearJam"
        arrow(Mode.JAMMED if clearing else Mode.READY, Mode.WORKING, work.command.__name__)
        for ending in ENDINGS[work.name].values():
            modes = [ending.mode] if ending.mode is not None else [Mode.READY, *([Mode.JAMMED] if clearing else [])]
            for mode in modes:
                end = next((step.outcome for step in ending.steps if step.outcome is not None), None)
                label = f"CycleDone {Outcome(end).name}" if end is not None else "PowerUp"
                arrow(Mode.WORKING, mode, label)
    for mode in (Mode.JAMMED, Mode.FAILED):
        arrow(mode, Mode.READY, "PowerUp")
    out = ["```mermaid", "stateDiagram-v2", "    [*] --> READY: PowerUp"]
    out += [f"    {source} --> {target}: {', '.join(labels)}" for (source, target), labels in arrows.items()]
    return "\n".join([*out, "```"])


def defect_table() -> str:
    """Every mechanical defect of the faulty firmware, and the point of the conformance test that finds it."""
    out = ["| defect | device | what it does | found by |", "| --- | --- | --- | --- |"]
    hands = {point.name for point in POINTS if point.hands}
    for name, defect in MECHANICAL.items():
        device = " ".join([*(f"{item.name}," for item in sorted(defect.gains)), defect.role.name.lower()])
        device += "".join(f" without {item.name}" for item in sorted(defect.lacks))
        found = f"`{defect.found_by}`" if defect.found_by else "no point: no message shows it"
        found += " (a person)" if defect.found_by in hands else ""
        out.append(f"| {name} | {device} | {defect.text} | {found} |")
    return "\n".join(out)


def point_table() -> str:
    """Every point of the conformance test, with the option that includes it."""
    out = ["| point | what it checks | in runs |", "| --- | --- | --- |"]
    for point in POINTS:
        run = "`--interactive`" if point.hands else "`--with-cards`" if point.with_cards else "all"
        out.append(f"| `{point.name}` | {point.asks} | {'`--slow`' if point.slow else run} |")
    return "\n".join([*out, "", "No message shows " + "; ".join(OUTSIDE) + "."])


def stage_diagram() -> str:
    """The stages of a connection as a Mermaid diagram."""
    out = ["```mermaid", "stateDiagram-v2", f"    [*] --> {Stage.CLOSED.name}"]
    for row in STAGES:
        sources = row["source"] if isinstance(row["source"], list) else [row["source"]]
        out += [f"    {source.name} --> {row['dest'].name}: {row['trigger']}" for source in sources]
    return "\n".join([*out, "```"])


def package_diagram() -> str:
    """The packages and the direction of their imports as a Mermaid diagram, read from the source."""
    imports = direct_imports()
    node = {name: name.replace(".", "_") for name in imports}
    out = ["```mermaid", "flowchart TD"]
    for folder in ("controller", "simulators", "firmware_bridge"):
        inside = sorted(name for name in imports if name.startswith(f"{folder}."))
        out.append(f"    subgraph {folder}")
        out += [f"        {node[name]}[{name.removeprefix(folder + '.')}]" for name in inside]
        out.append("    end")
    for package, targets in sorted(imports.items()):
        out += [f"    {node[package]} --> {node[target]}" for target in sorted(targets)]
    out.append(f"    {node[package_of(SIMULATION_STARTS_IN)]} -. at run time .-> simulators_table")
    return "\n".join([*out, "```"])


def rule_table() -> str:
    """Every clause with its summary, the functions that enforce it and the tests that show it."""
    out = ["| clause | summary | enforced by | tested by |", "| --- | --- | --- | --- |"]
    for row in rulebook.rows(RULEBOOK, list(RULEBOOK.clauses)):
        enforced = "<br>".join(f"`{name.removeprefix('controller.core.')}`" for name in row["enforced_by"])
        tests = "<br>".join(f"`{name.removeprefix('tests/core/')}`" for name in row["tests"])
        out.append(f"| {row['clause']} | {row['summary']} | {enforced} | {tests} |")
    return "\n".join(out)


def hidden_table() -> str:
    """Of every game: what is dealt face up, what turns over the cards that are not, and what stays hidden."""
    out = ["| game | face up, as it is dealt | turned over | never shown |", "| --- | --- | --- | --- |"]
    for found in GAMES.values():
        turned = "; ".join(f"{one.cards}: {one.when}" for one in found.hidden if one.turned_by)
        never = [one.cards for one in found.hidden if not one.turned_by]
        out.append(f"| {found.game.name} | {_face_up(found)} | {turned} | {'; '.join([*never, 'undealt cards'])} |")
    return "\n".join(out)


GAME_PARTS = (
    description.Description, game_model.Game, game_model.Deal, rulebook_model.Rulebook, description.Hidden,
    description.Irregularity, record.RoundRecord, record.PlayerTurn, record.Decided, record.Consequence, record.DueCard,
    record.Stakes, record.SessionEnd, payments.Payment, payments.HandResult, payments.Fee, board.BoardBlock,
    board.GridCell,
)  # fmt: skip


def game_fields() -> str:
    """Every field of what a game is made of, with the comment that it has in the source."""
    out = []
    for kind in GAME_PARTS:
        out += [f"### {kind.__name__}", "", (kind.__doc__ or "").splitlines()[0], ""]
        out += ["| field | if not given | what it is |", "| --- | --- | --- |"]
        lines, start = inspect.getsourcelines(kind)
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                typed = re.fullmatch(r"Callable\[\[(.*?)\], (.*?)\]( \| None)?", ast.unparse(node.annotation))
                name = f"{node.target.id}({typed[1]}) -> {typed[2]}" if typed else node.target.id
                usual = "" if typed else "required"
                if node.value and not typed:
                    usual = f"`{ast.unparse(node.value)}`".replace("field(default_factory=dict)", "{}")
                comment = lines[node.end_lineno - 1].partition("  # ")[2].strip() if node.end_lineno else ""
                assert comment, f"{kind.__name__}.{node.target.id} (line {start + node.lineno - 1}) has no comment"
                out.append("| `{}` | {} | {} |".format(name.replace("|", "\\|"), usual, comment))
        out.append("")
    return "\n".join(out)


SHUFFLERS: dict[str, ShufflerKind | None] = {
    "no shuffler": None,
    "plain": ShufflerKind(),
    "counts": ShufflerKind(counts=True),
    "counts, feeds a shoe": ShufflerKind(counts=True, feeds_shoe=True),
    "recognises": ShufflerKind(counts=True, recognises=True),
    "reshuffles by itself": ShufflerKind(counts=True, reshuffles=True),
}


def set_up_table() -> str:
    """Of every game: with how many decks each dealing method and each kind of shuffler is allowed, or why it is not."""
    out = [f"| game | dealt | {' | '.join(SHUFFLERS)} |", f"| --- | --- |{' --- |' * len(SHUFFLERS)}"]
    for found in GAMES.values():
        for method in Method:
            cells = [_decks_allowed(found, method, kind) for kind in SHUFFLERS.values()]
            out.append(f"| {found.game.name} | {DEALT_HOW[method]} | {' | '.join(cells)} |")
    return "\n".join(out)


def _decks_allowed(found: Description, method: Method, shuffler: ShufflerKind | None) -> str:
    options = dict(found.example_options)
    game = game_with(found, options)
    one = Setup(method, ("red",), shuffler, seats=game.most_seats, game=game, options=options)
    faults = [setup_fault(msgspec.structs.replace(one, backs=backs)) for backs in (("red",), ("red", "blue"))]
    allowed = [str(number) for number, fault in enumerate(faults, 1) if fault is None]
    return " or ".join(allowed) or "no ({})".format(", ".join(faults[0].rules) if faults[0] else "")


def odds_table() -> str:
    """Every bet of every game by each of its paytables, with what the house keeps."""
    out = ["| game | bet | paytable | edge | of |", "| --- | --- | --- | ---: | --- |"]
    for found in GAMES.values():
        for bet in found.odds() if found.odds else ():
            out.append(f"| {found.game.name} | {bet.bet} | {bet.paytable} | {float(bet.edge):.4%} | {bet.unit} |")
    return "\n".join(out)


def _face_up(found: Description) -> str:
    """Which cards of a round are dealt face up."""
    (dealt, *_) = found.game.programme.values()
    numbers = collections.Counter[str]()
    for deal in dealt:
        numbers[deal.to] += deal.cards if deal.face_up else 0
    hands = {PLAYERS: "every hand"}
    cards = [f"{number} cards of {hands.get(hand, f'the {hand}')}" for hand, number in numbers.items() if number]
    if not cards:
        return "nothing"
    return ", ".join([*cards, *(["further cards that are due"] if found.due_card else [])])


def machine_diagram(machine: StateMachine[typing.Any]) -> str:
    """A state machine of the core as a Mermaid diagram, and the events that do not change its state."""
    out = ["```mermaid", machine.diagram(), "```"]
    stays = [(event, sources) for event, sources, dest in machine.rows if dest is None]
    if stays:
        out += ["", "| events that do not change the state | allowed in |", "| --- | --- |"]
        out += [f"| `{event.kind}` | {', '.join(sources)} |" for event, sources in stays]
    return "\n".join(out)


def event_table() -> str:
    """Every kind of event with its actor, its fields and what it means, from the structs of core/events."""
    out = ["| kind | actor | fields | meaning |", "| --- | --- | --- | --- |"]
    for kind, event in sorted(KINDS.items()):
        fields = [field for field in msgspec.structs.fields(event) if field.name not in ("at_ms", "of", "origin")]
        names = ", ".join(f"`{field.name}`" + ("" if field.required else " (optional)") for field in fields)
        meaning = " ".join((event.__doc__ or "").split())
        out.append(f"| `{kind}` | {event.actor} | {names} | {meaning} |")
    return "\n".join(out)


def api_table() -> str:
    """Every request of the API, from its OpenAPI description."""
    out = ["| request | what it does | values | errors |", "| --- | --- | --- | --- |"]
    for path, methods in describe()["paths"].items():
        for method, operation in methods.items():
            values = ", ".join(f"`{value['name']}`" for value in operation.get("parameters", []))
            if "requestBody" in operation:
                values = "a JSON object"
            errors = " ".join(status for status in operation["responses"] if status != "200")
            out.append(f"| `{method.upper()} {path}` | {operation['summary']} | {values} | {errors} |")
    return "\n".join(out)


def action_table() -> str:
    """Every action with its fields and the roles that may perform it."""
    out = ["| action | meaning | fields | roles |", "| --- | --- | --- | --- |"]
    for name, kind in available_actions.ACTIONS.items():
        fields = ", ".join(
            f"`{field['name']}`" + ("" if field["required"] else " (optional)")
            for field in available_actions.fields_of(kind, State())
        )
        text = " ".join((kind.__doc__ or "").strip().splitlines()[0].split())
        out.append(f"| `{name}` | {text} | {fields} | {', '.join(kind.roles)} |")
    return "\n".join(out)


PARTS: dict[str, dict[str, typing.Callable[[], str]]] = {
    "api.md": {"requests": api_table, "actions": action_table},
    "protocol.md": {"messages": message_tables, "lists": enum_tables},
    "sequences.md": {
        "commands": sequence_table,
        "courses": course_table,
        "examples": worked_examples.examples,
        "shuffler": functools.partial(mode_diagram, DeviceRole.SHUFFLER),
        "shoe": functools.partial(mode_diagram, DeviceRole.SHOE),
    },
    "conformance.md": {"points": point_table, "defects": defect_table},
    "simulators.md": {"faults": fault_table},
    "design.md": {"packages": package_diagram, "stages": stage_diagram},
    "journal.md": {"events": event_table},
    "games.md": {"hidden": hidden_table, "set-ups": set_up_table},
    "game-fields.md": {"fields": game_fields},
    "odds.md": {"odds": odds_table},
    "rules.md": {"rules": rule_table},
    "table.md": {machine.name: functools.partial(machine_diagram, machine) for machine in MACHINES},
}


def fresh(page: str) -> str:
    """The text of the page with its generated parts brought up to date."""
    text = (DOCS / page).read_text()
    for part, make in PARTS[page].items():
        begin, end = f"<!-- generated: {part} -->", f"<!-- end: {part} -->"
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = f"{before}{begin}\n{make().rstrip()}\n{end}{after}"
    return text


def main() -> int:
    """Update every page that has generated parts."""
    for page in PARTS:
        (DOCS / page).write_text(fresh(page))
    rulebook.SHIPPED.write_bytes(rulebook.shipped_tests())
    return 0


if __name__ == "__main__":
    sys.exit(main())
