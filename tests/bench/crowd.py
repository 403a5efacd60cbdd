"""`python -m tests.bench.crowd SOCKET SCREENS CLIENTS`: screens that listen and clients that ask, until it is ended.

They stand for other machines, which have processors of their own. So they run only when nobody else wants the processor
(SCHED_IDLE), and do no more than take what comes.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
import time

POLL_S = 1.0
ASK = b"GET /api/v1/%s HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connected(path: str) -> socket.socket:
    """A line to the daemon."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(path)
    return line


def poll(path: str, delay_s: float) -> None:
    """A client: it asks for the picture and the devices, again and again."""
    time.sleep(delay_s)
    line = connected(path)
    answers = line.makefile("rb")
    while True:
        for name in (b"table", b"devices"):
            line.sendall(ASK % name)
            length = 0
            while (head := answers.readline().lower()) != b"\r\n":
                if head.startswith(b"content-length:"):
                    length = int(head.split(b":")[1])
            answers.read(length)
        time.sleep(POLL_S)


def listen(path: str, screens: int) -> None:
    """The screens: they read live events without end; it is an error if one is refused."""
    lines = [connected(path) for _ in range(screens)]
    news = select.epoll()
    for line in lines:
        line.sendall(ASK % b"events/stream")
        news.register(line, select.EPOLLIN)
    print("there", flush=True)
    while True:
        for number, _ in news.poll():
            assert os.read(number, 65536), "a screen was sent away"


if __name__ == "__main__":
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    where, there, clients = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for number in range(clients):
        threading.Thread(target=poll, args=(where, number * POLL_S / clients), daemon=True).start()
    listen(where, there)
