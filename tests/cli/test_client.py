"""The client of the daemon's API: requests, answers, and every way in which they can fail."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.cli import client
from controller.cli.client import (
    Client,
    ClientError,
    ConnectionLost,
    NoDaemon,
    NoPermission,
    RequestRefused,
    WrongSocket,
    find_socket,
)
from tests.support.contract_daemon import TABLE, ContractDaemon, event


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[ContractDaemon]:
    with ContractDaemon(tmp_path / "control.sock") as running:
        yield running


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(client.VARIABLE, raising=False)
    monkeypatch.setattr(client, "SOCKETS", (tmp_path / "installed.sock", tmp_path / "simulated.sock"))


def one_line(error: ClientError) -> str:
    text = str(error)
    assert text
    assert "\n" not in text
    return text


# --- asking -----------------------------------------------------------------------------------------------------------


def test_asking(daemon: ContractDaemon) -> None:
    asked = Client(daemon.path)
    assert asked.get("table") == TABLE
    assert asked.get("/healthz") == {"status": "ok"}
    daemon.answers["/api/v1/events"] = {"events": [], "head": 3}
    asked.get("events", after=5, kind=None, newest=True, text="a b&c=d")
    assert daemon.asked[-1] == ("GET", "/api/v1/events", {"after": "5", "newest": "1", "text": "a b&c=d"})
    daemon.answers["/api/v1/actions"] = {"done": True}
    assert asked.post("actions", {"action": "open_table"}) == {"done": True}
    assert daemon.asked[-1] == ("POST", "/api/v1/actions", {"action": "open_table"})
    assert client.path_part("a/b c") == "a%2Fb%20c"


def test_what_the_daemon_has_against_it(daemon: ContractDaemon) -> None:
    error = {"code": "refused", "message": "the deck is not cut", "hint": "it is cut", "clause": ["4.D", "8.C"]}
    daemon.answers["/api/v1/actions"], daemon.status["/api/v1/actions"] = {"error": error}, 409
    with pytest.raises(RequestRefused) as refused:
        Client(daemon.path).post("actions", {})
    assert one_line(refused.value) == "refused: the deck is not cut (4.D, 8.C); possible when it is cut"
    assert (refused.value.code, refused.value.status, refused.value.is_usage) == ("refused", 409, False)
    with pytest.raises(RequestRefused, match="there is no /api/v1/nonsense") as missing:
        Client(daemon.path).get("nonsense")
    assert not missing.value.is_usage
    daemon.status["/api/v1/actions"] = 400
    with pytest.raises(RequestRefused) as wrong:
        Client(daemon.path).post("actions", {})
    assert wrong.value.is_usage
    daemon.answers["/healthz"], daemon.status["/healthz"] = {"status": "stopped", "why": "the disk is full"}, 503
    with pytest.raises(RequestRefused, match="the disk is full"):
        Client(daemon.path).get("/healthz")


# --- where it is ------------------------------------------------------------------------------------------------------


def test_the_socket_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed, simulated = client.SOCKETS
    with pytest.raises(NoDaemon, match="systemctl start shoed"):
        find_socket()
    simulated.touch()
    assert find_socket() == simulated
    installed.touch()
    assert find_socket() == installed
    monkeypatch.setenv(client.VARIABLE, str(tmp_path / "mine"))
    assert find_socket() == tmp_path / "mine"
    assert find_socket(tmp_path / "given") == tmp_path / "given"


# --- what can be wrong with it ----------------------------------------------------------------------------------------


def test_nobody_is_there(tmp_path: Path) -> None:
    with pytest.raises(NoDaemon) as nothing:
        Client(tmp_path / "nothing").get("table")
    assert "systemctl start shoed" in one_line(nothing.value)
    dead = tmp_path / "dead"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(dead))
    with pytest.raises(NoDaemon, match="is not running") as ended:
        Client(dead).get("table")
    one_line(ended.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may everything")
def test_no_permission_as_a_user(daemon: ContractDaemon) -> None:
    daemon.path.chmod(0)
    with pytest.raises(NoPermission, match="usermod -aG shoed-technician"):
        Client(daemon.path).get("table")


def test_no_permission(daemon: ContractDaemon, mocker: Any) -> None:
    mocker.patch.object(socket.socket, "connect", side_effect=PermissionError(13, "Permission denied"))
    with pytest.raises(NoPermission, match="usermod -aG shoed-technician") as error:
        Client(daemon.path).get("table")
    one_line(error.value)


@pytest.mark.parametrize("kind", ["file", "folder", "datagram", "long"])
def test_it_is_no_socket_of_a_daemon(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    if kind == "file":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "long":
        path = tmp_path / ("x" * 200)
    else:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.bind(str(path))
            with pytest.raises(WrongSocket):
                Client(path).get("table")
        return
    with pytest.raises(WrongSocket) as error:
        Client(path).get("table")
    one_line(error.value)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", WrongSocket),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", WrongSocket),
        (b"HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n", WrongSocket),
        (b"HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\n[]", WrongSocket),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", ConnectionLost),
        (b"", ConnectionLost),
    ],
)
def test_somebody_else_answers(tmp_path: Path, answer: bytes, kind: type[ClientError]) -> None:
    path = tmp_path / "other"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(kind) as error:
            Client(path).get("table")
        thread.join()
    one_line(error.value)


def test_nobody_answers_in_time(tmp_path: Path) -> None:
    path = tmp_path / "stuck"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with pytest.raises(ConnectionLost, match="stuck"):
            Client(path, timeout_s=0.05).get("table")


# --- the stream -------------------------------------------------------------------------------------------------------


def test_the_stream(daemon: ContractDaemon) -> None:
    messages = Client(daemon.path).stream(after=6, only="journal")
    daemon.send("journal", event(7, text="two\nlines"), 7)
    first = next(messages)
    assert (first.event, first.id, first.data) == ("journal", "7", event(7, text="two\nlines"))
    assert daemon.asked[-1] == ("GET", "/api/v1/events/stream", {"after": "6", "only": "journal"})
    daemon.send("beat", {"now_ms": 1, "ts": ""})
    assert next(messages).event == "beat"
    daemon.end_stream()
    with pytest.raises(ConnectionLost, match="closed the connection"):
        next(messages)


def test_a_stream_that_falls_silent(daemon: ContractDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "STREAM_TIMEOUT_S", 1.0)
    with pytest.raises(ConnectionLost, match="sent nothing"):
        next(Client(daemon.path).stream())


def test_a_stream_that_is_none(daemon: ContractDaemon) -> None:
    daemon.answers["/api/v1/events/stream"] = {"events": []}
    with pytest.raises(WrongSocket):
        next(Client(daemon.path).stream())
