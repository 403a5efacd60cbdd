"""What the conformance test asks a person to do, when it is interactive."""

from __future__ import annotations

import enum


class HandTask(enum.Enum):
    """One thing that only hands can do. The value is how the person is asked."""

    TAKE = "Take all cards from the exit."
    LOAD = "Put a deck of cards into the device, face down: into the infeed of a shuffler, into a shoe."
    ADD = "Put a few cards into the infeed."
    EMPTY_SHOE = "Take all cards out of the shoe that this shuffler feeds."
    OPEN = "Open the door of the device."
    CLOSE = "Close the door of the device."
    POWER_CYCLE = "Switch the device off, wait 5 seconds, and switch it on again."
    JAM = "Block the card path so that the next card gets stuck."
    FREE = "Remove what blocks the card path, and close the device."
    GET_READY = "Get ready: the device moves cards as soon as you answer, and you are then asked to interrupt it."


ANSWER_WITHIN_S = 600.0  # for a person
