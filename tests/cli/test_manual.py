"""The manual pages contain the whole help, and man shows them without warnings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from controller.cli import manual
from controller.cli.manual import Page, pages, roff
from tests.support.shoectl import shoectl


def shown(page: Path, width: int) -> str:
    if shutil.which("man") is None:
        pytest.skip("no man here")
    environment = {**os.environ, "MANWIDTH": str(width), "LC_ALL": "C.UTF-8", "MANROFFOPT": "-ww"}
    done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return re.sub(".\b", "", done.stdout)


@pytest.mark.parametrize("width", [50, 80, 120])
@pytest.mark.parametrize("name", ["shoectl.1", "shoed.8", "shoesim.1"])
def test_man_has_nothing_against_the_pages(name: str, width: int, tmp_path: Path) -> None:
    written = shoectl("man", str(tmp_path)).stdout.split()
    assert {Path(path).name for path in written} == {page.file for page in pages()}
    assert name.split(".")[0] in shown(tmp_path / name, width)


def words(text: str) -> str:
    return " ".join(text.split())


def test_every_verb_and_option_is_there(tmp_path: Path) -> None:
    manual.write(tmp_path)
    for page in pages():
        text = words(shown(tmp_path / page.file, 1000))
        todo = [click.Context(page.command, info_name=page.name)]
        while todo:
            context = todo.pop()
            assert context.command_path in text
            for param in context.command.params:
                if isinstance(param, click.Option) and param.help:
                    assert words(param.help.replace("`", "")) in text
                    assert all(option in text for option in param.opts)
            if isinstance(context.command, click.Group):
                for name in context.command.list_commands(context):
                    command = context.command.get_command(context, name)
                    assert command
                    todo.append(click.Context(command, parent=context, info_name=name))
            for line in words((context.command.help or "").replace("\b", "").replace("`", "")).split(". "):
                assert line in text


def test_what_roff_would_take_for_its_own(tmp_path: Path) -> None:
    @click.command(help=".so /etc/passwd\n\n'quoted' \\n \\fBfat – `a -b`\n\n\b\nExample:\n  .br x\\y\n  ^~")
    @click.option("--opt", help=".x \\e")
    def odd(opt: str) -> None: ...

    path = tmp_path / "odd.1"
    path.write_text(roff(Page("odd", 1, odd)), encoding="ascii")
    text = words(shown(path, 80))
    for part in (".so /etc/passwd", "'quoted' \\n \\fBfat – a -b", ".br x\\y ^~", "--opt TEXT .x \\e"):
        assert part in text


def test_one_page_is_printed() -> None:
    assert shoectl("man").stdout.startswith(".TH SHOECTL 1 ")
    assert shoectl("man", "--page", "shoed").stdout.startswith(".TH SHOED 8 ")
