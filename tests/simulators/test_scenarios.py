"""The shipped scenarios end as they say, and an invalid file is reported with the line that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.games import GAMES
from simulators.devices.faults import FaultName
from simulators.table.scenario import Scenario, ScenarioError, play, read_scenario

SCENARIOS = sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("file", SCENARIOS, ids=[file.stem for file in SCENARIOS])
def test_a_shipped_scenario_ends_as_it_says(file: Path) -> None:
    played = play(read_scenario(file.read_text()))
    assert played.problems == []


@pytest.fixture(scope="module")
def shipped() -> dict[str, Scenario]:
    return {file.stem: read_scenario(file.read_text()) for file in SCENARIOS}


@pytest.mark.parametrize("game", ["dragon-poker", "dragon-poker-chinese-deck", "face-up-chinese-poker"])
def test_every_clause_is_shown_by_a_scenario(shipped: dict[str, Scenario], game: str) -> None:
    shown = {clause for scenario in shipped.values() if scenario.game == game for clause in scenario.clauses}
    assert [clause for clause in GAMES[game].rulebook.clauses if clause not in shown] == []


def test_scenarios_name_no_clause_that_is_none(shipped: dict[str, Scenario]) -> None:
    known = {name: GAMES[scenario.game].rulebook.clauses for name, scenario in shipped.items()}
    named = [(name, clause) for name, scenario in shipped.items() for clause in scenario.clauses]
    assert [(name, clause) for name, clause in named if clause not in known[name]] == []
    assert [name for name, scenario in shipped.items() if not scenario.clauses] == []


def test_every_fault_happens_in_a_scenario(shipped: dict[str, Scenario]) -> None:
    happened = {step.fault for scenario in shipped.values() for step in scenario.step}
    assert [fault for fault in FaultName if fault not in happened] == []


def test_no_two_scenarios_have_the_same_title(shipped: dict[str, Scenario]) -> None:
    assert len({scenario.title for scenario in shipped.values()}) == len(shipped)


def test_a_scenario_plays_the_same_twice() -> None:
    scenario = read_scenario((Path(__file__).parents[1] / "scenarios" / "shoe_jams_in_the_deal.toml").read_text())
    assert play(scenario).events == play(scenario).events


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('title = "x"\nstep = [{}]', "step 1: needs exactly one of"),
        ('title = "x"\nstep = [{ do = "dance" }]', "unknown action 'dance'"),
        ('title = "x"\nstep = [{ routine = "sleep" }]', "unknown routine 'sleep'"),
        ('title = "x"\nstep = [{ fault = "fire", device = "shoe" }]', "fire"),
        ('title = "x"\nstep = [{ routine = "open", wait_s = 3 }]', "routine and wait_s"),
        ('title = "x"\nsteps = []', "step"),
        ('title = "x"\nstep = [{ fault = "jam", device = "toaster" }]', "step 1: no device 'toaster'"),
        ('title = "x"\nstep = [{ mend = "jam" }]', "no device ''"),
        ('title = "x"\nstep = [{ take = "oven" }]', "no device 'oven'"),
        ('title = "x"\nno_shuffler = true\nstep = [{ fault = "jam", device = "shuffler" }]', "no device 'shuffler'"),
        ('title = "x"\nstep = [{ load = "shoe", deck = "green-1" }]', "no deck 'green-1'"),
        ('title = "x"\nstep = [{ wait_s = -5 }]', "wait_s is negative"),
        ('title = "x"\nstep = [{ routine = "open" }]\n[table]\nseats = 9', "it cannot be opened (2.A)"),
        ('title = "x"\nstep = [{ routine = "open" }]\n[table]\nbacks = []', "it cannot be opened"),
        ('title = "x"\nstep = [{ do = "configure", fields = { setup = { seats = 3 } } }]', "a different set-up"),
        ('title = "x"\nstep = [{ do = "open_table", refused = true }]', "expected `str`, got `bool`"),
        (
            'title = "x"\nstep = [{ do = "open_table", refused = "13.Z" }]',
            "'13.Z', which is neither a clause",
        ),
        ('title = "x"\nstep = [{ door = "ajar", device = "shoe" }]', "ajar"),
        ('title = "x"\nstep = [{ door = "open", device = "oven" }]', "no device 'oven'"),
        ("title", "TOML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(ScenarioError) as found:
        read_scenario(text)
    assert complaint.lower() in str(found.value).lower() or complaint == "TOML"


def test_what_was_not_seen_is_told() -> None:
    text = """
        title = "x"
        step = [{ routine = "open" }]
        see = [{ event = "round.completed", times = 1 }]
        end = { table = "dealing" }
    """
    assert play(read_scenario(text)).problems == [
        "round.completed should be seen once, and was seen 0 times",
        "at the end the table should be dealing, and is betting",
    ]


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ('do = "close_bets", seats = [1], refused = "10"', "close_bets was accepted, and should have been refused"),
        ('do = "close_bets", seats = [9]', "close_bets was refused: the table has seats 1 to 6"),
        ('do = "close_bets", seats = [9], refused = "10"', "refused by 2.A, and should have been by 10"),
        ('do = "close_bets", seats = [9], refused = "machine"', "refused by 2.A, and should have been by machine"),
        ('do = "open_table", refused = "4.A"', "refused by the machine alone, and should have been by 4.A"),
        ('door = "open", device = "shoe", stuck = true', "the door of the shoe moved, and should have been locked"),
    ],
)
def test_what_was_not_refused_as_it_should_be_is_a_problem(step: str, complaint: str) -> None:
    text = f"""
        title = "x"
        step = [{{ routine = "open" }}, {{ {step} }}]
    """
    (problem,) = play(read_scenario(text)).problems
    assert problem.startswith("step 2: ")
    assert complaint in problem


def test_the_examples_of_the_manual_play() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text()
    examples = [part.split("```")[0] for part in manual.split("```toml\n")[1:]]
    assert [play(read_scenario(example)).problems for example in examples] == [[], []]
