"""`shoectl doctor`: looks at all that a table needs of its machine, and tells what is wrong and what mends it."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import terminal
from controller.cli.checkup import Finding, Patient, examine
from controller.cli.client import Client, ClientError, find_socket
from controller.cli.options import Daemon, json_option
from controller.cli.progress import patience
from controller.daemon.config import CONFIG_FILE

COLOURS = {"ok": "green", "note": "yellow", "wrong": "red"}

any_daemon_option = click.option("--socket", "daemon", type=Daemon(), metavar="PATH", help="The daemon's socket.")
config_option = click.option(
    "--config", "config_file", type=click.Path(path_type=Path, readable=False), default=CONFIG_FILE, show_default=True,
    metavar="FILE", help="The daemon's configuration.",
)  # fmt: skip


def patient_of(daemon: Client | None, config_file: Path) -> Patient:
    """The machine here, with its daemon up or down."""
    why = ""
    if daemon is None:
        try:
            daemon = Client(find_socket())
        except ClientError as error:
            why = str(error)
    return Patient(daemon, why, config_file)


@click.command("doctor")
@any_daemon_option
@config_option
@json_option
def doctor_verb(daemon: Client | None, config_file: Path, as_json: bool) -> int:
    """Tell what is wrong with this machine, and what mends it.

    The daemon, its configuration, groups, permissions, udev rules, ports, devices, the unit, the
    clock, the disk, the journal. It only looks, also with the daemon down. Exit code 0 only if
    nothing is wrong.

    \b
    Examples:
      shoectl doctor
      sudo shoectl doctor --json
    """
    with patience("looking at this machine"):
        findings = list(examine(patient_of(daemon, config_file)))
    if as_json:
        terminal.say_json(findings)
    else:
        for line, colour in told(findings):
            terminal.say(line, colour)
    return 1 if any(finding.verdict == "wrong" for finding in findings) else 0


def told(findings: list[Finding]) -> list[tuple[str, str | None]]:
    """The findings in lines, each with its colour."""
    width = max(len(finding.topic) for finding in findings)
    lines: list[tuple[str, str | None]] = []
    for finding in findings:
        head = f"{finding.verdict:<5}  {finding.topic:<{width}}  "
        lines += [
            (line, COLOURS[finding.verdict]) for line in terminal.fold(terminal.plain(head + finding.text), len(head))
        ]
        if finding.mend:
            lines.append((f"{' ' * len(head)}$ {finding.mend}", None))
    wrong = sum(finding.verdict == "wrong" for finding in findings)
    summary = f"{terminal.count(wrong, 'thing')} wrong" if wrong else "nothing is wrong"
    return [*lines, (f"{terminal.count(len(findings), 'finding')}: {summary}", "red" if wrong else "green")]
