"""Measurements: every figure beside its peers and its floor, interleaved in one run."""
