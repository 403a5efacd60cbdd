"""`shoesim campaign`: plays a campaign, shows its progress and prints the report."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from controller.games import GAMES, unknown_game
from simulators.campaign.luck import DEFAULT_RATE, Shift, draw
from simulators.campaign.planted_defects import DEFECTS
from simulators.campaign.report import CampaignReport, as_html, as_json, as_text
from simulators.campaign.run import (
    CampaignResult,
    HuntResult,
    Violation,
    campaign,
    hunt,
    hunt_all,
    jobs_of,
    luck_of,
    play_defective,
    play_shift,
)
from simulators.campaign.shrink import repeat, shrink


def faults_option(text: str, rounds: int) -> float:
    """`--faults`: a rate per round if it has a point, else a number for the whole campaign."""
    try:
        return float(text) if "." in text else int(text) / max(rounds, 1)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a rate such as 0.5 nor a number such as 10000") from None


def only_option(text: str) -> list[int] | None:
    """`--only`: the numbers of the mishaps that occur; `none` for none of them."""
    if not text:
        return None
    try:
        return [] if text == "none" else [int(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers such as 3,17") from None


DEFECT_SEED = 1  # planted defects are looked for with this seed, unless another is given: each must be found


class _Progress:
    """A progress bar on standard error."""

    def __init__(self, total: int, what: str) -> None:
        self._bar: Any = click.progressbar(length=total, label=what, file=sys.stderr)
        self._bar.__enter__()

    def add(self, number: int) -> None:
        """Advance by this number."""
        self._bar.update(number)

    def end(self) -> None:
        """Finish the bar."""
        self._bar.__exit__(None, None, None)


def run_campaign(
    *,
    game: str,
    seed: int | None,
    rounds: int,
    faults: str,
    jobs: int,
    shift: int | None,
    only: str,
    defect: str,
    defects: bool,
    json: bool,
    html: Path | None,
) -> bool:
    """Run the command; False if a check failed or a defect was missed. Without a seed, rounds have a new one."""
    if game and game not in GAMES:
        raise click.BadParameter(unknown_game(game), param_hint="--game")
    rate = faults_option(faults, rounds) if faults else DEFAULT_RATE
    defect_seed = DEFECT_SEED if seed is None else seed
    if seed is None:
        seed = defect_seed if defect or shift is not None else secrets.randbelow(2**32)
    if rounds and not defect:
        click.echo(f"seed {seed}", err=True)
    start = time.monotonic()
    total, shifts, found = CampaignResult(), [], []
    if shift is not None:
        total = _one_shift(game, seed, shift, rate, only_option(only), defect)
        shifts = [total]
    elif defect:
        found = [hunt(defect, seed)]
    else:
        if rounds:
            games = (game,) if game else tuple(GAMES)
            bar = _Progress(len(jobs_of(seed, rounds, rate, games)), f"{rounds} rounds")
            total, shifts = campaign(
                seed, rounds, rate, games=games, processes=jobs, on_result=lambda result: bar.add(1)
            )
            bar.end()
        if defects:
            bar = _Progress(len(DEFECTS), "planted defects")
            found = hunt_all(defect_seed, processes=jobs, on_result=lambda one: bar.add(1))
            bar.end()
    seconds = time.monotonic() - start
    shrunk = [_shrunk(seed, rate, violation, only_option(only), defect) for violation in total.violations]
    total.violations = [violation for _, violation in shrunk]
    report = CampaignReport(
        seed=seed,
        rounds=total.rounds,
        faults=sum(total.faults.values()),
        violations=len(total.violations),
        seconds=seconds,
        rate=rate,
        result=total,
        shifts=shifts,
        repeats=[command for command, _ in shrunk],
        defects=found,
    )
    if html:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(as_html(report), encoding="utf-8")
    click.echo(as_json(report) if json else as_text(report))
    if defect and shift is None:
        _print_defect(found[0], seed)
    return report.good


def _luck(game: str, seed: int, shift: int, rate: float, defect: str) -> Shift:
    return luck_of(defect, shift, seed) if defect else draw(seed, shift, rate, game=game)


def _one_shift(game: str, seed: int, shift: int, rate: float, only: list[int] | None, defect: str) -> CampaignResult:
    luck = _luck(game, seed, shift, rate, defect)
    for mishap in luck.mishaps:
        if only is None or mishap.number in only:
            click.echo(f"  {mishap}", err=True)
    return play_defective(defect, shift, seed, only) if defect else play_shift(luck, only)


def _shrunk(seed: int, rate: float, violation: Violation, only: list[int] | None, defect: str) -> tuple[str, Violation]:
    """The shortest command that still fails in the same way, and how it fails."""
    luck = _luck(violation.game, seed, violation.shift, rate, defect)
    numbers = [mishap.number for mishap in luck.mishaps if only is None or mishap.number in only]

    def play(some: Collection[int]) -> CampaignResult:
        return play_defective(defect, luck.number, seed, some) if defect else play_shift(luck, some)

    fewest = shrink(numbers, violation.check, play)
    return repeat(luck, fewest, defect), next(iter(play(fewest).violations), violation)


def _print_defect(found: HuntResult, seed: int) -> None:
    if found.violation:
        command, _ = _shrunk(seed, DEFAULT_RATE, found.violation, None, found.defect)
        click.echo(f"caught: {found.violation.check}: {found.violation.text}\n  repeat: {command}", err=True)
