"""Signing in and out at the screen, and the list of people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from controller.api.access import COOKIE, Access
from controller.api.requests import ApiError, SignInRequest, SignOutRequest, json_response, read_typed
from controller.api.sessions import Screen, SignedIn
from controller.api.table_view import locked_names
from controller.core.actions import Role
from controller.core.reports import SignIn
from controller.core.rules.sign_in import UNKNOWN_NAME, locked_until_ms
from controller.daemon.daemon import Daemon
from controller.daemon.people import check_pin

NO_SIGN_IN = "at the Unix socket, system groups give the roles"


class SignInHandlers:
    """The handlers of these requests. `changed` is called when the view of the table has changed."""

    def __init__(self, daemon: Daemon, access: Access, changed: Callable[[], None]) -> None:
        self._daemon = daemon
        self._access = access
        self._changed = changed
        self._checking = asyncio.Semaphore(1)  # one PIN at a time, so that guessing in parallel is no faster

    async def get_people(self, request: Request) -> Response:
        locked = locked_names(self._daemon.state, self._daemon.now_ms)
        people = [
            {"name": p.name, "roles": [str(role) for role in p.roles], "locked_until_ms": locked.get(p.name)}
            for p in self._access.people().person
        ]
        return json_response({"people": people})

    async def get_session(self, request: Request) -> Response:
        peer = self._access.peer(request)
        if peer is not None:
            roles = peer.roles(self._daemon.config.control)
            return json_response({"people": [{"name": peer.name, "role": str(role)} for role in roles], "token": None})
        cookie = request.cookies.get(COOKIE)
        screen = self._access.screens.get(cookie)
        if screen is None:
            cookie, screen = self._access.screens.add()
        return self._session(screen, cookie)

    def _session(self, screen: Screen, cookie: str | None) -> Response:
        people = [
            {"name": who.name, "role": str(who.role), "expires_ms": who.until_ms}
            for who in screen.signed_in(self._daemon.now_ms)
        ]
        response = json_response({"people": people, "token": screen.token})
        if cookie:
            response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/")
        return response

    async def post_session(self, request: Request) -> Response:
        found = await read_typed(request, SignInRequest)
        screen = self._access.screen(request)
        if self._access.peer(request) is not None or screen is None:
            raise ApiError(400, "bad_field", "sign-in is only possible at the screen", NO_SIGN_IN)
        daemon, people = self._daemon, self._access.people()
        known = any(person.name == found.name for person in people.person)
        self._refuse_locked(found.name if known else UNKNOWN_NAME)
        async with self._checking:
            person, right = await asyncio.to_thread(check_pin, people, found.name, found.pin)
        name = person.name if person else UNKNOWN_NAME
        self._refuse_locked(name)
        roles = tuple(str(role) for role in person.roles) if person else ()
        daemon.take(SignIn(name, roles, person is not None, right))
        if person is None or not right:
            self._refuse_locked(name)
            hint = "try again; several wrong PINs lock the name"
            raise ApiError(401, "wrong_pin", "the name or the PIN is wrong", hint)
        # Signing in changes the cookie, so that one planted beforehand is worthless.
        self._access.screens.remove(request.cookies.get(COOKIE))
        cookie, fresh = self._access.screens.add()
        fresh.people = {who.role: who for who in screen.signed_in(daemon.now_ms)}
        for role in person.roles:
            minutes = self._minutes(role)
            fresh.people[role] = SignedIn(person.name, role, minutes, daemon.now_ms + minutes * 60_000)
        self._changed()
        return self._session(fresh, cookie)

    def _minutes(self, role: Role) -> int:
        screen = self._daemon.config.screen
        if screen is None:
            return 5
        return screen.dealer_minutes if role is Role.DEALER else screen.floor_minutes

    def _refuse_locked(self, name: str) -> None:
        now_ms = self._daemon.now_ms
        until_ms = locked_until_ms(self._daemon.state, name, now_ms)
        if until_ms:
            self._changed()
            text = f"{name or 'sign-in'} is locked after several wrong PINs"
            hint = "wait, or ask a floorperson to end the lock-out"
            raise ApiError(429, "locked_out", text, hint, retry_after_ms=until_ms - now_ms)

    async def delete_session(self, request: Request) -> Response:
        found = await read_typed(request, SignOutRequest)
        cookie = request.cookies.get(COOKIE)
        screen = self._access.screens.get(cookie)
        if screen is None:
            raise ApiError(400, "bad_field", "sign-out is only possible at the screen", NO_SIGN_IN)
        for role in [found.role] if found.role else list(screen.people):
            screen.people.pop(role, None)
        return self._session(screen, cookie)
