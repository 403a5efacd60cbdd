"""Whole simulated tables: the house, its people, scenarios."""
