"""`apply`: the one function that changes a state, by one event. Folding the same events gives the same state, always.

It refuses nothing, reads no clock, and looks at nothing but the state and the event.
"""

# mypyc
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from controller.core import ledger
from controller.core.machines import DECK_MACHINE, DEVICE_MACHINE, TABLE_MACHINE, DeckState, DeviceState, TableState
from controller.core.setup import Setup, devices_of
from controller.core.state import Deck, Device, Event, Given, Host, Round, Stack, State, Warned, WrongPins
from controller.games.game import Method

Change = Callable[[State, dict[str, Any]], None]
_CHANGES: Final[dict[str, Change]] = {}


def fold(events: Iterable[Event], state: State | None = None) -> State:
    """The state after these events."""
    state = state or State()
    for event in events:
        apply(state, event)
    return state


def apply(state: State, event: Event) -> None:
    """Change the state by one event: the machines first, then the cards that moved, then the fields."""
    kind, data = event.kind, event.data
    state.seq = event.seq
    at_ms = data.get("at_ms", 0)
    if at_ms > state.now_ms:
        state.now_ms = at_ms
    if "of" in data:
        of = data["of"]
        state.devices[of["device"]].last_event = of["number"]
    of_table, of_deck, of_device, change = _EFFECTS.get(kind) or _effect(kind)
    if of_table is not None:
        state.table = of_table[state.table]
    moves = data.get("moves")
    if of_deck is not None or moves:
        deck = state.decks.get(data.get("deck", ""))
        if deck is not None:
            if of_deck is not None and not data.get("stays"):
                deck.state = of_deck[deck.state]
            if moves:
                ledger.move(deck.cards, moves)
    if of_device is not None and not data.get("stays"):
        device = state.devices[data["device"]]
        device.state = of_device[device.state]
    if change is not None:
        change(state, data)


# All that a kind of event does, put together when it is first met: one look instead of four with every event.
_Effect = tuple[
    dict[TableState, TableState] | None,
    dict[DeckState, DeckState] | None,
    dict[DeviceState, DeviceState] | None,
    Change | None,
]
_EFFECTS: Final[dict[str, _Effect]] = {}


def _effect(kind: str) -> _Effect:
    found = (
        TABLE_MACHINE.moves(kind) if kind in TABLE_MACHINE.kinds else None,
        DECK_MACHINE.moves(kind) if kind in DECK_MACHINE.kinds else None,
        DEVICE_MACHINE.moves(kind) if kind in DEVICE_MACHINE.kinds else None,
        _CHANGES.get(kind),
    )
    _EFFECTS[kind] = found
    return found


def _changes(*kinds: str) -> Callable[[Change], Change]:
    def register(change: Change) -> Change:
        for kind in kinds:
            _CHANGES[kind] = change
        return change

    return register


# --- the table ------------------------------------------------------------------------------------------------------


@_changes("table.configured")
def _configured(state: State, data: dict[str, Any]) -> None:
    state.setup = msgspec.convert(data["setup"], Setup)
    state.configured = True
    state.method = state.setup.method
    state.due = state.setup.backs[0]
    kept = state.devices
    state.devices = {name: kept.get(name, Device()) for name in devices_of(state.setup)}


@_changes("method.changed")
def _method(state: State, data: dict[str, Any]) -> None:
    state.method = Method(data["method"])
    for deck in state.decks.values():
        deck.change_due = False  # the time is reckoned anew


@_changes("table.opened")
def _opened(state: State, data: dict[str, Any]) -> None:
    state.due = state.setup.backs[0]


@_changes("table.suspended", "betting.withdrawn")
def _because(state: State, data: dict[str, Any]) -> None:
    state.why = data["reason"]


@_changes("table.resumed", "betting.opened", "table.closed")
def _no_cause(state: State, data: dict[str, Any]) -> None:
    state.why = ""


@_changes("warning.raised")
def _warned(state: State, data: dict[str, Any]) -> None:
    state.warnings[data["warning"]] = Warned(
        data["text"], list(data["why"]), data["needs"], data["by_device"], data["of_deck"], data["gone"], data["at_ms"]
    )
    if data["by_device"]:
        state.devices[data["by_device"]].opened_by = ""


@_changes("warning.cause_gone")
def _cause_gone(state: State, data: dict[str, Any]) -> None:
    state.warnings[data["warning"]].gone = True


@_changes("warning.cleared")
def _cleared(state: State, data: dict[str, Any]) -> None:
    del state.warnings[data["warning"]]


# --- the host and its people ----------------------------------------------------------------------------------------


@_changes("host.started")
def _host_started(state: State, data: dict[str, Any]) -> None:
    state.host = Host(data["boot_id"], data["up_ms"], data["at_ms"])
    for device in state.devices.values():
        if device.state is DeviceState.LOST:
            device.lost_ms = data["at_ms"]  # nobody could answer a host that was away


@_changes("access.denied")
def _denied(state: State, data: dict[str, Any]) -> None:
    state.wrong_pins[data["who"]] = WrongPins(data["count"], data["until_ms"])


@_changes("access.granted")
def _granted(state: State, data: dict[str, Any]) -> None:
    state.wrong_pins.pop(data["who"], None)


@_changes("access.unlocked")
def _unlocked(state: State, data: dict[str, Any]) -> None:
    state.wrong_pins.pop(data["person"], None)


# --- decks ----------------------------------------------------------------------------------------------------------


@_changes("deck.received")
def _received(state: State, data: dict[str, Any]) -> None:
    cards = ledger.fresh(state.setup.game.deck_size)
    state.decks[data["deck"]] = Deck(data["back"], cards, prepared=data["prepared"], by_hand=data["prepared"])


@_changes("deck.inspected")
def _inspected(state: State, data: dict[str, Any]) -> None:
    state.decks[data["deck"]].inspected_by = data["who"]


@_changes("shuffle.started")
def _shuffle_started(state: State, data: dict[str, Any]) -> None:
    deck = state.decks[data["deck"]]
    deck.counted = deck.by_hand = deck.recut = False


@_changes("deck.shuffled_by_hand")
def _by_hand(state: State, data: dict[str, Any]) -> None:
    deck = state.decks[data["deck"]]
    deck.by_hand, deck.recut = True, False


@_changes("count.accepted")
def _count_accepted(state: State, data: dict[str, Any]) -> None:
    state.rounds_uncounted = 0
    if data["by"] == "shuffler":
        state.decks[data["deck"]].counted = True


@_changes("deck.recalled")
def _recalled(state: State, data: dict[str, Any]) -> None:
    state.decks[data["deck"]].counted = False


@_changes("deck.recut_ordered")
def _recut(state: State, data: dict[str, Any]) -> None:
    state.decks[data["deck"]].recut = True


@_changes("deck.ready_to_cut", "cut.made", "deck.gathered")
def _no_recut(state: State, data: dict[str, Any]) -> None:
    state.decks[data["deck"]].recut = False


@_changes("deck.change_due")
def _change_due(state: State, data: dict[str, Any]) -> None:
    state.decks[data["deck"]].change_due = True


@_changes("deck.removed")
def _removed(state: State, data: dict[str, Any]) -> None:
    del state.decks[data["deck"]]
    state.retired.append(data["deck"])


@_changes("turn.passed")
def _turn(state: State, data: dict[str, Any]) -> None:
    state.due = data["back"]


# --- the round ------------------------------------------------------------------------------------------------------


@_changes("seats.wagered", "bets.closed")
def _seats(state: State, data: dict[str, Any]) -> None:
    state.seats = list(data["seats"])


@_changes("round.started")
def _round(state: State, data: dict[str, Any]) -> None:
    plan = [
        Stack(step["target"], step["cards"], step.get("held", False), step.get("after_acting", False))
        for step in data["plan"]
    ]
    state.round = Round(data["round"], data["deck"], Method(data["method"]), list(data["seats"]), plan)
    state.rounds = data["round"]
    state.rounds_uncounted += 1
    deck = state.decks[data["deck"]]
    deck.counted = False
    if deck.in_play_ms < 0:
        deck.in_play_ms = data["at_ms"]
    state.due = data["next_back"]


def _now(state: State) -> Round:
    assert state.round is not None, "an event of a round without a round"
    return state.round


@_changes("dealer.held")
def _held(state: State, data: dict[str, Any]) -> None:
    _now(state).held = True
    doing = state.devices[data["device"]].doing
    if doing:
        doing.presented = data["cards"]


@_changes("cards.held")
def _held_of_a_void(state: State, data: dict[str, Any]) -> None:
    doing = state.devices[data["device"]].doing
    if doing:
        doing.presented = data["cards"]


@_changes("card.face_up")
def _face_up(state: State, data: dict[str, Any]) -> None:
    round_ = _now(state)
    round_.face_up += 1
    round_.to_rack += data["to_rack"]
    device = state.devices.get(data.get("device", ""))
    if device and device.doing:
        device.doing.face_up += 1


@_changes("card.turned")
def _turned(state: State, data: dict[str, Any]) -> None:
    doing = state.devices[data["device"]].doing
    if doing:
        doing.face_up += 1


@_changes("stack.taken")
def _taken(state: State, data: dict[str, Any]) -> None:
    round_ = _now(state)
    round_.to_rack = 0
    round_.held = False
    device = state.devices.get(data.get("device", ""))
    if device:
        device.at_exit = None
        device.hindered = ""
    round_.in_hand += data["kept"]
    if round_.in_hand >= round_.plan[round_.dealt].cards:
        round_.dealt += 1
        round_.in_hand = 0


@_changes("card.requested")
def _requested(state: State, data: dict[str, Any]) -> None:
    round_ = _now(state)
    round_.plan.append(Stack(data["target"], 1))
    round_.extra[data["target"]] = round_.extra.get(data["target"], 0) + 1


@_changes("stub.count_wanted")
def _count_wanted(state: State, data: dict[str, Any]) -> None:
    _now(state).count_wanted = True


@_changes("stub.removed")
def _stub_out(state: State, data: dict[str, Any]) -> None:
    _now(state).stub_out = True
    _nothing_at_exit(state, "shoe")


@_changes("stub.counted")
def _stub_counted(state: State, data: dict[str, Any]) -> None:
    _now(state).stub_counted = True
    state.rounds_uncounted = 0


@_changes("players.acted")
def _acted(state: State, data: dict[str, Any]) -> None:
    _now(state).acted = True


@_changes("misdeal.answered")
def _answered_misdeal(state: State, data: dict[str, Any]) -> None:
    _now(state).misdealt = data["misdealt"]


@_changes("round.voided")
def _voided(state: State, data: dict[str, Any]) -> None:
    round_ = _now(state)
    round_.void = True
    round_.void_reason, round_.void_clause = data.get("reason", ""), data.get("why", [])
    for device in state.devices.values():
        device.hindered = device.opened_by = ""


@_changes("wagers.returned")
def _wagers(state: State, data: dict[str, Any]) -> None:
    _now(state).wagers_open = False


@_changes("round.completed")
def _round_over(state: State, data: dict[str, Any]) -> None:
    state.round = None
    state.seats = []


@_changes("void.completed")
def _void_over(state: State, data: dict[str, Any]) -> None:
    _round_over(state, data)
    state.rounds_uncounted = 0  # every card was gathered and counted, also where the deck has left


# --- devices --------------------------------------------------------------------------------------------------------


@_changes("device.connected")
def _connected(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    _boot(device, data["boot"])
    if "can" in data:
        device.can_lock, device.can_show = "lock" in data["can"], "show" in data["can"]
    device.online = True
    device.lost_ms = -1
    device.hindered = device.refused = ""


@_changes("device.seen")
def _seen(state: State, data: dict[str, Any]) -> None:
    """A device that is out of service has come or gone."""
    device = state.devices[data["device"]]
    device.online = data["online"]
    _boot(device, data["boot"])


def _boot(device: Device, boot: int) -> None:
    """A new life of the device's memory: what it was told before is gone."""
    if device.boot != boot:
        device.boot, device.last_event, device.at_exit, device.late = boot, 0, None, None
        device.busy_ms, device.told = -1, 0
        device.locked, device.shown, device.beside = False, "", []


@_changes("device.powered_up")
def _powered_up(state: State, data: dict[str, Any]) -> None:
    """It has kept its memory, but its lock and its light are as after any start."""
    device = state.devices[data["device"]]
    device.locked, device.shown = False, ""


@_changes("device.opened")
def _device_opened(state: State, data: dict[str, Any]) -> None:
    state.devices[data["device"]].opened_by = data["who"]


@_changes("device.lost")
def _lost(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    device.online = False
    device.lost_ms = data["at_ms"]


@_changes("device.refused")
def _refused(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    device.online = False
    device.doing = None
    device.refused, device.told = data["reason"], data.get("told", 0)


@_changes("device.accepted")
def _accepted(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    device.last_event, device.told, device.refused = data["told"], 0, ""
    device.at_exit = device.late = None


@_changes("device.out_of_service")
def _out(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    device.out_how = data["how"]
    device.doing = device.at_exit = None
    device.hindered, device.busy_ms = "", -1


@_changes("device.in_service")
def _in(state: State, data: dict[str, Any]) -> None:
    state.devices[data["device"]].out_how = ""


@_changes("command.given")
def _given(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    args = dict(data["command"])
    name = args.pop("name")
    if data.get("stays"):  # no cycle
        device.beside.append(Given(state.seq, name, data["boot"], 0, args))
        if name == "Indicate":
            device.shown = f"{args['light']} {args['text']}"
        else:
            device.locked = name == "Lock"
        return
    device.opened_by = ""
    device.doing = Given(state.seq, name, data["boot"], data["until_ms"], args, data.get("deck", ""), data["target"])
    device.hindered = ""


@_changes("device.resumed")
def _resumed(state: State, data: dict[str, Any]) -> None:
    doing = state.devices[data["device"]].doing
    if doing:
        doing.until_ms = data["until_ms"]


@_changes("command.answered")
def _answered(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    if device.doing and device.doing.id == data["id"]:
        device.doing.answered = True
        if data["answer"] == "done":
            device.busy_ms = -1
    for given in [given for given in device.beside if given.id == data["id"]]:
        device.beside.remove(given)
        if data["answer"] != "done":  # it cannot, whatever it said of itself: never asked again in this life
            device.can_lock &= given.name == "Indicate"
            device.can_show &= given.name != "Indicate"


@_changes("device.hindered")
def _hindered(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    device.hindered = data["reason"]
    device.locked = device.locked or data.get("locked", False)
    if not data.get("busy"):
        device.busy_ms = -1
    elif device.busy_ms < 0:
        device.busy_ms = data["at_ms"]


@_changes("device.freed")
def _freed(state: State, data: dict[str, Any]) -> None:
    state.devices[data["device"]].hindered = ""


@_changes("cards.counted")
def _counted(state: State, data: dict[str, Any]) -> None:
    doing = state.devices[data["device"]].doing
    if doing:
        doing.counted, doing.fits = data["cards"], data["fits"]


@_changes("stack.dispensed", "cards.presented")
def _presented(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    given = device.late if data.get("late") else device.doing
    if given:
        given.presented = data["cards"]
        if data["cards"]:  # no cards, nothing to wait for
            device.at_exit = given.copy()  # the two live on apart


@_changes("cards.gathered")
def _gathered(state: State, data: dict[str, Any]) -> None:
    _nothing_at_exit(state, ledger.DEVICE_OF.get(data["place"], ""))


def _nothing_at_exit(state: State, name: str) -> None:
    """A person has emptied the device: what it tells later of those cards is counted already."""
    device = state.devices.get(name)
    if device:
        device.at_exit = device.late = None


@_changes("exit.emptied")
def _exit_empty(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    device.at_exit = None
    device.hindered = ""


@_changes("cycle.lost")
def _cycle_lost(state: State, data: dict[str, Any]) -> None:
    device = state.devices[data["device"]]
    device.late = device.doing
    device.doing = None


@_changes("cycle.completed", "cycle.failed", "device.jammed", "device.failed", "device.cleared")
def _cycle_over(state: State, data: dict[str, Any]) -> None:
    state.devices[data["device"]].doing = None
