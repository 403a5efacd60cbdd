"""`python -m tests.bench.searchers SOCKET NUMBER`: this many clients that search the journal without end.

Like the crowd, they stand for other machines: they run only when nobody else wants the processor (SCHED_IDLE). What
they ask for, the daemon has to find.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from tests.bench.crowd import ASK, connected

SEARCHES = (
    b"events?text=nothing+has+this+word",
    b"events?who=Frank&newest=1&limit=500",
    b"rounds",
    b"events?kind=table",
)


def search(path: str, first: int, there: threading.Semaphore) -> None:
    """A client: one search after the other. If the daemon has too many, it retries after the time given."""
    line = connected(path)
    answers = line.makefile("rb")
    at = first
    while True:
        line.sendall(ASK % SEARCHES[at % len(SEARCHES)])
        at += 1
        length = wait_s = 0
        while (head := answers.readline().lower()) != b"\r\n":
            assert head, "a client was sent away"
            if head.startswith(b"content-length:"):
                length = int(head.split(b":")[1])
            elif head.startswith(b"retry-after:"):
                wait_s = int(head.split(b":")[1])
        answers.read(length)
        there.release()
        time.sleep(wait_s)


if __name__ == "__main__":
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    number = int(sys.argv[2])
    answered = threading.Semaphore(0)
    threads = [threading.Thread(target=search, args=(sys.argv[1], at, answered)) for at in range(number)]
    for thread in threads:
        thread.start()
    for _ in range(number):
        answered.acquire()
    print("there", flush=True)
    threads[0].join()
