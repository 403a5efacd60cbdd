"""The search for hidden cards finds each leak that is planted."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.daemon.test_secrecy import Talkative, leaks, new_events_tell, session


@pytest.mark.parametrize("defect", ["hand_asked_for_early", "hand_stored_when_taken"])
def test_a_hand_that_is_known_too_early_is_found(defect: str, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.support.planted_shoed", defect)
    with session(tmp_path, command) as table, pytest.raises(AssertionError, match=r"journal\.db"):
        table.until_revealed()


def test_planted_leaks_are_found(tmp_path: Path) -> None:
    Talkative.wrong_kinds = True
    with new_events_tell(), session(tmp_path, (sys.executable, "-m", "tests.support.leaky")) as table:
        table.play(1)
        table.ask_everything()
        table.end(signal.SIGKILL)
    found = leaks(table.outputs)
    journal = [name for name in found if name.startswith("journal.db")]
    assert journal
    assert {"log 1", "stream 1", "/api/v1/events?newest=1&limit=500", "/metrics"} <= set(found)
    assert any(name.startswith("bundle ") for name in found)
    assert "/healthz" not in found
