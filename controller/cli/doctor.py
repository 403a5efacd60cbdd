"""`shoectl doctor`: checks everything a table needs from its machine, and prints what is wrong and how to fix it."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import terminal
from controller.cli.checks import examine
from controller.cli.checks.examination import Examination, Finding
from controller.cli.client import Client, ClientError, find_socket
from controller.cli.daemon_option import optional_socket_option
from controller.cli.options import json_option
from controller.cli.progress import waiting_for
from controller.cli.table_text import TextLine
from controller.core.names import plural
from controller.daemon.config import CONFIG_FILE

COLOURS = {"ok": "green", "note": "yellow", "wrong": "red"}

config_option = click.option(
    "--config", "config_file", type=click.Path(path_type=Path, readable=False), default=CONFIG_FILE, show_default=True,
    metavar="FILE", help="The daemon's configuration.",
)  # fmt: skip


def examination_of(daemon: Client | None, config_file: Path) -> Examination:
    """An examination of this machine, whether its daemon runs or not."""
    reason = ""
    if daemon is None:
        try:
            daemon = Client(find_socket())
        except ClientError as error:
            reason = str(error)
    return Examination(daemon, reason, config_file)


@click.command("doctor")
@optional_socket_option
@config_option
@json_option
def doctor_verb(daemon: Client | None, config_file: Path, as_json: bool) -> int:
    """Find out what is wrong with this machine, and how to fix it.

    Checks the daemon, its configuration, groups, permissions, udev rules, ports, devices, the
    systemd unit, the clock, the disk and the journal. It changes nothing, and also works while the
    daemon is down. Exit code 0 only if nothing is wrong.

    \b
    Examples:
      shoectl doctor
      sudo shoectl doctor --json
    """
    with waiting_for("checking this machine"):
        findings = list(examine(examination_of(daemon, config_file)))
    if as_json:
        terminal.print_json(findings)
    else:
        for line in finding_lines(findings):
            terminal.print_line(*line)
    return 1 if any(finding.verdict == "wrong" for finding in findings) else 0


def finding_lines(findings: list[Finding]) -> list[TextLine]:
    """The findings and a summary as lines of text."""
    width = max(len(finding.topic) for finding in findings)
    lines: list[TextLine] = []
    for finding in findings:
        head = f"{finding.verdict:<5}  {finding.topic:<{width}}  "
        lines += [TextLine(line, COLOURS[finding.verdict]) for line in terminal.wrapped(head, finding.text)]
        if finding.fix:
            lines.append(TextLine(f"{' ' * len(head)}$ {finding.fix}"))
    wrong = sum(finding.verdict == "wrong" for finding in findings)
    summary = f"{plural(wrong, 'problem')}" if wrong else "nothing is wrong"
    return [*lines, TextLine(f"{plural(len(findings), 'finding')}: {summary}", "red" if wrong else "green")]
