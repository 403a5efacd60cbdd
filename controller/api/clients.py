"""Who uses the API, for quotas: what one client does must leave enough for the others."""

from __future__ import annotations

from typing import NamedTuple


class ApiClient(NamedTuple):
    """A user at the socket, a screen that may read everything, or all bystanders together."""

    kind: str
    name: str = ""


BYSTANDERS = ApiClient("bystander")
STREAMS = {"user": 64, "screen": 8, "bystander": 16}  # of each client; there are 128 connections
