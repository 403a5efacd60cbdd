"""Runs a function as an unprivileged user, for tests that run as root."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

NOBODY = 65534


def as_nobody(work: Callable[[], Any], gid: int = NOBODY) -> Any:
    """The result of a function that runs as the user `nobody`, with this group, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(gid)
                os.setuid(NOBODY)
            answer = pickle.dumps(work())
        except BaseException as error:
            answer = pickle.dumps(error)
        with os.fdopen(writing, "wb") as out:
            out.write(answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    found = pickle.loads(answer)
    if isinstance(found, BaseException):
        raise found
    return found
