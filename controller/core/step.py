"""A step of the guide: what to do at the table now, by whom, and the actions that report it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from controller.core.actions import Action, AnyAction, Role

Offer = dict[str, str | bool | int]  # an action, and those of its fields that follow from the state


class ByHand(StrEnum):
    """What hands do at a device where no action reports it: the device itself does."""

    TAKE = "take"  # take the cards from its exit
    CLOSE = "close"  # close its door; if it is closed, open it and close it again
    CHECK = "check"  # check cable and power, switch it off and on


ACTIONS: dict[str, type[Action]] = {str(kind.__struct_config__.tag): kind for kind in AnyAction.__args__}


class Step(msgspec.Struct, frozen=True):
    """What is to be done now. `do` has the actions that report it, the usual one first."""

    text: str
    why: str = ""
    clause: tuple[str, ...] = ()  # rules, until `next_step` has put their clauses here
    do: tuple[Offer, ...] = ()
    allowed_actions: tuple[str, ...] = ()
    by_hand: ByHand | None = None
    device: str = ""  # at which hands are needed
    if_empty: Offer | None = None  # what to report if no card lies where it is to be taken; not for a button
    role: Role | None = None  # who is asked, where it is not whoever may take the first action

    @property
    def by(self) -> tuple[Role, ...]:
        """Who acts; empty while the devices are at work."""
        if self.role:
            return (self.role,)
        if self.do:
            return ACTIONS[str(self.do[0]["action"])].roles
        return (Role.DEALER,) if self.by_hand else ()
