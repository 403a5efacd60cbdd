"""The daemon's API for a program on the same machine: JSON over HTTP over its Unix socket. All that can go wrong is
a ClientError, whose text is one line for a person.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

INSTALLED = Path("/run/shoed/control.sock")
SIMULATED = Path("build/run/control.sock")
PLACES = (INSTALLED, SIMULATED)
VARIABLE = "SHOED_SOCKET"

ANSWER_WITHIN_S = 10.0
SILENCE_S = 8.0  # a stream sends a beat every two seconds
LONGEST_LINE = 2**20


class ClientError(Exception):
    """The daemon was not reached, or it did not answer as it should."""


class NoDaemon(ClientError):
    """Nobody is there."""


class NoPermission(ClientError):
    """This user may not use the socket."""


class WrongSocket(ClientError):
    """Somebody else is there."""


class Gone(ClientError):
    """The daemon was there and is not any more, or has fallen silent."""


class Answered(ClientError):
    """The daemon said no."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(error.get("code", ""))
        self.message = str(error.get("message", ""))
        self.hint = str(error.get("hint") or "")
        self.clause = [str(clause) for clause in error.get("clause") or ()]
        self.error = dict(error)
        super().__init__(self._text())

    def _text(self) -> str:
        before, when = ("refused: ", "possible when ") if self.code == "refused" else ("", "")
        clauses = f" ({', '.join(self.clause)})" if self.clause else ""
        hint = f"; {when}{self.hint}" if self.hint else ""
        return f"{before}{self.message.rstrip('.')}{clauses}{hint}"

    @property
    def is_usage(self) -> bool:
        """Whether the question was wrong, not the time or the person."""
        return self.status in (400, 405, 413)


class Message(NamedTuple):
    """One message of a stream of server-sent events."""

    event: str
    data: Any
    id: str


def find_socket(given: Path | None = None) -> Path:
    """The socket that was given, or the one that is there; NoDaemon if there is none."""
    if given is None and os.environ.get(VARIABLE):
        given = Path(os.environ[VARIABLE])
    if given is not None:
        return given
    for place in PLACES:
        try:
            place.lstat()
        except FileNotFoundError:
            continue
        except OSError:
            pass  # something is there; to connect will tell what is wrong with it
        return place
    places = " nor ".join(map(str, PLACES))
    raise NoDaemon(
        f"no daemon here: there is neither {places}; `sudo systemctl start shoed` starts it, `make run` a simulated "
        "one, --socket PATH names another place"
    )


class Client:
    """One daemon, at a socket. Every question is a connection of its own, so that it outlives the daemon's restarts."""

    def __init__(self, path: Path, within_s: float = ANSWER_WITHIN_S) -> None:
        self.path = path
        self._within_s = within_s

    def get(self, path: str, **query: Any) -> Any:
        """The JSON at a path of the API, such as `table` or `devices/shoe/frames`; `/healthz` is taken as it is."""
        return self._ask("GET", path, query)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Ask for something to be done."""
        try:
            content = msgspec.json.encode(body)
        except UnicodeEncodeError:
            raise Answered(400, {"code": "bad_text", "message": "a value is no text in UTF-8"}) from None
        return self._ask("POST", path, {}, content)

    def text(self, path: str) -> str:
        """What is at a path and no JSON, such as `/metrics`."""
        with self._response("GET", path, {}, None, "text/plain", self._within_s) as response:
            return self._body(response).decode(errors="replace")

    def stream(self, **query: Any) -> Iterator[Message]:
        """The live events, until the daemon ends; then Gone is raised. It never just stops."""
        with self._response("GET", "events/stream", query, None, "text/event-stream", SILENCE_S) as response:
            if not str(response.getheader("Content-Type")).startswith("text/event-stream"):
                raise self._stranger()
            yield from self._messages(response)
        raise Gone(f"{self.path}: the daemon has ended the connection; `shoectl status` tells whether it is back")

    # --- inside -----------------------------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None = None) -> Any:
        with self._response(method, path, query, body, "application/json", self._within_s) as response:
            content = self._body(response)
        try:
            return msgspec.json.decode(content)
        except msgspec.DecodeError:
            raise self._stranger() from None

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        try:
            return response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(error) from None

    @contextlib.contextmanager
    def _response(
        self, method: str, path: str, query: Mapping[str, Any], body: bytes | None, accept: str, within_s: float
    ) -> Iterator[http.client.HTTPResponse]:
        target = path if path.startswith("/") else f"/api/v1/{path}"
        wanted = {name: _word(value) for name, value in query.items() if value is not None and value != ()}
        if wanted:
            target += "?" + urlencode(wanted, errors="replace")
        headers = {"Accept": accept, "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = _UnixConnection(self.path, within_s)
        try:
            try:
                connection.connect()
            except OSError as error:
                raise self._unreachable(error) from None
            try:
                connection.request(method, target, body, headers)
                response = connection.getresponse()
            except OSError as error:  # also an end before the answer, which is an HTTPException as well
                raise self._lost(error) from None
            except (http.client.HTTPException, UnicodeError):
                raise self._stranger() from None
            with response:
                if response.status >= 400:
                    raise self._refusal(response)
                yield response
        finally:
            connection.close()

    def _refusal(self, response: http.client.HTTPResponse) -> ClientError:
        content = self._body(response)
        try:
            answer = msgspec.json.decode(content)
            if response.status == 503 and "error" not in answer:  # /healthz
                return Answered(503, {"code": answer.get("status"), "message": answer.get("why") or "not ready"})
            return Answered(response.status, answer["error"])
        except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
            return self._stranger()

    def _messages(self, response: http.client.HTTPResponse) -> Iterator[Message]:
        event, number, data = "", "", bytearray()
        while True:
            try:
                line = response.readline(LONGEST_LINE)
            except TimeoutError:
                raise Gone(f"{self.path}: the daemon has said nothing for {SILENCE_S:.0f} s; is it stuck?") from None
            except (OSError, http.client.HTTPException):
                return
            if not line.endswith(b"\n"):
                return
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            value = value.removeprefix(b" ")
            if name == b"event":
                event = value.decode(errors="replace")
            elif name == b"id":
                number = value.decode(errors="replace")
            elif name == b"data":
                data += value + b"\n"
            elif not name and not value and data:
                yield Message(event or "message", self._decoded(data), number)
                event, data = "", bytearray()

    def _decoded(self, data: bytes | bytearray) -> Any:
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError:
            raise self._stranger() from None

    # --- what went wrong --------------------------------------------------------------------------------------------

    def _unreachable(self, error: OSError) -> ClientError:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return NoDaemon(f"{self.path}: no daemon has its socket there; `sudo systemctl start shoed` starts it")
        if isinstance(error, PermissionError):
            return NoPermission(
                f"{self.path}: this user may not ask the daemon; `sudo usermod -aG shoed-technician {_user()}` makes a "
                "technician (or -dealer, -floor, -auditor), after the next login"
            )
        if isinstance(error, ConnectionRefusedError) and self._is_socket():
            return NoDaemon(
                f"{self.path}: nobody listens there: the daemon has ended; `journalctl -u shoed -n 20` tells why, "
                "`sudo systemctl start shoed` starts it"
            )
        if isinstance(error, ConnectionRefusedError) or error.errno in (errno.EPROTOTYPE, errno.ENOTSOCK):
            return WrongSocket(f"{self.path}: this is not the socket of the daemon; check the path")
        if isinstance(error, TimeoutError):
            return Gone(f"{self.path}: the daemon does not take the connection; is it stuck?")
        return WrongSocket(f"{self.path}: {error.strerror or error}")

    def _is_socket(self) -> bool:
        try:
            return stat.S_ISSOCK(self.path.stat().st_mode)
        except OSError:
            return False

    def _lost(self, error: Exception) -> ClientError:
        if isinstance(error, TimeoutError):
            return Gone(f"{self.path}: no answer within {self._within_s:.0f} s; is the daemon stuck?")
        return Gone(f"{self.path}: the daemon ended in the middle of its answer")

    def _stranger(self) -> ClientError:
        return WrongSocket(f"{self.path}: somebody answers there, but it is not the daemon; check the path")


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, within_s: float) -> None:
        super().__init__("localhost", timeout=within_s)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of to a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def named(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="", errors="replace")


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def _user() -> str:
    return os.environ.get("SUDO_USER") or os.environ.get("USER") or f"UID {os.getuid()}"
