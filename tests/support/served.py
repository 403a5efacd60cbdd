"""A real shoed process for tests, and clients for its socket and its screen."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SHOED = str(Path(sys.executable).with_name("shoed"))
LIMIT_S = 120.0  # generous: only a hang runs into it


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=LIMIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT_S)
        self.sock.connect(str(self._path))


class Answer:
    """The response to a request."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class Served:
    """A running shoed: its log, its socket, its screen."""

    def __init__(
        self, folder: Path, *words: str, command: tuple[str, ...] = (SHOED,), env: dict[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.socket = folder / "run/control.sock"
        self.lines: list[dict[str, Any]] = []
        self.log = ""  # everything it wrote
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [*command, *words],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self._reading = threading.Thread(target=self._read, name="log")
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            with self._changed:
                self.log += text
                with contextlib.suppress(ValueError):
                    self.lines.append(json.loads(text))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def until(self, event: str, **wanted: str) -> dict[str, Any]:
        """Wait for the first log line of this event with these values."""

        def found() -> dict[str, Any] | None:
            for line in self.lines:
                if line.get("event") == event and all(part in str(line.get(name)) for name, part in wanted.items()):
                    return line
            return None

        end = time.monotonic() + LIMIT_S
        with self._changed:
            while (line := found()) is None:
                left = end - time.monotonic()
                assert left > 0, f"no {event} {wanted}: {self.lines}"
                assert self._reading.is_alive(), f"shoed ended without {event} {wanted}: {self.lines}"
                self._changed.wait(left)
            return line

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request to the socket."""
        connection = UnixConnection(self.socket)
        return _ask(connection, method, path, body, headers)

    def get(self, path: str) -> Any:
        """The JSON at this path; it must be available."""
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.body
        return answer.json

    def do(self, action: str, **fields: Any) -> Answer:
        """Take an action."""
        return self.ask("POST", "/api/v1/actions", {"action": action, **fields})

    @property
    def screen_token(self) -> str:
        """What the table's own screen presents, at a simulated table."""
        return (self.folder / "run/screen.token").read_text().strip()

    def table(self) -> dict[str, Any]:
        """The table as the API returns it."""
        found: dict[str, Any] = self.get("/api/v1/table")
        return found

    def wait(self, until: Callable[[dict[str, Any]], Any], limit_s: float = LIMIT_S) -> dict[str, Any]:
        """Wait until the table meets a condition."""
        end = time.monotonic() + limit_s
        while True:
            seen = self.table()
            if until(seen):
                return seen
            assert time.monotonic() < end, f"the condition was never met: {seen['step']}, {seen['table']}"
            time.sleep(0.02)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the process and wait for it."""
        self.process.send_signal(how)
        code = self.process.wait(LIMIT_S)
        self._reading.join(LIMIT_S)
        return code

    def close(self) -> None:
        """End the process, whatever has happened."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT_S)
        self._reading.join(LIMIT_S)
        if self.process.stderr:
            self.process.stderr.close()


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    sent = {"Content-Type": "application/json"} if data is not None else {}
    try:
        connection.request(method, path, data, {**sent, **{k.replace("_", "-"): v for k, v in headers.items()}})
        return Answer(connection.getresponse())
    finally:
        connection.close()


class Page:
    """A client that behaves like the screen in a browser: it keeps the cookies and the token.

    With `screen_token` it is the table's own screen, otherwise a page that anybody has opened.
    """

    def __init__(self, address: str, screen_token: str = "") -> None:
        self.address = address
        self.cookie = self.token = self.screen_cookie = ""
        self.session()
        if screen_token:
            answer = self.ask("POST", "/api/v1/session/screen", {"token": screen_token})
            assert answer.status == 200, answer.body

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request as the page does."""
        host, _, port = self.address.rpartition(":")
        cookies = f"shoed={self.cookie}; shoed_screen={self.screen_cookie}"
        own = {"Origin": f"http://{self.address}", "X-Token": self.token, "Cookie": cookies}
        connection = http.client.HTTPConnection(host, int(port), timeout=LIMIT_S)
        answer = _ask(connection, method, path, body, {**own, **headers})
        for header in answer.headers.get_all("Set-Cookie", []):
            name, _, value = header.partition(";")[0].partition("=")
            if name == "shoed":
                self.cookie = value
            else:
                self.screen_cookie = value
        return answer

    def session(self) -> Any:
        """Who is signed in."""
        session = self.ask("GET", "/api/v1/session").json
        self.token = session["token"]
        return session["people"]

    def sign_in(self, name: str, pin: str) -> Answer:
        """Sign in."""
        answer = self.ask("POST", "/api/v1/session", {"name": name, "pin": pin})
        if answer.status == 200:
            self.token = answer.json["token"]
        return answer

    def do(self, action: str, **fields: Any) -> Answer:
        """Take an action as the page does."""
        return self.ask("POST", "/api/v1/actions", {"action": action, **fields})


# Ports below the range that the kernel assigns, a share for each test process, so that two processes looking for a
# free port at the same time do not find the same one.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_FIRST = 20000 + _WORKER % 60 * 200
_PORTS = itertools.islice(itertools.cycle(range(_FIRST, _FIRST + 200)), os.getpid() % 200, None)


def free_port() -> int:
    """An unused port on loopback."""
    for port in _PORTS:
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", port))
            return port
    raise AssertionError


@contextlib.contextmanager
def simulated(folder: Path, *words: str) -> Iterator[tuple[Served, str]]:
    """A simulated table and the address of its screen."""
    listen = f"127.0.0.1:{free_port()}"
    served = Served(folder, "--simulate", "--folder", "run", "--listen", listen, *words)
    try:
        served.until("ready")
        yield served, listen
    finally:
        served.close()
