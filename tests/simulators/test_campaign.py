"""The campaign: it repeats exactly, does not depend on its processes, finds what is planted, and shrinks it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller.core import actions as act
from controller.core.actions import Role
from controller.games import GAMES
from simulators.campaign.checks import CHECKS
from simulators.campaign.clumsy_people import ClumsyPeople
from simulators.campaign.games import every_check
from simulators.campaign.games.dragon_poker import GAME as DRAGON_POKER
from simulators.campaign.luck import KINDS, draw
from simulators.campaign.planted_defects import DEFECTS, planted
from simulators.campaign.planting import RECOGNISES
from simulators.campaign.report import CampaignReport, as_html
from simulators.campaign.run import CampaignResult, Violation, campaign, hunt, play_shift
from simulators.campaign.shrink import repeat, shrink
from simulators.campaign.story import story
from simulators.campaign.unlucky_house import UnluckyHouse
from simulators.campaign.witness import Witness
from simulators.devices.faults import FaultName
from simulators.shoesim import cli

SEED = 5


def test_one_seed_decides_everything() -> None:
    assert draw(SEED, 3) == draw(SEED, 3)
    assert draw(SEED, 3).mishaps != draw(SEED, 4).mishaps
    assert draw(SEED, 3, rounds=5).mishaps == draw(SEED, 3).mishaps
    first, again = (play_shift(draw(SEED, 1, rounds=6)) for _ in range(2))
    assert first == again
    assert first.rounds >= 6


def test_every_fault_has_a_shift_for_itself() -> None:
    assert {str(fault) for fault in FaultName} <= set(KINDS)
    alone = {frozenset(m.kind for m in draw(SEED, number).mishaps) for number in range(3 * len(KINDS))}
    assert {frozenset({kind}) for kind in KINDS} <= alone


def test_the_result_does_not_depend_on_the_processes() -> None:
    one, _ = campaign(SEED, 60, 0.5, games=("dragon-poker",))
    two, _ = campaign(SEED, 60, 0.5, games=("dragon-poker",), processes=2)
    assert one == two
    assert one.violations == []
    assert sum(one.faults.values()) > 5
    assert one.rounds >= 60
    often = {name for name, times in one.checks.items() if times}
    others = {"cards are true"}  # Dragon Poker's hands are not known unless they are recognised
    rare = others | {"void complete", "held stack", "stopped shoe", "stub counted", "warning cleared rightly"}
    assert set(CHECKS) - often <= rare


@pytest.mark.parametrize("name", [*DEFECTS][::12])  # all of them: tests/campaign
def test_a_planted_defect_is_caught(name: str) -> None:
    assert hunt(name, 1).caught_by in every_check()


def test_the_hands_of_void_rounds_are_requested_and_only_then_recorded() -> None:
    requested = 0
    for number in range(3):
        found = play_shift(draw(SEED, number, 1.0, setup=DRAGON_POKER.defect_setups[RECOGNISES], kinds=("jam",)))
        assert found.violations == []
        requested += found.recoveries.get("hands requested", 0)
    assert requested > 0
    assert hunt("void_hands_asked_for", 1).caught_by == "no hidden card named"


def test_there_are_enough_defects_and_none_stays_behind() -> None:
    assert len(DEFECTS) >= 25
    shift = draw(SEED, 2, 0.0, rounds=2)
    before = play_shift(shift)
    for name in DEFECTS:
        with planted(name):
            pass
    assert play_shift(shift) == before


def test_the_page_names_every_check_and_every_defect() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text()
    assert [name for name in DEFECTS if f"`{name}`" not in page] == []
    assert [name for name in every_check() if name not in page] == []


def test_a_failing_shift_is_shrunk_to_the_mishaps_that_matter() -> None:
    broken = CampaignResult(violations=[Violation("due deck", "", 7, 1, 0.0)])
    other = CampaignResult(violations=[Violation("no crash", "", 7, 1, 0.0)])
    tried = []

    def play(some: Collection[int]) -> CampaignResult:
        tried.append(tuple(some))
        return broken if {4, 9} <= set(some) else other if 2 in some else CampaignResult()

    assert shrink(range(1, 13), "due deck", play) == [4, 9]
    assert len(tried) < 60
    assert shrink([1], "due deck", lambda some: broken) == [], "it needs no mishap at all"
    luck = draw(SEED, 7, 0.25)
    assert repeat(luck, [4, 9]) == f"shoesim campaign --seed {SEED} --shift 7 --faults 0.25 --only 4,9"


def test_the_command_tells_repeats_and_fails(tmp_path: Path) -> None:
    page = tmp_path / "report" / "campaign.html"
    run = CliRunner().invoke(cli, ["campaign", "--seed", "3", "--rounds", "20", "--json", "--html", str(page)])
    assert run.exit_code == 0, run.output
    printed = json.loads(run.stdout)
    assert printed["violations"] == 0
    assert printed["rounds"] >= 20
    assert printed["faults"] == sum(printed["faults_by_kind"].values())
    assert set(printed["checks"]) == set(every_check())
    assert set(printed["games"]) == set(GAMES)
    assert sum(figures["rounds"] for figures in printed["games"].values()) == printed["rounds"]
    text = page.read_text()
    assert "<svg" in text
    assert "http" not in text, "nothing is fetched from elsewhere"

    run = CliRunner().invoke(cli, ["campaign", "--defect", "turn_not_passed", "--seed", "3"])
    assert run.exit_code == 0, "a defect that is caught is what was wanted"
    command = run.output.split("repeat: shoesim ")[1].split("\n")[0]
    run = CliRunner().invoke(cli, command.split())
    assert run.exit_code == 1
    assert "due deck" in run.output
    assert CliRunner().invoke(cli, ["campaign", "--defect", "nonsense"]).exit_code == 2
    assert CliRunner().invoke(cli, ["campaign", "--faults", "many"]).exit_code == 2


def test_a_violation_tells_its_story() -> None:
    (violation,) = hunt_violations("taken_stack_not_asked_for")
    printed = "\n".join(violation.story)
    assert re.search(r"! \d+: \w+ .*in round", printed), "the mishap"
    assert re.search(r"\d+\.\d s  \d+ round\.voided \(1\d\.\w.*\): Round \d+ is void", printed), "the last events"
    assert re.search(r"Deck red-1: \w+, believed .* at .*; there are \d+ at .*", printed), "what lay where"
    assert "The shoe: believed" in printed
    assert "The guide: " in printed


def test_the_story_names_the_button(tmp_path: Path) -> None:
    shift = draw(1, 1, 0.0)
    witness = Witness(shift)
    house = witness.house = UnluckyHouse(tmp_path / "journal.db", shift, witness)
    people = ClumsyPeople(house, witness)
    assert people.open()
    people.press(act.Wager(seats=(2,), who="dealer 1", role=Role.DEALER))
    people.press(act.ReturnWagers(who="dealer 1", role=Role.DEALER))
    printed = "\n".join(story(house))
    house.close()
    assert "! accepted, pressed by mistake: Wager(" in printed
    assert "! refused, pressed by mistake: ReturnWagers(" in printed


def hunt_violations(defect: str) -> list[Violation]:
    found = hunt(defect, 1)
    return [found.violation] if found.violation else []


def test_without_a_seed_a_new_one_is_drawn_and_named() -> None:
    seeds = set()
    for _ in range(2):
        run = CliRunner().invoke(cli, ["campaign", "--rounds", "1", "--json"])
        assert run.exit_code == 0, run.output
        seed = json.loads(run.stdout)["seed"]
        assert run.stderr.startswith(f"seed {seed}\n")
        seeds.add(seed)
    assert len(seeds) == 2


def test_a_violation_stands_on_the_page() -> None:
    result = CampaignResult(rounds=1, violations=[Violation("due deck", "<red>", 7, 1, 0.0)])
    report = CampaignReport(1, 1, 0, 1, 1.0, 0.5, result, repeats=["shoesim campaign --shift 7"])
    assert not report.good
    page = as_html(report)
    assert "&lt;red&gt;" in page
    assert "shoesim campaign --shift 7" in page
