"""Technicians' tools for a line: capture, monitor, probe, self-test, conformance test."""
