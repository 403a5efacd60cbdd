"""The documentation: generated parts are fresh, links resolve, commands exist, and examples work."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from controller.cli.checks import TOPICS
from controller.cli.shoectl import cli as shoectl
from controller.journal import JournalReader
from controller.journal.export import json_lines, span
from firmware_bridge.wire.health import LinkCounters
from simulators.shoesim import cli as shoesim
from tests.journal.test_store import filled

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.S | re.M)


def generator() -> Any:
    """docs/generate.py, which is not in a package."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = generator()
COMMAND = re.compile(r"^(?: {4,}|\$ )*(?:sudo )?(?:\.venv/bin/)?(shoectl|shoesim) (.+)$", re.M)
QUOTED = re.compile(r"`(?:sudo )?(?:\.venv/bin/)?(shoectl|shoesim) ([^`]+)`")
ENDS = {"|", ">", "<", ";", "&&"}


@pytest.mark.parametrize("page", GENERATOR.PARTS)
def test_the_generated_parts_are_fresh(page: str) -> None:
    assert GENERATOR.fresh(page) == (DOCS / page).read_text(), "run `make docs`"


def anchors(page: Path) -> set[str]:
    """The names of a page's headings as a link writes them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_point_to_what_is_there(page: Path) -> None:
    for target in LINK.findall(FENCED.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), f"{page.name} links to {target}: no such heading"


def command_lines(page: Path) -> list[tuple[str, list[str]]]:
    """The words of every shoectl and shoesim command on a page, up to a pipe or redirection."""
    text = page.read_text()
    found = []
    for name, rest in [*COMMAND.findall(text), *QUOTED.findall(" ".join(text.split()))]:
        words = shlex.split(rest, comments=True)
        end = next((number for number, word in enumerate(words) if word in ENDS), len(words))
        found.append((name, words[:end]))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_in_the_documents_can_be_typed(page: Path) -> None:
    """Every verb and every option exists; nothing is run."""
    for name, words in command_lines(page):
        command: click.Command | None = shoectl if name == "shoectl" else shoesim
        context = click.Context(shoectl, info_name=name)
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            verb = re.split(r"[|…]", words[0])[0]  # `journal verify|tail` names several
            command, words = command.get_command(context, verb), words[1:]
            assert command, f"{page.name}: {name} has no verb {verb}"
            context = click.Context(command, info_name=verb)
        assert command
        known = {option for param in command.get_params(context) for option in [*param.opts, *param.secondary_opts]}
        for word in words:
            if word.startswith("--") or re.fullmatch("-[a-z]", word):
                assert word.partition("=")[0] in known, f"{page.name}: {name} {context.info_name} has no {word}"


def test_there_are_commands_in_the_documents() -> None:
    assert len(command_lines(DOCS / "technician.md")) > 20
    assert ("shoectl", ["journal", "export", "--proof", "night.jsonl"]) in command_lines(DOCS / "auditor.md")


def test_the_technician_reads_of_every_topic_and_every_counter() -> None:
    text = (DOCS / "technician.md").read_text()
    topics = text.split("| topic |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", topics, re.M) == list(TOPICS)
    counters = text.split("| counter |")[1].split("\n\n")[0]
    named = re.findall(r"`([a-z ]+)`", counters)
    assert named == [field.name.replace("_", " ") for field in dataclasses.fields(LinkCounters)]


def test_the_page_on_decisions_names_every_module_of_the_core() -> None:
    page = (DOCS / "table.md").read_text()
    files = page[page.index("## The files") : page.index("## The state machines")]
    named = set(re.findall(r"`(?:rules/)?(\w+)\.py`", files))
    core = ROOT / "controller" / "core"
    modules = {path.stem for folder in (core, core / "rules") for path in folder.glob("[!_]*.py")}
    assert modules == named


def test_the_auditor_can_check_an_export_with_what_the_page_says(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", (DOCS / "auditor.md").read_text(), re.S | re.M)
    journal, export = tmp_path / "journal.db", tmp_path / "night.jsonl"
    filled(journal, 20)
    with JournalReader(journal) as reader:
        export.write_bytes(b"".join(json_lines(reader, span(reader, 5, None), proof=True)))

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", program, export], capture_output=True, text=True)

    with JournalReader(journal) as reader:
        assert check().stdout == f"good up to event 20, head {reader.head.hash}\n"
    whole = export.read_bytes().splitlines(keepends=True)
    for forged in (
        [line.replace(b'"round":9', b'"round":8') for line in whole],
        whole[:7] + whole[8:],
        [*whole[:7], whole[8], whole[7], *whole[9:]],
    ):
        assert forged != whole
        export.write_bytes(b"".join(forged))
        assert check().returncode == 1
