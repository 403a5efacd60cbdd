"""Limits how PINs are tried, for signing in and for single actions; `daemon/people.py` checks them.

Wrong PINs are journaled, and several of them lock the name at that place. Whoever enters many of them, under whatever
names, has to wait. PINs are checked one after the other in a thread of their own, so that guessing in parallel is no
faster, and no more than one of a client waits, so that nobody else waits long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from controller.api.clients import ApiClient
from controller.api.requests import ApiError, stopping
from controller.core.reports import SignIn
from controller.core.rules.sign_in import UNKNOWN_NAME, locked_until_ms
from controller.daemon.daemon import Daemon
from controller.daemon.people import PeopleFile, Person, check_pin

BURST = 10  # wrong PINs that a client may enter one after the other
EACH_MS = 30_000  # then one in this time
WAITING = 2  # checks per client, under way and waiting


class Pins:
    """The check of one table. `changed` is called when the view of the table has changed."""

    def __init__(self, daemon: Daemon, people: Callable[[], PeopleFile], changed: Callable[[], None]) -> None:
        self._daemon = daemon
        self._people = people
        self._changed = changed
        self._checking = ThreadPoolExecutor(1, "PIN")
        self._closed = False
        self._waiting: dict[ApiClient, int] = {}
        self._forgotten_ms: dict[ApiClient, int] = {}  # when a client's last wrong PIN is forgotten

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._checking.shutdown(wait=False, cancel_futures=True)

    async def check(self, name: str, pin: str, via: str, client: ApiClient, action: str = "") -> Person:
        """The person with this name and PIN; ApiError 401 or 429 if there is none. The journal records the outcome.

        `via` is the place. `action`: the PIN was entered for this action alone.
        """
        if self._closed:
            raise stopping()
        people = self._people()
        known = any(person.name == name for person in people.person)
        self._refuse_locked(name if known else UNKNOWN_NAME, via)
        self._refuse_hasty(client)
        self._waiting[client] = self._waiting.get(client, 0) + 1
        try:
            loop = asyncio.get_running_loop()
            person, right = await loop.run_in_executor(self._checking, check_pin, people, name, pin)
        finally:
            self._waiting[client] -= 1
            if not self._waiting[client]:
                del self._waiting[client]
        found = person.name if person else UNKNOWN_NAME
        self._refuse_locked(found, via)
        roles = tuple(str(role) for role in person.roles) if person else ()
        self._daemon.take(SignIn(found, roles, person is not None, right, via, action))
        if person is None or not right:
            self._forgotten_ms[client] = max(self._forgotten_ms.get(client, 0), self._daemon.now_ms) + EACH_MS
            self._refuse_locked(found, via)
            hint = "try again; several wrong PINs lock the name"
            raise ApiError(401, "wrong_pin", "the name or the PIN is wrong", hint)
        return person

    def _refuse_locked(self, name: str, via: str) -> None:
        now_ms = self._daemon.now_ms
        until_ms = locked_until_ms(self._daemon.state, name, via, now_ms)
        if until_ms:
            self._changed()
            text = f"{name or 'sign-in'} is locked here after several wrong PINs"
            hint = "wait, or ask another floorperson, or a technician at the socket, to end the lock-out"
            raise ApiError(429, "locked_out", text, hint, retry_after_ms=until_ms - now_ms)

    def _refuse_hasty(self, client: ApiClient) -> None:
        """ApiError 429 for a client that enters too many wrong PINs, or too many at the same time."""
        now_ms = self._daemon.now_ms
        self._forgotten_ms = {one: at_ms for one, at_ms in self._forgotten_ms.items() if at_ms > now_ms}
        wait_ms = self._forgotten_ms.get(client, 0) - now_ms - (BURST - 1) * EACH_MS
        if wait_ms > 0:
            text = "too many wrong PINs were entered here"
            raise ApiError(429, "too_many_pins", text, "wait before you try again", retry_after_ms=wait_ms)
        if self._waiting.get(client, 0) >= WAITING:
            text = "a PIN that was entered here is still being checked"
            raise ApiError(429, "too_many_pins", text, "try again in a moment", retry_after_ms=1000)
