"""The roles of users at the Unix socket."""

from __future__ import annotations

import grp
import os
import pwd
from types import SimpleNamespace

import pytest

from controller.api.peers import ROLES_BY_RANK, Peer
from controller.core.actions import Role
from controller.daemon.config import ControlConfig


def test_roles_come_from_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    gids = {"shoed-dealer": 901, "shoed-floor": 902, "pit": 903}

    def getgrnam(name: str) -> SimpleNamespace:
        return SimpleNamespace(gr_gid=gids[name])  # KeyError where the system has no such group

    def getgrouplist(user: str, gid: int) -> list[int]:
        return {"dana": [gid, 901], "flo": [gid, 902, 903]}[user]

    monkeypatch.setattr(grp, "getgrnam", getgrnam)
    monkeypatch.setattr(os, "getgrouplist", getgrouplist)
    names = {1001: "dana", 1002: "flo", 0: "root"}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name=names[uid]))
    control = ControlConfig(technician=("pit", "not here"))
    assert Peer(1001, 100).roles(control) == [Role.DEALER]
    assert Peer(1002, 100).roles(control) == [Role.FLOOR, Role.TECHNICIAN]
    assert Peer(1003, 901).roles(control) == [Role.DEALER]  # a user without a name, by the group it runs under
    assert Peer(1003, 100).roles(control) == []
    assert Peer(1003, 100).name == "user 1003"
    assert Peer(0, 0).roles(control) == [Role.TECHNICIAN, Role.AUDITOR]  # an administrator deals no cards
    assert Peer(1001, 100, all_roles=True).roles(control) == list(ROLES_BY_RANK)
