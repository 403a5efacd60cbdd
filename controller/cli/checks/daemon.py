"""Checks whether the daemon answers, runs the table, has the installed version, and which role it gives this user."""

from __future__ import annotations

import contextlib

from controller.cli.checks.examination import OK, SERVICE, SHOW_LOG, WRONG, Examination, Results, unmask
from controller.cli.client import ClientError, RequestRefused
from controller.daemon.version import VERSION


def check_daemon(examination: Examination) -> Results:
    """Whether the daemon runs and is healthy, its version, and this user's roles."""
    try:
        examination.get("/healthz")
    except RequestRefused as error:
        examination.table_stopped = True
        yield WRONG, f"the daemon has stopped the table: {error}", SHOW_LOG
    except ClientError as error:
        restarting = (examination.unit or {}).get("ActiveState") == "activating"  # the log says why it fails
        yield WRONG, str(error), SHOW_LOG if restarting else f"{unmask(examination)}sudo systemctl start {SERVICE}"
        return
    assert examination.daemon is not None
    yield OK, f"the daemon answers at {examination.daemon.path}", ""
    with contextlib.suppress(ClientError, KeyError, TypeError):
        running = examination.get("openapi.json")["info"]["version"]
        if running != VERSION:
            text = f"the running daemon is version {running}, this command is {VERSION}: the daemon was not restarted"
            yield WRONG, text, f"sudo systemctl restart {SERVICE}"
    with contextlib.suppress(ClientError, KeyError, TypeError):
        people = examination.get("session")["people"]
        roles = ", ".join(dict.fromkeys(person["role"] for person in people))
        yield OK, f"it knows you as {people[0]['name']}: {roles}" if people else "it gives you no role", ""
