"""Simulated devices: cards, mechanics, firmware, faults."""
