"""Runs inside the machine, in the sandbox of shoed.service: tries what the daemon must and must not be able to do.

Prints one line of JSON for each attempt: its name and why it failed, or an empty string if it succeeded.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import glob
import json
import mmap
import os
import socket
import subprocess
import time
from collections.abc import Callable


def _open(path: str, flags: int = os.O_RDWR) -> None:
    os.close(os.open(path, flags | os.O_NOCTTY | os.O_NONBLOCK))


def _open_all(pattern: str) -> None:
    found = glob.glob(pattern)
    if not found:
        raise OSError(f"nothing matches {pattern}")
    for path in found:
        _open(path)


def _write(path: str) -> None:
    _open(path, os.O_WRONLY | os.O_CREAT)
    os.unlink(path)


def _call(name: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _find_library(name: str) -> None:
    if ctypes.util.find_library(name) is None:
        raise OSError(f"{name} is not found")


def _other_process() -> None:
    if not os.path.exists("/proc/1/cmdline"):
        raise OSError("not seen")


CLONE_NEWUSER = 0x10000000

MUST_FAIL: dict[str, Callable[[], object]] = {
    "read the disk": lambda: _open("/dev/vda", os.O_RDONLY),
    "open the console": lambda: _open("/dev/ttyS0"),
    "open the memory": lambda: _open("/dev/mem", os.O_RDONLY),
    "write to /usr": lambda: _write("/usr/bin/shoed-probe"),
    "write to /etc": lambda: _write("/etc/shoed/probe"),
    "write to /var": lambda: _write("/var/lib/probe"),
    "look into /home": lambda: os.listdir("/home/dana"),
    "see other processes": _other_process,
    "open a network socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "open a raw socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "run another program": lambda: subprocess.run(["/usr/bin/true"], check=True),
    "become root": lambda: os.setuid(0),
    "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    "load code that it wrote": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC),
    "make a namespace": lambda: _call("unshare", CLONE_NEWUSER),
    "mount": lambda: _call("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "change kernel settings": lambda: _open("/proc/sys/kernel/panic", os.O_WRONLY),
    "load a kernel module": lambda: _open("/usr/lib/modules", os.O_WRONLY),
}
MUST_WORK: dict[str, Callable[[], object]] = {
    "write its state": lambda: _write("/var/lib/shoed/probe"),
    "write its run-time files": lambda: _write("/run/shoed/probe"),
    "open the serial adaptors": lambda: _open_all("/dev/shoed/*[er]"),
    "open raw USB": lambda: _open_all("/dev/shoed/*-usb"),
    "hear of devices": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15),
    "find libusb": lambda: _find_library("usb-1.0"),
    "find libudev": lambda: _find_library("udev"),
    "read its configuration": lambda: _open("/etc/shoed/table.toml", os.O_RDONLY),
}


def main() -> None:
    """Try everything."""
    for name, attempt in {**MUST_FAIL, **MUST_WORK}.items():
        try:
            attempt()
            why = ""
        except Exception as error:
            why = str(error) or type(error).__name__
        print(json.dumps([name, why]))


if __name__ == "__main__":
    main()
