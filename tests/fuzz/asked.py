"""The API of a real daemon with a journal and no devices, asked in the same process: no sockets between."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from controller.api.app import Api
from controller.api.peers import Peer
from controller.daemon.config import Config, ControlConfig, JournalConfig, ScreenConfig, ShoeConfig, ShufflerConfig
from controller.daemon.daemon import Daemon

METHODS = ("GET", "POST", "DELETE", "HEAD", "PUT", "OPTIONS")


class Asked:
    """A daemon, its API, and the loop that both run in."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="asked-"))
        self._runner = asyncio.Runner()
        config = Config(
            shuffler=ShufflerConfig(port=str(self.folder / "shuffler")),
            shoe=ShoeConfig(port=str(self.folder / "shoe")),
            journal=JournalConfig(file=str(self.folder / "journal.db")),
            control=ControlConfig(socket=str(self.folder / "control.sock")),
            screen=ScreenConfig(people=str(self.folder / "people.toml")),
        )

        async def start() -> tuple[Daemon, Api]:
            daemon = Daemon(config)
            api = Api(daemon)
            await daemon.start()
            return daemon, api

        self.daemon, self._api = self._runner.run(start())

    def ask(self, method: str, target: str, headers: list[tuple[bytes, bytes]], body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        return self._runner.run(self._ask(method, target, headers, body))

    async def _ask(
        self, method: str, target: str, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> tuple[int, bytes]:
        path, _, query = target.partition("?")
        screen = any(name == b"x-screen" for name, _ in headers)
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote_to_bytes(path).decode(errors="replace"),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), *headers],
            "client": None,
            "server": ("127.0.0.1", 80),
        }
        if not screen:
            scope["peer"] = Peer(os.getuid(), os.getgid(), all_roles=True)
        came = [{"type": "http.request", "body": body, "more_body": False}]
        status, answer = 0, b""

        async def receive() -> Any:
            if came:
                return came.pop()
            await asyncio.sleep(0.01)  # whoever listens to the stream goes away soon
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            nonlocal status, answer
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                answer += message.get("body", b"")

        def say(data: bytes) -> int:
            nonlocal answer
            answer += data
            return 0

        scope |= {"write": say, "abort": lambda: None}
        await self._api.app(scope, receive, send)
        return status, answer

    def close(self) -> None:
        """End it all."""

        async def end() -> None:
            await self._api.close()
            await self.daemon.close()

        self._runner.run(end())
        self._runner.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@functools.cache
def _daemon() -> Asked:
    return Asked()


def over() -> None:
    """No more questions."""
    if _daemon.cache_info().currsize:
        _daemon().close()
        _daemon.cache_clear()


def asked(data: bytes) -> int:
    """A request written like HTTP: a line with method and path, headers, an empty line, the body."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, target = first.decode("ascii", errors="replace").partition(" ")
    method = method if method in METHODS else METHODS[len(method) % len(METHODS)]
    headers = [(name.lower(), value) for name, _, value in (line.partition(b":") for line in lines) if name]
    status, answer = _daemon().ask(method, "/" + target.lstrip("/"), headers, body)
    assert 200 <= status < 500, (status, answer[:300])
    if status >= 400:
        assert {"code", "message", "hint"} <= json.loads(answer)["error"].keys()
    assert not _daemon().daemon.stopped
    return 500 - status
