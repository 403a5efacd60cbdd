"""Who may make a request: users at the Unix socket, pages of the screen, and the roles in which they act."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.requests import Request

from controller.api.peers import Peer
from controller.api.requests import ApiError
from controller.api.sessions import Screen, Screens
from controller.core.actions import Role
from controller.daemon.config import Config, ConfigError
from controller.daemon.daemon import Daemon
from controller.daemon.people import PeopleFile, read_people

COOKIE = "shoed"
ROLE_NAMES = {
    Role.DEALER: "a dealer",
    Role.FLOOR: "a floorperson",
    Role.TECHNICIAN: "a technician",
    Role.AUDITOR: "an auditor",
}


class Access:
    """Checks requests against the roles of users and the people signed in at screens."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._config: Config = daemon.config
        self.screens = Screens()

    def screen(self, request: Request) -> Screen | None:
        """The screen that sent a request."""
        return self.screens.get(request.cookies.get(COOKIE))

    def people(self) -> PeopleFile:
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

    def admit(self, request: Request) -> None:
        """At the socket, admit users with a role; over HTTP, admit pages opened on this machine."""
        peer = self.peer(request)
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

    def check_origin(self, request: Request) -> None:
        """Requests that change something must come from our own page, not from another one open in the browser."""
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise ApiError(400, "bad_json", "the body must be JSON", "send Content-Type: application/json")
        if self.peer(request) is not None:
            return
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{request.headers.get('host', '')}":
            raise ApiError(403, "bad_origin", "the request came from another page", "use the table's own screen")
        screen = self.screen(request)
        if screen is None or request.headers.get("x-token") != screen.token:
            raise ApiError(403, "bad_token", "this page's session has ended", "reload the page")

    def peer(self, request: Request) -> Peer | None:
        """The user at the Unix socket who sent a request; None over HTTP."""
        peer: Peer | None = request.scope.get("peer")
        if peer is not None and self._daemon.simulation is not None:
            return Peer(peer.uid, peer.gid, all_roles=True)
        return peer

    def acting(self, request: Request, roles: tuple[Role, ...], wanted: str | None) -> tuple[str, Role]:
        """Who makes the request, and in which of these roles; ApiError 401 or 403 if in none."""
        if wanted is not None and wanted not in list(Role):
            raise ApiError(
                400, "bad_field", f"unknown role {str(wanted)[:40]!r}; expected one of {', '.join(Role)}", ""
            )
        usable = [role for role in roles if wanted in (None, str(role))]
        peer = self.peer(request)
        if peer is not None:
            theirs = peer.roles(self._config.control)
            held = next((role for role in usable if role in theirs), None)
            if held is None:
                needed = _any_of(usable or roles)
                raise ApiError(403, "not_your_part", f"{peer.name} is not {needed} here", f"ask {needed}")
            if peer.all_roles:  # in a simulation one user acts in all roles, each under a name of its own
                return next((p.name for p in self.people().person if held in p.roles), peer.name), held
            return peer.name, held
        screen = self.screen(request)
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


def _any_of(roles: tuple[Role, ...] | list[Role]) -> str:
    return " or ".join(ROLE_NAMES[role] for role in roles)
