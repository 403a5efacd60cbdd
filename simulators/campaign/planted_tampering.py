"""Defects to plant that only tampering brings out: a swapped deck, an exchanged device, counts that prove nothing."""

from __future__ import annotations

from controller.core.rules import links, presence
from simulators.campaign.planting import Swap, defect, everywhere, never


@defect("a deck that was taken out of the shoe is dealt when it is back", "deck_swapped")
def _swap_ignored() -> list[Swap]:
    return [*everywhere(presence.cards_gone, never), *everywhere(presence.cards_appeared, never)]


@defect("a round goes on after its shoe was exchanged", "other_device")
def _exchanged_shoe_ignored() -> list[Swap]:
    return [(links, "stopped", never)]
