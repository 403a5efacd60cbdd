"""The search for hidden cards finds each leak that is planted."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.cli import bundle, journal_export
from controller.journal import JournalReader
from controller.journal.export import csv_lines, json_lines
from simulators.faulty_firmware import MECHANICAL
from tests.daemon.test_secrecy import Talkative, leaks, new_events_tell, session
from tests.daemon.test_secret_exports import Tapped, leaving

LEAK = b"3 x red dragon\n"


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


# --- what leaves the table ------------------------------------------------------------------------------------------


class TellsTheStack(Tapped, MECHANICAL["TellsTheStack"].build):  # type: ignore[misc]
    """Sends the kinds of the cards when it presents a stack."""


def _after(right: Callable[..., Any], more: bytes) -> Callable[..., Any]:
    def lines(*given: Any, **named: Any) -> Any:
        yield from right(*given, **named)
        yield more

    return lines


def _leaky_csv(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(journal_export, "csv_lines", _after(csv_lines, LEAK))


def _leaky_json_lines(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(journal_export, "json_lines", _after(json_lines, LEAK))


def _leaky_copy(patch: pytest.MonkeyPatch) -> None:
    right = JournalReader.copy_to

    def copy_to(self: JournalReader, file: Path) -> None:
        right(self, file)
        with file.open("ab") as end:
            end.write(LEAK * 300)

    patch.setattr(JournalReader, "copy_to", copy_to)


def _leaky_bundle(patch: pytest.MonkeyPatch) -> None:
    right = bundle._events
    patch.setattr(bundle, "_events", lambda examination: right(examination) + LEAK)


@pytest.mark.parametrize(
    ("plant", "where"),
    [
        (_leaky_csv, r"\['export.csv'\]"),
        (_leaky_json_lines, r"\['export.jsonl', 'proof.jsonl'\]"),
        (_leaky_copy, r"\['copy.db'\]"),
        (_leaky_bundle, r"\['bundle [^']*events.jsonl'\]"),
    ],
)
def test_a_leak_into_one_export_is_found_there(
    plant: Callable[[pytest.MonkeyPatch], None], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with leaving(tmp_path) as table, pytest.raises(AssertionError, match=rf"cards are named in: {where}\n"):
        table.search_until_revealed()


def test_a_shoe_that_names_a_stack_is_found_in_the_recording(tmp_path: Path) -> None:
    with leaving(tmp_path, build=TellsTheStack) as table, pytest.raises(AssertionError, match=r"\['capture'\]"):
        table.search_until_revealed()


def test_a_hand_that_is_asked_for_too_early_is_found_in_the_recording(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.support.planted_shoed", "hand_asked_for_early")
    with leaving(tmp_path, command=command) as table, pytest.raises(AssertionError, match=r"'capture', .*'replay'"):
        table.search_until_revealed()
