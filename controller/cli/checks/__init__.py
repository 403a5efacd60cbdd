"""The checks of `shoectl doctor`, one module per subject, and the order in which they run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from controller.cli.checks.access import check_groups, check_permissions
from controller.cli.checks.config import check_config
from controller.cli.checks.daemon import check_daemon
from controller.cli.checks.devices import check_devices, check_ports, check_udev
from controller.cli.checks.examination import OK, Examination, Finding, Results
from controller.cli.checks.journal import check_journal, find_journal
from controller.cli.checks.machine import check_clock, check_disk
from controller.cli.checks.service import check_unit
from controller.cli.client import ClientError

# Later checks use what earlier ones have learned.
TOPICS: dict[str, Callable[[Examination], Results]] = {
    "daemon": check_daemon,
    "config": check_config,
    "groups": check_groups,
    "permissions": check_permissions,
    "udev": check_udev,
    "ports": check_ports,
    "devices": check_devices,
    "unit": check_unit,
    "clock": check_clock,
    "disk": check_disk,
    "journal": check_journal,
}
INSTALLED_ONLY = ("config", "groups", "permissions", "udev", "ports", "unit")


def examine(examination: Examination) -> Iterator[Finding]:
    """Run all checks."""
    with contextlib.suppress(ClientError):
        examination.simulated = bool(examination.get("table")["simulated"])
    for topic, check in TOPICS.items():
        if examination.simulated and topic in INSTALLED_ONLY:
            continue
        if topic == "permissions" or examination.journal is None:
            examination.journal = find_journal(examination)
        for verdict, text, fix in check(examination):
            yield Finding(topic, verdict, text, fix if verdict != OK else "")
    if examination.simulated:
        text = f"not checked, because the table is simulated: {', '.join(INSTALLED_ONLY)}"
        yield Finding("simulation", OK, text)
