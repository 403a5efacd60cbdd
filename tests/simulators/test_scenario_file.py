"""A typo in a scenario is an error that names the line and the words that are known."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from controller.core.events import KINDS
from controller.games.dragon_poker.rulebook import CLAUSES
from simulators.shoesim import cli
from simulators.table.scenario import ScenarioError, read_scenario
from simulators.table.scenario_format import VERBS
from simulators.table.toml_lines import toml_lines

HEAD = 'title = "x"\n'  # line 1
STEPS = '[[step]]\nroutine = "open"\n'


def complaint(text: str) -> str:
    with pytest.raises(ScenarioError) as found:
        read_scenario(text)
    return str(found.value)


def seen(entry: str) -> str:
    """What is wrong with a scenario that expects this on line 4."""
    return complaint(f'{HEAD}see = [\n  {{ event = "round.started" }},\n  {{ {entry} }},\n]\n{STEPS}')


def step(keys: str) -> str:
    """What is wrong with a scenario whose second step, from line 4 on, has these keys."""
    return complaint(f"{HEAD}{STEPS}[[step]]\n{keys}\n")


# --- events, clauses, data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", ["", ", times = 0", ", times = 1"])
def test_a_misspelt_event_is_an_error_however_often_it_should_be_seen(times: str) -> None:
    found = seen(f'event = "round.voidd"{times}')
    assert found.startswith("line 4: see 2: unknown event 'round.voidd'; did you mean 'round.voided'?")
    assert ", ".join(sorted(KINDS)) in found


@pytest.mark.parametrize("times", ["", ", times = 0"])
def test_a_misspelt_clause_is_an_error(times: str) -> None:
    found = seen(f'event = "round.voided", clause = "13.Z"{times}')
    assert found.startswith("line 4: see 2: unknown clause '13.Z'; did you mean ")
    assert ", ".join(CLAUSES) in found
    assert complaint(f'{HEAD}clauses = ["13.G", "13.g"]\n{STEPS}').startswith(
        "line 2: clauses 2: unknown clause '13.g'"
    )


@pytest.mark.parametrize("times", ["", ", times = 0"])
def test_a_misspelt_data_key_is_an_error_that_names_the_fields_of_the_event(times: str) -> None:
    found = seen(f'event = "round.voided", data = {{ resaon = "x" }}{times}')
    assert "line 4: see 2: data: event round.voided has no field 'resaon'; did you mean 'reason'? Expected one" in found
    fields = [name for name in KINDS["round.voided"].__struct_fields__ if name in found]
    assert fields == list(KINDS["round.voided"].__struct_fields__)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ('event = "device.lost", data = { device = "shoo" }', "data: unknown device 'shoo'; did you mean 'shoe'?"),
        ('event = "deck.loaded", data = { deck = "rde-1" }', "data: unknown deck 'rde-1'; did you mean 'red-1'?"),
        ('event = "stack.taken", data = { target = "seat9" }', "data: unknown target 'seat9'; did you mean 'seat"),
        ('event = "cards.gathered", data = { place = "rac" }', "data: unknown place 'rac'; did you mean 'rack'?"),
        (
            'event = "warning.raised", data = { warning = "shoe.lots" }',
            "data: unknown warning 'shoe.lots'; did you mean 'shoe.lost'? Expected one of shuffler.jam",
        ),
        (
            'event = "stack.taken", data = { cards = "3" }',
            "data: cards of event stack.taken: Expected `int`, got `str`",
        ),
        (
            'event = "command.given", data = { command = { nmae = "Lock" } }',
            "data: command: command of event command.given has no field 'nmae'; did you mean 'name'?",
        ),
        (
            'event = "command.given", data = { command = { name = "Ejct" } }, times = 0',
            "data: command: unknown name 'Ejct'; did you mean 'Eject'?",
        ),
        (
            'event = "cycle.completed", data = { command = "Shufle" }, times = 0',
            "data: unknown command 'Shufle'; did you mean 'Shuffle'?",
        ),
        (
            'event = "device.reported", data = { event = "CardPresent" }, times = 0',
            "data: unknown event 'CardPresent'; did you mean 'CardsPresent'?",
        ),
        (
            'event = "device.reported", data = { door = "opn" }, times = 0',
            "data: unknown door 'opn'; did you mean 'open'? Expected one of ",
        ),
        (
            'event = "deck.loaded", data = { method = "hands" }, times = 0',
            "data: unknown method 'hands'; did you mean 'hand'?",
        ),
        (
            'event = "device.out_of_service", data = { how = "coverd" }, times = 0',
            "data: unknown how 'coverd'; did you mean 'covered'? Expected one of covered, removed, marked",
        ),
        (
            'event = "deck.loaded", data = { moves = [["tabel", "shoe", 53]] }, times = 0',
            "data: unknown moves 'tabel'; did you mean 'table'?",
        ),
        ('event = "round.voided", data = { why = ["13.Z"] }, times = 0', "data: unknown why '13.Z'; did you mean '13."),
        ('event = "round.voided", tiems = 0', "unknown key 'tiems'; did you mean 'times'?"),
        (
            'event = "round.voided", after = "round.starts"',
            "unknown event 'round.starts'; did you mean 'round.started'?",
        ),
        ('event = "round.voided", before = "x"', "unknown event 'x'; expected one of "),
        ('event = "round.voided", times = -1', "times is negative: -1"),
    ],
)
def test_what_is_expected_of_an_event_is_checked(entry: str, text: str) -> None:
    assert f"line 4: see 2: {text}" in seen(entry)


def test_a_deck_that_a_step_brings_under_another_name_is_known() -> None:
    text = f'{HEAD}see = [{{ event = "deck.received", data = {{ deck = "own" }} }}]\n[[step]]\ndo = "receive_deck"\n'
    assert read_scenario(f'{text}deck = "own"\nback = "red"\n').see[0].data == {"deck": "own"}


# --- steps ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "line", "text"),
    [
        ('until = "stack.dispensd"', 5, "unknown event 'stack.dispensd'; did you mean 'stack.dispensed'? Expected one"),
        ('routine = "work"\nto = "x"', 6, "unknown event 'x'"),
        ('load = "shoe"\ndeck = "red-1"\nseat = 3', 7, "`load` has no key 'seat'; expected one of deck"),
        ("wait_s = 1\nwithin_s = 3", 6, "`wait_s` has no key 'within_s'; it has none"),
        ('take = "shoe"\nsat = 3', 6, "`take` has no key 'sat'; did you mean 'seat'? Expected one of seat"),
        ('routine = "work"\nseats = [1]', 6, "seats has no effect with routine = 'work'; only with round"),
        ('routine = "open"\nwithin_s = 9', 6, "within_s has no effect with routine = 'open'; only with work"),
        (
            'fault = "jam"\ndevice = "shoe"\nfor_s = 2',
            7,
            "for_s has no effect with fault = 'jam'; only with ",
        ),
        ('fault = "reboot"\ndevice = "shoe"\nfor_s = 2', 7, "for_s has no effect with fault = 'reboot'"),
        ('fault = "noise"\ndevice = "shoe"\nafter_cards = 2', 7, "after_cards has no effect with fault = 'noise'"),
        ('fault = "fire"\ndevice = "shoe"', 5, "unknown fault 'fire'; expected one of jam, stall, "),
        ('mend = "dead"\ndevice = "shoe"', 5, "a dead device stays dead"),
        ('do = "close_bets"\ndevice = "shoe"', 6, "close_bets has no field 'device'; expected one of seats"),
        (
            'do = "cut_deck"\ndeck = "red-1"\nfields = { dpeth = 3 }',
            7,
            "fields: cut_deck has no field 'dpeth'; did you mean 'depth'? Expected one of deck, depth",
        ),
        ('do = "receive_deck"\ndeck = "red-1"', 4, "receive_deck is invalid: Object missing required field `back`"),
        ('do = "open_table"\nrole = "boss"', 6, "unknown role 'boss'; expected one of dealer, floor"),
        ('move = "shoo"\nto = "rack"', 5, "unknown place 'shoo'; did you mean 'shoe'? Expected one of infeed"),
        ('move = "seat7"\nto = "rack"', 5, "unknown place 'seat7'"),
        ('move = "shoe"\nto = "shoe"', 6, "the cards are there already"),
        ('move = "shoe"', 4, "`move` needs `to`"),
        ('take = "shoe"\nseat = 8', 6, "no seat 8; expected 1 to 6, or 7 for the dealer"),
        ('swap = "shoe"\ndeck = "green-1"', 6, "no deck 'green-1'; expected one of red-1, blue-1"),
        ('replace = "shoe"\nlacks = ["holds_stak"]', 6, "unknown capability 'holds_stak'; did you mean 'holds_stack'?"),
        ('host_dies = true\nmoment = "sent"', 6, "moment has an effect only together with `at`"),
        (
            'host_dies = true\nat = "stack.taken"\nmoment = "never"',
            7,
            "unknown moment 'never'; expected one of un",
        ),
        ('check = { tabel = "betting" }', 5, "check: unknown key 'tabel'; did you mean 'table'?"),
        ("host_dies = true\nfor_s = -1", 6, "for_s is negative: -1"),
        ("wait_s = inf", 5, "wait_s is longer than ten years"),
        ("clock_s = nan", 5, "clock_s is longer than ten years"),
    ],
)
def test_a_step_with_a_wrong_word_says_where_and_what_is_known(keys: str, line: int, text: str) -> None:
    assert step(keys).startswith(f"line {line}: step 2: {text}")


@pytest.mark.parametrize(
    ("text", "line", "where"),
    [
        ("[table]\nbakcs = []", 5, "table: unknown key 'bakcs'; did you mean 'backs'?"),
        ("[table.limits]\ngrace = 5", 5, "table: limits: unknown key 'grace'; did you mean 'grace_ms'?"),
        ("[table.shuffler]\ncount = true", 5, "table: shuffler: unknown key 'count'; did you mean 'counts'?"),
        ('[end]\ntable = "beting"', 5, "end: unknown state of a table 'beting'; did you mean 'betting'?"),
        (
            '[end]\nwarnings = ["shoe.lots"]',
            5,
            "end: warnings 1: unknown warning 'shoe.lots'; did you mean 'shoe.lost'?",
        ),
        ('[end.decks]\nred-1 = "load"', 5, "end: decks: unknown state of a deck 'load'; did you mean 'loaded'?"),
        ('[end.decks]\nred-9 = "loaded"', 5, "end: decks: no deck 'red-9'; expected one of red-1"),
        ("[end.ledger.red-1]\nshoo = 53", 5, "end: ledger: red-1: unknown place 'shoo'; did you mean 'shoe'?"),
        ('[end.devices]\nshoe = "bad"', 5, "end: devices: unknown state of a device 'bad'; expected one of unknown"),
        ("[devices.shoo]", 4, "devices: no device 'shoo' at this table; expected one of shuffler, shoe"),
        ('[devices.shoe]\nhas = ["x"]', 5, "devices: shoe: unknown capability 'x'; expected one of counts"),
        ('[[order]]\nevent = "x"', 5, "order 1: unknown event 'x'"),
        ('[[order]]\nevent = "round.voided"\ntimes = 1', 6, "order 1: unknown key 'times'; expected one of event"),
        ("seed = 1.5", 3, "routine has no key"),
    ],
)
def test_every_other_part_of_the_file_is_checked_too(text: str, line: int, where: str) -> None:
    found = complaint(f"{HEAD}{STEPS}{text}\n")
    if where == "routine has no key":  # TOML reads it as a key of the step above it
        assert found.startswith("line 4: step 1: `routine` has no key 'seed'; expected one of seats")
    else:
        assert found.startswith(f"line {line}: {where}")


def test_the_first_step_is_step_1_also_where_a_value_has_the_wrong_type() -> None:
    assert complaint(f"{HEAD}[[step]]\nwait_s = true\n").startswith(
        "line 3: step 1: wait_s: Expected `float`, got `bool`"
    )
    assert complaint(f"{HEAD}step = [\n  {{ do = 3 }},\n]\n").startswith("line 3: step 1: do: Expected `str`")


@pytest.mark.parametrize("text", ["step = 3", "step = [3]", "step = []\nsee = 3", "step = []\ndevices = [1]\nend = 3"])
def test_parts_of_another_shape_are_errors_too(text: str) -> None:
    assert "expected" in complaint(HEAD + text).lower()


def test_the_command_names_the_file_and_the_line(tmp_path: Path) -> None:
    file = tmp_path / "typo.toml"
    file.write_text(f'{HEAD}{STEPS}[[step]]\nuntil = "round.starts"\n')
    done = CliRunner().invoke(cli, ["play", str(file)])
    assert done.exit_code == 1
    assert f"{file}: line 5: step 2: unknown event 'round.starts'; did you mean 'round.started'?" in done.output


def test_a_wait_of_no_time_is_a_step() -> None:
    assert read_scenario(f"{HEAD}[[step]]\nwait_s = 0\n").step[0].verb == "wait_s"


# --- lines ----------------------------------------------------------------------------------------------------------


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths(inner, (*path, key))


def test_every_key_of_every_shipped_scenario_has_its_line() -> None:
    for file in sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml")):
        text = file.read_text()
        lines, rows = toml_lines(text), text.splitlines()
        for path in paths(tomllib.loads(text)):
            assert path in lines, (file, path)
            if isinstance(path[-1], str):
                assert path[-1] in rows[lines[path] - 1], (file, path)


def test_lines_are_found_in_every_kind_of_toml() -> None:
    text = (
        'a = """\nlong [x]\n"""  # a comment with = and [\n'
        "b.c = '''\nraw ''' # {\n"
        '"quoted # key" = [\n  [1, 2], # first\n  { d = "]", e = [{ f = 1.5 }] },\n]\n'
        "[g.h]\ni = 2026-01-01T00:00:00Z\n[[j]]\n[[j]]\n[j.k]\nl = true\n[[j.m]]\nn = 'it''s' # x"
    ).replace("'it''s'", '"it\'s \\" ]"')
    found = toml_lines(text)
    assert [path for path in paths(tomllib.loads(text)) if path not in found] == []
    assert found["quoted # key", 1, "e", 0, "f"] == 8
    assert found["g", "h", "i"] == 11
    assert found["j", 1, "m", 0, "n"] == 17


# --- the manual -----------------------------------------------------------------------------------------------------


def test_the_manual_lists_every_step_with_its_keys() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text()
    rows = [line.split(" | ") for line in manual.splitlines() if line.startswith("| `")]
    listed = {row[0].strip("|` "): row[2].strip(" |") for row in rows if len(row) == 3}
    for verb, keys in VERBS.items():
        assert listed[verb] == ", ".join(f"`{key}`" for key in keys), verb
