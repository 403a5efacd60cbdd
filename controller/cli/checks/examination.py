"""What all checks share: the machine under examination, and what a check finds.

Checks change nothing, open no port and disturb no device. Every problem names the command that fixes it.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from controller.cli.client import Client, ClientError
from controller.daemon.config import CONFIG_FILE, Config
from controller.daemon.version import VERSION

COMMAND_TIMEOUT_S = 10.0
SERVICE = "shoed"
SHOW_LOG = f"journalctl -u {SERVICE} -n 50"
INSTALL = f"sudo apt install --reinstall ./dragonshoe_{VERSION}+deb*_amd64.deb"

Verdict = Literal["ok", "note", "wrong"]
OK: Verdict = "ok"
NOTE: Verdict = "note"
WRONG: Verdict = "wrong"

CheckResult = tuple[Verdict, str, str]  # the verdict, the text, and the command that fixes it
Results = Iterator[CheckResult]


class Finding(msgspec.Struct, frozen=True, rename={"fix": "mend"}):
    """One result of a check. `fix` is a shell command."""

    topic: str
    verdict: Verdict
    text: str
    fix: str = ""


@dataclass
class Examination:
    """The machine being examined, and what earlier checks have learned about it."""

    daemon: Client | None
    no_daemon: str  # why there is no daemon
    config_file: Path = CONFIG_FILE
    root: Path = Path("/")  # a disk mounted elsewhere can be examined too
    user: str = SERVICE  # user and group of the service
    simulated: bool = False
    config: Config | None = None
    journal: Path | None = None
    table_stopped: bool = False  # the daemon runs, but has stopped the table
    answers: dict[str, Any] = field(default_factory=dict)

    def path(self, path: str | Path) -> Path:
        """A path on the machine being examined."""
        return self.root / str(path).lstrip("/")

    def get(self, path: str) -> Any:
        """The daemon's answer, requested once; ClientError if there is none."""
        if self.daemon is None:
            raise ClientError(self.no_daemon)
        if path not in self.answers:
            self.answers[path] = self.daemon.get(path)
        return self.answers[path]

    @functools.cached_property
    def unit(self) -> dict[str, str] | None:
        """The service's state according to systemd; None where systemd does not run."""
        names = "LoadState,ActiveState,SubState,Result,NRestarts,UnitFileState,NeedDaemonReload"
        output = run("systemctl", "show", f"{SERVICE}.service", "-p", names)
        return None if output is None else properties(output)


def run(*words: str) -> str | None:
    """The output of a system command; None if it does not exist or fails."""
    if shutil.which(words[0]) is None:
        return None
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def properties(output: str) -> dict[str, str]:
    """The properties that `systemctl show` or `timedatectl show` printed."""
    return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)


def exists(look_up: Callable[[Any], Any], key: Any) -> bool:
    """Whether a user or group exists; `look_up` is a function of pwd or grp."""
    try:
        look_up(key)
    except KeyError:
        return False
    return True


def unmask(examination: Examination) -> str:
    """The command that must come before a start if the unit is masked, or nothing."""
    unit = examination.unit or {}
    if unit.get("LoadState") != "masked":
        return ""
    return f"sudo systemctl unmask {'--runtime ' * ('runtime' in unit.get('UnitFileState', ''))}{SERVICE} && "
