"""Shrinks a shift that failed to the fewest mishaps that still make it fail, and builds the command that repeats it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from simulators.campaign.games import first_game
from simulators.campaign.luck import DEFAULT_RATE, Shift
from simulators.campaign.run import CampaignResult

Play = Callable[[Collection[int]], CampaignResult]


def shrink(numbers: Collection[int], check: str, play: Play, most: int = 60) -> list[int]:
    """The fewest of these mishaps after which the same check still fails, found in a limited number of trials."""

    def fails(some: list[int]) -> bool:
        nonlocal most
        most -= 1
        violations = play(some).violations
        return bool(violations) and violations[0].check == check

    kept = sorted(numbers)
    if not kept or fails([]):
        return []
    size = -(-len(kept) // 2)
    while most > 0:
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            if most > 0 and fewer and fails(fewer):
                kept = fewer
                break
        else:
            if size == 1:
                break
        size = max(1, min(size // 2 or 1, len(kept)))
    return kept


def repeat(shift: Shift, only: Collection[int] | None = None, defect: str = "") -> str:
    """One line that plays this shift again, exactly."""
    words = [f"shoesim campaign --seed {shift.seed} --shift {shift.number}"]
    if shift.game != first_game() and not defect:
        words.append(f"--game {shift.game}")
    if shift.rate != DEFAULT_RATE and not defect:
        words.append(f"--faults {shift.rate!r}")
    if only is not None:
        words.append(f"--only {','.join(str(number) for number in sorted(only)) or 'none'}")
    if defect:
        words.append(f"--defect {defect}")
    return " ".join(words)
