"""The mutants of `make test-mutants`: every condition of a rule is found, and every change can be compiled."""

from __future__ import annotations

from tests.mutants.__main__ import ROOT, RULES, STAGES
from tests.mutants.mutation import all_mutants, mutants

SOURCE = '''
def guard(state, name):
    """Refuse."""
    if not name or state.cards.get(name) < 10:
        return "é" if name == "x" else None
    assert name != "y"
    return [part for part in state if 1 <= part < 5]
'''


def test_conditions_are_forced_false_and_comparisons_flipped() -> None:
    changed = {str(mutant).split(": ", 1)[1] for mutant in mutants("guard.py", SOURCE)}
    assert changed == {
        "not name or state.cards.get(name) < 10  ->  False",
        "not name  ->  False",
        "state.cards.get(name) < 10  ->  False",
        "state.cards.get(name) < 10  ->  (state.cards.get(name) >= 10)",
        'name == "x"  ->  False',
        "name == \"x\"  ->  (name != 'x')",
        "1 <= part < 5  ->  False",
        "1 <= part < 5  ->  (1 > part < 5)",
        "1 <= part < 5  ->  (1 <= part >= 5)",
    }


def test_a_change_is_made_where_the_condition_stands() -> None:
    flipped = next(mutant for mutant in mutants("guard.py", SOURCE) if mutant.new == "(name != 'x')")
    assert flipped.applied_to(SOURCE) == SOURCE.replace('name == "x"', "(name != 'x')")


def test_every_change_of_the_rules_can_be_compiled() -> None:
    found = all_mutants(ROOT, RULES)
    assert len(found) > 500
    assert found == sorted(found)
    sources = {mutant.file: (ROOT / mutant.file).read_text() for mutant in found}
    for mutant in found[::40]:
        compile(mutant.applied_to(sources[mutant.file]), mutant.file, "exec")


def test_the_stages_name_tests_that_exist() -> None:
    paths = [path.removeprefix("--ignore=") for stage in STAGES for path in stage]
    assert [path for path in paths if not (ROOT / path).exists()] == []
