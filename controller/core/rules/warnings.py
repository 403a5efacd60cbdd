"""Warnings. They latch: each stays until its cause is gone and a person has cleared it."""

# mypyc
from __future__ import annotations

from typing import Final

from controller.core.actions import ClearWarning, Role
from controller.core.decision import Decision, cite, handles
from controller.core.events.devices import DeviceFailed, DeviceJammed
from controller.core.events.table import WarningCauseGone, WarningCleared, WarningRaised
from controller.core.refusal import Refusal
from controller.core.warning_kinds import WARNINGS, cleared_by
from controller.games.rulebook import Rule

_RANK: Final[dict[str, int]] = {Role.DEALER: 0, Role.TECHNICIAN: 1, Role.FLOOR: 2}


def warn(d: Decision, name: str, *rules: Rule, text: str, device: str = "", deck: str = "") -> None:
    """Raise a warning about a device or a deck."""
    kind = WARNINGS[name]
    d.emit(
        WarningRaised(
            warning=f"{device or deck}.{name}",
            text=text,
            why=list(cite(d.state, rules)),
            needs=kind.needs,
            by_device=device,
            of_deck=deck,
            gone=kind.gone,
        ),
        *rules,
    )


def cause_gone(d: Decision, key: str) -> None:
    """The cause of a warning is gone; the warning stays until a person clears it."""
    warned = d.state.warnings.get(key)
    if warned and not warned.gone:
        d.emit(WarningCauseGone(warning=key, text=warned.text))


def restore_fault(d: Decision, device: str) -> None:
    """A device is back: it is jammed or failed again if the cause of that warning is not gone."""
    for warning, event in (("jam", DeviceJammed), ("fail", DeviceFailed)):
        warned = d.state.warnings.get(f"{device}.{warning}")
        if warned and not warned.gone and d.may(event, device=device):
            d.emit(event(device=device, reason=warned.text))


def may_clear(needs: str) -> tuple[Role, ...]:
    """The roles that may clear a warning which needs this role."""
    return tuple(role for role in ClearWarning.roles if _RANK[role] >= _RANK[needs])


@handles(ClearWarning)
def clear_warning(d: Decision, act: ClearWarning) -> Refusal | None:
    """A person clears a warning whose cause is gone."""
    warned = d.state.warnings.get(act.warning)
    if warned is None:
        return Refusal(f"there is no warning {act.warning}", "an active warning is named")
    clause = tuple(warned.clause)
    if not warned.gone:
        return Refusal(f"its cause is not gone: {warned.text}", "the cause is gone", clause)
    if act.role not in may_clear(warned.needs):
        who = cleared_by(warned.needs)
        return Refusal(f"only {who} may clear it", f"{who} clears it", clause)
    d.emit(WarningCleared(warning=act.warning, who=act.who, role=str(act.role), text=warned.text), *clause)
    return None
