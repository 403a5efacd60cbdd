"""Runs inside the machine as one person: forwards requests to the daemon's socket and returns the answers.

A request is one line of JSON, [number, method, path, body]; so is the answer, [number, status, answer]. Status 0 means
that the daemon did not answer. Uses only the standard library.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import time
from typing import Any

LIMIT_S = 120.0


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the daemon's Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=LIMIT_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT_S)
        self.sock.connect(self._path)


def answer(path: str, line: bytes) -> list[Any]:
    """Send one request to the daemon."""
    number, method, what, body = json.loads(line)
    connection = UnixConnection(path)
    try:
        connection.request(method, what, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return [number, response.status, json.loads(response.read() or b"null")]
    except (OSError, http.client.HTTPException, ValueError) as error:
        return [number, 0, str(error)]
    finally:
        connection.close()


def main(path: str) -> None:
    """Serve forever. While the other end of the port is closed, standard input reads as ended."""
    waiting = b""
    while True:
        data = os.read(0, 65536)
        if not data:
            time.sleep(0.02)
        *lines, waiting = (waiting + data).split(b"\n")
        for line in lines:
            reply = json.dumps(answer(path, line)).encode() + b"\n"
            while reply:
                reply = reply[os.write(1, reply) :]


if __name__ == "__main__":
    main(*sys.argv[1:])
