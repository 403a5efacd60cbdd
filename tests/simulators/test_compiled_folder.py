"""Where the compiled packages go: whatever else is in a folder is never touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulators.compiled import PACKAGES, copy


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.write_text("dear auditor")
    with pytest.raises(SystemExit, match="something else"):
        copy(tmp_path)
    with pytest.raises(SystemExit, match="something else"):
        copy(letter)
    assert letter.read_text() == "dear auditor"


def test_what_was_made_here_is_made_anew(tmp_path: Path) -> None:
    for _ in range(2):
        copy(tmp_path / "fast")
        assert all((tmp_path / "fast" / package / "__init__.py").exists() for package in PACKAGES)
        (tmp_path / "fast" / PACKAGES[0] / "old.so").touch()
    copy(tmp_path / "fast")
    assert not (tmp_path / "fast" / PACKAGES[0] / "old.so").exists()
