"""`shoectl bundle`: one archive for support, with what is needed to understand a table from afar and nothing secret.

What is in it is listed in `gather`, a line each. No people file, so no hash of a PIN; frames without their messages,
and no card that was not dealt, since the daemon and its journal know of none.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import re
import socket
import sqlite3
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import click
import msgspec

from controller.cli import terminal
from controller.cli.checkup import SERVICE, Patient, examine, run
from controller.cli.client import Client, ClientError, named
from controller.cli.doctor import any_daemon_option, config_option, patient_of, told
from controller.cli.options import json_option
from controller.cli.progress import Progress, patience
from controller.daemon.version import VERSION
from controller.journal import JournalDamaged, JournalError, JournalReader, line

EVENTS = 1000
LOG_LINES = "5000"
SECRET = re.compile(r"[\w-]*(secret|passw|passphrase|token|psk|key|pin)[\w-]*[\"']?\s*=", re.IGNORECASE)
BEGINS = re.compile(r"\s*(\[|#|$|[\"']?[\w.-]+[\"']?\s*=)")

Part = tuple[str, Callable[[], str | bytes]]


def without_secrets(text: str) -> str:
    """A configuration with the values of all that sounds secret taken out, also of a file that is no whole TOML."""
    lines, hidden = [], False
    for text_line in text.splitlines():
        found = SECRET.search(text_line)
        if found:
            lines.append(text_line[: found.end()] + ' "(taken out)"')
            hidden = True
        elif not hidden or BEGINS.match(text_line):
            lines.append(text_line)
            hidden = False
    return "\n".join(lines) + "\n"


def gather(patient: Patient) -> Iterator[Part]:
    """The parts of the archive, each made when it is asked for; one that fails says why in its place."""
    findings = list(examine(patient))
    yield "versions.json", lambda: _json(_versions())
    yield "doctor.json", lambda: _json(findings)
    yield "doctor.txt", lambda: "".join(f"{text}\n" for text, _ in told(findings))
    if not patient.simulated:
        yield "config.toml", lambda: without_secrets(patient.at(patient.config_file).read_text(errors="replace"))
    yield "log.txt", lambda: _command("journalctl", "-u", SERVICE, "-n", LOG_LINES, "-o", "short-iso", "--no-pager")
    yield "kernel.txt", lambda: _command("journalctl", "-k", "-n", LOG_LINES, "-o", "short-iso", "--no-pager")
    try:
        names = [device["name"] for device in patient.ask("devices")["devices"]]
    except ClientError as error:
        yield "daemon/", partial(_failed, error)
    else:
        for path in ("table", "devices", "journal", "actions", "rounds"):
            yield f"daemon/{path}.json", partial(_asked, patient, path)
        yield "daemon/metrics.txt", partial(_daemon(patient).text, "/metrics")
        for name in names:
            yield f"daemon/frames-{re.sub(r'[^A-Za-z0-9_-]', '_', name)}.txt", partial(_frames, patient, name)
    yield "journal/verification.json", lambda: _json(_verification(patient))
    yield "journal/events.jsonl", lambda: _events(patient)


def _versions() -> dict[str, Any]:
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return {
        "dragonshoe": VERSION,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": release.get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "packages": dict(sorted((found.metadata["Name"], found.version) for found in distributions())),
    }


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _command(*words: str) -> str:
    text = run(*words)
    if text is None:
        raise OSError(f"`{' '.join(words)}` cannot be asked here")
    return text


def _daemon(patient: Patient) -> Client:
    if patient.daemon is None:
        raise ClientError(patient.no_daemon)
    return patient.daemon


def _failed(error: Exception) -> bytes:
    raise error


def _asked(patient: Patient, path: str) -> bytes:
    return _json(_daemon(patient).get(path))


def _frames(patient: Patient, name: str) -> str:
    return "".join(f"{text}\n" for text in _daemon(patient).get(f"devices/{named(name)}/frames")["lines"])


def _reader(patient: Patient) -> JournalReader:
    if patient.journal is None:
        raise OSError("nobody knows where the journal is: neither configuration nor daemon tells")
    return JournalReader(patient.journal)


def _verification(patient: Patient) -> dict[str, Any]:
    with _reader(patient) as reader, Progress("verified {} events", reader.head.seq) as progress:
        try:
            head = reader.verify(on_event=lambda event: progress.step())
        except JournalDamaged as damage:
            return {"path": str(patient.journal), "whole": False, "bad": damage.seq, "reason": damage.reason}
    return {"path": str(patient.journal), "whole": True, "events": head.seq, "head": head.hash}


def _events(patient: Patient) -> bytes:
    with _reader(patient) as reader:
        return b"".join(line(event) + b"\n" for event in reader.last(EVENTS))


# --- the archive ----------------------------------------------------------------------------------------------------


def archive(patient: Patient, file: Path) -> tuple[list[str], list[str]]:
    """Write it, whole or not at all; gives the names of its parts, and what could not be had."""
    folder = file.name.split(".")[0]
    contents: dict[str, bytes] = {}
    problems: list[str] = []
    with patience("gathering what support needs"):
        for name, make in gather(patient):
            try:
                made = make()
                contents[name] = made.encode() if isinstance(made, str) else made
            except (ClientError, JournalError, OSError) as error:
                why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
                problems.append(f"{name}: {why}")
    contents["problems.txt"] = "".join(f"{problem}\n" for problem in problems).encode()
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items())
    contents["SHA256SUMS"] = sums.encode()
    part = file.with_name(file.name + ".part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            (_zip if file.suffix == ".zip" else _tar)(out, folder, contents)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return list(contents), problems


def _tar(out: Any, folder: str, contents: dict[str, bytes]) -> None:
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in contents.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(time.time()), 0o600
            tar.addfile(entry, io.BytesIO(content))


def _zip(out: Any, folder: str, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in contents.items():
            packed.writestr(f"{folder}/{name}", content)


@click.command("bundle")
@click.argument("file", metavar="[FILE]", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--force", is_flag=True, help="Overwrite FILE if it is there.")
@any_daemon_option
@config_option
@json_option
def bundle_verb(file: Path | None, force: bool, daemon: Client | None, config_file: Path, as_json: bool) -> None:
    """Write one archive for support.

    FILE ends with .tar.gz or .zip; without it, a name is made from host and time.

    Versions, the configuration without secrets, the doctor's findings, the log, what the daemon
    knows of table, devices and links, the last frames without their messages, the journal's
    verification and its last thousand events. No PIN, no card that was not dealt. Works with the
    daemon down too; what could not be had is told.

    \b
    Examples:
      sudo shoectl bundle
      shoectl bundle /tmp/table7.zip
    """
    file = file or Path(f"shoed-support-{socket.gethostname()}-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz")
    if not file.name.endswith((".tar.gz", ".tgz", ".zip")):
        raise click.UsageError(f"{file}: the name ends with .tar.gz, .tgz or .zip")
    if file.exists() and not force:
        raise click.ClickException(f"{file} is there already; --force overwrites it")
    try:
        parts, problems = archive(patient_of(daemon, config_file), file)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from None
    if as_json:
        terminal.say_json({"file": str(file), "bytes": file.stat().st_size, "parts": parts, "problems": problems})
        return
    for problem in problems:
        terminal.tell(f"left out: {problem}")
    terminal.say(f"{file}: {terminal.count(len(parts), 'part')}, {file.stat().st_size / 1000:.0f} kB", "green")
