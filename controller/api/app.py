"""The control API: its routes, who is allowed to make a request, actions, and signing in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api import available_actions
from controller.api.event_stream import event_json
from controller.api.fair_queue import FairQueue
from controller.api.peers import Peer
from controller.api.reads import Reads
from controller.api.requests import (
    ApiError,
    SignInRequest,
    SignOutRequest,
    UnlockRequest,
    drain,
    json_response,
    read_body,
    read_typed,
    table_stopped,
)
from controller.api.sessions import Screen, Screens, SignedIn
from controller.api.table_view import locked_names, step
from controller.core.actions import Action, Role
from controller.core.reports import SignIn
from controller.core.rules.sign_in import STRANGER, locked_until_ms
from controller.daemon.config import Config, ConfigError
from controller.daemon.daemon import Daemon, TableStopped
from controller.daemon.people import PeopleFile, check_pin, read_people
from controller.daemon.simulate import TableSimulation
from controller.journal import JournalError, timestamp

COOKIE = "shoed"
NO_SIGN_IN = "at the Unix socket, system groups give the roles"
SIMULATION_HINT = "GET /api/v1/simulation lists what is possible"
ROLE_NAMES = {
    Role.DEALER: "a dealer",
    Role.FLOOR: "a floorperson",
    Role.TECHNICIAN: "a technician",
    Role.AUDITOR: "an auditor",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class _Headers:
    """Adds the security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"], *((k.lower().encode(), v.encode()) for k, v in HEADERS.items())
                ]  # fmt: skip
            await send(message)

        await self._app(scope, receive, with_headers)


Handler = Callable[[Request], Awaitable[Response]]


class Api:
    """The application: `app` is served by the listening servers, which share `queue` with it."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._config: Config = daemon.config
        self._screens = Screens()
        self._checking = asyncio.Semaphore(1)  # one PIN at a time, so that guessing in parallel is no faster
        self._log = structlog.get_logger()
        self.queue = FairQueue()
        reads = Reads(daemon, self.queue)
        self.stream = reads.stream
        self.app = Starlette(
            routes=self._routes(reads), middleware=[Middleware(_Headers)], exception_handlers={405: _unknown_method}
        )

    def _routes(self, reads: Reads) -> list[Route]:
        def on(path: str, **methods: Handler) -> Route:
            return Route(
                path, self._guarded(methods), methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
            )

        v1 = "/api/v1"
        return [
            on(f"{v1}/table", GET=reads.table),
            on(f"{v1}/events", GET=reads.events),
            on(f"{v1}/events/stream", GET=reads.event_stream),
            on(f"{v1}/actions", GET=reads.actions, POST=self._post_action),
            on(f"{v1}/rounds", GET=reads.rounds),
            on(f"{v1}/rounds/{{number}}", GET=reads.round),
            on(f"{v1}/devices", GET=reads.devices),
            on(f"{v1}/devices/{{name}}/frames", GET=reads.frames),
            on(f"{v1}/rules", GET=reads.rules),
            on(f"{v1}/journal", GET=reads.journal),
            on(f"{v1}/session", GET=self._get_session, POST=self._post_session, DELETE=self._delete_session),
            on(f"{v1}/people", GET=self._get_people),
            on(f"{v1}/people/unlock", POST=self._post_unlock),
            on(f"{v1}/simulation", GET=self._get_simulation, POST=self._post_simulation),
            on(f"{v1}/openapi.json", GET=reads.openapi),
            on("/metrics", GET=reads.metrics),
            on("/healthz", GET=reads.health),
            on("/", GET=reads.page),
            on("/web/{path:path}", GET=reads.page),
            on("/{rest:path}"),
        ]

    # --- every request ----------------------------------------------------------------------------------------------

    def _guarded(self, methods: dict[str, Handler]) -> Handler:
        async def respond(request: Request) -> Response:
            try:
                self._admit(request)
                method = "GET" if request.method == "HEAD" else request.method
                if not methods:
                    raise ApiError(404, "not_found", "no such path", "GET /api/v1/openapi.json lists all paths")
                if method not in methods:
                    raise ApiError(
                        405, "bad_method", f"{request.method} is not supported here", f"use {', '.join(methods)}"
                    )
                if method != "GET":
                    self._check_origin(request)
                await (
                    self.queue.turn()
                )  # accepting a request, answering it and sending the answer: three pieces of work
                response = await methods[method](request)
                await self.queue.turn()
                return response
            except ApiError as error:
                await drain(request)
                return json_response(error.body, error.status)
            except (TableStopped, JournalError) as error:
                return json_response(table_stopped(str(error)).body, 503)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception:
                self._log.exception("request failed", method=request.method, path=request.url.path[:200])
                text = "internal error; see `journalctl -u shoed`"
                return json_response(ApiError(500, "failed", text, "report it to a technician").body, 500)

        return respond

    def _admit(self, request: Request) -> None:
        """At the socket, admit users with a role; over HTTP, admit pages opened on this machine."""
        peer = self._peer(request)
        if peer is not None:
            if not peer.roles(self._config.control) and request.url.path != "/healthz":
                groups = ", ".join(group for role in Role for group in getattr(self._config.control, role))
                hint = f"ask an administrator to add you to one of these groups: {groups}"
                raise ApiError(403, "not_your_part", f"{peer.name} has no role at this table", hint)
            return
        host = request.headers.get("host", "")
        if re.sub(r":\d+$", "", host) not in ("127.0.0.1", "localhost", "[::1]"):
            raise ApiError(
                403, "bad_host", "the screen can only be used on this machine", "open it at http://127.0.0.1"
            )

    def _check_origin(self, request: Request) -> None:
        """Requests that change something must come from our own page, not from another one open in the browser."""
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise ApiError(400, "bad_json", "the body must be JSON", "send Content-Type: application/json")
        if self._peer(request) is not None:
            return
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{request.headers.get('host', '')}":
            raise ApiError(403, "bad_origin", "the request came from another page", "use the table's own screen")
        screen = self._screens.get(request.cookies.get(COOKIE))
        if screen is None or request.headers.get("x-token") != screen.token:
            raise ApiError(403, "bad_token", "this page's session has ended", "reload the page")

    def _peer(self, request: Request) -> Peer | None:
        peer: Peer | None = request.scope.get("peer")
        if peer is not None and self._daemon.simulation is not None:
            return Peer(peer.uid, peer.gid, all_roles=True)
        return peer

    def _acting(self, request: Request, roles: tuple[Role, ...], wanted: str | None) -> tuple[str, Role]:
        """Who makes the request, and in which of these roles; ApiError 401 or 403 if in none."""
        if wanted is not None and wanted not in list(Role):
            raise ApiError(
                400, "bad_field", f"unknown role {str(wanted)[:40]!r}; expected one of {', '.join(Role)}", ""
            )
        usable = [role for role in roles if wanted in (None, str(role))]
        peer = self._peer(request)
        if peer is not None:
            theirs = peer.roles(self._config.control)
            held = next((role for role in usable if role in theirs), None)
            if held is None:
                needed = _any_of(usable or roles)
                raise ApiError(403, "not_your_part", f"{peer.name} is not {needed} here", f"ask {needed}")
            if peer.all_roles:  # in a simulation one user acts in all roles, each under a name of its own
                return next((p.name for p in self._people().person if held in p.roles), peer.name), held
            return peer.name, held
        screen = self._screens.get(request.cookies.get(COOKIE))
        people = {who.role: who for who in screen.signed_in(self._daemon.now_ms)} if screen else {}
        for role in usable:
            if role in people and screen:
                screen.touch(role, self._daemon.now_ms)
                return people[role].name, role
        raise ApiError(
            401,
            "sign_in_needed",
            f"{_any_of(usable or roles)} must sign in",
            "sign in with a PIN",
            roles=[str(role) for role in usable or roles],
        )

    # --- actions ----------------------------------------------------------------------------------------------------

    async def _post_action(self, request: Request) -> Response:
        body = await read_body(request)
        return self._act(request, body, body.get("role") if isinstance(body, dict) else None)

    async def _post_unlock(self, request: Request) -> Response:
        found = await read_typed(request, UnlockRequest)
        return self._act(request, {"action": "unlock_person", "person": found.name}, None)

    def _act(self, request: Request, body: Any, wanted: Any) -> Response:
        """Check an action and who may take it, then take it."""
        try:
            kind = available_actions.action_named(body)
            if wanted is not None and not isinstance(wanted, str):
                raise ApiError(400, "bad_field", "role: expected text", f"use one of {', '.join(Role)}")
            available_actions.build(
                kind, body, "?", kind.roles[0]
            )  # report a wrong request before asking for a sign-in
            who, role = self._acting(request, kind.roles, wanted)
            return self._take(available_actions.build(kind, body, who, role))
        except available_actions.BadAction as error:
            raise ApiError(400, error.code, str(error), error.hint) from None

    def _take(self, action: Action) -> Response:
        ts = timestamp(datetime.now(UTC))
        made = self._daemon.take(action)  # type: ignore[arg-type]
        no = next((event for event in made if event.kind in ("action.refused", "cut.refused")), None)
        if no is not None:
            raise ApiError(409, "refused", no.data["reason"], no.data["possible_when"], clause=list(no.clause))
        if self._daemon.simulation is not None:
            self._daemon.simulation.followed(action)
        now = self._daemon.live.table.next_step(self._daemon.clock.now()) if self._daemon.live else None
        events = [event_json(event.seq, ts, event.kind, event.clause, event.data) for event in made]
        return json_response({"done": True, "events": events, "step": step(now) if now else None})

    # --- people -----------------------------------------------------------------------------------------------------

    def _people(self) -> PeopleFile:
        """The people file as it is now, so that changes take effect at once."""
        if self._daemon.simulation is not None:
            return self._daemon.simulation.people
        if self._config.screen is None:
            return PeopleFile()
        try:
            return read_people(Path(self._config.screen.people))
        except ConfigError as error:
            hint = "ask a technician to repair the file: shoectl person list"
            raise ApiError(503, "bad_people", str(error), hint) from None

    async def _get_people(self, request: Request) -> Response:
        locked = locked_names(self._daemon.state, self._daemon.now_ms)
        people = [
            {"name": p.name, "roles": [str(role) for role in p.roles], "locked_until_ms": locked.get(p.name)}
            for p in self._people().person
        ]
        return json_response({"people": people})

    async def _get_session(self, request: Request) -> Response:
        peer = self._peer(request)
        if peer is not None:
            roles = peer.roles(self._config.control)
            return json_response({"people": [{"name": peer.name, "role": str(role)} for role in roles], "token": None})
        cookie = request.cookies.get(COOKIE)
        screen = self._screens.get(cookie)
        if screen is None:
            cookie, screen = self._screens.add()
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

    async def _post_session(self, request: Request) -> Response:
        found = await read_typed(request, SignInRequest)
        screen = self._screens.get(request.cookies.get(COOKIE))
        if self._peer(request) is not None or screen is None:
            raise ApiError(400, "bad_field", "sign-in is only possible at the screen", NO_SIGN_IN)
        daemon, people = self._daemon, self._people()
        known = any(person.name == found.name for person in people.person)
        self._refuse_locked(found.name if known else STRANGER)
        async with self._checking:
            person, right = await asyncio.to_thread(check_pin, people, found.name, found.pin)
        name = person.name if person else STRANGER
        self._refuse_locked(name)
        roles = tuple(str(role) for role in person.roles) if person else ()
        daemon.take(SignIn(name, roles, person is not None, right))
        if person is None or not right:
            self._refuse_locked(name)
            hint = "try again; after several wrong PINs the name is locked"
            raise ApiError(401, "wrong_pin", "the name or the PIN is wrong", hint)
        # Signing in changes the cookie, so that one planted beforehand is worthless.
        self._screens.remove(request.cookies.get(COOKIE))
        cookie, fresh = self._screens.add()
        fresh.people = {who.role: who for who in screen.signed_in(daemon.now_ms)}
        for role in person.roles:
            minutes = self._minutes(role)
            fresh.people[role] = SignedIn(person.name, role, minutes, daemon.now_ms + minutes * 60_000)
        self.stream.send_view_soon()
        return self._session(fresh, cookie)

    def _minutes(self, role: Role) -> int:
        screen = self._config.screen
        if screen is None:
            return 5
        return screen.dealer_minutes if role is Role.DEALER else screen.floor_minutes

    def _refuse_locked(self, name: str) -> None:
        now_ms = self._daemon.now_ms
        until_ms = locked_until_ms(self._daemon.state, name, now_ms)
        if until_ms:
            self.stream.send_view_soon()
            text = f"{name or 'sign-in'} is locked after several wrong PINs"
            hint = "wait, or ask a floorperson to end the lock-out"
            raise ApiError(429, "locked_out", text, hint, retry_after_ms=until_ms - now_ms)

    async def _delete_session(self, request: Request) -> Response:
        found = await read_typed(request, SignOutRequest)
        cookie = request.cookies.get(COOKIE)
        screen = self._screens.get(cookie)
        if screen is None:
            raise ApiError(400, "bad_field", "sign-out is only possible at the screen", NO_SIGN_IN)
        for role in [found.role] if found.role else list(screen.people):
            screen.people.pop(role, None)
        return self._session(screen, cookie)

    # --- simulation -------------------------------------------------------------------------------------------------

    def _simulation(self) -> TableSimulation:
        if self._daemon.simulation is None:
            raise ApiError(404, "not_found", "this table is not simulated", "start a simulation: shoed --simulate")
        return self._daemon.simulation

    async def _get_simulation(self, request: Request) -> Response:
        return json_response(self._simulation().describe())

    async def _post_simulation(self, request: Request) -> Response:
        simulation = self._simulation()
        body = await read_body(request)
        if not isinstance(body, dict):
            raise ApiError(400, "bad_field", "expected an object with `do`", SIMULATION_HINT)
        try:
            result = simulation.carry_out(body)
        except ValueError as error:
            raise ApiError(400, "bad_field", str(error), SIMULATION_HINT) from None
        self.stream.send_view_soon()
        return json_response(result)


async def _unknown_method(request: Request, error: Exception) -> Response:
    text = f"{request.method[:20]} is not a known method"
    return json_response(ApiError(405, "bad_method", text, "use GET or POST").body, 405)


def _any_of(roles: tuple[Role, ...] | list[Role]) -> str:
    return " or ".join(ROLE_NAMES[role] for role in roles)
