"""Simulated cards, devices, people and whole tables, for running the controller without hardware."""
