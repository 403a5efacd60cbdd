"""Who may make a request: users at the Unix socket, pages of the screen, and the roles in which they act."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request

from controller.api.clients import BYSTANDERS, ApiClient
from controller.api.peers import Peer
from controller.api.pins import Pins
from controller.api.requests import ApiError, Credentials
from controller.api.sessions import Screen, Screens
from controller.core.actions import Action, ClearWarning, Role, UnlockPerson
from controller.core.reports import SignOut
from controller.core.rules.warnings import may_clear
from controller.daemon.config import Config, ConfigError
from controller.daemon.daemon import Daemon, TableStopped
from controller.daemon.people import PeopleFile, PeopleReader
from controller.daemon.screen_token import ScreenToken

COOKIE = "shoed"
TOKEN_COOKIE = "shoed_screen"
ROLE_NAMES = {
    Role.DEALER: "a dealer",
    Role.FLOOR: "a floorperson",
    Role.TECHNICIAN: "a technician",
    Role.AUDITOR: "an auditor",
}


@dataclass(frozen=True)
class ActingPerson:
    """Who takes an action, in which role, and where."""

    name: str
    role: Role
    origin: str
    screen: Screen | None = None


class Access:
    """Checks requests against the roles of users and the people signed in at screens."""

    def __init__(self, daemon: Daemon, changed: Callable[[], None]) -> None:
        self._daemon = daemon
        self._config: Config = daemon.config
        self._changed = changed
        self._people = PeopleReader(Path(daemon.config.screen.people)) if daemon.config.screen else None
        self._token = ScreenToken(Path(daemon.config.screen.token)) if daemon.config.screen else None
        self.screens = Screens(self._ended)
        self.pins = Pins(daemon, self.people, changed)

    def screen(self, request: Request) -> Screen | None:
        """The screen that sent a request."""
        return self.screens.get(request.cookies.get(COOKIE))

    def has_token(self, request: Request) -> bool:
        """Whether the table's own screen sent a request, or a program that has its token."""
        given = request.headers.get("authorization", "")
        presented = given[7:] if given.startswith("Bearer ") else request.cookies.get(TOKEN_COOKIE, "")
        return self.is_token(presented)

    def is_token(self, presented: str) -> bool:
        """Whether this is the token of the table's own screen."""
        return bool(presented) and self._token is not None and self._token.matches(presented)

    def may_read(self, request: Request) -> bool:
        """Whether everything may be read: at the socket, at the table's own screen, or where somebody is signed in."""
        if self.peer(request) is not None or self.has_token(request):
            return True
        screen = self.screen(request)
        return screen is not None and bool(screen.people)

    def client(self, request: Request) -> ApiClient:
        """Whose quota a request counts against. All bystanders are one client: they can have any number of cookies."""
        peer = self.peer(request)
        if peer is not None:
            return ApiClient("user", str(peer.uid))
        return ApiClient("screen", request.cookies.get(COOKIE, "")) if self.may_read(request) else BYSTANDERS

    def place(self, request: Request) -> str:
        """Where somebody enters a PIN: wrong ones count there, and nowhere else."""
        if self.peer(request) is not None:
            return "socket"
        return "screen" if self.has_token(request) else "local port"

    def check_reading(self, request: Request) -> None:
        """ApiError 401 unless everything may be read."""
        if not self.may_read(request):
            text = "reading this needs a sign-in, or the token of the table's own screen"
            hint = "sign in, or open the address that `sudo shoectl screen` prints"
            raise ApiError(401, "sign_in_needed", text, hint)

    def people(self) -> PeopleFile:
        """The people file as it is now, so that changes take effect at once."""
        if self._daemon.simulation is not None:
            return self._daemon.simulation.people
        if self._people is None:
            return PeopleFile()
        try:
            return self._people.read()
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

    async def acting(
        self, request: Request, kind: type[Action], body: dict[str, Any], credentials: Credentials
    ) -> ActingPerson:
        """Who takes this action, in which role; ApiError 401, 403 or 429 if nobody may.

        An action that only a floorperson or a technician may take needs their PIN, which comes with the request: an
        open session or terminal does not show who is in front of it.
        """
        roles, wanted = self._roles(request, kind, body), body.get("role")
        if wanted is not None and wanted not in list(Role):
            raise ApiError(
                400, "bad_field", f"unknown role {str(wanted)[:40]!r}; expected one of {', '.join(Role)}", ""
            )
        usable = [role for role in roles if wanted in (None, str(role))]
        if credentials.name or credentials.pin or self._pin_needed(request, kind, roles):
            if not usable:
                needed = _any_of(roles)
                raise ApiError(403, "not_your_part", f"only {needed} may do this", f"ask {needed}")
            return await self._with_pin(request, kind, usable, credentials)
        peer = self.peer(request)
        return self._user(peer, usable, roles) if peer else self._signed_in(request, usable, roles)

    def _roles(self, request: Request, kind: type[Action], body: dict[str, Any]) -> tuple[Role, ...]:
        """The roles that may take an action; some warnings cannot be cleared by a dealer.

        A technician ends lock-outs only at the socket, where the system has identified them.
        """
        if kind is UnlockPerson and self.peer(request) is None:
            return (Role.FLOOR,)
        warned = self._daemon.state.warnings.get(body["warning"]) if kind is ClearWarning else None
        return may_clear(warned.needs) if warned else kind.roles

    def _pin_needed(self, request: Request, kind: type[Action], roles: tuple[Role, ...]) -> bool:
        """Whether these roles need a PIN. A table where none of these people has one relies on its system accounts.

        Ending a lock-out at the socket needs none: the only floorperson may be the one who is locked out.
        """
        peer = self.peer(request)
        if Role.DEALER in roles or (peer is not None and (peer.all_roles or kind is UnlockPerson)):
            return False
        return peer is None or any(set(roles) & set(person.roles) for person in self.people().person)

    async def _with_pin(
        self, request: Request, kind: type[Action], roles: list[Role], credentials: Credentials
    ) -> ActingPerson:
        peer, screen = self.peer(request), self.screen(request)
        origin = "screen" if peer is None else "socket"
        name = credentials.name or self._own_name(peer, screen, roles)
        if not name or not credentials.pin:
            raise ApiError(
                401,
                "pin_needed",
                f"{_any_of(roles)} must enter their PIN for this",
                "give the name and the PIN with the action",
                roles=[str(role) for role in roles],
                name=name,
            )
        known = next((one for one in self.people().person if one.name.casefold() == name.casefold()), None)
        role = next((role for role in roles if known is None or role in known.roles), None)
        if role is None:
            raise ApiError(403, "not_your_part", f"{name} is not {_any_of(roles)} here", f"ask {_any_of(roles)}")
        person = await self.pins.check(
            known.name if known else name,
            credentials.pin,
            self.place(request),
            self.client(request),
            str(kind.__struct_config__.tag),
        )
        return ActingPerson(person.name, role, origin, screen)

    def _own_name(self, peer: Peer | None, screen: Screen | None, roles: list[Role]) -> str:
        """The registered name of the person who is signed in in one of these roles, or who is this user."""
        if peer is not None:
            return next((one.name for one in self.people().person if one.name.casefold() == peer.name.casefold()), "")
        signed_in = screen.people if screen else {}
        return next((signed_in[role].name for role in roles if role in signed_in), "")

    def _user(self, peer: Peer, usable: list[Role], roles: tuple[Role, ...]) -> ActingPerson:
        """A user at the socket, by their groups."""
        theirs = peer.roles(self._config.control)
        held = next((role for role in usable if role in theirs), None)
        if held is None:
            needed = _any_of(usable or roles)
            raise ApiError(403, "not_your_part", f"{peer.name} is not {needed} here", f"ask {needed}")
        name = peer.name
        with contextlib.suppress(ApiError):  # one person has one name in the journal, if the people file can be read
            if peer.all_roles:  # in a simulation one user acts in all roles, each under a name of its own
                name = next((one.name for one in self.people().person if held in one.roles), name)
            else:
                name = self._own_name(peer, None, []) or name
        return ActingPerson(name, held, "socket")

    def _signed_in(self, request: Request, usable: list[Role], roles: tuple[Role, ...]) -> ActingPerson:
        """Somebody who is signed in at the screen."""
        self.end_sessions()
        screen = self.screen(request)
        for role in usable:
            if screen and role in screen.people:
                return ActingPerson(screen.people[role].name, role, "screen", screen)
        raise ApiError(
            401,
            "sign_in_needed",
            f"{_any_of(usable or roles)} must sign in",
            "sign in with a PIN",
            roles=[str(role) for role in usable or roles],
        )

    def done(self, actor: ActingPerson) -> None:
        """Somebody has taken an action: they stay signed in. A refused action has no such effect."""
        signed_in = actor.screen.people.get(actor.role) if actor.screen else None
        if signed_in and signed_in.name == actor.name:
            signed_in.touch(self._daemon.now_ms)

    def end_sessions(self) -> None:
        """Sign out whoever is no longer registered, or has been signed in for too long.

        While the people file is damaged, people who are signed in can go on with their round.
        """
        people = None
        with contextlib.suppress(ApiError):
            people = self.people()
        self.screens.sweep(self._daemon.now_ms, people)

    def _ended(self, name: str, roles: tuple[Role, ...], reason: str) -> None:
        with contextlib.suppress(TableStopped):
            self._daemon.take(SignOut(name, tuple(str(role) for role in roles), reason))
        self._changed()


def _any_of(roles: tuple[Role, ...] | list[Role]) -> str:
    return " or ".join(ROLE_NAMES[role] for role in roles)
