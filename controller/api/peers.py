"""Users who connect to the Unix socket: the kernel identifies them, and their groups give them their roles."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass

from controller.core.actions import Role
from controller.daemon.config import ControlConfig

ROLES_BY_RANK = (Role.FLOOR, Role.DEALER, Role.TECHNICIAN, Role.AUDITOR)


@dataclass(frozen=True)
class Peer:
    """A process at the other end of the Unix socket, as the kernel identifies it."""

    uid: int
    gid: int
    all_roles: bool = False  # in a simulation, whoever connects may act in every role

    @property
    def name(self) -> str:
        """The user's name."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return f"user {self.uid}"

    def roles(self, control: ControlConfig) -> list[Role]:
        """The user's roles at the table, by system group."""
        if self.all_roles:
            return list(ROLES_BY_RANK)
        groups = {self.gid}
        with contextlib.suppress(KeyError, OSError):
            groups |= set(os.getgrouplist(self.name, self.gid))
        found = [role for role in ROLES_BY_RANK if groups & set(_gids(getattr(control, role)))]
        if self.uid == 0:
            found += [role for role in (Role.TECHNICIAN, Role.AUDITOR) if role not in found]
        return found


def _gids(names: Iterable[str]) -> list[int]:
    found = []
    for name in names:
        with contextlib.suppress(KeyError):
            found.append(grp.getgrnam(name).gr_gid)
    return found
