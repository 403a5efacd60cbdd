"""Scenarios: a set-up, steps of people, faults and time, and the expected events, in TOML (docs/scenarios.md).

A scenario runs in virtual time through the real core, journal, sessions, links and frames, against physical cards.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from controller.core.events.event import Entry
from simulators.table.people import NoMoreDecks, People
from simulators.table.scenario_checks import problems_at_the_end
from simulators.table.scenario_file import ScenarioError, read_scenario
from simulators.table.scenario_format import Scenario, ScenarioStep
from simulators.table.scenario_house import ScenarioHouse
from simulators.table.scenario_steps import carry_out

__all__ = ["Scenario", "ScenarioError", "ScenarioResult", "play", "read_scenario", "story"]


class ScenarioResult(msgspec.Struct):
    """The result of a scenario. `problems` is empty if it passed."""

    title: str
    problems: list[str]
    events: list[Entry]
    virtual_s: float
    begun: list[tuple[ScenarioStep, int]]  # the steps, and the number of events before each


def play(scenario: Scenario) -> ScenarioResult:
    """Run a scenario to its end, or to the first step that cannot be done."""
    with tempfile.TemporaryDirectory() as folder:
        house = ScenarioHouse(Path(folder) / "journal.db", scenario)
        begun: list[tuple[ScenarioStep, int]] = []
        try:
            problems = _run(scenario, house, begun)
            house.cards.check()
            house.journal.verify()
            return ScenarioResult(scenario.title, problems, list(house.events), round(house.now, 3), begun)
        finally:
            house.close()


def _run(scenario: Scenario, house: ScenarioHouse, begun: list[tuple[ScenarioStep, int]]) -> list[str]:
    people = People(house)
    for number, step in enumerate(scenario.step, 1):
        begun.append((step, len(house.events)))
        try:
            problem = carry_out(house, people, step)
        except NoMoreDecks as empty:
            problem = str(empty)
        if problem:
            return [f"step {number}: {problem}; the table says: {house.headline()}"]
    return problems_at_the_end(scenario, house)


def story(played: ScenarioResult) -> Iterator[str]:
    """What happened, line by line: each step, and under it the events as sentences with their times and clauses."""
    starts = [start for _, start in played.begun]
    yield from _event_lines(played.events[: starts[0] if starts else None])
    for number, (step, start) in enumerate(played.begun, 1):
        words = ", ".join(f"{key} = {json.dumps(msgspec.to_builtins(value))}" for key, value in _given(step).items())
        yield f"step {number}: {words}"
        yield from _event_lines(played.events[start : starts[number] if number < len(starts) else None])


def _given(step: ScenarioStep) -> dict[str, object]:
    """The keys of a step that are set, its verb first."""
    fields = msgspec.structs.fields(ScenarioStep)
    given = {field.name: getattr(step, field.name) for field in fields}
    said = {field.name: given[field.name] for field in fields if given[field.name] not in (field.default, {})}
    return {step.verb: given[step.verb]} | said


def _event_lines(events: list[Entry]) -> Iterator[str]:
    for entry in events:
        seconds, thousandths = divmod(entry.event.at_ms, 1000)
        hours, minutes = divmod(seconds // 60, 60)
        at = f"{hours:02d}:{minutes:02d}:{seconds % 60:02d}.{thousandths:03d}"
        clauses = f" [{', '.join(entry.clause)}]" if entry.clause else ""
        yield f"  {at}  {entry.event.sentence()}{clauses}"
