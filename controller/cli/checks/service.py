"""Checks the systemd unit of the daemon."""

from __future__ import annotations

from controller.cli.checks.examination import (
    INSTALL,
    NOTE,
    OK,
    SERVICE,
    SHOW_LOG,
    WRONG,
    Examination,
    Results,
    properties,
    run,
    unmask,
)


def check_unit(examination: Examination) -> Results:
    """Whether the service is installed, enabled and running."""
    unit = examination.unit
    if unit is None:
        yield NOTE, "systemd does not run here, or does not answer", ""
        return
    if unit.get("LoadState") == "masked":
        fix = f"{unmask(examination)}sudo systemctl enable --now {SERVICE}"
        yield WRONG, f"{SERVICE}.service is masked and cannot be started", fix
        return
    if unit.get("LoadState") != "loaded":
        yield WRONG, f"{SERVICE}.service is not installed ({unit.get('LoadState')})", INSTALL
        return
    if unit.get("NeedDaemonReload") == "yes":
        text = f"{SERVICE}.service was changed on the disk, but systemd still uses the old one"
        yield WRONG, text, "sudo systemctl daemon-reload"
    if unit.get("UnitFileState") not in ("enabled", "static", "generated", "alias"):
        yield WRONG, f"{SERVICE}.service does not start with the machine", f"sudo systemctl enable {SERVICE}"
    if unit.get("ActiveState") != "active":
        text = f"{SERVICE}.service is {unit.get('ActiveState')} ({unit.get('SubState')}, {unit.get('Result')})"
        restarting = unit.get("ActiveState") == "activating"
        yield WRONG, text, SHOW_LOG if restarting else f"sudo systemctl restart {SERVICE}; {SHOW_LOG}"
        return
    socket = properties(run("systemctl", "show", f"{SERVICE}.socket", "-p", "LoadState,ActiveState") or "")
    if socket.get("LoadState") == "loaded" and socket.get("ActiveState") != "active":
        text = f"{SERVICE}.socket is {socket.get('ActiveState')}: the screen cannot be reached"
        yield WRONG, text, f"sudo systemctl start {SERVICE}.socket"
    restarts = int(unit.get("NRestarts") or 0)
    if restarts:
        text = f"{SERVICE}.service is running, but was restarted {restarts} times since the machine started"
        yield NOTE, text, f"journalctl -u {SERVICE} -b -p warning"
    else:
        yield OK, f"{SERVICE}.service is running", ""
