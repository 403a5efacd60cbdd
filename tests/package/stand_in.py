"""A daemon that only tries what the sandbox of shoed.service must allow and what it must refuse.

It runs in place of `shoed` in the machine of test_package.py, under the unit as shipped, writes its results to its
state folder, and answers on the control socket: `hang` stops the loop, anything else is answered with the caller's user
ID. Devices are not tried, because a container cannot deny them to a unit.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import socket
import sqlite3
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

STATE = Path("/var/lib/shoed")
CONTROL = Path("/run/shoed/control.sock")
WATCHDOG_S = 1.0


def notify(text: str) -> None:
    """Send a message to systemd."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(text.encode(), os.environ["NOTIFY_SOCKET"])


def outcome(attempt: Callable[[], object]) -> str:
    """`yes`, or the name of the error."""
    try:
        attempt()
    except OSError as error:
        return type(error).__name__ if error.errno is None else os.strerror(error.errno)
    except Exception as error:
        return type(error).__name__
    return "yes"


def commit() -> None:
    with sqlite3.connect(STATE / "probe.db") as book:
        assert book.execute("pragma journal_mode=wal").fetchone() == ("wal",)
        book.execute("pragma synchronous=full")
        book.execute("create table if not exists t (x)")
        book.execute("insert into t values (1)")
    book.close()


def call_back() -> None:
    assert ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)() == 7


def find_usb() -> None:
    import usb.core

    list(usb.core.find(find_all=True))


def hear_udev() -> None:
    import pyudev

    pyudev.Monitor.from_netlink(pyudev.Context()).start()


def use_a_terminal() -> None:
    import serial

    near, far = os.openpty()
    serial.Serial(os.ttyname(far), 115200, exclusive=True).close()
    os.close(near)


def only_ours() -> None:
    others = [pid for pid in os.listdir("/proc") if pid.isdigit() and os.stat(f"/proc/{pid}").st_uid != os.getuid()]
    assert others == [], others


PROBES: dict[str, Callable[[], object]] = {
    "commit": commit,
    "call back": call_back,
    "find usb": find_usb,
    "hear udev": hear_udev,
    "use a terminal": use_a_terminal,
    "read the configuration": Path("/etc/shoed/table.toml").read_bytes,
    "see no other's processes": only_ours,
    "know the boot": Path("/proc/sys/kernel/random/boot_id").read_bytes,
    "import everything": lambda: __import__("controller.cli.shoed"),
    "open a network socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "write the configuration": lambda: os.open("/etc/shoed/table.toml", os.O_WRONLY),
    "write the program": lambda: Path("/usr/lib/dragonshoe/x").write_text(""),
    "make code": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
    "run another program": lambda: subprocess.run(["/usr/bin/true"], check=True),
    "become root": lambda: os.setuid(0),
    "list homes": lambda: os.listdir("/root"),
}


def main() -> None:
    found = {name: outcome(attempt) for name, attempt in PROBES.items()}
    page = socket.socket(fileno=3)
    found["handed over"] = f"{os.environ['LISTEN_FDNAMES']} {page.getsockname()}"
    (STATE / "probe.json").write_text(json.dumps(found))

    CONTROL.unlink(missing_ok=True)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.bind(str(CONTROL))
    CONTROL.chmod(0o666)
    control.listen()
    control.settimeout(WATCHDOG_S)
    notify("READY=1\nSTATUS=probed")
    while True:
        notify("WATCHDOG=1")
        try:
            asking, _ = control.accept()
        except TimeoutError:
            continue
        with asking:
            if asking.recv(16) == b"hang":
                time.sleep(600)
            _, user, _ = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            asking.sendall(str(user).encode())


main()
