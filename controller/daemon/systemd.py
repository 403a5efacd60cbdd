"""Reports the daemon's status to systemd, if it was started by systemd (sd_notify(3))."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(*assignments: str) -> None:
    """Send assignments such as READY=1 to systemd, if there is one. Errors are ignored."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
        out.sendto("\n".join(assignments).encode(), address)


def watchdog_s() -> float:
    """The interval within which systemd expects a message from this process; 0 if it expects none."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    try:
        return int(os.environ.get("WATCHDOG_USEC", "0")) / 1e6
    except ValueError:
        return 0.0
