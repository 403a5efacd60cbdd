"""Bytes that nobody meant well: every reader either understands them or raises the one error that it names."""
