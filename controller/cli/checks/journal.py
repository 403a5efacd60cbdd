"""Checks whether the journal exists and its chain is intact."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from controller.cli.checks.examination import NOTE, OK, SERVICE, WRONG, Examination, Results
from controller.cli.client import ClientError
from controller.cli.progress import Progress
from controller.journal import JournalAbsent, JournalDamaged, JournalError, JournalForbidden, JournalReader

UNKNOWN_PATH = "the path of the journal is unknown: there is neither a configuration nor a daemon"


def check_journal(examination: Examination) -> Results:
    """Whether the journal is intact; what was verified before is not verified again."""
    path = examination.journal
    if path is None:
        yield NOTE, UNKNOWN_PATH, ""
        return
    try:
        with JournalReader(path) as reader, Progress("verified {} events") as progress:
            known = reader.verified()
            progress.length = reader.head.seq - known.seq
            head = reader.verify(known, lambda event: progress.step())
    except JournalForbidden:
        yield NOTE, f"{path}: this user may not read it; try again with `sudo shoectl doctor`", ""
    except JournalDamaged as error:
        yield WRONG, f"{path}: {error}", f"shoectl journal verify {path}"
    except JournalAbsent as error:
        yield WRONG, str(error), f"sudo systemctl start {SERVICE}"
    except JournalError as error:
        yield WRONG, str(error), "dmesg | tail"
    else:
        part = f"; verified now: the events after {known.seq}" if known.seq else "; verified now"
        yield OK, f"{path}: {head.seq} events, chain intact{part}", ""


def find_journal(examination: Examination) -> Path | None:
    """The journal of the daemon, of the configuration, or the default one if it exists."""
    with contextlib.suppress(ClientError, KeyError, TypeError):
        return Path(examination.get("journal")["path"])
    if examination.config:
        return examination.path(examination.config.journal.file)
    default = examination.path("/var/lib/shoed/journal.db")
    return default if os.path.exists(default) else None
