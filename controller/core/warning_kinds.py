"""The kinds of warnings: what each is called, what removes its cause, and which role may clear it."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from controller.core.names import spoken

OR_OUT_OF_SERVICE: Final = ", or have a floorperson take it out of service"


class WarningKind(msgspec.Struct, frozen=True):
    """A kind of warning; {} stands for the device or the deck that it is about."""

    title: str
    remedy: str
    needs: Literal["dealer", "technician", "floor"]  # the role that may clear it
    gone: bool = False  # its cause is already gone when it is raised
    or_out: bool = False  # taking the device out of service is another remedy


WARNINGS: Final[dict[str, WarningKind]] = {
    "jam": WarningKind("{} jammed", "Free the jam in the {}, then report it", "dealer"),
    "fail": WarningKind("{} failed", "Switch the {} off and on", "floor", or_out=True),
    "lost": WarningKind("{} offline", "Check the cable and power of the {}", "dealer", or_out=True),
    "cycle": WarningKind("{} did not finish", "Check the {}", "dealer", gone=True),
    "restart": WarningKind("{} restarted", "Check the {}", "dealer", gone=True),
    "count": WarningKind(
        "cards of deck {}", "Gather deck {}; a floorperson finds the missing cards or declares them missing", "floor"
    ),
    "door": WarningKind("{} opened", "Close the door of the {}", "floor"),
    "gap": WarningKind(
        "events of the {} are missing",
        "Take every card out of the {}; then a floorperson or a technician accepts it",
        "floor",
    ),
    "cards": WarningKind(
        "unexpected cards in the {}", "Take all cards out of the {} and check that it is empty", "floor", gone=True
    ),
    "refused": WarningKind("{} cannot be used", "Connect the right {} or switch it off and on", "floor", or_out=True),
    "replaced": WarningKind("{} replaced", "Check that this {} belongs to the table", "technician", gone=True),
    "flood": WarningKind("{} sends too much", "Check the {}", "floor", gone=True),
}


def warning_name(key: str) -> str:
    """A warning by its key: `shoe.lost` becomes shoe offline."""
    about, _, name = key.rpartition(".")
    return WARNINGS[name].title.format(about) if name in WARNINGS else f"{about} {spoken(name)}"


def remedy(key: str) -> str:
    """What removes the cause of a warning."""
    kind = WARNINGS.get(key.rpartition(".")[2])
    if kind is None:
        return "Remove the cause"
    return before_out_of_service(key) + OR_OUT_OF_SERVICE if kind.or_out else kind.remedy.format(_about(key))


def before_out_of_service(key: str) -> str:
    """What to try before the device that a warning is about is taken out of service."""
    kind = WARNINGS.get(key.rpartition(".")[2])
    return (kind.remedy if kind and kind.or_out else "Check the {}").format(_about(key))


def _about(key: str) -> str:
    return key.rpartition(".")[0]


def cleared_by(needs: str) -> str:
    """Who may clear a warning that needs this role."""
    return {"floor": "a floorperson", "technician": "a floorperson or a technician"}.get(needs, f"a {needs}")
