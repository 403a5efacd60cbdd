"""A fake daemon that follows the API's contract, for behaviour that a real one does not show on demand, such as invalid
responses, silence, or a stream that breaks off.
"""

from __future__ import annotations

import copy
import json
import queue
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self
from urllib.parse import parse_qs, urlsplit

TS = "2026-03-14T15:09:26.535897Z"
TABLE: dict[str, Any] = {
    "seq": 812,
    "now_ms": 1_000_000,
    "ts": TS,
    "simulated": False,
    "name": "Table 7",
    "table": "dealing",
    "table_words": "dealing",
    "game": "Dragon Poker",
    "method": "automated_shoe",
    "seats": 6,
    "backs": ["red", "blue"],
    "due": "red",
    "due_deck": "red-1",
    "step": {
        "text": "Take the stack for seat 3.",
        "why": "The shoe has brought it.",
        "clause": ["10.B"],
        "allowed_actions": ["report_face_up"],
        "who": "dealer",
    },
    "stopped": None,
    "round": {
        "number": 17,
        "deck": "red-1",
        "seats": [1, 3],
        "dealt": 1,
        "stacks": [
            {"target": "seat1", "cards": 3, "state": "dealt"},
            {"target": "seat3", "cards": 3, "state": "at_exit"},
        ],
        "void": False,
        "wagers_open": True,
        "stub_out": False,
        "stub_counted": False,
        "face_up": 0,
        "collected": [],
    },
    "decks": [
        {
            "name": "red-1",
            "back": "red",
            "state": "in_play",
            "state_words": "in play",
            "cards": {"shoe": 47, "seat1": 3, "exit": 3},
            "total": 53,
            "missing": 0,
            "counted": True,
            "age_ms": 60_000,
            "life_ms": 28_800_000,
            "left_ms": 3_600_000,
            "change_due": False,
            "due": True,
        }
    ],
    "devices": [
        {
            "name": "shoe",
            "state": "working",
            "online": True,
            "doing": "dispense",
            "doing_until_ms": 1_001_000,
            "hindered": "",
            "out_how": "",
            "out_words": "",
            "locked": True,
            "link": "ok",
        }
    ],
    "warnings": [],
    "void_steps": None,
    "rounds": 16,
    "rounds_uncounted": 2,
    "stub_count_rounds": 5,
    "access": {"locked": []},
    "journal": {"head": 812, "verified_to": 800, "ok": True},
}


ACTIONS = [
    {
        "action": "cut_deck",
        "title": "Cut the deck",
        "roles": ["dealer", "floor"],
        "allowed": True,
        "why_not": None,
        "fields": [
            {"name": "deck", "type": "choice", "choices": ["red-1", "blue-1"], "required": True, "default": None},
            {"name": "depth", "type": "integer", "required": True, "default": None},
        ],
    },
    {
        "action": "close_bets",
        "title": "Close the bets",
        "roles": ["dealer", "floor"],
        "allowed": False,
        "why_not": {"reason": "no deck is ready", "possible_when": "a deck was cut", "clause": ["8.C"]},
        "fields": [{"name": "seats", "type": "integers", "required": False, "default": None}],
    },
    {
        "action": "inspect_deck",
        "title": "Say how the inspection went",
        "roles": ["dealer"],
        "allowed": True,
        "why_not": None,
        "fields": [
            {"name": "deck", "type": "string", "required": True, "default": None},
            {"name": "good", "type": "boolean", "required": False, "default": True},
        ],
    },
]


def event(seq: int, kind: str = "stack.taken", text: str = "Seat 3 has its stack.") -> dict[str, Any]:
    """An event as the API returns it."""
    return {"seq": seq, "ts": TS, "kind": kind, "clause": ["10.B"], "data": {}, "text": text}


class ContractDaemon:
    """Listens on a Unix socket until it is closed. `answers` maps a path, or a method and a path, to JSON."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers: dict[str, Any] = {
            "/api/v1/table": copy.deepcopy(TABLE),
            "/api/v1/actions": {"actions": copy.deepcopy(ACTIONS)},
            "/healthz": {"status": "ok"},
        }
        self.status: dict[str, int] = {}
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.streams: queue.Queue[tuple[str, Any, int | None] | None] = queue.Queue()
        daemon = self

        class Requests(_Requests):
            of = daemon

        self._server = _Server(str(path), Requests)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def send(self, name: str, data: Any, seq: int | None = None) -> None:
        """Send a message on the stream."""
        self.streams.put((name, data, seq))

    def end_stream(self) -> None:
        """Break off the stream."""
        self.streams.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_stream()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: in some tests the client disconnects."""


class _Requests(BaseHTTPRequestHandler):
    of: ClassVar[ContractDaemon]
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        """A Unix socket has no client address."""
        return "unix"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Answer a GET request."""
        self._answer("GET", {})

    def do_POST(self) -> None:
        """Answer a POST request."""
        self._answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, method: str, body: dict[str, Any]) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.of.asked.append((method, url.path, body or query))
        found = self.of.answers.get(f"{method} {url.path}", self.of.answers.get(url.path))
        if url.path == "/api/v1/events/stream" and found is None:
            self._stream()
            return
        usual = 200 if found is not None else 404
        status = self.of.status.get(f"{method} {url.path}", self.of.status.get(url.path, usual))
        if found is None:
            found = {"error": {"code": "not_found", "message": f"there is no {url.path}", "hint": "look at the API"}}
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        while (message := self.of.streams.get()) is not None:
            name, data, seq = message
            number = "" if seq is None else f"id: {seq}\r\n"
            text = f": a remark\r\n{number}event: {name}\r\ndata: {json.dumps(data)}\r\n\r\n".encode()
            for cut in (text[:7], text[7:]):  # a message may come in pieces
                self.wfile.write(f"{len(cut):x}\r\n".encode() + cut + b"\r\n")
                self.wfile.flush()
