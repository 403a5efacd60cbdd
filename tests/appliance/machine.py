"""The machine under test: QEMU without KVM, controlled through its guest agent."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.appliance.image import Image

T = TypeVar("T")
LIMIT_S = 600.0  # for everything in the machine: many times longer than needed, even on a busy host
ANSWER_S = 60.0  # for a person's request, which times out after a third of this
LOOK_S = 0.1  # between two looks at something in the machine
PEOPLE = ("dealer", "floor")
DEVICES = ("shuffler", "shoe")
# Identifies an adaptor to udev: docs/device-maker.md, "The name on USB".
SERIALS = {"shuffler": "DRAGONSHOE-SHUFFLER-0001", "shoe": "DRAGONSHOE-SHOE-0001"}


class Failed(AssertionError):
    """A check that does not hold."""


def until(what: str, look: Callable[[], T | bool | None], limit_s: float = LIMIT_S) -> T:
    """Wait until the result is true, and return it."""
    deadline = time.monotonic() + limit_s
    while True:
        seen = look()
        if seen:
            return seen  # type: ignore[return-value]
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {limit_s:.0f} s")
        time.sleep(LOOK_S)


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command in the machine."""

    code: int
    out: str
    err: str


class _Line:
    """Lines of JSON over a Unix socket on which QEMU listens."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._input = bytearray()

    def close(self) -> None:
        self._socket.close()

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self, limit_s: float) -> bytes:
        """One line; raises TimeoutError if none arrives and EOFError if the machine is off."""
        deadline = time.monotonic() + limit_s
        while b"\n" not in self._input:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            data = self._socket.recv(65536)
            if not data:
                raise EOFError("the machine is off")
            self._input += data
        line, _, rest = bytes(self._input).partition(b"\n")
        self._input[:] = rest
        return line


class Machine:
    """An emulated machine; its disk survives a power cut."""

    def __init__(self, image: Image, folder: Path, payload: Path, cores: int) -> None:
        self.folder = folder
        self.started_at = 0.0  # on the host's clock, when the power was last switched on
        self._image = image
        self._payload = payload
        self._cores = cores
        self._process: subprocess.Popen[bytes] | None = None
        self._agent: _Line | None = None
        self._people: dict[str, _Line] = {}
        self._asked = 0
        self._disk = folder / "disk.qcow2"
        subprocess.run(
            ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(image.disk), str(self._disk)], check=True
        )

    def device_socket(self, kind: str, device: str) -> Path:
        """Where QEMU listens for a simulated device; kind is serial or usb."""
        return self.folder / f"{kind}-{device}"

    # ---- power ----

    def switch_on(self) -> None:
        """Power on, and wait until the agent answers."""
        command = ["qemu-system-x86_64", *self._options()]
        self.started_at = time.monotonic()
        with open(self.folder / "qemu.log", "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until("the machine's agent answers", self._reach_agent)

    def cut_power(self) -> None:
        """Stop without warning, like pulling the plug."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._let_go()

    def close(self) -> None:
        """Stop the machine."""
        if self._process is not None and self._process.poll() is None:
            self.cut_power()

    def console(self) -> str:
        """The last lines on its console."""
        with contextlib.suppress(OSError):
            return "\n".join((self.folder / "console.log").read_text(errors="replace").splitlines()[-40:])
        return ""

    def _let_go(self) -> None:
        for line in [self._agent, *self._people.values()]:
            if line is not None:
                line.close()
        self._agent = None
        self._people.clear()

    def _options(self) -> list[str]:
        words = [
            "-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max", "-m", "768", "-smp", str(self._cores),
            "-nodefaults", "-no-user-config", "-display", "none", "-nic", "none",
            "-kernel", str(self._image.kernel), "-initrd", str(self._image.initrd),
            "-append", "root=/dev/vda rw console=ttyS0 quiet mitigations=off panic=1",
            "-no-reboot", "-serial", f"file:{self.folder / 'console.log'}",
            "-drive", f"file={self._disk},format=qcow2,if=virtio",
            "-drive", f"file={self._payload},format=raw,if=virtio,readonly=on",
            "-device", "qemu-xhci,id=xhci,p2=8,p3=8", "-device", "virtio-serial,max_ports=8",
        ]  # fmt: skip
        ports = {"agent": "org.qemu.guest_agent.0"} | {person: f"dragonshoe.{person}" for person in PEOPLE}
        for name, port in ports.items():
            words += ["-chardev", f"socket,id={name},path={self.folder / name},server=on,wait=off"]
            words += ["-device", f"virtserialport,chardev={name},name={port}"]
        for device in DEVICES:
            for kind, model in (("serial", f"usb-serial,serial={SERIALS[device]},"), ("usb", "usb-redir,")):
                name = f"{kind}-{device}"
                words += ["-chardev", f"socket,id={name},path={self.folder / name},server=on,wait=off"]
                words += ["-device", f"{model}bus=xhci.0,chardev={name}"]
        return words

    # ---- the agent ----

    def _reach_agent(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise Failed(f"QEMU ended: {(self.folder / 'qemu.log').read_text(errors='replace')}\n{self.console()}")
        if self._agent is None:
            try:
                self._agent = _Line(self.folder / "agent")
            except OSError:  # QEMU does not listen yet
                return False
        try:
            # The agent discards an incomplete request, and answers with our number once it runs.
            number = time.monotonic_ns()
            self._agent.write(b"\xff" + json.dumps({"execute": "guest-sync", "arguments": {"id": number}}).encode())
            while json.loads(self._agent.read(2.0).strip(b"\xff")).get("return") != number:
                pass
        except (TimeoutError, json.JSONDecodeError):
            return False
        return True

    def _ask_agent(self, command: str, **arguments: Any) -> Any:
        assert self._agent is not None
        self._agent.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        answer = json.loads(self._agent.read(LIMIT_S))
        if "error" in answer:
            raise Failed(f"the agent refuses {command}: {answer['error']['desc']}")
        return answer["return"]

    def start(self, *command: str, said: str = "") -> int:
        """Start a command as root; returns its process ID for `ended`."""
        about = {"input-data": base64.b64encode(said.encode()).decode()} if said else {}
        answer = self._ask_agent(
            "guest-exec", path="/usr/bin/env", arg=list(command), **about, **{"capture-output": True}
        )
        return int(answer["pid"])

    def ended(self, pid: int) -> Done | None:
        """How a started command ended, or None while it runs."""
        status = self._ask_agent("guest-exec-status", pid=pid)
        if not status["exited"]:
            return None
        out, err = (
            base64.b64decode(status.get(name, "")).decode(errors="replace") for name in ("out-data", "err-data")
        )
        return Done(status.get("exitcode", 128 + status.get("signal", 0)), out, err)

    def run(self, *command: str, said: str = "", limit_s: float = LIMIT_S) -> Done:
        """Run a command as root, whether it succeeds or not."""
        pid = self.start(*command, said=said)
        return until(f"{' '.join(command)} ends", lambda: self.ended(pid), limit_s)

    def out(self, *command: str, said: str = "", limit_s: float = LIMIT_S) -> str:
        """The output of a command, which must succeed."""
        done = self.run(*command, said=said, limit_s=limit_s)
        if done.code:
            raise Failed(f"{' '.join(command)} ended with {done.code}: {done.out}{done.err}")
        return done.out.strip()

    def shell(self, script: str, limit_s: float = LIMIT_S) -> str:
        """The output of a shell script, which must succeed."""
        return self.out("sh", "-euc", script, limit_s=limit_s)

    # ---- people ----

    def ask(self, person: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a person's request to the daemon's socket; returns the status, 0 without a response, and the answer."""
        if person not in self._people:
            self._people[person] = _Line(self.folder / person)
        line = self._people[person]
        self._asked += 1
        line.write(json.dumps([self._asked, method, path, body]).encode() + b"\n")
        while True:  # skip answers to requests that were interrupted
            number, status, answer = json.loads(line.read(ANSWER_S))
            if number == self._asked:
                return int(status), answer


def cores() -> int:
    """The number of processors of the machine: as many as the host has, at most two."""
    return min(os.cpu_count() or 1, 2)
