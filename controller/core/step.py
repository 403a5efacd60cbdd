"""A step of the guide: what to do at the table now, by whom, and the actions that report it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from controller.core.actions import Action, AnyAction, Role

Offer = dict[str, str | bool | int | tuple[int, ...]]  # an action, with the fields that are known from the state


class ByHand(StrEnum):
    """What a person does at a device without reporting it: the device reports it itself."""

    TAKE = "take"  # take the cards from its exit
    CLOSE = "close"  # close its door; if it is closed, open it and close it again
    CHECK = "check"  # check cable and power, switch it off and on


ACTIONS: dict[str, type[Action]] = {str(kind.__struct_config__.tag): kind for kind in AnyAction.__args__}


class Step(msgspec.Struct, frozen=True):
    """What to do now. `do` lists the actions that report it, the usual one first."""

    text: str
    why: str = ""
    clause: tuple[str, ...] = ()  # rules at first; `next_step` replaces them by their clauses
    do: tuple[Offer, ...] = ()
    allowed_actions: tuple[str, ...] = ()
    by_hand: ByHand | None = None
    device: str = ""  # the device at which to do it
    if_empty: Offer | None = None  # what to report if there are no cards to take; not shown as a button
    role: Role | None = None  # who does it, if not the roles of the first action

    @property
    def by(self) -> tuple[Role, ...]:
        """Who acts; empty while the devices are working."""
        if self.role:
            return (self.role,)
        if self.do:
            return ACTIONS[str(self.do[0]["action"])].roles
        return (Role.DEALER,) if self.by_hand else ()
