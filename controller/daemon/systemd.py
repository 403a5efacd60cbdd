"""Telling systemd how the daemon does, where it was started by systemd (sd_notify(3))."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(*words: str) -> None:
    """Send these assignments, such as READY=1, if somebody listens. A manager that is gone is no reason to stop."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
        out.sendto("\n".join(words).encode(), address)


def watchdog_s() -> float:
    """How often systemd wants to hear from this process at least; 0 if it does not."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    try:
        return int(os.environ.get("WATCHDOG_USEC", "0")) / 1e6
    except ValueError:
        return 0.0
