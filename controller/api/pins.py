"""Checks PINs, for signing in and for single actions. Wrong PINs are journaled, and several of them lock the name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controller.api.requests import ApiError
from controller.core.reports import SignIn
from controller.core.rules.sign_in import UNKNOWN_NAME, locked_until_ms
from controller.daemon.daemon import Daemon
from controller.daemon.people import PeopleFile, Person, check_pin


class Pins:
    """The check of one table. `changed` is called when the view of the table has changed."""

    def __init__(self, daemon: Daemon, people: Callable[[], PeopleFile], changed: Callable[[], None]) -> None:
        self._daemon = daemon
        self._people = people
        self._changed = changed
        self._checking = asyncio.Semaphore(1)  # one PIN at a time, so that guessing in parallel is no faster

    async def check(self, name: str, pin: str, via: str, action: str = "") -> Person:
        """The person with this name and PIN; ApiError 401 or 429 if there is none. The journal records the outcome.

        `action`: the PIN was entered for this action alone.
        """
        daemon, people = self._daemon, self._people()
        known = any(person.name == name for person in people.person)
        self._refuse_locked(name if known else UNKNOWN_NAME)
        async with self._checking:
            person, right = await asyncio.to_thread(check_pin, people, name, pin)
        found = person.name if person else UNKNOWN_NAME
        self._refuse_locked(found)
        roles = tuple(str(role) for role in person.roles) if person else ()
        daemon.take(SignIn(found, roles, person is not None, right, via, action))
        if person is None or not right:
            self._refuse_locked(found)
            hint = "try again; several wrong PINs lock the name"
            raise ApiError(401, "wrong_pin", "the name or the PIN is wrong", hint)
        return person

    def _refuse_locked(self, name: str) -> None:
        now_ms = self._daemon.now_ms
        until_ms = locked_until_ms(self._daemon.state, name, now_ms)
        if until_ms:
            self._changed()
            text = f"{name or 'sign-in'} is locked after several wrong PINs"
            hint = "wait, or ask a floorperson to end the lock-out"
            raise ApiError(429, "locked_out", text, hint, retry_after_ms=until_ms - now_ms)
