"""Defects to plant that only tampering brings out: a swapped deck, an exchanged device, counts that prove nothing."""

from __future__ import annotations

import msgspec

from controller.core.changes.change import CHANGES
from controller.core.decision import Decision
from controller.core.events.table import TableIdled
from controller.core.rules import gathering, links, shuffling, unexpected_cards
from controller.core.state import Given
from firmware_bridge.wire.messages import CycleDone
from simulators.campaign.planting import BY_HAND, Swap, defect, everywhere, never


@defect("a deck that was taken out of the shoe and put back is dealt", "deck_swapped")
def _swap_ignored() -> list[Swap]:
    return [*everywhere(unexpected_cards.cards_gone, never), *everywhere(unexpected_cards.cards_appeared, never)]


@defect("a round goes on after its shoe was exchanged", "other_device")
def _exchanged_shoe_ignored() -> list[Swap]:
    return [(links, "stopped", never)]


@defect("a deck that met an incident on its way to a recut is merely cut", "recut", setup=BY_HAND)
def _recut_not_cancelled() -> list[Swap]:
    return everywhere(gathering.cancel_recut, never)


@defect("only the first of two counts is compared", "counts_disagree")
def _second_count_ignored() -> list[Swap]:
    right = shuffling.shuffle_done

    def done(d: Decision, given: Given, cycle: CycleDone) -> None:
        right(d, given, msgspec.structs.replace(cycle, cards=-1) if given.counted >= 0 else cycle)

    return everywhere(right, done)


@defect("wagers stay when the players leave", "idled")
def _wagers_survive_idling() -> list[Swap]:
    return [(CHANGES, TableIdled, never)]
