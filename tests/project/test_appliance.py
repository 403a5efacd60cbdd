"""The appliance test on a machine where it cannot run: it says what is missing and does not pass."""

from __future__ import annotations

import os
import shutil

import pytest
from pytest_mock import MockerFixture

from tests.appliance import image
from tests.appliance.__main__ import CANNOT, main


def test_without_root_it_says_so_and_what_else_is_missing(
    mocker: MockerFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    mocker.patch.object(os, "geteuid", return_value=1000)
    mocker.patch.object(shutil, "which", return_value=None)
    assert main([]) == CANNOT != 0
    said = capsys.readouterr().err
    assert "not run: this test needs root" in said
    assert "qemu-system-x86" in said


def test_without_apt_it_names_what_to_install(mocker: MockerFixture, capsys: pytest.CaptureFixture[str]) -> None:
    mocker.patch.object(os, "geteuid", return_value=0)
    mocker.patch.object(shutil, "which", side_effect=lambda command: None if command == "apt-get" else _found(command))
    assert main([]) == CANNOT
    assert "no apt-get to install mmdebstrap, qemu-system-x86, qemu-utils" in capsys.readouterr().err


def _found(command: str) -> str | None:
    return None if command.startswith("qemu") or command == "mmdebstrap" else f"/usr/bin/{command}"


def test_an_image_that_is_kept_has_nothing_of_this_machine() -> None:
    for place in ("sources.list", "sources.list.d", "auth.conf", "auth.conf.d", "var/lib/apt/lists", "machine-id"):
        assert place in image.AFTER
