"""The lanes of `.ci/run`: run side by side, reported in order, tried twice, and cleaned up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LANES = Path(__file__).parents[2] / ".ci" / "lanes"
LIMIT_S = 120.0
A_WHILE = "sleep 600"  # never to its end

if shutil.which("bash") is None:
    pytest.skip("no bash here", allow_module_level=True)


def start(folder: Path, **lanes: str) -> subprocess.Popen[str]:
    """Start lanes in a folder, as a CI does: without standard input."""
    words = [word for name, commands in lanes.items() for word in (name, commands)]
    return subprocess.Popen(
        ["bash", str(LANES), *words],
        cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def run(folder: Path, **lanes: str) -> tuple[int, str]:
    """Their exit code, and what they say."""
    running = start(folder, **lanes)
    try:
        said, _ = running.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        running.terminate()
        raise
    return running.returncode, said


def alive(file: Path) -> bool:
    """Whether the process is there whose number is in a file."""
    try:
        os.kill(int(file.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(file: Path) -> None:
    end = time.monotonic() + LIMIT_S
    while not file.exists() or not file.read_text().strip():
        assert time.monotonic() < end, file
        time.sleep(0.02)


def test_they_run_side_by_side_and_are_told_in_order(tmp_path: Path) -> None:
    code, said = run(
        tmp_path,
        first="until test -e there; do sleep 0.02; done\necho apple\necho pear",
        second="echo plum\ntouch there",
    )
    assert code == 0, said
    printed = said[said.index("##########") :]
    assert printed.index("apple") < printed.index("pear") < printed.index("plum")
    assert "=== echo apple\napple\n=== echo pear\npear\n" in (tmp_path / "build/ci/first.log").read_text()


def test_what_fails_twice_fails_its_lane_and_not_the_other(tmp_path: Path) -> None:
    code, said = run(
        tmp_path, bad="echo try >> tries; false\ntouch never", good="until test -e tries; do :; done\necho end"
    )
    assert code == 1
    assert (tmp_path / "tries").read_text() == "try\n" * 2
    assert not (tmp_path / "never").exists()
    assert "lane: bad FAILED\nlane: good\n" in said
    assert "end" in (tmp_path / "build/ci/good.log").read_text()


def test_what_fails_once_is_told(tmp_path: Path) -> None:
    code, said = run(tmp_path, one="test -e mark || { touch mark; false; }")
    assert code == 0, said
    assert "ONCE MORE: test -e mark" in said


def test_only_the_tests_that_failed_are_tried_once_more(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(
        "from pathlib import Path\n"
        "def note(name):\n"
        "    with Path('ran').open('a') as file: file.write(name)\n"
        "def test_good(): note('good ')\n"
        "def test_slow(): note('slow '); assert Path('ran').read_text().count('slow') == 2\n"
    )
    code, said = run(tmp_path, one=f"{sys.executable} -m pytest -q test_two.py")
    assert code == 0, said
    assert (tmp_path / "ran").read_text() == "good slow slow "


def test_an_interrupt_is_not_ignored_in_a_lane(tmp_path: Path) -> None:
    """Also where it was ignored before, as in everything that a shell without job control starts in the background."""
    ask = "python3 -c 'import signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler'"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code, said = run(tmp_path, one=ask, two=ask)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 0, said


def test_what_a_lane_has_left_behind_is_ended(tmp_path: Path) -> None:
    code, said = run(tmp_path, one=f"{A_WHILE} & echo $! > left")
    assert code == 0, said
    assert not alive(tmp_path / "left")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_whoever_ends_it_ends_all_of_it(tmp_path: Path, ending: signal.Signals) -> None:
    """Also what takes an interrupt for a failure, as make does: that is not tried once more."""
    running = start(
        tmp_path,
        one=f"trap 'exit 2' INT; echo $$ >> one; {A_WHILE}; true",
        two=f"sh -c 'echo $$ > two; {A_WHILE}; true'; true",
    )
    for name in ("one", "two"):
        wait_for(tmp_path / name)
    running.send_signal(ending)
    running.communicate(timeout=LIMIT_S)
    assert running.returncode == 128 + ending
    assert not alive(tmp_path / "one"), "it began once"
    assert not alive(tmp_path / "two")
