"""The totals in the metrics: voids, cards, jams and cycles, counted from the events of this run."""

from __future__ import annotations

from controller.api.metrics import Totals
from controller.core.events.devices import CycleCompleted, CycleFailed, CycleLost, DeviceJammed
from controller.core.events.event import Entry, Event
from controller.core.events.rounds import AllActed, RoundVoided, StackTakenToHand


def counted(*events: Event, clause: tuple[str, ...] = ()) -> Totals:
    totals = Totals()
    for number, event in enumerate(events, 1):
        totals.take(Entry(number, clause, event))
    return totals


def test_voids_are_counted_by_clause() -> None:
    void = RoundVoided(round=1, deck="red-1", reason="the shoe jammed", why=["13.G"])
    assert counted(void, void, clause=("13.G", "10")).voids == {"13.G,10": 2}
    assert counted(void).voids == {"none": 1}


def test_cards_are_counted_when_they_stay_in_a_hand() -> None:
    stack = StackTakenToHand(round=1, target="seat1", deck="red-1", cards=3, kept=2, moves=[])
    assert counted(stack, stack, AllActed(round=1, who="Dana")).cards == 4


def test_every_cycle_that_ended_counts_for_its_device() -> None:
    totals = counted(
        DeviceJammed(device="shoe"),
        CycleFailed(device="shoe", id=1, command="Dispense", reason="did not deal a stack"),
        CycleLost(device="shoe", id=2, reason="the device has restarted"),
        CycleCompleted(device="shuffler", id=3, command="Shuffle"),
    )
    assert totals.cycles == {"shoe": 2, "shuffler": 1}
    assert totals.jams == {"shoe": 1}
