"""Serial and USB ports: the only I/O of the bridge."""
