"""Mutants: changes one condition of the core's rules at a time and runs the tests, which must notice."""
