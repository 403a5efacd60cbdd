"""The verbs that use the daemon, with a daemon that does what a real one does not do on request: it sends strange text,
and closes the connection at any moment. test_table.py uses a real one.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from controller.api.table_view import stopped_view
from controller.cli import client, completion
from controller.cli.completion import SCRIPTS
from tests.support.contract_daemon import TABLE, ContractDaemon, event
from tests.support.shoectl import SHOECTL, complaint, json_lines, shoectl
from tests.support.terminal import Terminal


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ContractDaemon]:
    with ContractDaemon(tmp_path / "control.sock") as running:
        monkeypatch.setenv(client.VARIABLE, str(running.path))
        yield running


# --- nobody there -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["status", "--watch"],
        ["devices"],
        ["counters"],
        ["frames", "shoe"],
        ["events"],
        ["events", "--follow"],
        ["rounds"],
        ["do"],
        ["do", "open_table"],
        ["flow"],
        ["flow", "close"],
        ["sim", "status"],
        ["sim", "pause"],
    ],
    ids=" ".join,
)
def test_without_a_daemon(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nothing.sock: no such socket" in complaint(shoectl(*words, "--socket", str(tmp_path / "nothing.sock")))
    monkeypatch.delenv(client.VARIABLE, raising=False)
    monkeypatch.setattr(client, "SOCKETS", (tmp_path / "a", tmp_path / "b"))
    monkeypatch.chdir(tmp_path)  # away from the journal that `make run` leaves behind
    assert "systemctl start shoed" in complaint(shoectl(*words))


# --- flow -------------------------------------------------------------------------------------------------------------


def test_flow_lists_the_goals_and_shows_the_way_to_one(daemon: ContractDaemon) -> None:
    daemon.answers["/api/v1/flows"] = {
        "flows": [
            {"goal": "close", "about": "", "title": "Close the table"},
            {"goal": "change-deck", "about": "red-1", "title": "Change deck red-1"},
        ]
    }
    assert shoectl("flow").stdout == "close              Close the table\nchange-deck red-1  Change deck red-1\n"
    step = {"text": "Take deck red-1 out.", "why": "It is loaded.", "clause": ["5.A"], "who": "dealer"}
    daemon.answers["/api/v1/flows/change-deck"] = {
        "title": "Change deck red-1",
        "done": False,
        "tasks": [{"text": "No round is in progress", "done": True}, {"text": "Take out deck red-1", "done": False}],
        "step": {**step, "do": [{"action": "unload_deck", "deck": "red-1"}]},
    }
    assert shoectl("flow", "change-deck", "red-1").stdout.splitlines() == [
        "Change deck red-1",
        "  [x] No round is in progress",
        "  [ ] Take out deck red-1",
        "  now    Take deck red-1 out.",
        "  why    It is loaded. (5.A)",
        "  who    the dealer",
        "  do     shoectl do unload_deck deck=red-1",
    ]
    assert daemon.asked[-1] == ("GET", "/api/v1/flows/change-deck", {"about": "red-1"})
    daemon.answers["/api/v1/flows/close"] = {"title": "Close the table", "done": True, "tasks": [], "step": None}
    assert shoectl("flow", "close").stdout.splitlines()[-1] == "Done."


@pytest.mark.parametrize(("words", "said"), [(["clsoe"], "'close'"), (["change-deck"], "the name of a deck")])
def test_a_flow_that_does_not_exist_is_wrong_usage(daemon: ContractDaemon, words: list[str], said: str) -> None:
    assert said in complaint(shoectl("flow", *words), 2)


# --- status -----------------------------------------------------------------------------------------------------------


def test_status_tells_what_is_wrong(daemon: ContractDaemon) -> None:
    table = daemon.answers["/api/v1/table"]
    table["warnings"] = [
        {
            "key": "shoe.jam",
            "text": "Cards are stuck\x1b[2J",
            "clause": ["13.G"],
            "needs": "dealer",
            "device": "shoe",
            "deck": "",
            "gone": False,
            "since_ms": 0,
            "steps": [{"text": "Free the jam", "done": True}, {"text": "Clear the warning", "done": False}],
        }
    ]
    table["void_steps"] = [{"text": "Return all wagers", "done": False}]
    table["troubles"] = [
        {"device": "shuffler", "text": "The shuffler does not answer.", "remedy": "Connect it.", "do": []}
    ]
    table["step"]["do"] = [{"action": "gather_cards", "deck": "red-1", "place": "taken"}]
    table["round"]["stacks"] += [{"target": "seat1", "cards": 2, "state": "dealt"}]
    table["board"] = [
        {"label": "Pot", "figure": "5 units", "lines": ["seat 1: 2", "seat 3: 3"]},
        {"label": "Stock", "figure": "28", "lines": []},
        {"label": "Big road", "figure": "", "lines": [], "cells": [{}]},
    ]
    table["settled"] = {
        "round": 17,
        "results": [],
        "payments": [{"hand": "seat1", "bet": "class bonus", "outcome": "class 2", "net": 5, "other": "seat3"}],
    }
    table["access"]["locked"] = [{"name": "Flo", "until_ms": 2_000_000}]
    table["journal"]["ok"] = False
    table["devices"][0] |= {"state": "jammed", "link": "degraded", "hindered": "a jam"}
    table["decks"][0] |= {"missing": 1, "change_due": True}
    text = shoectl("status").stdout
    assert "\x1b" not in text
    for words in (
        "Table 7: dealing, event 812",
        "now    Take the stack for seat 3.",
        "why    The shoe has brought it. (10.B)",
        "do     shoectl do gather_cards deck=red-1 place=taken cards=NUMBER",
        "round  17, deck red-1, automated shoe, seats 1, 3",
        "stacks seat1 5 (dealt), seat3 3 (at exit)\n",
        "  board  Pot: 5 units (seat 1: 2, seat 3: 3)\n  board  Stock: 28\n",
        "  paid   seat 1, class bonus, class 2: +5 from seat 3\n",
        "alarm  Cards are stuck\\x1b[2J (13.G) [shoe.jam]",
        "alarm  The shuffler does not answer. Connect it.",
        "[x] Free the jam",
        "[ ] Clear the warning",
        "[ ] Return all wagers",
        "locked out after wrong PINs: Flo",
        "shoectl journal verify",
        "> red-1",
        "53 (1 missing)",
        "change it",
        "jammed",
        "degraded",
        "a jam",
    ):
        assert words in text
    assert json.loads(shoectl("status", "--json").stdout) == table


def test_status_of_a_stopped_table(daemon: ContractDaemon) -> None:
    always = {name: TABLE[name] for name in ("now_ms", "ts", "name", "simulated", "journal")}
    daemon.answers["/api/v1/table"] = {**stopped_view("the disk is full"), **always, "stopped": "the disk is full"}
    first, second, third = shoectl("status").stdout.splitlines()
    assert first == "Table 7: stopped, event 0"
    assert second == "  stopped: the disk is full"
    assert "shoectl doctor" in third
    daemon.send("table", daemon.answers["/api/v1/table"])
    daemon.end_stream()
    assert "stopped: The table has stopped." in shoectl("status", "--watch").stdout


def test_status_watch_draws_in_place(daemon: ContractDaemon) -> None:
    later = {**TABLE, "seq": 813, "now_ms": 1_060_000, "round": None}
    with Terminal("status", "--watch", columns=90, rows=30) as screen:
        daemon.send("table", TABLE)
        screen.until(r"event 812(.|\n)*dispense")
        daemon.send("beat", {"now_ms": TABLE["now_ms"] + 120_000, "ts": ""})
        screen.until(r"58 min 0 s")  # two minutes less: the clock advances without a new state
        height = len(screen.shown.split("\x1b[J")[0].splitlines())
        assert f"\x1b[{height}F" in screen.shown
        daemon.send("table", later)
        screen.until(r"event 813(.|\n)*dispense(.|\n)*\x1b\[J")
        assert "\x1b[2J" not in screen.shown
        screen.press("\x03")
        assert screen.end() == 0
    last = screen.shown.rsplit("\x1b[K", 1)[0]
    assert "interrupted" not in last
    assert daemon.asked[-1][2]["only"] == "table"


def test_status_watch_stays_within_the_terminal(daemon: ContractDaemon) -> None:
    wide = {**TABLE, "step": {**TABLE["step"], "text": "wide " * 60}}
    with Terminal("status", "--watch", columns=40, rows=6) as screen:
        daemon.send("table", wide)
        screen.until(r"\x1b\[J")
        daemon.end_stream()
        assert screen.end() == 1
    drawn = screen.shown.split("\x1b[J")[0].replace("\x1b[K", "")
    lines = [line for line in drawn.replace("\r", "").split("\n") if line]
    assert len(lines) == 5
    assert "shoectl: " in screen.shown.splitlines()[-1]


def test_status_watch_without_a_terminal(daemon: ContractDaemon) -> None:
    for table in (TABLE, {**TABLE, "seq": 813}, {**TABLE, "seq": 814, "table_words": "acting"}):
        daemon.send("table", table)
    daemon.end_stream()
    result = shoectl("status", "--watch")
    assert result.exit_code == 1
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["812", "814"]
    assert len(result.stderr.splitlines()) == 1
    daemon.send("table", TABLE)
    daemon.end_stream()
    assert json_lines(shoectl("status", "--watch", "--json").stdout) == [TABLE]


def test_a_command_for_the_next_step_can_be_passed_to_a_shell_and_has_what_is_left_to_fill_in(
    daemon: ContractDaemon,
) -> None:
    table = daemon.answers["/api/v1/table"]
    table["step"]["do"] = [
        {"action": "decide_hand", "target": "seat1", "choice": "exchange"},
        {"action": "decide_hand", "target": "seat1", "choice": "no win"},
        {"action": "decide_hand", "choice": "win"},
        {"action": "enter_cards", "target": "player"},
    ]
    table["step"]["asks"] = [["number"], [], ["kinds"], []]
    lines = [line.split("shoectl do ")[1] for line in shoectl("status").stdout.splitlines() if "shoectl do" in line]
    assert lines == [
        "decide_hand target=seat1 choice=exchange number=NUMBER",
        "decide_hand target=seat1 choice='no win'",
        "decide_hand choice=win target=NAME kinds='CARD,CARD'",
        "enter_cards target=player kinds='CARD,CARD'",
    ]


# --- events -----------------------------------------------------------------------------------------------------------


def test_following_until_the_daemon_is_gone(daemon: ContractDaemon) -> None:
    daemon.answers["/api/v1/journal"] = {"head": 5}
    daemon.answers["/api/v1/events"] = {"events": [event(6), event(5)], "head": 9}  # more happened meanwhile
    for seq, kind in ((6, "stack.taken"), (7, "stack.taken"), (8, "round.completed"), (9, "round.started")):
        daemon.send("journal", event(seq, kind), seq)
    daemon.send("gap", {"from": 10})
    daemon.end_stream()
    result = shoectl("events", "--follow", "--json")
    assert result.exit_code == 1
    assert [found["seq"] for found in json_lines(result.stdout)] == [5, 6, 7, 8, 9]
    gap, gone = result.stderr.splitlines()
    assert "skipped" in gap
    assert "the daemon closed the connection" in gone
    assert daemon.asked[-1] == ("GET", "/api/v1/events/stream", {"after": "6", "only": "journal"})


def test_following_one_kind(daemon: ContractDaemon) -> None:
    daemon.answers["/api/v1/journal"] = {"head": 6}
    daemon.answers["/api/v1/events"] = {"events": [], "head": 6}
    for seq, kind in ((7, "stack.taken"), (8, "round.completed")):
        daemon.send("journal", event(seq, kind), seq)
    daemon.end_stream()
    result = shoectl("events", "-f", "--kind", "round")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["8"]
    assert "--follow can only be combined" in complaint(shoectl("events", "-f", "--deck", "red-1"), 2)


def test_what_an_event_says_cannot_steer_the_terminal(daemon: ContractDaemon) -> None:
    daemon.answers["/api/v1/events"] = {"events": [event(5, text="\x1b[2J\nboo")], "head": 5}
    assert shoectl("events").stdout == "     5  2026-03-14 15:09:26  stack.taken           \\x1b[2J\\nboo (10.B)\n"


# --- do ---------------------------------------------------------------------------------------------------------------


def test_do_lists_the_actions(daemon: ContractDaemon) -> None:
    person = {"name": "person", "type": "choice", "required": True, "choices": []}
    device = {
        "name": "device",
        "type": "choice",
        "required": True,
        "choices": ["shuffler", "shoe"],
        "possible": ["shoe"],
    }
    daemon.answers["/api/v1/actions"]["actions"][0]["fields"] += [person, device]
    text = shoectl("do").stdout
    assert "+ cut_deck deck=red-1|blue-1 depth=NUMBER person=NAME device=shoe\n" in text
    assert "For example: shoectl do cut_deck deck=red-1 depth=20 person=NAME device=shoe\n" in text
    assert "- close_bets [seats=N,N,…]\n" in text
    assert "not now: no deck is ready (8.C); possible when a deck was cut" in text
    assert "Say how the inspection went. By: dealer." in text
    assert json.loads(shoectl("do", "--json").stdout) == daemon.answers["/api/v1/actions"]


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["cut_deck", "deck=red-1", "depth=20"], {"deck": "red-1", "depth": 20}),
        (["cut_deck", "depth=-3", "deck=red-1", "--role", "floor"], {"deck": "red-1", "depth": -3, "role": "floor"}),
        (["close_bets"], {}),
        (["close_bets", "seats=1,3,6"], {"seats": [1, 3, 6]}),
        (["close_bets", "seats="], {"seats": []}),
        (["inspect_deck", "deck=a=b", "good=No"], {"deck": "a=b", "good": False}),
        (["inspect_deck", "deck=", "good=yes"], {"deck": "", "good": True}),
    ],
)
def test_do_sends_what_was_written(daemon: ContractDaemon, words: list[str], body: dict[str, Any]) -> None:
    daemon.answers["POST /api/v1/actions"] = {
        "done": True,
        "events": [event(9, text="It is done.")],
        "step": {"text": "Go on.", "clause": ["9.A"]},
    }
    result = shoectl("do", *words)
    assert result.stdout == "     9  It is done. (10.B)\nnext: Go on. (9.A)\n"
    assert daemon.asked[-1] == ("POST", "/api/v1/actions", {"action": words[0], **body})


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["cut_dekc"], "did you mean cut_deck?"),
        (["cut_deck", "dek=red-1"], "did you mean deck?"),
        (["cut_deck", "deck"], "deck has no value; expected deck=red-1|blue-1"),
        (["cut_deck", "deck=red-1"], "cut_deck is missing depth=NUMBER"),
        (["cut_deck", "deck=green", "depth=1"], "deck must be one of red-1, blue-1, not 'green'"),
        (["cut_deck", "deck=red-1", "depth=ten"], "depth must be a number, not 'ten'"),
        (["cut_deck", "deck=red-1", "depth="], "depth must be a number, not ''"),
        (["cut_deck", "deck=red-1", "depth=1,2"], "depth must be a number, not '1,2'"),
        (["cut_deck", "deck=red-1", "deck=red-1"], "deck is given twice"),
        (["close_bets", "seats=1,,2"], "seats must be a list of numbers such as 1,3,6"),
        (["close_bets", "cards=1"], "close_bets has no field 'cards'; expected one of seats"),
        (["inspect_deck", "deck=a", "good=maybe"], "good must be yes or no, not 'maybe'"),
        (["cut_deck", "--role", "king"], "--role"),
    ],
)
def test_do_refuses_wrong_words_before_it_asks(daemon: ContractDaemon, words: list[str], output: str) -> None:
    assert output in complaint(shoectl("do", *words), 2)
    assert all(method == "GET" for method, *_ in daemon.asked)


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [(409, "refused", 1), (403, "not_your_part", 1), (503, "journal_stopped", 1), (400, "bad_field", 2)],
)
def test_do_tells_why_not(daemon: ContractDaemon, status: int, code: str, exit_code: int) -> None:
    error = {"code": code, "message": "it cannot be", "hint": "when it can", "clause": ["4.D"]}
    daemon.answers["POST /api/v1/actions"] = {"error": error}
    daemon.status["POST /api/v1/actions"] = status
    text = complaint(shoectl("do", "close_bets", "--json"), exit_code)
    assert "it cannot be (4.D); " in text
    assert "when it can" in text
    assert ("refused: " in text) is (code == "refused")


# --- completion -------------------------------------------------------------------------------------------------------


def have(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    return found


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_shells_read_their_scripts(shell: str, tmp_path: Path) -> None:
    script = tmp_path / f"completion.{shell}"
    script.write_text(shoectl("completion", shell).stdout)
    done = subprocess.run([have(shell), "-n", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_scripts_are_written_under_the_names_that_the_shells_look_for(tmp_path: Path) -> None:
    written = {path.name: path.read_text() for path in completion.write(tmp_path / "new")}
    assert set(written) == {
        "_shoectl",
        *(f"{name}.{shell}" for name in completion.PROGRAMS for shell in ("bash", "fish")),
    }
    assert written["_shoectl"] == shoectl("completion", "zsh").stdout
    assert written["shoed.bash"] == shoectl("completion", "bash").stdout


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the command, for the PATH of a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "shoectl"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(SHOECTL)} "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("shoectl statu", {"status"}),
        ("shoectl do cut", {"cut_deck"}),
        ("shoectl do cut_deck d", {"deck=", "depth="}),
        ("shoectl do cut_deck deck=red-1 ", {"depth="}),
        ("shoectl do cut_deck deck=", {"red-1", "blue-1"}),
        ("shoectl do cut_deck deck=b", {"blue-1"}),
        ("shoectl do inspect_deck good=", {"yes", "no"}),
        ("shoectl do cut_deck --role=fl", {"floor"}),
        ("shoectl frames s", {"shoe"}),
        ("shoectl completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes(daemon: ContractDaemon, programs: Path, line: str, offered: set[str]) -> None:
    script = f"""
        PATH={shlex.quote(str(programs))}:$PATH
        compopt() {{ :; }}
        source <(shoectl completion bash)
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        _dragonshoe_completion shoectl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run([have("bash"), "-c", script], capture_output=True, text=True)
    assert set(done.stdout.split()) == offered, done.stderr


@pytest.mark.parametrize(
    ("line", "offered"),
    [("shoectl do cut_deck deck=", {"deck=red-1", "deck=blue-1"}), ("shoectl do cut", {"cut_deck"})],
)
def test_fish_completes(daemon: ContractDaemon, programs: Path, line: str, offered: set[str], tmp_path: Path) -> None:
    script = f"""
        set -x PATH {shlex.quote(str(programs))} $PATH
        shoectl completion fish | source
        complete --do-complete {shlex.quote(line)}
    """
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), client.VARIABLE: str(daemon.path)}
    done = subprocess.run([have("fish"), "--no-config", "-c", script], capture_output=True, text=True, env=environment)
    assert {row.split("\t")[0] for row in done.stdout.splitlines()} == offered, done.stderr


def test_zsh_completes(daemon: ContractDaemon, programs: Path) -> None:
    script = f"""
        PATH={shlex.quote(str(programs))}:$PATH
        compdef() {{ :; }}
        _describe() {{ print -l -- "${{(@)described}}"; }}
        compadd() {{ print -l -- "${{(@P)@[-1]}}"; }}
        source <(shoectl completion zsh)
        service=shoectl words=(shoectl do cut_deck d) CURRENT=4
        _dragonshoe_completion
        words=(shoectl do cut) CURRENT=3
        _dragonshoe_completion
    """
    done = subprocess.run([have("zsh"), "-f", "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["deck=", "depth=", "cut_deck:Cut the deck"], done.stderr


def test_completion_without_a_daemon_offers_nothing_and_says_nothing(programs: Path, tmp_path: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        client.VARIABLE: str(tmp_path / "nothing"),
        "_SHOECTL_COMPLETE": "bash_complete",
        "COMP_WORDS": "shoectl do cut",
        "COMP_CWORD": "2",
    }
    done = subprocess.run([programs / "shoectl"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


# --- whatever a person types ------------------------------------------------------------------------------------------

BROKEN = "\udcff"  # how Python decodes a byte that is not UTF-8
TEXT = st.text(st.one_of(st.characters(exclude_characters="\0"), st.sampled_from(BROKEN + "\x1b\n=,-1")), max_size=8)
WORDS = st.one_of(
    TEXT,
    st.builds("{}={}".format, st.sampled_from(["deck", "depth", "seats", "good", "--text", "--kind"]), TEXT),
    st.sampled_from(["cut_deck", "inspect_deck", "deck=red-1", "depth=1", "--role", "floor", "--json", "-n"]),
)
VERBS = st.sampled_from(
    [["do"], ["do", "cut_deck"], ["do", "inspect_deck"], ["events"], ["rounds"], ["frames"], ["counters"], ["status"],
     ["devices"], ["sim", "inject"], ["sim", "speed"], ["round"], ["rules"], ["config", "check"], ["person", "pin"]]
)  # fmt: skip


@example(verb=["do", "inspect_deck"], words=[f"deck={BROKEN}"])
@example(verb=["events"], words=["--text", BROKEN])
@example(verb=["frames"], words=[BROKEN])
@given(verb=VERBS, words=st.lists(WORDS, max_size=4))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_word_makes_a_traceback(verb: list[str], words: list[str]) -> None:
    result = shoectl(
        *verb, *(word for word in words if word not in ("-w", "-f")), obj=None
    )  # raises anything but an exit
    assert result.exit_code in (0, 1, 2)
    assert "Traceback" not in result.output


@pytest.fixture(scope="module", autouse=True)
def _a_daemon_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For the test above: hypothesis calls it many times, so it has no fixtures of its own."""
    with pytest.MonkeyPatch.context() as patch, ContractDaemon(tmp_path_factory.mktemp("all") / "s") as running:
        running.answers["/api/v1/events"] = {"events": [event(5)], "head": 5}
        running.answers["/api/v1/rounds"] = {"rounds": []}
        running.answers["POST /api/v1/actions"] = {"done": True, "events": [], "step": None}
        patch.setenv(client.VARIABLE, str(running.path))
        yield
