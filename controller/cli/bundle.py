"""`shoectl bundle`: writes an archive for support: everything needed to analyse a table remotely, and nothing secret.

`gather` lists the content. The people file is left out, and with it the hashes of the PINs; frames come without their
messages, as do events that could not be read; and no undealt card is included, because the daemon does not know any.
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

from controller.api.event_text import shown_data
from controller.cli import terminal
from controller.cli.checks import examine
from controller.cli.checks.examination import SERVICE, Examination, run
from controller.cli.checks.journal import UNKNOWN_PATH
from controller.cli.client import Client, ClientError, path_part
from controller.cli.daemon_option import optional_socket_option
from controller.cli.doctor import config_option, examination_of, finding_lines
from controller.cli.options import force_option, json_option
from controller.cli.output_file import check_overwrite, complete_file, file_errors
from controller.cli.progress import Progress, waiting_for
from controller.core.names import plural
from controller.daemon.version import VERSION
from controller.journal import JournalDamaged, JournalError, JournalReader, line

EVENTS = 1000
LOG_LINES = "5000"
SECRET = re.compile(r"[\w-]*(secret|passw|passphrase|token|psk|key|pin)[\w-]*[\"']?\s*=", re.IGNORECASE)
NEW_ENTRY = re.compile(r"\s*(\[|#|$|[\"']?[\w.-]+[\"']?\s*=)")

ArchivePart = tuple[str, Callable[[], str | bytes]]


def without_secrets(text: str) -> str:
    """A configuration without the values whose keys sound secret. The text need not be valid TOML."""
    lines, hidden = [], False
    for text_line in text.splitlines():
        found = SECRET.search(text_line)
        if found:
            lines.append(text_line[: found.end()] + ' "(removed)"')
            hidden = True
        elif not hidden or NEW_ENTRY.match(text_line):
            lines.append(text_line)
            hidden = False
    return "\n".join(lines) + "\n"


def gather(examination: Examination) -> Iterator[ArchivePart]:
    """The names of the archive's parts, each with a function that makes its content or fails."""
    findings = list(examine(examination))
    yield "versions.json", lambda: _json(_versions())
    yield "doctor.json", lambda: _json(findings)
    yield "doctor.txt", lambda: "".join(f"{line.text}\n" for line in finding_lines(findings))
    if not examination.simulated:
        yield "config.toml", lambda: without_secrets(_text_of(examination.path(examination.config_file)))
    yield "log.txt", lambda: _command("journalctl", "-u", SERVICE, "-n", LOG_LINES, "-o", "short-iso", "--no-pager")
    yield "kernel.txt", lambda: _command("journalctl", "-k", "-n", LOG_LINES, "-o", "short-iso", "--no-pager")
    try:
        names = [device["name"] for device in examination.get("devices")["devices"]]
    except ClientError as error:
        yield "daemon/", partial(_failed, error)
    else:
        for path in ("table", "devices", "journal", "actions", "rounds"):
            yield f"daemon/{path}.json", partial(_answer, examination, path)
        yield "daemon/metrics.txt", partial(_daemon(examination).text, "/metrics")
        for name in names:
            yield f"daemon/frames-{re.sub(r'[^A-Za-z0-9_-]', '_', name)}.txt", partial(_frames, examination, name)
    yield "journal/verification.json", lambda: _json(_verification(examination))
    yield "journal/events.jsonl", lambda: _events(examination)


def _text_of(file: Path) -> str:
    """The text of a file; a link is not followed, because it could lead to a file that is secret."""
    if file.is_symlink():
        raise OSError(f"{file} is a symbolic link")
    with open(file, errors="replace", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW)) as text:
        return text.read()


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
        raise OSError(f"`{' '.join(words)}` does not exist here or failed")
    return text


def _daemon(examination: Examination) -> Client:
    if examination.daemon is None:
        raise ClientError(examination.no_daemon)
    return examination.daemon


def _failed(error: Exception) -> bytes:
    raise error


def _answer(examination: Examination, path: str) -> bytes:
    return _json(_daemon(examination).get(path))


def _frames(examination: Examination, name: str) -> str:
    return "".join(f"{text}\n" for text in _daemon(examination).get(f"devices/{path_part(name)}/frames")["lines"])


def _reader(examination: Examination) -> JournalReader:
    if examination.journal is None:
        raise OSError(UNKNOWN_PATH)
    return JournalReader(examination.journal)


def _verification(examination: Examination) -> dict[str, Any]:
    with _reader(examination) as reader, Progress("verified {} events", reader.head.seq) as progress:
        try:
            head = reader.verify(on_event=lambda event: progress.step())
        except JournalDamaged as damage:
            return {"path": str(examination.journal), "ok": False, "bad": damage.seq, "reason": damage.reason}
    return {"path": str(examination.journal), "ok": True, "events": head.seq, "head": head.hash}


def _events(examination: Examination) -> bytes:
    with _reader(examination) as reader:
        events = (msgspec.structs.replace(event, data=shown_data(event.data)) for event in reader.last(EVENTS))
        return b"".join(line(event) + b"\n" for event in events)


# --- the archive ----------------------------------------------------------------------------------------------------


def archive(examination: Examination, file: Path, force: bool = False) -> tuple[list[str], list[str]]:
    """Write the archive completely or not at all. Returns the names of its parts, and what could not be included."""
    folder = file.name.split(".")[0]
    contents: dict[str, bytes] = {}
    problems: list[str] = []
    with waiting_for("collecting information for support"):
        for name, make in gather(examination):
            try:
                made = make()
                contents[name] = made.encode() if isinstance(made, str) else made
            except (ClientError, JournalError, OSError) as error:
                text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
                problems.append(f"{name}: {text}")
    contents["problems.txt"] = "".join(f"{problem}\n" for problem in problems).encode()
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items())
    contents["SHA256SUMS"] = sums.encode()
    with complete_file(file, force, 0o600) as out:
        (_zip if file.suffix == ".zip" else _tar)(out, folder, contents)
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
@force_option
@optional_socket_option
@config_option
@json_option
def bundle_verb(file: Path | None, force: bool, daemon: Client | None, config_file: Path, as_json: bool) -> None:
    """Write an archive for support.

    FILE ends with .tar.gz or .zip. Default: a name made from the host name and the time.

    The archive contains versions, the configuration without secrets, the doctor's findings, the
    log, the daemon's view of table, devices and links, the last frames without their messages, the
    result of verifying the journal, and its last thousand events. It contains no PIN and no undealt
    card. It also works while the daemon is down; what could not be included is listed.

    \b
    Examples:
      sudo shoectl bundle
      shoectl bundle /tmp/table7.zip
    """
    file = file or Path(f"shoed-support-{socket.gethostname()}-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz")
    if not file.name.endswith((".tar.gz", ".tgz", ".zip")):
        raise click.UsageError(f"{file}: the name must end with .tar.gz, .tgz or .zip")
    with file_errors(file):
        check_overwrite(file, force)  # before the work
    parts, problems = archive(examination_of(daemon, config_file), file, force)
    if as_json:
        terminal.print_json({"file": str(file), "bytes": file.stat().st_size, "parts": parts, "problems": problems})
        return
    for problem in problems:
        terminal.print_message(f"not included: {problem}")
    terminal.print_line(f"{file}: {plural(len(parts), 'part')}, {file.stat().st_size / 1000:.0f} kB", "green")
