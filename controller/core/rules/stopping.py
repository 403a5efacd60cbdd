"""What follows when a device jams, fails, or does not finish a cycle.

The deck in the shuffler is shuffled again; a round being dealt from the shoe is void. A cycle counts as finished only
if the device has reported it.
"""
# mypyc

from __future__ import annotations

from controller.core.decision import Decision
from controller.core.enforcement import enforces
from controller.core.events.devices import CycleFailed, DeviceFailed, DeviceJammed
from controller.core.machines import IN_A_ROUND, TableState
from controller.core.rules.dealing import next_stack
from controller.core.rules.gathering import shuffle_again
from controller.core.rules.guards import STOPS, has_rule, inside
from controller.core.rules.irregular import void
from controller.core.rules.unexpected_cards import put_in
from controller.core.rules.warnings import restore_fault, warn
from controller.core.state import Given, Round, State
from controller.games import described
from controller.games.game import Method
from controller.games.rulebook import Rule
from firmware_bridge.wire.messages import ClearJam, SelfTest


@enforces(Rule.SHUFFLER_STOPS, Rule.SHOE_STOPS)
def stopped(d: Decision, name: str, given: Given | None, why: str, *, cards_inside: bool, stuck: bool = False) -> None:
    """A device stopped. The shuffler's deck is shuffled again; a round from the shoe is void.

    `cards_inside`: the cards in the device can no longer be trusted, even if no cycle was running. `stuck`: the device
    jammed or stopped in a cycle, which may be an unreported jam; this voids the round even if only the stub is left.
    """
    state, rule = d.state, STOPS[name]
    concerned = {*inside(state, name), put_in(state, name)} if cards_inside else set()
    if given:
        concerned.add(given.deck)
    in_round = name == "shoe" and state.table in IN_A_ROUND and state.method is Method.AUTOMATED_SHOE
    if in_round and (more_cards_due(state, d.round) or (stuck and _stub_voids(state, d.round))):
        void(d, rule, reason=f"the shoe {why}")
    for deck in sorted(concerned & set(state.decks)):
        shuffle_again(d, deck, rule, reason=f"the {name} {why}")


def _stub_voids(state: State, round_: Round) -> bool:
    """Whether a jam voids a round of which only the stub is left. Unless a rule says so, a settled result stands."""
    return not round_.stub_out and (not round_.settled or has_rule(state, Rule.SHOE_STOPS))


def more_cards_due(state: State, round_: Round) -> bool:
    """Whether more cards of this round come from the shoe, or may still come by the rules of the game."""
    if next_stack(round_) is not None:
        return True
    game = state.setup.game
    if state.table is TableState.DEALING:
        return game.draws or described(game).due_card is not None
    return game.draws and state.table is TableState.ACTING and not round_.acted


def jammed(d: Decision, name: str) -> None:
    """Cards are stuck."""
    given = d.state.devices[name].doing
    if not d.may(DeviceJammed, device=name):
        return
    rule = STOPS[name]
    d.emit(DeviceJammed(device=name), rule)
    warn(d, "jam", rule, device=name, text=f"cards are stuck in the {name}")
    if given is None or not isinstance(given.command, ClearJam):
        stopped(d, name, given, "jammed", cards_inside=True, stuck=True)


def failed(d: Decision, name: str, why: str, *, begun: bool = True) -> None:
    """A part failed, or a cycle does not end. `begun` is False if the device refused the command for this reason."""
    given = d.state.devices[name].doing
    if not d.may(DeviceFailed, device=name):
        return
    rule = STOPS[name]
    d.emit(DeviceFailed(device=name, reason=why), rule, Rule.OUT_OF_SERVICE)
    warn(d, "fail", rule, Rule.OUT_OF_SERVICE, device=name, text=f"the {name} {why}")
    stopped(d, name, given, why, cards_inside=True, stuck=begun and given is not None)


def cycle_failed(d: Decision, name: str, given: Given, why: str) -> None:
    """A cycle ended without its result."""
    d.emit(CycleFailed(device=name, id=given.id, command=given.name, reason=why), STOPS[name])
    warn(d, "cycle", STOPS[name], device=name, text=f"the {name} {why}")
    stopped(d, name, given, why, cards_inside=not isinstance(given.command, SelfTest))
    restore_fault(d, name)  # if the cycle was to clear a jam, the jam is still there
