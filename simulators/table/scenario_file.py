"""Reads scenario files. An error names the line, what is wrong there, and the words that are known."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from typing import Any, Final, get_args

import msgspec

from controller.core import ledger
from controller.core.actions import Action, Configure, Role
from controller.core.commands import COMMANDS
from controller.core.events import KINDS
from controller.core.machines import DeckState, DeviceState, TableState
from controller.core.rules.service import OUT_HOW
from controller.core.setup import Setup, devices_of, setup_fault
from controller.core.step import ACTIONS
from controller.core.warning_kinds import WARNINGS
from controller.daemon.config import parse_toml
from controller.games import GAMES, description_named, game_with, not_loaded, rulebook_of
from controller.games.game import Method
from firmware_bridge.wire.messages import (
    AnyEvent,
    ButtonName,
    Capability,
    Cycle,
    DoorState,
    FaultCode,
    Outcome,
    PowerCause,
)
from simulators.devices.faults import OF_THE_MECHANICS, FaultName
from simulators.table.hands import DEALERS_SEAT
from simulators.table.house import deck_names
from simulators.table.people import WHO
from simulators.table.scenario_format import (
    DECK_SETS,
    FLOOR,
    MACHINE,
    MOMENTS,
    RETIRED,
    ROUTINES,
    VERBS,
    ExpectedEvent,
    ExpectedState,
    OrderedEvent,
    Scenario,
    ScenarioStep,
    hand_places,
)
from simulators.table.toml_lines import TomlPath, toml_lines

# Keys that have an effect only with some of a verb's words.
_ONLY_WITH: Final[dict[tuple[str, str], Collection[str]]] = {
    ("routine", "seats"): ("round",),
    ("routine", "times"): ("round",),
    ("routine", "within_s"): ("work",),
    ("fault", "after_cards"): [fault for fault in FaultName if fault in OF_THE_MECHANICS],
    ("fault", "for_s"): [one for one in FaultName if one not in (*OF_THE_MECHANICS, FaultName.REBOOT, FaultName.DEAD)],
}
_ENUMS: Final[dict[str | int, type[StrEnum]]] = {"fault": FaultName, "mend": FaultName, "role": Role, "method": Method}
_NEEDED: Final = {"load": "deck", "move": "to", "swap": "deck", "fault": "device", "mend": "device", "door": "device"}
_IN_THE_STEP: Final = ("deck", "back", "device", "seats")  # fields of an action that are keys of the step
# What fields of events can be, whatever the table is like.
_VALUES: Final[dict[str, Collection[str]]] = {
    "action": ACTIONS,
    "button": [one.name.lower() for one in ButtonName],
    "cause": [one.name.lower() for one in PowerCause],
    "code": [one.name.lower() for one in FaultCode],
    "command": COMMANDS,
    "cycle": [one.name.lower() for one in Cycle],
    "door": [one.name.lower() for one in DoorState],
    "event": [kind.__name__ for kind in AnyEvent.__args__],
    "how": OUT_HOW,
    "method": [str(method) for method in Method],
    "name": COMMANDS,
    "needs": [str(role) for role in Role],
    "outcome": [one.name.lower() for one in Outcome],
    "role": [str(role) for role in Role],
}
LONGEST_S: Final = 10 * 365 * 86_400.0  # what a step may take


class ScenarioError(Exception):
    """The file is not a valid scenario; the text says where."""


def read_scenario(text: str) -> Scenario:
    """Read and check a scenario; ScenarioError names the line and what is wrong there."""
    try:
        raw = parse_toml(text)
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    try:
        _check_keys(raw)
        try:
            scenario = msgspec.convert(raw, Scenario)
        except msgspec.ValidationError as error:
            raise _at_path(error) from None
        if scenario.no_shuffler:
            scenario.table = msgspec.structs.replace(scenario.table, shuffler=None)
        scenario.table = _with_game(scenario, default_seats="seats" not in raw.get("table", {}))
        _Words(scenario).check()
    except _Wrong as wrong:
        lines = toml_lines(text)
        path = wrong.path
        while path and path not in lines:
            path = path[:-1]
        where = f"line {lines[path]}: " if path else ""
        raise ScenarioError(f"{where}{_named(wrong.path)}{wrong.text}") from None
    return scenario


def _with_game(scenario: Scenario, *, default_seats: bool) -> Setup:
    """The table's set-up with the numbers of its game, and what the house has chosen there."""
    game = description_named(scenario.game)
    if game is None:
        known = f"unknown game {scenario.game!r}; {_expected(scenario.game, GAMES)}"
        raise _Wrong(("game",), "; ".join([known, *not_loaded()]))
    options = {**game.example_options, **scenario.table.options}
    own_numbers = scenario.table.game != Setup().game
    numbers = scenario.table.game if own_numbers else game_with(game, options)
    seats = min(scenario.table.seats, numbers.most_seats) if default_seats else scenario.table.seats
    return msgspec.structs.replace(scenario.table, game=numbers, options=options, seats=seats)


def action_of(step: ScenarioStep, setup: Setup) -> Action:
    """The action that a `do` reports; ValueError if its fields are invalid."""
    kind = ACTIONS[step.do]
    role = step.role or kind.roles[0]
    fields = {name: getattr(step, name) for name in _IN_THE_STEP if getattr(step, name)} | step.fields
    if kind is Configure:
        fields.setdefault("setup", msgspec.to_builtins(setup, str_keys=True))
    return msgspec.convert({"who": step.who or WHO[role], "role": role, "action": step.do, **fields}, kind)


# --- errors ---------------------------------------------------------------------------------------------------------


class _Wrong(Exception):
    """What is wrong, and the path of the key where it is."""

    def __init__(self, path: TomlPath, text: str) -> None:
        self.path = path
        self.text = text


def _named(path: TomlPath) -> str:
    """Where a key is, in words, with list entries counted from 1: `step 2: fields: `."""
    words: list[str] = []
    for key in path[:-1] if path and isinstance(path[-1], str) else path:
        if isinstance(key, int):
            words[-1] += f" {key + 1}"
        else:
            words.append(key)
    return "".join(f"{word}: " for word in words)


def _at_path(error: msgspec.ValidationError) -> _Wrong:
    """A value of the wrong type; msgspec names the path as `$.step[0].fault`."""
    text, _, where = str(error).replace(" | null`", "`").partition(" - at `$")  # TOML has no null
    path = tuple(int(number) if number else key for key, number in re.findall(r"\.(\w+)|\[(\d+)\]", where))
    key = path[-1] if path else ""
    word = re.search(r"^Invalid enum value '(.*)'$", text)
    if word and key in _ENUMS:
        return _Wrong(path, f"unknown {key} {word[1]!r}; {_expected(word[1], [str(one) for one in _ENUMS[key]])}")
    return _Wrong(path, f"{key}: {text}" if isinstance(key, str) and key else text)


def _known(path: TomlPath, what: str, word: str, known: Collection[str]) -> None:
    """Check that a word is one of those known, and suggest the nearest."""
    if word not in known:
        raise _Wrong(path, f"unknown {what} {word!r}; {_expected(word, known)}")


def _expected(word: str, known: Collection[str]) -> str:
    if not known:
        return "it has none"
    near = difflib.get_close_matches(word, known, 1)
    hint = f"did you mean {near[0]!r}? Expected" if near else "expected"
    return f"{hint} one of {', '.join(known)}"


# --- keys -----------------------------------------------------------------------------------------------------------


def _check_keys(raw: dict[str, Any]) -> None:
    """Unknown keys, and keys of a step that do not belong to its verb."""
    _check_struct((), raw, Scenario)
    steps = raw.get("step")
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict):
            _check_step(("step", number), step)


def _check_struct(path: TomlPath, value: Any, kind: type) -> None:
    """Unknown keys of a group, and of the groups in it. The steps are checked verb by verb."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, inner in value.items():
        _known((*path, key), "key", key, fields)
        for place, group, inner_kind in _groups((*path, key), inner, fields[key]):
            if inner_kind is not ScenarioStep:
                _check_struct(place, group, inner_kind)


def _groups(path: TomlPath, value: Any, kind: Any) -> Iterator[tuple[TomlPath, dict[str, Any], type]]:
    """The groups in a value whose keys are known from its type."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if isinstance(value, dict):
            yield path, value, kind
        return
    inner_kinds = [inner for inner in get_args(kind) if inner is not type(None)]
    if isinstance(value, list):
        for number, inner in enumerate(value):
            for inner_kind in inner_kinds:
                yield from _groups((*path, number), inner, inner_kind)
    elif isinstance(value, dict) and len(inner_kinds) == 2:  # by name
        for key, inner in value.items():
            yield from _groups((*path, key), inner, inner_kinds[1])
    else:
        for inner_kind in inner_kinds:
            yield from _groups(path, value, inner_kind)


def _check_step(path: TomlPath, step: dict[str, Any]) -> None:
    verbs = [name for name in VERBS if name in step and step[name] != "" and step[name] is not False]
    if len(verbs) != 1:
        found = " and ".join(verbs) or "none"
        raise _Wrong(path, f"needs exactly one of {', '.join(VERBS)}; it has {found}")
    (verb,) = verbs
    for key in step:
        if key != verb and key not in VERBS[verb]:
            raise _Wrong((*path, key), f"`{verb}` has no key {key!r}; {_expected(key, VERBS[verb])}")
        words = _ONLY_WITH.get((verb, key))
        if words is not None and step[verb] not in words and step[verb] in (*FaultName, *ROUTINES):
            raise _Wrong(
                (*path, key), f"{key} has no effect with {verb} = {step[verb]!r}; only with {', '.join(words)}"
            )
    if verb == "check" and isinstance(step[verb], dict):
        _check_struct((*path, verb), step[verb], ExpectedState)


# --- words ----------------------------------------------------------------------------------------------------------


class _Words:
    """Checks the words of a scenario against those that its table knows."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.setup = scenario.table
        self.devices = devices_of(self.setup)
        self.decks = deck_names(self.setup, DECK_SETS)
        self.clauses = rulebook_of(self.setup.game).clauses
        named = {step.deck for step in scenario.step if step.do and step.deck}
        decks = (*self.decks, *sorted(named - set(self.decks)))
        places = _ledger_places(self.setup)
        of_whom = (*ledger.IN_DEVICE, *decks)
        devices = tuple(ledger.IN_DEVICE)
        warnings = [f"{name}.{warning}" for name in of_whom for warning in WARNINGS]
        self.names: dict[str, Collection[str]] = {  # what the fields of events with these names can be
            **_VALUES,
            "device": devices,
            "by_device": devices,
            "deck": decks,
            "decks": decks,
            "of_deck": decks,
            "place": places,
            "places": places,
            "moves": places,
            "target": places,
            "warning": warnings,
            "warnings": warnings,
            "why": self.clauses,
        }

    def check(self) -> None:
        """Raise the first thing that is wrong."""
        scenario = self.scenario
        for number, clause in enumerate(scenario.clauses):
            _known(("clauses", number), "clause", clause, self.clauses)
        for device, traits in scenario.devices.items():
            self._device(("devices", device), device)
            self._capabilities(("devices", device), traits.has, traits.lacks)
        for number, step in enumerate(scenario.step):
            self._step(("step", number), step)
        for number, seen in enumerate(scenario.see):
            path = ("see", number)
            self._event(path, seen)
            for key in ("after", "before"):
                if getattr(seen, key):
                    _known((*path, key), "event", getattr(seen, key), sorted(KINDS))
            if seen.times is not None and seen.times < 0:
                raise _Wrong((*path, "times"), f"times is negative: {seen.times}")
        for number, ordered in enumerate(scenario.order):
            self._event(("order", number), ordered)
        self._state(("end",), scenario.end)

    def _device(self, path: TomlPath, name: str) -> None:
        if name not in self.devices:
            raise _Wrong(path, f"no device {name!r} at this table; expected one of {', '.join(self.devices) or 'none'}")

    def _deck(self, path: TomlPath, name: str) -> None:
        if name not in self.decks:
            raise _Wrong(path, f"no deck {name!r}; expected one of {', '.join(self.decks)}")

    def _capabilities(self, path: TomlPath, has: tuple[str, ...], lacks: tuple[str, ...]) -> None:
        for key, words in (("has", has), ("lacks", lacks)):
            for word in words:
                _known((*path, key), "capability", word, [one.name.lower() for one in Capability])

    # --- steps ------------------------------------------------------------------------------------------------------

    def _step(self, path: TomlPath, step: ScenarioStep) -> None:
        verb = step.verb
        needed = _NEEDED.get(verb)
        if needed and needed != "device" and not getattr(step, needed):
            raise _Wrong(path, f"`{verb}` needs `{needed}`")
        for name in ("wait_s", "for_s", "within_s", "after_cards", "cards"):
            if (getattr(step, name) or 0) < 0:
                raise _Wrong((*path, name), f"{name} is negative: {getattr(step, name):g}")
        for name in ("wait_s", "for_s", "within_s", "clock_s"):
            if not abs(getattr(step, name) or 0.0) <= LONGEST_S:
                raise _Wrong((*path, name), f"{name} is longer than ten years")
        of_device = step.take or step.load or step.replace or (step.device if needed == "device" else "")
        if of_device or needed == "device":
            key = "device" if needed == "device" else verb
            self._device((*path, key), of_device)
        check = _STEP_CHECKS.get(verb)
        if check:
            check(self, path, step)

    def _routine(self, path: TomlPath, step: ScenarioStep) -> None:
        if step.routine not in ROUTINES:
            raise _Wrong((*path, "routine"), f"unknown routine {step.routine!r}; expected open, round or work")
        if step.to:
            _known((*path, "to"), "event", step.to, sorted(KINDS))
        fault = setup_fault(self.setup)
        if fault:
            raise _Wrong(("table",), f"table: it cannot be opened ({', '.join(fault.rules)}): {fault.reason}")

    def _do(self, path: TomlPath, step: ScenarioStep) -> None:
        _known((*path, "do"), "action", step.do, sorted(ACTIONS))
        if step.refused and step.refused not in (*self.clauses, MACHINE):
            text = f"refused by {step.refused!r}, which is neither a clause nor {MACHINE!r}; the clauses are "
            raise _Wrong((*path, "refused"), text + ", ".join(self.clauses))
        kind = ACTIONS[step.do]
        fields = [field.name for field in msgspec.structs.fields(kind) if field.name not in ("who", "role")]
        given = [*((*path, key) for key in _IN_THE_STEP if getattr(step, key))]
        for place in [*given, *((*path, "fields", key) for key in step.fields)]:
            if place[-1] not in fields:
                key = str(place[-1])
                raise _Wrong(place, f"{step.do} has no field {key!r}; {_expected(key, fields)}")
        if step.do == "configure" and "setup" in step.fields and not step.refused:
            try:
                same = msgspec.convert(step.fields["setup"], Setup) == self.setup
            except msgspec.ValidationError as error:
                raise _Wrong((*path, "fields", "setup"), str(error)) from None
            if not same:
                raise _Wrong((*path, "fields"), "a different set-up than the scenario's; write it under `table`")
        try:
            action_of(step, self.setup)
        except ValueError as error:
            raise _Wrong(path, f"{step.do} is invalid: {error}") from None

    def _take(self, path: TomlPath, step: ScenarioStep) -> None:
        if step.seat not in (0, *range(1, self.setup.seats + 1), DEALERS_SEAT):
            text = f"no seat {step.seat}; expected 1 to {self.setup.seats}, or {DEALERS_SEAT} for the dealer"
            raise _Wrong((*path, "seat"), text)

    def _load(self, path: TomlPath, step: ScenarioStep) -> None:
        self._deck((*path, "deck"), step.deck)

    def _move(self, path: TomlPath, step: ScenarioStep) -> None:
        places = hand_places(self.setup)
        _known((*path, "move"), "place", step.move, places)
        _known((*path, "to"), "place", step.to, places)
        if step.deck:
            self._deck((*path, "deck"), step.deck)
        if step.move == step.to:
            raise _Wrong((*path, "to"), "the cards are there already")

    def _swap(self, path: TomlPath, step: ScenarioStep) -> None:
        _known((*path, "swap"), "place", step.swap, hand_places(self.setup))
        self._deck((*path, "deck"), step.deck)

    def _arrange(self, path: TomlPath, step: ScenarioStep) -> None:
        for card in step.arrange or ():
            _known((*path, "arrange"), "card", card, self.setup.game.kinds)

    def _hands(self, path: TomlPath, step: ScenarioStep) -> None:
        for hand, choices in (step.hands or {}).items():
            _known((*path, "hands", hand), "place", hand, hand_places(self.setup))
            for choice, cards in choices.items():
                for card in cards:
                    _known((*path, "hands", hand, choice), "card", card, self.setup.game.kinds)

    def _mend(self, path: TomlPath, step: ScenarioStep) -> None:
        if step.mend is FaultName.DEAD:
            raise _Wrong((*path, "mend"), "a dead device stays dead; `replace` it")

    def _door(self, path: TomlPath, step: ScenarioStep) -> None:
        _known((*path, "door"), "position of a door", step.door, ("open", "closed"))

    def _replace(self, path: TomlPath, step: ScenarioStep) -> None:
        self._capabilities(path, step.has, step.lacks)

    def _until(self, path: TomlPath, step: ScenarioStep) -> None:
        _known((*path, "until"), "event", step.until, sorted(KINDS))

    def _host_dies(self, path: TomlPath, step: ScenarioStep) -> None:
        _known((*path, "moment"), "moment", step.moment, MOMENTS)
        if step.at:
            _known((*path, "at"), "event", step.at, sorted(KINDS))
        elif step.moment != MOMENTS[1]:
            raise _Wrong((*path, "moment"), "moment has an effect only together with `at`")

    # --- events and states ------------------------------------------------------------------------------------------

    def _event(self, path: TomlPath, expected: ExpectedEvent | OrderedEvent) -> None:
        _known((*path, "event"), "event", expected.event, sorted(KINDS))
        if expected.clause:
            _known((*path, "clause"), "clause", expected.clause, self.clauses)
        self._data((*path, "data"), expected.data, KINDS[expected.event], f"event {expected.event}")

    def _data(self, path: TomlPath, data: dict[str, Any], kind: Any, what: str) -> None:
        """The fields of an event or of a group in it: their names, and the types of their values."""
        fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
        for key, value in data.items():
            place = (*path, key)
            if key not in fields:
                raise _Wrong(place, f"{what} has no field {key!r}; {_expected(key, fields)}")
            inner = [one for one in get_args(fields[key]) or (fields[key],) if hasattr(one, "__struct_fields__")]
            if isinstance(value, dict) and inner:
                self._data(place, value, inner[0], f"{key} of {what}")
                continue
            try:
                msgspec.convert(value, fields[key])
            except msgspec.ValidationError as error:
                raise _Wrong(place, f"{key} of {what}: {error}") from None
            for word in _strings(value) if key in self.names and (key, type(value)) != ("why", str) else ():
                _known(place, key, word, self.names[key])

    def _state(self, path: TomlPath, expected: ExpectedState) -> None:
        if expected.table:
            _known((*path, "table"), "state of a table", expected.table, [str(state) for state in TableState])
        for number, warning in enumerate(expected.warnings or ()):
            _known((*path, "warnings", number), "warning", warning, self.names["warning"])
        for deck, state in expected.decks.items():
            self._deck((*path, "decks", deck), deck)
            known = [*(str(one) for one in DeckState if one is not DeckState.REMOVED), RETIRED]
            _known((*path, "decks", deck), "state of a deck", state, known)
        for deck, cards in expected.ledger.items():
            self._deck((*path, "ledger", deck), deck)
            for place in cards:
                _known((*path, "ledger", deck, place), "place", place, _ledger_places(self.setup))
        for device, state in expected.devices.items():
            self._device((*path, "devices", device), device)
            _known((*path, "devices", device), "state of a device", state, [str(one) for one in DeviceState])

    def _check(self, path: TomlPath, step: ScenarioStep) -> None:
        assert step.check
        self._state((*path, "check"), step.check)


def _strings(value: Any) -> Iterator[str]:
    """The words in a value: itself, or those in a list or in the lists in it."""
    if isinstance(value, list):
        for part in value:
            yield from _strings(part)
    elif isinstance(value, str) and value:
        yield value


def _ledger_places(setup: Setup) -> list[str]:
    places = [place for place in hand_places(setup) if place != FLOOR]
    others = [*ledger.DEVICE_OF, ledger.STUB, ledger.ASIDE, ledger.TAKEN, ledger.FREED, ledger.MISSING, ledger.GONE]
    return [*places, *(place for place in others if place not in places)]


_STEP_CHECKS: Final[dict[str, Callable[[_Words, TomlPath, ScenarioStep], None]]] = {
    "routine": _Words._routine,
    "arrange": _Words._arrange,
    "hands": _Words._hands,
    "do": _Words._do,
    "take": _Words._take,
    "load": _Words._load,
    "move": _Words._move,
    "swap": _Words._swap,
    "mend": _Words._mend,
    "door": _Words._door,
    "replace": _Words._replace,
    "until": _Words._until,
    "host_dies": _Words._host_dies,
    "check": _Words._check,
}
