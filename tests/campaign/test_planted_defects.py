"""Every planted defect is caught, and the table withstands every kind of tampering."""

from __future__ import annotations

import pytest

from simulators.campaign.games import every_check
from simulators.campaign.luck import TAMPERED, draw
from simulators.campaign.planted_defects import DEFECTS, WITHIN
from simulators.campaign.run import hunt, play_shift

SEED = 5


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_caught(name: str) -> None:
    found = hunt(name, 1)
    assert found.caught_by in every_check()
    assert found.caught_by != "no crash" or name == "snapshot_gone_stale", "the defect itself is broken"
    assert found.rounds <= WITHIN


@pytest.mark.parametrize("at", range(len(TAMPERED)), ids=TAMPERED)
def test_a_table_withstands_tampering(at: int) -> None:
    shift = draw(SEED, 12 * at + 1, 1.0, rounds=8)
    assert {mishap.kind for mishap in shift.mishaps} == {TAMPERED[at]}
    found = play_shift(shift)
    assert found.violations == []
    assert found.rounds >= 8
