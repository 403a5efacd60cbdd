"""A client for the daemon's API: JSON over HTTP over its Unix socket.

Every failure is a ClientError whose text is one line for a person.
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
SOCKETS = (INSTALLED, SIMULATED)
VARIABLE = "SHOED_SOCKET"

TIMEOUT_S = 10.0
STREAM_TIMEOUT_S = 8.0  # the daemon sends a heartbeat every two seconds
LONGEST_LINE = 2**20


class ClientError(Exception):
    """The daemon could not be reached, or it did not answer as expected."""


class NoDaemon(ClientError):
    """No daemon is running."""


class NoPermission(ClientError):
    """This user may not use the socket."""


class WrongSocket(ClientError):
    """The socket belongs to another program, or the path is not a socket."""


class ConnectionLost(ClientError):
    """The daemon stopped before it had answered, or it does not respond."""


class RequestRefused(ClientError):
    """The daemon answered with an error."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(error.get("code", ""))
        self.message = str(error.get("message", ""))
        self.hint = str(error.get("hint") or "")
        self.clause = [str(clause) for clause in error.get("clause") or ()]
        self.confirm = bool(error.get("confirm"))  # accepted if it is confirmed
        self.name = str(error.get("name") or "")  # whose PIN is needed
        super().__init__(self._text())

    def _text(self) -> str:
        before, when = ("refused: ", "possible when ") if self.code == "refused" else ("", "")
        clauses = f" ({', '.join(self.clause)})" if self.clause else ""
        hint = f"; {when}{self.hint}" if self.hint else ""
        return f"{before}{self.message.rstrip('.')}{clauses}{hint}"

    @property
    def is_usage(self) -> bool:
        """Whether the request itself was wrong, rather than the time or the person."""
        return self.status in (400, 405, 413)


class StreamMessage(NamedTuple):
    """One message of a stream of server-sent events."""

    event: str
    data: Any
    id: str


def find_socket(given: Path | None = None) -> Path:
    """The given socket, that of $SHOED_SOCKET, or the first that exists; NoDaemon if none does."""
    if given is None and os.environ.get(VARIABLE):
        given = Path(os.environ[VARIABLE])
    if given is not None:
        return given
    for path in SOCKETS:
        try:
            path.lstat()
        except FileNotFoundError:
            continue
        except OSError:
            pass  # it exists; connecting to it will show what is wrong
        return path
    paths = " nor ".join(map(str, SOCKETS))
    raise NoDaemon(
        f"no daemon is running: neither {paths} exists; start it with `sudo systemctl start shoed`, start a simulated "
        "one with `make run`, or give its socket with --socket PATH"
    )


class Client:
    """A daemon at a socket. Every request opens its own connection, so a client survives restarts of the daemon."""

    def __init__(self, path: Path, timeout_s: float = TIMEOUT_S) -> None:
        self.path = path
        self._timeout_s = timeout_s

    def get(self, path: str, **query: Any) -> Any:
        """The JSON at a path of the API, such as `table` or `devices/shoe/frames`; `/healthz` is an absolute path."""
        return self._request("GET", path, query)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer to a request with a JSON body."""
        try:
            content = msgspec.json.encode(body)
        except UnicodeEncodeError:
            raise RequestRefused(400, {"code": "bad_text", "message": "a value is not valid UTF-8"}) from None
        return self._request("POST", path, {}, content)

    def text(self, path: str) -> str:
        """The plain text at a path, such as `/metrics`."""
        with self._response("GET", path, {}, None, "text/plain", self._timeout_s) as response:
            return self._body(response).decode(errors="replace")

    def stream(self, **query: Any) -> Iterator[StreamMessage]:
        """The live events. It ends only with an error: ConnectionLost when the daemon ends."""
        with self._response("GET", "events/stream", query, None, "text/event-stream", STREAM_TIMEOUT_S) as response:
            if not str(response.getheader("Content-Type")).startswith("text/event-stream"):
                raise self._not_the_daemon()
            yield from self._messages(response)
        raise ConnectionLost(
            f"{self.path}: the daemon closed the connection; `shoectl status` shows whether it is running again"
        )

    # --- requests ---------------------------------------------------------------------------------------------------

    def _request(self, method: str, path: str, query: Mapping[str, Any], body: bytes | None = None) -> Any:
        with self._response(method, path, query, body, "application/json", self._timeout_s) as response:
            return self._decoded(self._body(response))

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        try:
            return response.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(error) from None

    @contextlib.contextmanager
    def _response(
        self, method: str, path: str, query: Mapping[str, Any], body: bytes | None, accept: str, timeout_s: float
    ) -> Iterator[http.client.HTTPResponse]:
        target = path if path.startswith("/") else f"/api/v1/{path}"
        given = {name: _query_value(value) for name, value in query.items() if value is not None and value != ()}
        if given:
            target += "?" + urlencode(given, errors="replace")
        headers = {"Accept": accept, "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = _UnixConnection(self.path, timeout_s)
        try:
            try:
                connection.connect()
            except OSError as error:
                raise self._unreachable(error) from None
            try:
                connection.request(method, target, body, headers)
                response = connection.getresponse()
            except OSError as error:  # including RemoteDisconnected, which is also an HTTPException
                raise self._lost(error) from None
            except (http.client.HTTPException, UnicodeError):
                raise self._not_the_daemon() from None
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
                return RequestRefused(503, {"code": answer.get("status"), "message": answer.get("why") or "not ready"})
            return RequestRefused(response.status, answer["error"])
        except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
            return self._not_the_daemon()

    def _messages(self, response: http.client.HTTPResponse) -> Iterator[StreamMessage]:
        event, number, data = "", "", bytearray()
        while True:
            try:
                line = response.readline(LONGEST_LINE)
            except TimeoutError:
                text = f"{self.path}: the daemon has sent nothing for {STREAM_TIMEOUT_S:.0f} s; is it stuck?"
                raise ConnectionLost(text) from None
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
                yield StreamMessage(event or "message", self._decoded(data), number)
                event, data = "", bytearray()

    def _decoded(self, content: bytes | bytearray) -> Any:
        try:
            return msgspec.json.decode(content)
        except msgspec.DecodeError:
            raise self._not_the_daemon() from None

    # --- failures ---------------------------------------------------------------------------------------------------

    def _unreachable(self, error: OSError) -> ClientError:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return NoDaemon(f"{self.path}: no such socket; start the daemon with `sudo systemctl start shoed`")
        if isinstance(error, PermissionError):
            return NoPermission(
                f"{self.path}: this user may not connect to the daemon; `sudo usermod -aG shoed-technician {_user()}` "
                "makes you a technician (or -dealer, -floor, -auditor) from your next login on"
            )
        if isinstance(error, ConnectionRefusedError) and self._is_socket():
            return NoDaemon(
                f"{self.path}: the daemon is not running; `journalctl -u shoed -n 20` shows why, "
                "`sudo systemctl start shoed` starts it"
            )
        if isinstance(error, ConnectionRefusedError) or error.errno in (errno.EPROTOTYPE, errno.ENOTSOCK):
            return WrongSocket(f"{self.path}: not the daemon's socket; check the path")
        if isinstance(error, TimeoutError):
            return ConnectionLost(f"{self.path}: the daemon does not accept the connection; is it stuck?")
        return WrongSocket(f"{self.path}: {error.strerror or error}")

    def _is_socket(self) -> bool:
        try:
            return stat.S_ISSOCK(self.path.stat().st_mode)
        except OSError:
            return False

    def _lost(self, error: Exception) -> ClientError:
        if isinstance(error, TimeoutError):
            return ConnectionLost(f"{self.path}: no answer within {self._timeout_s:.0f} s; is the daemon stuck?")
        return ConnectionLost(f"{self.path}: the daemon closed the connection before its answer was complete")

    def _not_the_daemon(self) -> ClientError:
        return WrongSocket(f"{self.path}: the program at this socket is not the daemon; check the path")


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of to a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def path_part(name: str) -> str:
    """A name escaped for use as one part of a path."""
    return quote(name, safe="", errors="replace")


def _query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def _user() -> str:
    return os.environ.get("SUDO_USER") or os.environ.get("USER") or f"UID {os.getuid()}"
