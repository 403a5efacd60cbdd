"""The shipped scenarios end as they say, and a file that is no scenario says where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulators.scenario import ScenarioError, play, read_scenario

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("file", SCENARIOS, ids=[file.stem for file in SCENARIOS])
def test_a_shipped_scenario_ends_as_it_says(file: Path) -> None:
    played = play(read_scenario(file.read_text()))
    assert played.problems == []


def test_a_scenario_plays_the_same_twice() -> None:
    scenario = read_scenario((Path(__file__).parent / "scenarios" / "shoe_jams_in_the_deal.toml").read_text())
    assert play(scenario).events == play(scenario).events


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('title = "x"\nstep = [{}]', "step 1: needs exactly one of"),
        ('title = "x"\nstep = [{ do = "dance" }]', "no action 'dance'"),
        ('title = "x"\nstep = [{ routine = "sleep" }]', "no routine 'sleep'"),
        ('title = "x"\nstep = [{ fault = "fire", device = "shoe" }]', "fire"),
        ('title = "x"\nstep = [{ routine = "open", wait_s = 3 }]', "routine and wait_s"),
        ('title = "x"\nsteps = []', "step"),
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
        "round.completed should be seen 1 times, and was seen 0 times",
        "at the end the table should be dealing, and is betting",
    ]


def test_a_refusal_that_does_not_come_is_a_problem() -> None:
    text = """
        title = "x"
        step = [{ routine = "open" }, { do = "close_bets", seats = [1], refused = true }]
    """
    (problem,) = play(read_scenario(text)).problems
    assert problem.startswith("step 2: close_bets was taken, and should have been refused")
