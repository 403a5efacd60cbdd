"""The control API: its routes, and the requests that act on the table or on the simulation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.api import available_actions
from controller.api.access import Access
from controller.api.bystander import OPEN_REQUESTS
from controller.api.event_text import event_json
from controller.api.fair_queue import FairQueue
from controller.api.reads import Reads
from controller.api.requests import (
    ApiError,
    UnlockRequest,
    drain,
    error_response,
    json_response,
    read_body,
    read_typed,
    table_stopped,
)
from controller.api.sign_in import SignInHandlers
from controller.api.table_view import step
from controller.core.actions import Action, Role
from controller.core.events.table import refusals
from controller.daemon.daemon import Daemon, TableStopped
from controller.daemon.simulate import TableSimulation
from controller.journal import JournalError, timestamp

SESSIONS_S = 1.0  # how often sessions that are over are ended
SIMULATION_HINT = "GET /api/v1/simulation lists what is possible"
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


RequestHandler = Callable[[Request], Awaitable[Response]]


class Api:
    """The application: `app` is served by the listening servers, which share `queue` with it."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._log = structlog.get_logger()
        self.queue = FairQueue()
        self._access = Access(daemon, lambda: self.stream.send_view_soon())
        self._reads = reads = Reads(daemon, self._access, self.queue)
        self.stream = reads.stream
        sign_in = SignInHandlers(daemon, self._access, self.stream.send_view_soon)
        self.app = Starlette(
            routes=self._routes(reads, sign_in),
            middleware=[Middleware(_Headers)],
            exception_handlers={405: _unknown_method},
        )

    async def close(self) -> None:
        """End the streams, the searches and the checks of PINs."""
        await self._reads.close()
        self._access.pins.close()

    async def keep_ending_sessions(self) -> None:
        """Sign people out when their time is over or they are no longer registered, even if no request arrives."""
        while True:
            await asyncio.sleep(SESSIONS_S)
            self._access.end_sessions()

    def _routes(self, reads: Reads, sign_in: SignInHandlers) -> list[Route]:
        def on(path: str, **methods: RequestHandler) -> Route:
            return Route(
                path, self._guarded(path, methods), methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
            )

        v1 = "/api/v1"
        return [
            on(f"{v1}/table", GET=reads.table),
            on(f"{v1}/events", GET=reads.events),
            on(f"{v1}/events/stream", GET=reads.event_stream),
            on(f"{v1}/actions", GET=reads.actions, POST=self._post_action),
            on(f"{v1}/flows", GET=reads.flows),
            on(f"{v1}/flows/{{goal}}", GET=reads.flow),
            on(f"{v1}/rounds", GET=reads.rounds),
            on(f"{v1}/rounds/{{number}}", GET=reads.round),
            on(f"{v1}/devices", GET=reads.devices),
            on(f"{v1}/devices/{{name}}/frames", GET=reads.frames),
            on(f"{v1}/rules", GET=reads.rules),
            on(f"{v1}/journal", GET=reads.journal),
            on(f"{v1}/session", GET=sign_in.get_session, POST=sign_in.post_session, DELETE=sign_in.delete_session),
            on(f"{v1}/session/screen", POST=sign_in.post_screen),
            on(f"{v1}/people", GET=sign_in.get_people),
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

    def _guarded(self, path: str, methods: dict[str, RequestHandler]) -> RequestHandler:
        async def respond(request: Request) -> Response:
            try:
                self._access.admit(request)
                request.scope.get("protect", bool)(self._access.may_read(request))
                method = "GET" if request.method == "HEAD" else request.method
                if not methods:
                    raise ApiError(404, "not_found", "no such path", "GET /api/v1/openapi.json lists all paths")
                if method not in methods:
                    raise ApiError(
                        405, "bad_method", f"{request.method} is not supported here", f"use {', '.join(methods)}"
                    )
                if method not in OPEN_REQUESTS.get(path, ()):
                    self._access.check_reading(request)
                if method != "GET":
                    self._access.check_origin(request)
                await (
                    self.queue.turn()
                )  # accepting a request, answering it and sending the answer: three pieces of work
                response = await methods[method](request)
                await self.queue.turn()
                return response
            except ApiError as error:
                return error_response(error, close=not await drain(request))
            except (TableStopped, JournalError) as error:
                return json_response(table_stopped(str(error)).body, 503)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception:
                self._log.exception("request failed", method=request.method, path=request.url.path[:200])
                text = "internal error; see `journalctl -u shoed`"
                return json_response(ApiError(500, "failed", text, "report it to a technician").body, 500)

        return respond

    # --- actions ----------------------------------------------------------------------------------------------------

    async def _post_action(self, request: Request) -> Response:
        return await self._act(request, await read_body(request))

    async def _post_unlock(self, request: Request) -> Response:
        found = await read_typed(request, UnlockRequest)
        body = {"action": "unlock_person", "person": found.name, "name": found.by, "pin": found.pin}
        return await self._act(request, body)

    async def _act(self, request: Request, body: Any) -> Response:
        """Check an action and who may take it, then take it."""
        try:
            kind = available_actions.action_named(body)
            wanted = body.get("role")
            if wanted is not None and not isinstance(wanted, str):
                raise ApiError(400, "bad_field", "role: expected text", f"use one of {', '.join(Role)}")
            credentials = available_actions.take_credentials(body)
            # Report a wrong request before asking for a PIN.
            available_actions.build(kind, body, "?", kind.roles[0])
            actor = await self._access.acting(request, kind, body, credentials)
            response = self._take(available_actions.build(kind, body, actor.name, actor.role, actor.origin))
        except available_actions.BadAction as error:
            raise ApiError(400, error.code, str(error), error.hint) from None
        self._access.done(actor)
        return response

    def _take(self, action: Action) -> Response:
        ts = timestamp(datetime.now(UTC))
        made = self._daemon.take(action)  # type: ignore[arg-type]
        no = next(iter(refusals(made)), None)
        if no is not None:
            confirm = {"confirm": True} if no.data.get("confirm") else {}
            reason, possible_when = no.data["reason"], no.data["possible_when"]
            raise ApiError(409, "refused", reason, possible_when, clause=list(no.clause), **confirm)
        if self._daemon.simulation is not None:
            self._daemon.simulation.followed(action)
        self.stream.send_view_now()
        now = self._daemon.live.table.next_step(self._daemon.clock.now()) if self._daemon.live else None
        events = [event_json(event.seq, ts, event.kind, event.clause, event.data) for event in made]
        return json_response({"done": True, "events": events, "step": step(now, self._daemon.state) if now else None})

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
