"""`shoectl man`: generates the manual pages from the help of the commands, in roff with the man macros.

`python -m controller.cli.manual DIR` does the same for the build.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import click

from controller.daemon.simulate import shoesim_command

NAMES = re.compile(r"`([^`]+)`")


class Page(NamedTuple):
    """A manual page."""

    name: str
    section: int
    command: click.Command

    @property
    def file(self) -> str:
        """The file name, such as `shoectl.1`."""
        return f"{self.name}.{self.section}"


def pages() -> list[Page]:
    """A page for every installed command."""
    from controller.cli.shoectl import cli
    from controller.cli.shoed import shoed

    return [Page("shoectl", 1, cli), Page("shoed", 8, shoed), Page("shoesim", 1, shoesim_command())]


def roff(page: Page) -> str:
    """The source of a page."""
    context = click.Context(page.command, info_name=page.name, max_content_width=100)
    lines = [
        f'.TH {page.name.upper()} {page.section} "" "Dragonshoe {version("dragonshoe")}" "Dragonshoe"',
        ".ad l",
        ".nh",
        ".SH NAME",
        rf"{page.name} \- {_escape(_first_sentence(page.command))}",
        ".SH SYNOPSIS",
        *_synopsis(context),
        ".SH DESCRIPTION",
        *_help(page.command),
        *_options(context, ".SH OPTIONS"),
    ]
    verbs = list(_verbs(context))
    if verbs:
        lines.append(".SH COMMANDS")
    for verb in verbs:
        lines += [f".SS {_quoted(verb.command_path)}", *_synopsis(verb), ".PP", *_help(verb.command), *_options(verb)]
    if page.name == "shoectl":
        lines.append(".SH EXIT STATUS")
        for code, meaning in ((0, "Success."), (1, "Refused or failed."), (2, "Wrong usage.")):
            lines += [".TP", str(code), meaning]
    others = ", ".join(rf"\fB{other.name}\fR({other.section})" for other in pages() if other.name != page.name)
    return "\n".join([*lines, ".SH SEE ALSO", others]) + "\n"


def _verbs(context: click.Context) -> Iterator[click.Context]:
    """The commands of a group and of its subgroups."""
    group = context.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            inner = click.Context(command, parent=context, info_name=name)
            yield inner
            yield from _verbs(inner)


def _first_sentence(command: click.Command) -> str:
    text = " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.:])\s", text)[0].rstrip(".:").replace("`", "")


def _synopsis(context: click.Context) -> list[str]:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return [rf"\fB{_escape(context.command_path)}\fR {_escape(pieces)}".rstrip()]


def _help(command: click.Command) -> Iterator[str]:
    """The paragraphs of the help; one that begins with \\b keeps its lines."""
    for number, paragraph in enumerate(inspect.cleandoc(command.help or "").split("\n\n")):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            first, *rest = paragraph.removeprefix("\b").strip("\n").split("\n")
            yield from [_text(first.strip()), ".PP", ".RS 4", ".nf"]
            yield from (_text(line.strip()) for line in rest)
            yield from [".fi", ".RE"]
        else:
            yield _text(" ".join(paragraph.split()))


def _options(context: click.Context, title: str = "") -> Iterator[str]:
    """The options that have a help text; --help is listed only once per page."""
    params = context.command.get_params(context)
    records = [record for param in params if (record := param.get_help_record(context))]
    described = [(names, text) for names, text in records if text and (title or "--help" not in names)]
    if title and described:
        yield title
    for names, text in described:
        yield ".TP"
        yield rf"\fB{_escape(names)}\fR"
        yield _text(" ".join(text.split()))


def _text(line: str) -> str:
    """A line of text; words between backticks become bold."""
    parts = NAMES.split(line)
    text = "".join(rf"\fB{_escape(part)}\fR" if number % 2 else _escape(part) for number, part in enumerate(parts))
    return rf"\&{text}" if text[:1] in (".", "'") else text


_ESCAPES = {"\\": r"\e", "-": r"\-", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "|": r"|\:"}


def _escape(text: str) -> str:
    """Escape the characters that roff would interpret or that are not ASCII; allow a line break after |."""
    return "".join(_ESCAPES.get(char, char) if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)


def _quoted(text: str) -> str:
    return '"' + _escape(text).replace('"', "\\(dq") + '"'


def write(folder: Path) -> list[Path]:
    """Write all pages into a folder, which is created if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in pages():
        path = folder / page.file
        path.write_text(roff(page), encoding="ascii")
        written.append(path)
    return written


@click.command("man")
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option("--page", type=click.Choice(["shoectl", "shoed", "shoesim"]), default="shoectl", show_default=True,
              help="The page to print if DIR is not given.")  # fmt: skip
def man_verb(folder: Path | None, page: str) -> None:
    """Print a manual page, or write all of them into DIR.

    \b
    Examples:
      shoectl man | man -l -
      shoectl man /usr/local/share/man
    """
    if folder is None:
        sys.stdout.write(roff(next(one for one in pages() if one.name == page)))
        return
    for path in write(folder):
        click.echo(path)


if __name__ == "__main__":
    man_verb(prog_name="python -m controller.cli.manual")
