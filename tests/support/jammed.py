"""A journal of real rounds, one of which is void."""

from __future__ import annotations

from pathlib import Path

from simulators.devices.faults import FaultName
from simulators.table.house import House
from simulators.table.people import People


def journal_of_a_jam(file: Path) -> None:
    """Write a journal with a round that a jam of the shoe makes void, and another one that is completed."""
    house = House(file)
    people = People(house)
    assert people.open()
    house.sim.shoe.inject(FaultName.JAM, house.now, after_cards=4)
    assert people.play((1, 3))
    assert people.play((1, 3))
    house.close()
