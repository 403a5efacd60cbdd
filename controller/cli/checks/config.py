"""Checks the configuration file and the people file."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from controller.cli.checks.examination import NOTE, OK, WRONG, Examination, Results
from controller.daemon.config import ConfigError, read_config


def check_config(examination: Examination) -> Results:
    """Whether the configuration exists and is valid, and whether a dealer and a floorperson can sign in."""
    path = examination.path(examination.config_file)
    try:
        path.stat()
        if not os.access(path, os.R_OK):
            raise PermissionError
        examination.config = read_config(path)
    except FileNotFoundError:
        yield WRONG, f"{path} is missing", f"sudo mkdir -p {path.parent} && shoectl config example | sudo tee {path}"
        return
    except OSError:
        yield NOTE, f"{path}: this user may not read it; try again with `sudo shoectl doctor`", ""
        return
    except ConfigError as error:
        for line in str(error).splitlines():
            yield WRONG, line, f"sudoedit {path}"
        return
    config = examination.config
    yield OK, f"{path}: {config.name}, {config.table.method.replace('_', ' ')}", ""
    if config.screen:
        yield from _people(examination.path(config.screen.people))


def _people(path: Path) -> Results:
    from controller.daemon.people import read_people  # slow to import

    if not os.access(path.parent, os.X_OK) or (os.path.exists(path) and not os.access(path, os.R_OK)):
        yield NOTE, f"{path}: this user may not read it", ""
        return
    try:
        people = read_people(path).person
    except ConfigError as error:
        yield WRONG, str(error), "sudo shoectl person list"
        return
    for role in ("dealer", "floor"):
        if not any(role in person.roles for person in people):
            yield WRONG, f"nobody can sign in at the screen as {role}", f"sudo shoectl person add NAME --role {role}"
    for person in people:
        if person.pin_short:
            text = f"the PIN of {person.name}, a floorperson, may have fewer than six digits"
            yield NOTE, text, f"sudo shoectl person pin {shlex.quote(person.name)}"
