"""Measurements: every figure is compared with its peers and its lower bound, interleaved in one run."""
