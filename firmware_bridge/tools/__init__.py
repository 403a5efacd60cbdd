"""What a technician uses on a line: capture, probe, self-test, conformance."""
