"""The three state machines: in every state, every kind of event is allowed by its table or refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from transitions import MachineError

from controller.core import actions as act
from controller.core.decision import HANDLERS, why_not
from controller.core.events.decks import DeckRemoved
from controller.core.events.devices import DeviceInService
from controller.core.machines import (
    DECK_MACHINE,
    DEVICE_MACHINE,
    MACHINES,
    TABLE_MACHINE,
    DeckState,
    DeviceState,
    StateMachine,
    TableState,
)
from controller.core.names import state_name
from controller.core.state import decode, encode
from controller.core.table import Table
from tests.support.core_driver import WHO, House, house_in

PAIRS = [pytest.param(machine, state, id=f"{machine.name}-{state}") for machine in MACHINES for state in machine.states]


@pytest.mark.parametrize(("machine", "state"), PAIRS)
def test_every_state_with_every_kind(machine: StateMachine[Any], state: Any) -> None:
    table = {kind: (tuple(sources), dest) for kind, sources, dest in machine.rows}
    for kind in machine.events:
        sources, dest = table[kind]
        if state in sources:
            assert machine.allows(state, kind)
            usual = dest[0] if isinstance(dest, tuple) else dest
            assert machine.after(state, kind) == (state if usual is None else usual)
            for named in dest if isinstance(dest, tuple) else ():
                assert machine.after(state, kind, named) is named
        else:
            assert not machine.allows(state, kind)
            with pytest.raises(MachineError, match=rf"{kind.kind} from state {state.name}"):
                machine.after(state, kind)


@pytest.mark.parametrize(("machine", "state"), PAIRS)
def test_what_a_state_does_not_allow_has_a_reason(machine: StateMachine[Any], state: Any) -> None:
    house = House()
    house.ask(act.OpenTable)
    house.receive("red-1", "red")
    found = decode(encode(house.state))
    found.table = TableState.OPENING
    if machine is TABLE_MACHINE:
        found.table = state
    elif machine is DECK_MACHINE:
        found.decks["red-1"].state = state
    else:
        found.devices["shoe"].state = state
    for kind in machine.events:
        if machine is not TABLE_MACHINE:
            allowing = TABLE_MACHINE.when(kind)[0] if kind in TABLE_MACHINE.events else TableState.OPENING
            found.table = allowing
        refusal = why_not(found, kind, "red-1" if machine is DECK_MACHINE else "", "shoe")
        if machine is DEVICE_MACHINE or not DEVICE_MACHINE.allows(found.devices["shoe"].state, kind):
            expected = DEVICE_MACHINE.allows(found.devices["shoe"].state, kind)
        else:
            expected = machine.allows(state, kind)
        assert (refusal is None) == expected, kind
        if refusal:
            assert refusal.reason
            assert refusal.possible_when


ACTIONS = [
    kind for kind in act.AnyAction.__args__ if kind.leads_to in TABLE_MACHINE.events and kind is not act.Configure
]
FIELDS: dict[str, Any] = {
    "deck": "red-1", "back": "green", "depth": 20, "seats": (1,), "target": "seat1", "cards": 1, "misdealt": True,
    "irregularity": "x", "seat": 1, "bet": "ante", "amount": 5, "kinds": (), "choice": "play", "cut_by": 1,
    "device": "shoe", "how": "covered", "method": "manual_shoe", "place": "seat1", "warning": "x",
}  # fmt: skip


@pytest.mark.parametrize("state", TableState)
def test_a_person_is_told_why_not(state: TableState) -> None:
    """Every action, in every state of the table that does not allow its event, through `Table.handle`."""
    house = house_in(state)
    for kind in ACTIONS:
        if TABLE_MACHINE.allows(state, kind.leads_to):
            continue
        table = Table(decode(encode(house.state)))
        if issubclass(kind, act.OnDeck) and "red-1" not in table.state.decks and kind is not act.ReceiveDeck:
            continue
        names = {name: FIELDS[name] for name in kind.__struct_fields__ if name in FIELDS}
        action = kind(**names, who=WHO[kind.roles[0]], role=kind.roles[0])
        event = table.handle(action, house.now)[0]
        assert event.kind == "action.refused", (state, kind)
        assert event.data["possible_when"]
        if kind is act.RecordBet and house.state.round:
            assert event.data["reason"].startswith("no more bets")
        elif kind is not act.CloseBets:  # its refusal says what is missing
            assert event.data["reason"] == f"the table is {state_name(state)}"
            assert event.data["possible_when"].startswith("the table is ")


def test_the_machines_have_no_way_out_but_the_table() -> None:
    for machine in MACHINES:
        cursor = machine._cursor
        assert not [name for name in dir(cursor) if name.startswith(("to_", "may_to"))]
        assert machine.diagram().startswith("stateDiagram-v2\n    [*] --> ")


def test_every_state_can_be_reached() -> None:
    for machine in MACHINES:
        targets = [dest for _, _, dests in machine.rows for dest in (dests if isinstance(dests, tuple) else (dests,))]
        reached = {machine.initial} | {dest for dest in targets if dest is not None}
        assert reached == {*machine.states}  # type: ignore[misc]


def test_a_locked_out_deck_goes_nowhere_but_away() -> None:
    leaving = [kind for kind in DECK_MACHINE.events if DECK_MACHINE.allows(DeckState.LOCKED_OUT, kind)]
    assert leaving == [DeckRemoved]
    assert not [kind for kind in DECK_MACHINE.events if DECK_MACHINE.allows(DeckState.REMOVED, kind)]


def test_a_device_out_of_service_comes_back_by_one_door() -> None:
    leaving = [kind for kind in DEVICE_MACHINE.events if DEVICE_MACHINE.allows(DeviceState.OUT_OF_SERVICE, kind)]
    assert leaving == [DeviceInService]


def test_every_action_is_known_and_handled() -> None:
    """An action that is missing from `AnyAction` would be offered to nobody."""
    named = {name for name, kind in vars(act).items() if isinstance(kind, type) and issubclass(kind, act.Action)}
    bases = {"Action", "OnDeck", "OnDevice"}
    assert named - bases == {kind.__name__ for kind in act.AnyAction.__args__}
    assert set(act.AnyAction.__args__) == set(HANDLERS)
